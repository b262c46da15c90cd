//! Makes everything ready for a launch: folders, code, files, and at last the bundle.

use std::fmt::Display;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use fermi_api::link::{Assignment, LaunchFailed};
use fermi_attempt::bundle::NodeBundle;
use fermi_attempt::virtual_env;
use fermi_domain::contract;
use fermi_domain::language::Text;
use fermi_domain::launch::{Phrase, Place};
use fermi_domain::task::{RunKey, Source};

use crate::bundle::{self, Homes, Inherited};
use crate::data_folder::{self, ClusterFolder};
use crate::places::{self, Places};
use crate::source::{self, SourceError};

/// Why a launch comes to nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Text,
    pub hint: Text,
}

impl Refusal {
    pub fn for_run(self, run: RunKey) -> LaunchFailed {
        LaunchFailed { run, reason: self.reason, hint: self.hint }
    }

    pub fn python(tried: &str) -> Self {
        Self {
            reason: Text::new(
                format!("节点上没有可用的 Python：{tried}"),
                format!("this node has no such Python: {tried}"),
            ),
            hint: Text::new(
                "在任务中用 interpreter 指定 Python 或虚拟环境的路径，或在该节点上安装 Python",
                "name a Python or a virtual environment in the task's interpreter, or install Python on this node",
            ),
        }
    }

    pub fn keepers(error: &dyn Display) -> Self {
        Self {
            reason: Text::new(
                format!("无法启动 supervisor：{error}"),
                format!("the supervisor cannot be started: {error}"),
            ),
            hint: Text::new(
                "检查该节点的进程数和打开文件数限制（ulimit）",
                "check this node's limits on processes and open files (ulimit)",
            ),
        }
    }

    fn folder(path: &Path, error: &dyn Display) -> Self {
        let path = path.display();
        Self {
            reason: Text::new(format!("无法写入 {path}：{error}"), format!("cannot write to {path}: {error}")),
            hint: Text::new("检查该节点的磁盘空间和权限", "check disk space and permissions on this node"),
        }
    }

    fn no_folder(path: &Path) -> Self {
        let path = path.display();
        Self {
            reason: Text::new(format!("节点上没有文件夹 {path}"), format!("this node has no folder {path}")),
            hint: Text::new(
                "使用所有节点都有的路径，或把代码作为快照随任务发送",
                "use a path that every node has, or send the code with the task as a snapshot",
            ),
        }
    }

    fn file(path: &str) -> Self {
        Self {
            reason: Text::new(
                format!("启动文件“{path}”不在启动文件夹内"),
                format!("the launch file `{path}` is not inside the launch folder"),
            ),
            hint: Text::new("使用不含 .. 的相对路径", "use a relative path without .."),
        }
    }

    fn source(digest: &str, error: &SourceError) -> Self {
        Self {
            reason: Text::new(
                format!("无法取得代码快照 {digest}：{error}"),
                format!("cannot get the snapshot {digest}: {error}"),
            ),
            hint: Text::new("重新提交任务以再次上传代码", "submit the task again, which uploads the code anew"),
        }
    }
}

/// Does it. `fetch` opens the archive of a digest.
pub fn prepare(
    assignment: &Assignment,
    cluster: &ClusterFolder,
    inherited: &Inherited,
    fetch: impl FnOnce(&str) -> Result<Box<dyn Read>, SourceError>,
) -> Result<NodeBundle, Refusal> {
    let run = &assignment.run;
    let launch = cluster.launch(run);
    let outputs = match &assignment.output_dir {
        Some(folder) => PathBuf::from(folder),
        None => cluster.outputs(&run.task),
    };
    let checkpoints = outputs.join("checkpoints");
    for folder in [&cluster.run(run), &launch] {
        data_folder::make(folder).map_err(|error| Refusal::folder(folder, &error))?;
    }
    fs::create_dir_all(&checkpoints).map_err(|error| Refusal::folder(&checkpoints, &error))?;
    let source = match &assignment.source {
        Some(Source::Path(path)) => Some(PathBuf::from(path)),
        Some(Source::Snapshot(digest)) => Some(
            source::folder(&cluster.sources(), digest, || fetch(digest))
                .map_err(|error| Refusal::source(digest, &error))?,
        ),
        None => None,
    };
    let work = work_folder(assignment.directory.as_deref(), source.as_deref());
    for folder in source.iter().chain([&work]) {
        if !folder.is_dir() {
            return Err(Refusal::no_folder(folder));
        }
    }
    let needs = |place: Place| all_phrases(assignment).any(|phrase| phrase.places().any(|named| named == place));
    let python = match needs(Place::Python) {
        true => places::python(assignment.interpreter.as_deref(), &work)?,
        false => PathBuf::new(),
    };
    let path = std::env::var_os(contract::PATH).unwrap_or_default();
    let places = Places {
        launch: launch.clone(),
        outputs,
        checkpoints,
        source: source.unwrap_or_else(|| work.clone()),
        fermi: own_binary(),
        search_path: virtual_env::search_path(&python, &path),
        python,
        master_address: assignment.master_address.clone(),
        interface: if needs(Place::Interface) {
            places::interface_to(&assignment.master_address).unwrap_or_default()
        } else {
            String::new()
        },
    };
    write_files(assignment, &places)?;
    let homes = Homes {
        run_id: cluster.run_id(run),
        live: cluster.live.clone(),
        run: cluster.run(run),
        work,
        cluster: cluster.name.clone(),
    };
    Ok(bundle::make(assignment, &places, &homes, inherited))
}

/// The folder that the task names, inside its code where the path is relative; else the code's; else the user's home.
fn work_folder(directory: Option<&str>, source: Option<&Path>) -> PathBuf {
    let home = || std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let base = source.map_or_else(home, Path::to_owned);
    match directory.filter(|directory| !directory.is_empty()) {
        Some(directory) => base.join(directory),
        None => base,
    }
}

fn all_phrases(assignment: &Assignment) -> impl Iterator<Item = &Phrase> {
    let env = assignment.env.iter().chain(assignment.ranks.iter().flat_map(|rank| &rank.env)).map(|(_, value)| value);
    assignment.argv.iter().chain(env).chain(assignment.files.iter().map(|file| &file.text))
}

/// Writes the launch's files, and makes room for those that the supervisor will write.
fn write_files(assignment: &Assignment, places: &Places) -> Result<(), Refusal> {
    for file in &assignment.files {
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if file.path.is_empty() || !Path::new(&file.path).components().all(is_inside) {
            return Err(Refusal::file(&file.path));
        }
        let path = places.launch.join(&file.path);
        let folder = path.parent().unwrap_or(&places.launch);
        data_folder::make(folder).map_err(|error| Refusal::folder(folder, &error))?;
        if !bundle::is_late(&file.text) {
            let text = file.text.fill(|place| places.of(place));
            fs::write(&path, text).map_err(|error| Refusal::folder(&path, &error))?;
        }
    }
    Ok(())
}

/// The binary that runs now, by a name that still leads to one after an upgrade.
fn own_binary() -> PathBuf {
    let path = fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let replaced = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map(PathBuf::from);
    replaced.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use fermi_domain::launch::LaunchFile;

    use super::*;
    use crate::bundle::tests::assignment;
    use crate::data_folder::DataFolder;

    type Change = Box<dyn FnOnce(&mut Assignment)>;

    fn try_it(change: impl FnOnce(&mut Assignment)) -> (tempfile::TempDir, Result<NodeBundle, Refusal>) {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::take(folder.path()).unwrap();
        let mut assignment = assignment("task-1-g1-n0-i1");
        change(&mut assignment);
        let made = prepare(&assignment, &data.cluster("c"), &Inherited::default(), |_| {
            Err(SourceError::NotFetched("404".into()))
        });
        (folder, made)
    }

    #[test]
    fn files_are_written_inside_the_launch_folder_and_those_with_the_port_are_left_to_the_supervisor() {
        let (folder, made) = try_it(|assignment| {
            assignment.files = vec![
                LaunchFile {
                    path: "conf/ds 甲.json".into(),
                    text: Phrase::text("{\"out\": \"").then_place(Place::OutputFolder).then("\"}"),
                },
                LaunchFile { path: "late".into(), text: Phrase::place(Place::MasterPort) },
            ];
        });
        let bundle = made.unwrap();
        let launch = folder.path().join("c/runs/task-1-g1-n0-i1/launch");
        let outputs = folder.path().join("c/tasks/task-1/outputs");
        let text = fs::read_to_string(launch.join("conf/ds 甲.json")).unwrap();
        assert_eq!(text, format!("{{\"out\": \"{}\"}}", outputs.display()));
        assert!(!launch.join("late").exists());
        bundle.late.write_files(29_500);
        assert_eq!(fs::read_to_string(launch.join("late")).unwrap(), "29500");
        assert_eq!(bundle.checkpoint_dir, outputs.join("checkpoints"));
        assert!(bundle.checkpoint_dir.is_dir());
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_sentence_and_a_hint() {
        let file = |path: &str| vec![LaunchFile { path: path.into(), text: "x".into() }];
        let cases: [(&str, Change); 6] = [
            ("../evil", Box::new(move |a| a.files = file("../evil"))),
            ("/etc/evil", Box::new(move |a| a.files = file("/etc/evil"))),
            ("/no/such/folder", Box::new(|a| a.directory = Some("/no/such/folder".into()))),
            ("/no/source", Box::new(|a| a.source = Some(Source::Path("/no/source".into())))),
            ("404", Box::new(|a| a.source = Some(Source::Snapshot("0".repeat(64))))),
            (
                "/no/python",
                Box::new(|a| {
                    a.interpreter = Some("/no/python".into());
                    a.argv.insert(0, Phrase::place(Place::Python));
                }),
            ),
        ];
        for (word, change) in cases {
            let refusal = try_it(change).1.unwrap_err();
            assert!(refusal.reason.en.contains(word) && refusal.reason.zh.contains(word), "{refusal:?}");
            assert!(!refusal.hint.zh.is_empty() && !refusal.hint.en.is_empty());
        }
    }
}
