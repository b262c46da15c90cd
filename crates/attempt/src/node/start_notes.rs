//! Writes down what the ranks of an attempt were started with, once they run and nobody waits for it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fermi_domain::launch::{RankStart, StartRecord, StartedNode, Withheld};
use fermi_process::spawn::RankCommand;

use super::parking::Parking;
use super::rank_processes::RankProcess;
use crate::bundle::NodeBundle;
use crate::node_message::Start;

const DRAFT: &str = ".start.json.new";

/// The starts of an attempt that are not written down yet.
#[derive(Debug)]
pub struct StartNotes {
    start: Start,
    begun: Vec<Begun>,
}

/// A rank that was started.
#[derive(Debug)]
struct Begun {
    /// Its place among the ranks of its bundle.
    index: usize,
    pid: i32,
    started_ms: u64,
}

impl StartNotes {
    pub fn new(start: &Start) -> Self {
        Self { start: start.clone(), begun: Vec::new() }
    }

    /// Notes the rank of this place in the bundle.
    pub fn add(&mut self, index: usize, process: &RankProcess) {
        self.begun.push(Begun { index, pid: process.pid(), started_ms: process.started_ms });
    }

    /// Writes them into the folder of the first of them; nothing where no folder is kept, or none was started.
    pub fn write(self, bundle: &NodeBundle, parking: &Parking) -> io::Result<()> {
        let attempt = self.start.attempt;
        let first = self.begun.first().and_then(|begun| bundle.ranks.get(begun.index));
        let Some(folder) = first.and_then(|plan| bundle.rank_folder(plan, attempt)) else { return Ok(()) };
        let facts = bundle.facts(&self.start);
        let starts = self.begun.iter().filter_map(|begun| {
            let plan = bundle.ranks.get(begun.index)?;
            let RankCommand { argv, env, folder, cpus, .. } = bundle.command(plan, &facts);
            let (env, is_released) = parking.executed_with(plan.place.local_rank, env);
            Some(RankStart {
                rank: plan.place.rank,
                local_rank: plan.place.local_rank,
                pid: begun.pid,
                started_ms: begun.started_ms,
                argv: argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                directory: folder.map(|path| path.to_string_lossy().into_owned()),
                env: env.into_iter().collect(),
                cpus: cpus.unwrap_or_default(),
                is_released,
            })
        });
        let withheld = Withheld { variables: &bundle.secret_variables, words: &[&bundle.gathering.secret] };
        let of_node = StartedNode {
            fermi: env!("CARGO_PKG_VERSION").to_owned(),
            attempt,
            node: bundle.node_name.clone(),
            account: bundle.account.as_ref().map(|account| account.name.clone()),
        };
        let record = StartRecord::new(of_node, starts.collect(), withheld);
        write_whole(&folder.start_file(), &record.to_json())
    }
}

/// It is there whole or not at all, for its owner alone. Nothing that lies there already is written to or followed.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_file_name(DRAFT);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}
