//! What an agent has on disk.

use std::collections::BTreeMap;

use fermi_domain::event::RunEvent;
use fermi_domain::task::RunKey;

use crate::truth::GrowingBytes;

/// What is on disk of one run.
#[derive(Clone, Debug, Default)]
pub struct RunFiles {
    pub is_refused: bool,
    pub has_lock: bool,
    pub has_journal: bool,
    pub journal: GrowingBytes,
    /// The record beside the journal.
    pub result: Option<RunEvent>,
    /// The last word of the warden.
    pub in_order: bool,
    pub streams: BTreeMap<(u32, u32), GrowingBytes>,
    /// Which keepers were started for it on this machine.
    pub keepers: Option<usize>,
}

/// What an agent shows to its server.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    pub credential: Option<String>,
    pub seal: Option<String>,
    pub next_seal: Option<String>,
    pub pending_seals: Vec<String>,
}

/// An agent's data folder.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    pub instance: String,
    pub pass: Pass,
    /// The pass that is on disk, where the disk did not take the last one.
    pub older_pass: Option<Pass>,
    pub runs: BTreeMap<RunKey, RunFiles>,
}

impl Folder {
    /// As it is found on another disk: the agent sees that its folder is not the one that the identity was given to.
    pub fn copied(&self, keeps_identity: bool, instance: String) -> Self {
        let runs = self.runs.iter().map(|(run, files)| {
            let files = RunFiles {
                is_refused: files.is_refused,
                has_lock: files.has_lock,
                has_journal: files.has_journal,
                journal: files.journal.copied(),
                result: files.result.clone(),
                in_order: files.in_order,
                streams: files.streams.iter().map(|(name, bytes)| (*name, bytes.copied())).collect(),
                keepers: None,
            };
            (run.clone(), files)
        });
        let runs = runs.collect();
        if keeps_identity {
            let pass = self.older_pass.as_ref().unwrap_or(&self.pass).clone();
            return Self { instance: self.instance.clone(), pass, older_pass: None, runs };
        }
        Self { instance, runs, ..Self::default() }
    }
}
