//! The readable part of a checkpoint.

use serde::{Deserialize, Serialize};

use crate::config::TrainerConfig;

pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    pub version: u32,
    pub step: u64,
    pub identity: Identity,
    pub first_loss: f32,
    pub last_loss: f32,
    /// Over all of `state.bin`.
    pub checksum: String,
}

/// What must be the same for a run to be continued; anything else, such as the number of ranks, may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    pub preset: String,
    pub seq_len: usize,
    pub global_batch: usize,
    pub seed: u64,
    pub parameters: usize,
}

impl Identity {
    pub fn new(config: &TrainerConfig, parameters: usize) -> Self {
        Self {
            preset: config.preset.to_string(),
            seq_len: config.sequence_length(),
            global_batch: config.global_batch,
            seed: config.seed,
            parameters,
        }
    }

    /// The first difference, as a sentence about the checkpoint and this run.
    pub fn difference(&self, wanted: &Identity) -> Option<String> {
        let fields = [
            ("preset", self.preset.clone(), wanted.preset.clone()),
            ("sequence length", self.seq_len.to_string(), wanted.seq_len.to_string()),
            ("global batch", self.global_batch.to_string(), wanted.global_batch.to_string()),
            ("seed", self.seed.to_string(), wanted.seed.to_string()),
            ("parameter count", self.parameters.to_string(), wanted.parameters.to_string()),
        ];
        let (name, theirs, ours) = fields.into_iter().find(|(_, theirs, ours)| theirs != ours)?;
        Some(format!("it has {name} {theirs}, and this run asks for {ours}"))
    }
}
