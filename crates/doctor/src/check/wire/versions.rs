//! Versions that differ between nodes.

use std::collections::BTreeMap;

use fermi_domain::language::Text;

use super::named;
use crate::check::gpus_of;
use crate::facts::{EngineAnswer, MachineFacts};
use crate::nodes::survey::Survey;
use crate::{Finding, State, Topic};

/// One thing of which nodes have different versions, each with its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub what: &'static str,
    pub versions: BTreeMap<String, Vec<usize>>,
    /// How much it matters.
    pub state: State,
}

/// What a node has of something; None where it cannot be told.
type Version = fn(&MachineFacts) -> Option<String>;

fn package(facts: &MachineFacts, name: &str) -> Option<String> {
    let python = facts.python.known()?.as_ref()?;
    Some(python.packages.get(name).cloned().unwrap_or_else(|| "-".to_owned()))
}

fn nccl(facts: &MachineFacts) -> Option<String> {
    let python = facts.python.known()?.as_ref()?;
    if let EngineAnswer::Imported(torch) = &python.torch
        && let Some(version) = &torch.nccl
    {
        return Some(version.clone());
    }
    python.packages.iter().find(|(name, _)| name.starts_with("nvidia-nccl")).map(|(_, version)| version.clone())
}

fn models(facts: &MachineFacts) -> Option<String> {
    let mut models: Vec<&str> = gpus_of(facts)?.gpus.iter().map(|gpu| gpu.model.as_str()).collect();
    models.dedup();
    Some(models.join(" "))
}

/// Ranks of different torch or NCCL do not understand each other; the rest is slow or surprising.
const COMPARED: [(&str, State, Version); 11] = [
    ("torch", State::Error, |facts| package(facts, "torch")),
    ("NCCL", State::Error, nccl),
    ("DeepSpeed", State::Error, |facts| package(facts, "deepspeed")),
    ("JAX", State::Error, |facts| package(facts, "jax")),
    ("Python", State::Warning, |facts| facts.python.known()?.as_ref()?.version.clone()),
    ("GPU", State::Warning, models),
    ("GPUs", State::Warning, |facts| Some(gpus_of(facts)?.gpus.len().to_string())),
    ("driver", State::Warning, |facts| gpus_of(facts)?.driver.clone()),
    ("CUDA", State::Warning, |facts| gpus_of(facts)?.cuda.clone()),
    ("fermi", State::Warning, |facts| Some(facts.fermi.clone())),
    ("kernel", State::Ok, |facts| Some(facts.kernel.clone())),
];

pub fn differences(survey: &Survey) -> Vec<Difference> {
    let known: Vec<(usize, &MachineFacts)> =
        survey.nodes.iter().filter_map(|node| Some((node.node, node.facts.as_deref()?))).collect();
    let compared = COMPARED.iter().map(|(what, state, version)| {
        let mut versions: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (node, facts) in &known {
            if let Some(version) = version(facts) {
                versions.entry(version).or_default().push(*node);
            }
        }
        Difference { what, versions, state: *state }
    });
    compared.filter(|difference| difference.versions.len() > 1).collect()
}

pub fn check(survey: &Survey) -> Vec<Finding> {
    let differences = differences(survey);
    if differences.is_empty() {
        let text = Text::new("各节点的版本一致", "all nodes have the same versions");
        return vec![Finding::ok("versions.same", Topic::Versions, text)];
    }
    differences.iter().map(|difference| finding(survey, difference)).collect()
}

fn finding(survey: &Survey, difference: &Difference) -> Finding {
    let what = difference.what;
    let each = difference
        .versions
        .iter()
        .map(|(version, nodes)| format!("{version}: {}", named(survey, nodes.iter().copied())));
    let each = each.collect::<Vec<_>>().join("; ");
    let text = Text::new(format!("{what} 版本不一致：{each}"), format!("{what} differs: {each}"));
    let usual = difference.versions.iter().max_by_key(|(_, nodes)| nodes.len()).map(|(version, _)| version.as_str());
    let fix = Text::new("让所有节点相同，最好用同一个镜像", "make all nodes the same, best by one image");
    let command = match (what, usual) {
        ("torch" | "DeepSpeed" | "JAX", Some(version)) if version != "-" => {
            format!("python -m pip install {}=={version}", what.to_ascii_lowercase())
        }
        ("GPU" | "GPUs" | "driver" | "CUDA", _) => "nvidia-smi".to_owned(),
        _ => "fermi --version; python3 --version; uname -r".to_owned(),
    };
    let make = match difference.state {
        State::Error => Finding::error,
        State::Warning => Finding::warning,
        State::Ok | State::Skipped => Finding::ok,
    };
    make("versions.differ", Topic::Versions, text).fix(fix, command)
}
