//! Which ranks have come: those that talk to the master's port, or have made a step.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use fermi_domain::pulse::{Phase, Pulse};
use fermi_process::procfs;

use crate::node_message::RankSeen;
use crate::port;

/// A rank that is being waited for.
#[derive(Debug)]
pub struct Candidate {
    pub rank: u32,
    pub pid: i32,
    pub progress_file: Option<PathBuf>,
    /// None without the hook.
    pub pulse: Option<Pulse>,
}

/// What is seen of these ranks, and those among them of which nothing was heard.
pub fn look(candidates: &[Candidate], master_port: u16) -> (Vec<u32>, Vec<RankSeen>) {
    let sockets: HashSet<u64> = port::sockets_on(master_port).into_iter().collect();
    let seen: Vec<RankSeen> = candidates.iter().map(|candidate| see(candidate, &sockets)).collect();
    let has_come = |candidate: &Candidate, seen: &RankSeen| !seen.pids.is_empty() || has_stepped(candidate);
    let missing = candidates.iter().zip(&seen).filter(|(candidate, seen)| !has_come(candidate, seen));
    (missing.map(|(candidate, _)| candidate.rank).collect(), seen)
}

/// The process itself or one below it (a shell script around the trainer) holds a socket on the port.
fn see(candidate: &Candidate, sockets: &HashSet<u64>) -> RankSeen {
    let pids = match sockets.is_empty() {
        true => Vec::new(),
        false => procfs::descendants(candidate.pid)
            .into_iter()
            .map(|stat| stat.pid)
            .chain([candidate.pid])
            .filter(|pid| port::open_sockets(*pid).iter().any(|inode| sockets.contains(inode)))
            .collect(),
    };
    let phase = candidate.pulse.and_then(|pulse| pulse.phase).filter(|phase| *phase != Phase::Parked);
    RankSeen { rank: candidate.rank, phase, pids }
}

fn has_stepped(candidate: &Candidate) -> bool {
    let reported = candidate.progress_file.as_ref().is_some_and(|path| made_progress(path));
    reported || candidate.pulse.is_some_and(|pulse| pulse.steps > 0)
}

/// Whether a rank has reported at least one step.
pub fn made_progress(progress_file: &std::path::Path) -> bool {
    fs::metadata(progress_file).is_ok_and(|meta| meta.len() > 0)
}
