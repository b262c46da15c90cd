//! Everything the supervisor of a node needs, decided before anything starts.

use std::ffi::OsString;
use std::path::PathBuf;

use fermi_domain::contract::{self, AttemptFacts, RankFiles, RankPlace};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::StopLadder;
use fermi_process::output::Show;
use fermi_process::pty::WindowSize;
use fermi_process::spawn::StdinPlan;
use serde::{Deserialize, Serialize};

use crate::run_folder::RankFolder;

pub const VERSION: u32 = 1;

/// The launch of a run on one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeBundle {
    pub version: u32,
    pub run_id: String,
    /// What torch calls the run: the user's `--rdzv-id`, else the run's own id.
    pub torch_run_id: String,
    pub generation: u64,
    /// Where the notes on living runs are, for the sweep of a later start.
    pub live_folder: PathBuf,
    /// Journal, logs and exit records; none when the user wants them nowhere.
    pub run_folder: Option<PathBuf>,
    pub output_dir: PathBuf,
    pub checkpoint_dir: PathBuf,
    pub node_name: String,
    pub master_addr: String,
    pub master_port: MasterPort,
    pub ranks: Vec<RankPlan>,
    pub restarts: RestartPolicy,
    pub ladder: StopLadder,
    pub start_timeout_ms: Option<u64>,
    /// Continue from the newest checkpoint already in the first attempt.
    pub resume: bool,
    /// Lines of stdout with one of these words go to `filtered_stdout.log` too.
    pub stdout_filters: Vec<String>,
    pub stderr_filters: Vec<String>,
}

impl NodeBundle {
    /// What the ranks of an attempt share.
    pub fn facts(&self, attempt: u32, master_port: u16, resume: bool) -> AttemptFacts {
        AttemptFacts {
            task_id: self.run_id.clone(),
            run_id: self.torch_run_id.clone(),
            attempt,
            generation: self.generation,
            max_restarts: self.restarts.max_restarts,
            master_addr: self.master_addr.clone(),
            master_port,
            resume,
        }
    }

    /// Where a rank of an attempt keeps its files, if anything is kept.
    pub fn rank_folder(&self, rank: &RankPlan, attempt: u32) -> Option<RankFolder> {
        self.run_folder.as_ref().map(|run| RankFolder::of(run, attempt, rank.place.local_rank))
    }

    /// All variables that a rank gets beyond those it inherits: the contract's, then its own, which win.
    pub fn variables(&self, rank: &RankPlan, facts: &AttemptFacts) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let folder = self.rank_folder(rank, facts.attempt);
        let files = RankFiles {
            error_file: folder.as_ref().map(|folder| text(folder.error_file())).unwrap_or_default(),
            progress_file: folder.as_ref().map(|folder| text(folder.progress_file())).unwrap_or_default(),
            output_dir: text(self.output_dir.clone()),
            checkpoint_dir: text(self.checkpoint_dir.clone()),
        };
        let mut variables = contract::rank_variables(&rank.place, facts, &files);
        variables.retain(|(name, _)| rank.env.iter().all(|(own, _)| own != name));
        variables.extend(rank.env.iter().cloned());
        variables
    }
}

/// Which port rank 0 will listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MasterPort {
    /// Any that is free here.
    Any,
    /// The one the user named; if it is taken that is an error.
    Exactly(u16),
    /// Rank 0 is not on this node: nothing to hold.
    Elsewhere(u16),
}

/// One rank: what to start and where it appears.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankPlan {
    pub place: RankPlace,
    pub argv: Vec<OsString>,
    /// Variables beyond those of the contract.
    pub env: Vec<(String, String)>,
    pub folder: Option<PathBuf>,
    pub cpus: Option<Vec<usize>>,
    pub stdin: StdinPlan,
    pub terminal: Option<WindowSize>,
    pub show_stdout: Show,
    pub show_stderr: Show,
}
