//! Which ranks have come: those that talk to the master's port, or have reported a step.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use fermi_process::procfs;

use crate::port;

/// A rank that is being waited for.
#[derive(Debug)]
pub struct Candidate {
    pub rank: u32,
    pub pid: i32,
    pub progress_file: Option<PathBuf>,
}

/// The ranks among these of which nothing was heard.
pub fn missing(candidates: &[Candidate], master_port: u16) -> Vec<u32> {
    let sockets: HashSet<u64> = port::sockets_on(master_port).into_iter().collect();
    candidates.iter().filter(|candidate| !has_come(candidate, &sockets)).map(|candidate| candidate.rank).collect()
}

/// The process itself or one below it (a shell script around the trainer) holds a socket on the port.
fn has_come(candidate: &Candidate, sockets: &HashSet<u64>) -> bool {
    let reported = candidate.progress_file.as_ref().is_some_and(|path| made_progress(path));
    reported
        || procfs::descendants(candidate.pid)
            .into_iter()
            .map(|stat| stat.pid)
            .chain([candidate.pid])
            .any(|pid| port::open_sockets(pid).iter().any(|inode| sockets.contains(inode)))
}

/// Whether a rank has reported at least one step.
pub fn made_progress(progress_file: &std::path::Path) -> bool {
    fs::metadata(progress_file).is_ok_and(|meta| meta.len() > 0)
}
