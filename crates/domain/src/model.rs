//! The numbers of a neural network by which a plan is made: what a Hugging Face `config.json` says, or a person.

use serde::{Deserialize, Serialize};

use crate::language::{Explained, Hint, Text};

/// The shape of a transformer, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelShape {
    pub layers: u64,
    /// Width of the hidden state.
    pub hidden: u64,
    /// Attention heads.
    pub heads: u64,
    pub kv_heads: u64,
    /// Width of the feed-forward layer.
    pub ffn: u64,
    pub vocab: u64,
    /// Width of a head, where it is not `hidden / heads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    /// The family, such as `llama` or `gpt2`, which says what a block is like: `model_type` of a config.json.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Whether input and output share their table of tokens; as in the family where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_positions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<ModelExperts>,
    /// The published count, where it is not what the shape says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
}

/// A mixture of experts in place of each feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelExperts {
    pub count: u64,
    pub active: u64,
    #[serde(default)]
    pub shared: u64,
    pub ffn: u64,
}

/// The numbers as they are given: what is left out is usual for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelNumbers {
    pub layers: Option<u64>,
    /// Width of the hidden state.
    pub hidden: Option<u64>,
    /// Attention heads.
    pub heads: Option<u64>,
    /// As many as heads where nothing is said.
    pub kv_heads: Option<u64>,
    /// Four times the width where nothing is said.
    pub ffn: Option<u64>,
    /// 50,304 where nothing is said.
    pub vocab: Option<u64>,
    pub head_dim: Option<u64>,
    pub family: Option<String>,
    pub tied: Option<bool>,
    pub max_positions: Option<u64>,
    pub experts: Option<ModelExperts>,
    pub parameters: Option<u64>,
}

/// Where the numbers of a model come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ShapeSource {
    /// Somebody gave them.
    Given,
    /// The config.json in its folder.
    Config,
    /// Fermi knows a model of that name.
    Catalogue,
}

/// The vocabulary of a model of which nothing is said.
const USUAL_VOCAB: u64 = 50_304;
/// More of anything is a slip, and would overflow what is made of it.
const MOST: u64 = 100_000_000;
const MOST_PARAMETERS: u64 = 1_000_000_000_000_000;
const LONGEST_FAMILY: usize = 64;

impl ModelNumbers {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The whole shape, if there can be a network of it.
    pub fn shape(self) -> Result<ModelShape, ShapeRefusal> {
        let missing = |field| move || ShapeRefusal::Missing { field };
        let layers = self.layers.ok_or_else(missing("layers"))?;
        let hidden = self.hidden.ok_or_else(missing("hidden"))?;
        let heads = self.heads.ok_or_else(missing("heads"))?;
        let shape = ModelShape {
            layers,
            hidden,
            heads,
            kv_heads: self.kv_heads.unwrap_or(heads),
            ffn: self.ffn.unwrap_or(hidden.saturating_mul(4)),
            vocab: self.vocab.unwrap_or(USUAL_VOCAB),
            head_dim: self.head_dim,
            family: self.family.map(|family| family.trim().to_owned()).filter(|family| !family.is_empty()),
            tied: self.tied,
            max_positions: self.max_positions,
            experts: self.experts,
            parameters: self.parameters,
        };
        shape.check()?;
        Ok(shape)
    }
}

impl ModelShape {
    /// Refuses numbers of which there is no network.
    pub fn check(&self) -> Result<(), ShapeRefusal> {
        let experts = self
            .experts
            .map(|it| [("experts.count", it.count), ("experts.active", it.active), ("experts.ffn", it.ffn)]);
        let plain = [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("kvHeads", self.kv_heads),
            ("ffn", self.ffn),
            ("vocab", self.vocab),
        ];
        let optional = [("headDim", self.head_dim), ("maxPositions", self.max_positions)];
        let optional = optional.into_iter().filter_map(|(field, value)| Some((field, value?)));
        for (field, value) in plain.into_iter().chain(optional).chain(experts.into_iter().flatten()) {
            if value == 0 || value > MOST {
                return Err(ShapeRefusal::OutOfRange { field, value, most: MOST });
            }
        }
        if let Some(value) = self.parameters.filter(|count| *count == 0 || *count > MOST_PARAMETERS) {
            return Err(ShapeRefusal::OutOfRange { field: "parameters", value, most: MOST_PARAMETERS });
        }
        if self.head_dim.is_none() && !self.hidden.is_multiple_of(self.heads) {
            return Err(ShapeRefusal::HeadsDoNotDivide { hidden: self.hidden, heads: self.heads });
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(ShapeRefusal::KvHeadsDoNotDivide { heads: self.heads, kv_heads: self.kv_heads });
        }
        if self.family.as_ref().is_some_and(|it| it.len() > LONGEST_FAMILY || it.contains(char::is_control)) {
            return Err(ShapeRefusal::FamilyInvalid);
        }
        Ok(())
    }
}

/// Why numbers are those of no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeRefusal {
    Missing { field: &'static str },
    OutOfRange { field: &'static str, value: u64, most: u64 },
    HeadsDoNotDivide { hidden: u64, heads: u64 },
    KvHeadsDoNotDivide { heads: u64, kv_heads: u64 },
    FamilyInvalid,
}

impl Explained for ShapeRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "architecture_incomplete",
            _ => "architecture_invalid",
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::Missing { field } | Self::OutOfRange { field, .. } => field,
            Self::HeadsDoNotDivide { .. } => "heads",
            Self::KvHeadsDoNotDivide { .. } => "kvHeads",
            Self::FamilyInvalid => "family",
        };
        Some(format!("architecture.{field}"))
    }

    fn text(&self) -> Text {
        match self {
            Self::Missing { field } => {
                Text::new(format!("模型结构缺少 {field}"), format!("the architecture lacks {field}"))
            }
            Self::OutOfRange { field, value, most } => Text::new(
                format!("模型结构的 {field} 不能是 {value}（1 到 {most}）"),
                format!("{field} of the architecture cannot be {value} (1 to {most})"),
            ),
            Self::HeadsDoNotDivide { hidden, heads } => Text::new(
                format!("hidden {hidden} 不能被 {heads} 个注意力头整除"),
                format!("hidden {hidden} cannot be divided among {heads} heads"),
            ),
            Self::KvHeadsDoNotDivide { heads, kv_heads } => Text::new(
                format!("{heads} 个注意力头不能被 {kv_heads} 个 KV 头整除"),
                format!("{heads} heads cannot be divided among {kv_heads} key and value heads"),
            ),
            Self::FamilyInvalid => Text::new("模型结构的 family 无效", "family of the architecture is not valid"),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::HeadsDoNotDivide { .. } => {
                Hint::new("检查这两个数，或另外给出 headDim", "look at both numbers, or give headDim as well")
            }
            Self::FamilyInvalid => Hint::new("例如 llama、gpt2、qwen2", "for example llama, gpt2, qwen2"),
            _ => Hint::new(
                "写 layers、hidden、heads，可加 kvHeads、ffn、vocab；或让 path 指向含 config.json 的目录",
                "give layers, hidden and heads, and kvHeads, ffn and vocab where known; or let path be a folder with a \
                 config.json",
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> ModelNumbers {
        ModelNumbers { layers: Some(32), hidden: Some(4_096), heads: Some(32), ..ModelNumbers::default() }
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let shape = numbers().shape().unwrap();
        assert_eq!((shape.kv_heads, shape.ffn, shape.vocab), (32, 16_384, USUAL_VOCAB));
        let json = serde_json::to_value(&shape).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 6, "{json}");
        assert_eq!(serde_json::from_value::<ModelShape>(json).unwrap(), shape);
    }

    #[test]
    fn numbers_of_no_network_are_refused_by_their_field() {
        let with = |change: fn(&mut ModelNumbers)| {
            let mut numbers = numbers();
            change(&mut numbers);
            numbers.shape().unwrap_err().field().unwrap()
        };
        assert_eq!(with(|it| it.layers = None), "architecture.layers");
        assert_eq!(with(|it| it.vocab = Some(0)), "architecture.vocab");
        assert_eq!(with(|it| it.hidden = Some(u64::MAX)), "architecture.hidden");
        assert_eq!(with(|it| it.heads = Some(33)), "architecture.heads");
        assert_eq!(with(|it| it.kv_heads = Some(5)), "architecture.kvHeads");
        assert_eq!(with(|it| it.parameters = Some(0)), "architecture.parameters");
    }
}
