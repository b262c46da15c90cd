//! The bundle of a node, made of what it shall run and of what is true there.

use std::path::Path;

use fermi_domain::contract::RankPosition;
use fermi_domain::launch::{LaunchFile, NodeLaunch, Placeholder, RunPolicy, Template};
use fermi_process::output::Show;
use fermi_process::spawn::{RankCommand, StdinPlan};

use super::files::{self, FileOutside, LaunchFiles};
use super::site::Site;
use super::variables;
use crate::bundle::{self, Gathering, Meeting, NodeBundle, RankNumbering, RankPlan};
use crate::deferred::Deferred;
use crate::node_message::NodePosition;

/// The names of a run.
#[derive(Clone, Debug)]
pub struct RunIdentity {
    /// Names this launch on this machine: the mark of its processes, its cgroup, its live note.
    pub run_id: String,
    /// What ranks see as FERMI_TASK_ID.
    pub task_id: String,
    /// What torch calls the run.
    pub torch_run_id: String,
    pub generation: u64,
    /// Whose checkpoints it writes: the same over all generations, and of no other run.
    pub owner: String,
}

/// A launch that is ready to start.
#[derive(Debug)]
pub struct Prepared {
    pub bundle: NodeBundle,
    pub files: LaunchFiles,
}

/// Makes the bundle. Each of the `ranks` comes with the words and variables that its caller gives it; the launch's words
/// follow those words, and its variables give way to those variables.
pub fn prepare(
    launch: &NodeLaunch,
    site: &Site,
    policy: &RunPolicy,
    run: RunIdentity,
    meeting: Meeting,
    mut ranks: Vec<RankPlan>,
) -> Result<Prepared, FileOutside> {
    let place = |place: Placeholder| site.fill(place, &meeting.address);
    let fill = |template: &Template| template.fill(place);
    let of_node = variables::of_node(launch, site, policy, &ranks);
    let mut deferred = Deferred::default();
    for (index, plan) in ranks.iter_mut().enumerate() {
        if index == 0 {
            let behind = (plan.command.argv.len()..).zip(&launch.argv);
            deferred.words =
                behind.filter(|(_, word)| word.needs_port()).map(|(at, word)| (at, word.clone())).collect();
        }
        plan.command.argv.extend(launch.argv.iter().map(|word| fill(word).into()));
        let own = std::mem::take(&mut plan.command.env);
        let local_rank = plan.place.local_rank;
        let variables = variables::of_rank(launch, site, &of_node, local_rank as usize, &own, &fill);
        plan.command.env = variables.now;
        deferred.env.extend(variables.deferred.into_iter().map(|(name, value)| (local_rank, name, value)));
    }
    let mut files = LaunchFiles::default();
    for LaunchFile { path, text } in &launch.files {
        files.add(files::inside(&site.folders.launch, path)?, text, fill);
    }
    deferred.files = files.with_port_missing();
    if !(deferred.words.is_empty() && deferred.env.is_empty() && deferred.files.is_empty()) {
        deferred.known = KNOWN_BEFORE.map(|known| (known, place(known))).to_vec();
    }
    let bundle = NodeBundle {
        version: bundle::VERSION,
        run_id: run.run_id,
        task_id: run.task_id,
        torch_run_id: run.torch_run_id,
        generation: run.generation,
        owner: run.owner,
        attempts_before: policy.attempts_before,
        live_folder: site.folders.live.clone(),
        run_folder: site.folders.run.clone(),
        output_dir: site.folders.output.clone(),
        checkpoint_dir: site.folders.checkpoint.clone(),
        node_name: ranks.first().map(|rank| rank.place.node_name.clone()).unwrap_or_default(),
        made_for: made_for(launch, &meeting),
        gathering: Gathering {
            join_timeout_ms: policy.join_timeout_ms,
            node_lost_after_ms: policy.node_lost_after_ms,
            ..meeting.gathering
        },
        master_addr: meeting.address,
        master_port: meeting.port,
        numbering: meeting.numbering,
        ranks,
        deferred,
        serves: launch.serves,
        hosts_store: launch.hosts_store,
        restarts: policy.restarts,
        ladder: policy.ladder.clone(),
        start_timeout_ms: policy.start_timeout_ms,
        server_lease: None,
        resume: policy.resume,
        stdout_filters: Vec::new(),
        stderr_filters: Vec::new(),
        hook: None,
        account: None,
        secret_variables: Vec::new(),
    };
    Ok(Prepared { bundle, files })
}

/// All placeholders but the port.
const KNOWN_BEFORE: [Placeholder; 8] = [
    Placeholder::LaunchFolder,
    Placeholder::OutputFolder,
    Placeholder::CheckpointFolder,
    Placeholder::SourceFolder,
    Placeholder::Fermi,
    Placeholder::Python,
    Placeholder::MasterAddress,
    Placeholder::Interface,
];

/// A launch that knows its ranks holds for one place in the world; where nodes take their places only when they meet, the
/// supervisor compares.
fn made_for(launch: &NodeLaunch, meeting: &Meeting) -> Option<NodePosition> {
    let first = launch.ranks.first()?;
    let node_rank = meeting.gathering.node_rank?;
    (meeting.numbering == RankNumbering::Assigned && meeting.gathering.nodes > 1).then_some(NodePosition {
        first_rank: first.rank.get(),
        world_size: launch.world_size,
        node_rank,
        node_count: launch.node_count,
    })
}

/// The ranks of a launch that knows its ranks, with no words or variables of their own, and not shown.
pub fn unseen_ranks(launch: &NodeLaunch, node_rank: u32, folder: Option<&Path>) -> Vec<RankPlan> {
    let local_world_size = u32::try_from(launch.ranks.len()).unwrap_or(u32::MAX);
    let plan = |(local_rank, rank): (u32, &fermi_domain::launch::RankLaunch)| RankPlan {
        place: RankPosition {
            rank: rank.rank.get(),
            local_rank,
            world_size: launch.world_size,
            local_world_size,
            node_rank,
            node_count: launch.node_count,
            node_name: launch.node_name.clone(),
            role: "default".to_owned(),
            visible_local_rank: local_rank,
        },
        command: RankCommand {
            argv: Vec::new(),
            env: Vec::new(),
            folder: folder.map(Path::to_owned),
            cpus: None,
            stdin: StdinPlan::Null,
            terminal: None,
            account: None,
        },
        show_stdout: Show::Hidden,
        show_stderr: Show::Hidden,
    };
    (0..).zip(&launch.ranks).map(plan).collect()
}

#[cfg(test)]
mod tests;
