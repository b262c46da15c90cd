//! Python and the engines in it.

use std::collections::BTreeMap;

use fermi_domain::preflight::PreflightEngine;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PythonFacts {
    pub path: String,
    /// None where it did not even say its version.
    pub version: Option<String>,
    /// Packages of interest, by name.
    pub packages: BTreeMap<String, String>,
    pub torch: EngineAnswer<TorchFacts>,
    pub jax: EngineAnswer<JaxFacts>,
    /// PYTHON_EXEC names it, and it is no program.
    #[serde(default)]
    pub is_missing: bool,
    /// The engine whose devices a person wants to see.
    #[serde(default)]
    pub listed: Option<PreflightEngine>,
}

/// What came of importing an engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EngineAnswer<T> {
    #[default]
    NotAsked,
    Imported(T),
    Failed {
        reason: String,
    },
    Late {
        seconds: u64,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TorchFacts {
    pub version: String,
    /// The CUDA that it was built for; None for one without.
    pub cuda: Option<String>,
    pub devices: usize,
    /// Of the devices, where they were asked for.
    pub device_names: Option<Vec<String>>,
    pub has_distributed: bool,
    pub has_nccl: bool,
    pub has_gloo: bool,
    pub nccl: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JaxFacts {
    pub version: String,
    pub devices: Vec<String>,
}
