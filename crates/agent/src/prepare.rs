//! Makes everything ready for a launch: folders, code, files, and at last the bundle.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fermi_api::link::{Assignment, LaunchFailed};
use fermi_attempt::bundle::{Gathering, MasterPort, Meeting, NodeBundle, RankNumbering};
use fermi_attempt::hook::HookPlan;
use fermi_attempt::launch::{self, Devices, Folders, Prepared, PythonSearch, RunIdentity, Site, unseen_ranks};
use fermi_domain::access::{RunAs, RunAsRefusal};
use fermi_domain::contract;
use fermi_domain::dataset::DatasetRefusal;
use fermi_domain::language::{Explained, FrontEnd, Hint, Notice, Text, reason};
use fermi_domain::launch::{Placeholder, RunPolicy};
use fermi_domain::task::{RunKey, Source, Warm};
use fermi_hardware::gpu::visible_devices;
use fermi_hardware::network;
use fermi_process::account::SystemAccount;

use crate::data_folder::{self, ClusterFolder};
use crate::run_as;
use crate::source::{self, SourceError};

/// Why a launch comes to nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareRefusal {
    NoPython {
        tried: String,
    },
    NoKeepers {
        error: String,
    },
    Unwritable {
        path: PathBuf,
        error: String,
    },
    NoFolder {
        path: PathBuf,
    },
    NoSnapshot {
        digest: String,
        why: Text,
    },
    /// The server has not been heard for longer than the task may go on without it.
    ServerLost,
    /// The task's dataset is not here as it is stated.
    Dataset(DatasetRefusal),
    /// There is no account under which its ranks may run.
    RunAs(RunAsRefusal),
    /// The launch itself is refused.
    Launch(Notice),
}

impl PrepareRefusal {
    pub fn python(tried: &str) -> Self {
        Self::NoPython { tried: tried.to_owned() }
    }

    pub fn keepers(error: &dyn Display) -> Self {
        Self::NoKeepers { error: error.to_string() }
    }

    pub fn folder(path: &Path, error: &dyn Display) -> Self {
        Self::Unwritable { path: path.to_owned(), error: error.to_string() }
    }

    /// As the server is told. Whoever shows it spells the settings; a server that does not know them shows the hint.
    pub fn for_run(&self, run: RunKey) -> LaunchFailed {
        let reason = self.text();
        let hint = self.hint().unwrap_or_else(|| reason.clone().into());
        LaunchFailed { run, reason, settings: hint.settings(), hint: hint.spelled(FrontEnd::Console) }
    }
}

impl Explained for PrepareRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::NoPython { .. } => "python_missing",
            Self::NoKeepers { .. } => "supervisor_not_started",
            Self::Unwritable { .. } => "folder_unwritable",
            Self::NoFolder { .. } => "folder_missing",
            Self::NoSnapshot { .. } => "snapshot_missing",
            Self::ServerLost => "server_lost",
            Self::Dataset(refusal) => refusal.id(),
            Self::RunAs(refusal) => refusal.id(),
            Self::Launch(notice) => notice.id(),
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::NoPython { tried } => {
                Text::new(format!("节点上没有可用的 Python：{tried}"), format!("this node has no such Python: {tried}"))
            }
            Self::NoKeepers { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("无法启动 supervisor：{}", why.zh),
                    format!("the supervisor cannot be started: {}", why.en),
                )
            }
            Self::Unwritable { path, error } => {
                let (path, why) = (path.display(), reason::of_said(error));
                Text::new(format!("无法写入 {path}：{}", why.zh), format!("cannot write to {path}: {}", why.en))
            }
            Self::NoFolder { path } => {
                let path = path.display();
                Text::new(format!("节点上没有文件夹 {path}"), format!("this node has no folder {path}"))
            }
            Self::NoSnapshot { digest, why } => Text::new(
                format!("无法取得代码快照 {digest}：{}", why.zh),
                format!("cannot get the snapshot {digest}: {}", why.en),
            ),
            Self::ServerLost => Text::new(
                "准备期间与服务器失联的时间超过任务允许的时限",
                "the server was out of reach for longer than the task allows while its start was prepared",
            ),
            Self::Dataset(refusal) => refusal.text(),
            Self::RunAs(refusal) => refusal.text(),
            Self::Launch(notice) => notice.text(),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoPython { .. } => Hint::new(
                "在任务中用 interpreter 指定 Python 或虚拟环境的路径，或在该节点上安装 Python",
                "name a Python or a virtual environment in the task's interpreter, or install Python on this node",
            ),
            Self::NoKeepers { .. } => Hint::new(
                "检查该节点的进程数和打开文件数限制（ulimit）",
                "check this node's limits on processes and open files (ulimit)",
            ),
            Self::Unwritable { .. } => {
                Hint::new("检查该节点的磁盘空间和权限", "check disk space and permissions on this node")
            }
            Self::NoFolder { .. } => Hint::new(
                "使用所有节点都有的路径，或把代码作为快照随任务发送",
                "use a path that every node has, or send the code with the task as a snapshot",
            ),
            Self::NoSnapshot { .. } => {
                Hint::new("重新提交任务以再次上传代码", "submit the task again, which uploads the code anew")
            }
            Self::ServerLost => Hint::new(
                "检查该节点与服务器之间的网络，再重启任务",
                "look at the network between this node and the server, then restart the task",
            ),
            Self::Dataset(refusal) => return refusal.hint(),
            Self::RunAs(refusal) => return refusal.hint(),
            Self::Launch(notice) => return notice.hint(),
        })
    }
}

/// Does it. `fetch` opens the archive of a digest.
pub fn prepare(
    assignment: &Assignment,
    cluster: &ClusterFolder,
    rule: &RunAs,
    fetch: impl FnOnce(&str) -> Result<Box<dyn Read>, SourceError>,
) -> Result<NodeBundle, PrepareRefusal> {
    let run = &assignment.run;
    let account = run_as::account_for(rule, assignment.owner.as_deref()).map_err(PrepareRefusal::RunAs)?;
    let folders = Folders {
        live: cluster.live.clone(),
        run: Some(cluster.run(run)),
        launch: cluster.launch(run),
        output: cluster.outputs(&run.task),
        checkpoint: match &assignment.checkpoint_dir {
            Some(folder) => PathBuf::from(folder),
            None => cluster.outputs(&run.task).join("checkpoints"),
        },
        source: PathBuf::new(),
    };
    cluster.make_folders(run, account.as_ref())?;
    if let Some(account) = &account {
        enter(&folders.output, account)?;
    }
    acting(account.as_ref(), || fs::create_dir_all(&folders.checkpoint))
        .map_err(|error| PrepareRefusal::folder(&folders.checkpoint, &error))?;
    let source = source_folder(assignment, cluster, account.as_ref(), fetch)?;
    let work = work_folder(assignment.launch.directory.as_deref(), source.as_deref(), account.as_ref());
    for folder in source.iter().chain([&work]) {
        if !folder.is_dir() {
            return Err(PrepareRefusal::NoFolder { path: folder.clone() });
        }
        if let Some(account) = &account {
            enter(folder, account)?;
        }
    }
    let launch_folder = folders.launch.clone();
    let site = site(assignment, Folders { source: source.unwrap_or_else(|| work.clone()), ..folders }, &work)?;
    let ranks = unseen_ranks(&assignment.launch, run.node_rank.get(), Some(&work));
    let identity = RunIdentity {
        run_id: cluster.run_id(run),
        task_id: run.task.to_string(),
        torch_run_id: run.task.to_string(),
        generation: run.generation.get(),
        owner: format!("{}/{}", cluster.name, run.task),
    };
    let meeting = meeting(assignment, &cluster.name);
    let prepared = launch::prepare(&assignment.launch, &site, &assignment.policy, identity, meeting, ranks)
        .map_err(|outside| PrepareRefusal::Launch(Notice::of(&outside)))?;
    let Prepared { mut bundle, files } = prepared;
    files.write(data_folder::make).map_err(|failed| PrepareRefusal::folder(&failed.path, &failed.error))?;
    // Ranks of another account do not get into the cluster's folder.
    let hook_root = if account.is_some() { launch_folder.as_path() } else { cluster.root() };
    bundle.secret_variables.clone_from(&assignment.secret_variables);
    bundle.hook = hook(&assignment.policy, &site, hook_root);
    if let Some(account) = account {
        run_as::open_launch(&launch_folder, &account)
            .map_err(|error| PrepareRefusal::folder(&launch_folder, &error))?;
        for env in bundle.ranks.iter_mut().map(|rank| &mut rank.command.env) {
            let is_new = |name: &str| env.iter().all(|(known, _)| known != name);
            let own = account.variables().into_iter().filter(|(name, _)| is_new(name));
            let own: Vec<_> = own.map(|(name, value)| (name.to_owned(), value)).collect();
            env.extend(own);
        }
        bundle.account = Some(account);
    }
    Ok(bundle)
}

/// What Python ranks load before their script; none where the task wants none, or where it cannot be written.
fn hook(policy: &RunPolicy, site: &Site, root: &Path) -> Option<HookPlan> {
    let RunPolicy { restart_hung_after_ms, warm, .. } = *policy;
    let below = HookPlan::below(root, warm != Warm::Off);
    let plan = HookPlan { restart_hung_after_ms, warm_cuda: warm == Warm::Cuda, ..below };
    let is_wanted = policy.has_hook && site.python.is_some();
    if !is_wanted {
        return None;
    }
    match plan.write() {
        Ok(()) => Some(plan),
        Err(error) => {
            tracing::warn!(%error, folder = %plan.folder.display(), "ranks go without the hook, which cannot be written");
            None
        }
    }
}

/// Whether ranks of this account can be in a folder.
fn enter(folder: &Path, account: &SystemAccount) -> Result<(), PrepareRefusal> {
    let inside = folder.join(".");
    match account.acting(|| fs::metadata(&inside)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(PrepareRefusal::RunAs(RunAsRefusal::unreachable(&account.name, folder)))
        }
        Err(error) => Err(PrepareRefusal::folder(folder, &error)),
    }
}

/// Does something with files as the account of the ranks.
fn acting<T: Send>(account: Option<&SystemAccount>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    match account {
        Some(account) => account.acting(work),
        None => work(),
    }
}

/// What this node has for the launch; Python and the interface are looked for only where the launch names them.
fn site(assignment: &Assignment, folders: Folders, work: &Path) -> Result<Site, PrepareRefusal> {
    let launch = &assignment.launch;
    let search = PythonSearch::by_variables();
    let named = assignment.interpreter.as_deref().filter(|name| !name.is_empty());
    let python = match (launch.needs(Placeholder::Python), named) {
        (true, Some(named)) => Some(search.of_this_name(named, work)),
        (true, None) => Some(search.usual()),
        (false, _) => None,
    };
    let python = python.transpose().map_err(|error| PrepareRefusal::python(&error.tried))?;
    let interface = launch.needs(Placeholder::Interface).then(|| interface(assignment));
    let visible = std::env::var(contract::CUDA_VISIBLE_DEVICES).ok();
    Ok(Site {
        folders,
        fermi: launch::own_binary(),
        search_path: python.as_deref().and_then(|python| search.path_for(python)),
        python,
        interface: interface.flatten(),
        inherited: launch::inherited(),
        tuned: BTreeSet::new(),
        devices: Devices::OfRanks { visible: visible.map(|list| visible_devices(&list)) },
        signals: contract::SIGNALS_TO_HANDLE.to_owned(),
    })
}

/// What a preflight has found, as long as this machine has it; else the way to the first node.
fn interface(assignment: &Assignment) -> Option<String> {
    let is_here = |name: &&String| network::has_interface(name);
    if let Some(missing) = assignment.interface.as_ref().filter(|name| !is_here(name)) {
        tracing::warn!(interface = %missing, "the interface that a preflight has found is gone");
    }
    assignment.interface.as_ref().filter(is_here).cloned().or_else(|| network::interface_to(&assignment.master.address))
}

/// The first node coordinates; nodes of two clusters never meet.
fn meeting(assignment: &Assignment, cluster: &str) -> Meeting {
    let run = &assignment.run;
    let coordinates = run.node_rank.get() == 0;
    let nodes = assignment.launch.node_count;
    Meeting {
        gathering: Gathering {
            nodes,
            least_nodes: nodes,
            node_rank: Some(run.node_rank.get()),
            coordinates,
            run: format!("{cluster}/{}-g{}", run.task, run.generation),
            secret: assignment.secret.clone(),
            ..Gathering::alone()
        },
        address: assignment.master.address.clone(),
        port: match (coordinates, assignment.master.port) {
            (true, None) => MasterPort::Any,
            (true, Some(port)) => MasterPort::Exactly(port),
            (false, port) => MasterPort::Elsewhere(port.unwrap_or_default()),
        },
        numbering: RankNumbering::Known,
    }
}

/// Where the task's code is, fetched if it must be; none where the task brings no code.
fn source_folder(
    assignment: &Assignment,
    cluster: &ClusterFolder,
    account: Option<&SystemAccount>,
    fetch: impl FnOnce(&str) -> Result<Box<dyn Read>, SourceError>,
) -> Result<Option<PathBuf>, PrepareRefusal> {
    match &assignment.source {
        Some(Source::Path(path)) => Ok(Some(PathBuf::from(path))),
        Some(Source::Snapshot(digest)) => {
            let missing = |error: SourceError| PrepareRefusal::NoSnapshot { digest: digest.clone(), why: error.text() };
            let sent = source::folder(&cluster.sources(), digest, || fetch(digest)).map_err(missing)?;
            let home = cluster.source_of(&assignment.run.task);
            let home = source::own_copy(&sent, &home).map_err(|error| PrepareRefusal::folder(&home, &error))?;
            account.map_or(Ok(()), |account| data_folder::hand_over(&home, account))?;
            Ok(Some(home))
        }
        None => Ok(None),
    }
}

/// The folder that the task names, inside its code where the path is relative; else the code's; else the home of the
/// account, where it has one.
fn work_folder(directory: Option<&str>, source: Option<&Path>, account: Option<&SystemAccount>) -> PathBuf {
    let root = || PathBuf::from("/");
    let home = || match account {
        Some(account) => Some(account.home.clone()).filter(|home| home.is_dir()).unwrap_or_else(root),
        None => std::env::var_os("HOME").map_or_else(root, PathBuf::from),
    };
    let base = source.map_or_else(home, Path::to_owned);
    match directory.filter(|directory| !directory.is_empty()) {
        Some(directory) => base.join(directory),
        None => base,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fermi_api::link::Master;
    use fermi_domain::ids::{Rank, WorkerId};
    use fermi_domain::launch::{LaunchFile, NodeLaunch, RankLaunch, Template};

    use super::*;
    use crate::data_folder::DataFolder;
    use crate::data_folder::tests::own_folder;

    pub(crate) fn assignment(run: &str) -> Assignment {
        let on_this_node = |(rank, slot)| RankLaunch {
            rank: Rank(rank),
            worker: WorkerId::new("gn6", slot),
            gpu: Some(slot),
            env: Vec::new(),
        };
        let launch = NodeLaunch {
            node_name: "gn 6'\"训".into(),
            node_count: 1,
            world_size: 2,
            ranks: [(0, 5), (1, 3)].map(on_this_node).to_vec(),
            argv: vec!["/bin/sh".into(), "-c".into(), "echo hi".into()],
            ..NodeLaunch::default()
        };
        let master = Master { address: "127.0.0.1".into(), port: None };
        Assignment {
            task_name: "训练 'x'".into(),
            policy: RunPolicy { join_timeout_ms: 60_000, ..RunPolicy::default() },
            secret: "s".into(),
            owner: Some("system".into()),
            ..Assignment::new(run.parse().unwrap(), launch, master)
        }
    }

    type Change = Box<dyn FnOnce(&mut Assignment)>;

    fn try_it(change: impl FnOnce(&mut Assignment)) -> (tempfile::TempDir, Result<NodeBundle, PrepareRefusal>) {
        let folder = own_folder();
        let data = DataFolder::take(folder.path()).unwrap();
        let mut assignment = assignment("task-1-g1-n0-i1");
        change(&mut assignment);
        let made =
            prepare(&assignment, &data.cluster("c"), &RunAs::Usual, |_| Err(SourceError::NotFetched("404".into())));
        (folder, made)
    }

    #[test]
    fn files_are_written_inside_the_launch_folder_and_those_with_the_port_are_left_to_the_supervisor() {
        let (folder, made) = try_it(|assignment| {
            assignment.launch.files = vec![
                LaunchFile {
                    path: "conf/ds 甲.json".into(),
                    text: Template::text("{\"out\": \"").then_placeholder(Placeholder::OutputFolder).then("\"}"),
                },
                LaunchFile { path: "late".into(), text: Template::placeholder(Placeholder::MasterPort) },
            ];
        });
        let bundle = made.unwrap();
        let launch = folder.path().join("c/runs/task-1-g1-n0-i1/launch");
        let outputs = folder.path().join("c/tasks/task-1/outputs");
        let text = fs::read_to_string(launch.join("conf/ds 甲.json")).unwrap();
        assert_eq!(text, format!("{{\"out\": \"{}\"}}", outputs.display()));
        assert!(!launch.join("late").exists());
        bundle.deferred.write_files(29_500, None);
        assert_eq!(fs::read_to_string(launch.join("late")).unwrap(), "29500");
        assert_eq!(bundle.checkpoint_dir, outputs.join("checkpoints"));
        assert!(bundle.checkpoint_dir.is_dir());
    }

    #[test]
    fn checkpoints_live_where_the_task_says_and_belong_to_the_task_of_this_cluster() {
        let shared = tempfile::tempdir().unwrap();
        let folder = shared.path().join("of all nodes/ckpt");
        let named = folder.to_str().unwrap().to_owned();
        let (_data, made) = try_it(|assignment| assignment.checkpoint_dir = Some(named));
        let bundle = made.unwrap();
        assert_eq!((&bundle.checkpoint_dir, bundle.owner.as_str()), (&folder, "c/task-1"));
        assert!(folder.is_dir());
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_sentence_and_a_hint() {
        let file = |path: &str| vec![LaunchFile { path: path.into(), text: "x".into() }];
        let cases: [(&str, Change); 6] = [
            ("../evil", Box::new(move |a| a.launch.files = file("../evil"))),
            ("/etc/evil", Box::new(move |a| a.launch.files = file("/etc/evil"))),
            ("/no/such/folder", Box::new(|a| a.launch.directory = Some("/no/such/folder".into()))),
            ("/no/source", Box::new(|a| a.source = Some(Source::Path("/no/source".into())))),
            ("404", Box::new(|a| a.source = Some(Source::Snapshot("0".repeat(64))))),
            (
                "/no/python",
                Box::new(|a| {
                    a.interpreter = Some("/no/python".into());
                    a.launch.argv.insert(0, Template::placeholder(Placeholder::Python));
                }),
            ),
        ];
        for (word, change) in cases {
            let refusal = try_it(change).1.unwrap_err();
            let LaunchFailed { reason, hint, .. } = refusal.for_run("task-1-g1-n0-i1".parse().unwrap());
            assert!(reason.en.contains(word) && reason.zh.contains(word), "{refusal:?}");
            assert!(!hint.zh.is_empty() && !hint.en.is_empty());
        }
    }

    #[test]
    fn the_first_node_takes_the_port_and_the_others_come_to_it() {
        let first = meeting(&assignment("task-1-g4-n0-i1"), "c");
        assert_eq!((first.gathering.coordinates, first.port), (true, MasterPort::Any));
        let mut third = assignment("task-1-g4-n2-i1");
        third.launch.node_count = 3;
        third.master.port = Some(29_511);
        let third = meeting(&third, "c");
        assert_eq!((third.gathering.coordinates, third.port), (false, MasterPort::Elsewhere(29_511)));
        assert_eq!((third.gathering.run.as_str(), third.gathering.nodes), ("c/task-1-g4", 3));
    }
}
