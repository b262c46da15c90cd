//! Models by name.

use fermi_domain::model::{ModelExperts, ModelShape};
use serde::{Deserialize, Serialize};

use super::{lineage, plain};
use crate::architecture::{Architecture, Biases, Experts, Norm};

/// One line of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub family: String,
    pub layers: u64,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    #[serde(default)]
    pub head_dim: Option<u64>,
    pub ffn: u64,
    pub vocab: u64,
    #[serde(default)]
    pub max_positions: u64,
    #[serde(default)]
    pub gated: bool,
    #[serde(default)]
    pub tied: bool,
    #[serde(default)]
    pub biases: Biases,
    #[serde(default)]
    pub norm: Norm,
    #[serde(default)]
    pub learned_positions: u64,
    #[serde(default)]
    pub experts: u64,
    #[serde(default)]
    pub active_experts: u64,
    #[serde(default)]
    pub shared_experts: u64,
    #[serde(default)]
    pub expert_ffn: Option<u64>,
    /// The published count where the plain shape does not give it.
    #[serde(default)]
    pub params: Option<u64>,
    #[serde(default)]
    pub note: Option<String>,
}

impl ModelEntry {
    pub fn architecture(&self) -> Architecture {
        let lineage = lineage::of(&format!("{} {}", self.name, self.family));
        Architecture {
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim.unwrap_or_else(|| self.hidden.checked_div(self.heads).unwrap_or(0)),
            ffn: self.ffn,
            vocab: self.vocab,
            gated: self.gated,
            tied: self.tied,
            biases: self.biases,
            norm: self.norm,
            learned_positions: self.learned_positions,
            activation: lineage.activation,
            qk_norm: lineage.qk_norm,
            causal: self.family != "bert",
            experts: (self.experts > 0).then(|| Experts {
                count: self.experts,
                active: self.active_experts.max(1),
                shared: self.shared_experts,
                ffn: self.expert_ffn.unwrap_or(self.ffn),
            }),
            stated_params: self.params,
        }
    }

    /// Its numbers, to be shown.
    pub fn shape(&self) -> ModelShape {
        let known = self.architecture();
        ModelShape {
            layers: known.layers,
            hidden: known.hidden,
            heads: known.heads,
            kv_heads: known.kv_heads,
            ffn: known.ffn,
            vocab: known.vocab,
            head_dim: self.head_dim,
            family: Some(self.family.clone()).filter(|family| !family.is_empty()),
            tied: Some(self.tied),
            max_positions: Some(self.max_positions).filter(|positions| *positions > 0),
            experts: known.experts.map(|it| ModelExperts {
                count: it.count,
                active: it.active,
                shared: it.shared,
                ffn: it.ffn,
            }),
            parameters: self.params,
        }
    }
}

/// By name or alias; a path such as `org/name` also by its last part, and a suffix such as `-instruct` is let go.
pub(super) fn find<'a>(entries: &'a [ModelEntry], name: &str) -> Option<&'a ModelEntry> {
    let wanted = plain(name);
    let last = wanted.rsplit('/').next().unwrap_or(&wanted).to_owned();
    let trimmed = ["-instruct", "-chat", "-hf", "-base", "-v0.1", "-it"]
        .iter()
        .fold(last.clone(), |text, suffix| text.strip_suffix(suffix).map(str::to_owned).unwrap_or(text));
    let exact = [&wanted, &last, &trimmed].into_iter().find_map(|candidate| {
        entries.iter().find(|e| plain(&e.name) == *candidate || e.aliases.iter().any(|a| plain(a) == *candidate))
    });
    exact.or_else(|| longest_beginning(entries, &last))
}

/// `llama3.1-405b-cut7l` begins with a name that is known.
fn longest_beginning<'a>(entries: &'a [ModelEntry], wanted: &str) -> Option<&'a ModelEntry> {
    let names =
        entries.iter().flat_map(|e| std::iter::once(&e.name).chain(&e.aliases).map(move |name| (plain(name), e)));
    names
        .filter(|(name, _)| {
            name.len() >= 5 && wanted.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['-', ':']))
        })
        .max_by_key(|(name, _)| name.len())
        .map(|(_, entry)| entry)
}
