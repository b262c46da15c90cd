//! Stacks of Python threads, as `faulthandler` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// Frames that are kept of a stack: where it stands, and what led there.
pub(super) const KEPT: usize = 16;
/// Ranks may call files and functions anything.
const LONGEST_NAME: usize = 256;

/// A line of somebody's code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Frame {
    pub file: String,
    pub line: u32,
    pub function: String,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        write!(f, "{name}:{} ({})", self.line, self.function)
    }
}

/// Folders and files of debuggers for Python.
const DEBUGGERS: [&str; 9] =
    ["pdb.py", "bdb.py", "debugpy", "pydevd.py", "_pydevd_bundle", "ipdb", "pudb", "pdbpp.py", "trepan"];

impl Frame {
    /// Whether it is a debugger's, in which somebody steps through the script.
    pub(super) fn is_of_debugger(&self) -> bool {
        self.file.split('/').any(|name| DEBUGGERS.contains(&name))
    }
}

/// How the names of files begin where only that is left of them: packages, and modules of Python itself.
const PACKAGES: [&str; 28] = [
    "accelerate",
    "asyncio",
    "concurrent",
    "concurrent.futures",
    "datasets",
    "deepspeed",
    "flax",
    "importlib",
    "jax",
    "lightning",
    "megatron",
    "multiprocessing",
    "numpy",
    "peft",
    "pytorch_lightning",
    "queue.py",
    "runpy.py",
    "selectors.py",
    "socket.py",
    "ssl.py",
    "subprocess.py",
    "threading.py",
    "torch",
    "torchvision",
    "transformers",
    "trl",
    "urllib3",
    "xla",
];

impl Frame {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("  File \"")?;
        let (file, rest) = rest.split_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        Some(Self { file: cut(file), line: number.parse().ok()?, function: cut(function.trim_end()) })
    }

    /// The whole of it in one line.
    pub fn line(&self) -> String {
        let Self { file, line, function } = self;
        format!("  {file}:{line} {function}")
    }

    /// As much of it as any stack has, whoever has told it.
    fn bounded(&self) -> Self {
        Self { file: cut(&self.file), line: self.line, function: cut(&self.function) }
    }

    /// Whether it is part of an installed library or of Python itself, not of the user's code.
    fn is_of_library(&self) -> bool {
        let parts = ["/site-packages/", "/dist-packages/", "/lib/python3", "<frozen"];
        // py-spy leaves out the folder in which a package lies.
        let package = self.file.split('/').next().unwrap_or_default();
        parts.iter().any(|part| self.file.contains(part)) || PACKAGES.contains(&package)
    }
}

/// The end of a name that is too long: the file's own name is there.
fn cut(name: &str) -> String {
    let length = name.chars().count();
    name.chars().skip(length.saturating_sub(LONGEST_NAME)).collect()
}

/// Ranks whose main threads stand at the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StackGroup {
    pub ranks: Vec<u32>,
    /// The innermost first; empty for ranks that gave none.
    pub frames: Vec<Frame>,
}

/// So many frames of a stack are shown in a report.
const SHOWN: usize = 4;

impl StackGroup {
    /// For a report: who, and where.
    pub fn lines(&self) -> Vec<String> {
        let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
        let frames = self.frames.iter().take(SHOWN).map(Frame::line);
        [format!("rank {}", ranks.join(", "))].into_iter().chain(frames).collect()
    }

    /// What a journal says of stacks, within the bounds that honest ranks keep: each of the task's ranks once.
    pub fn bounded(groups: &[Self], world_size: u32) -> Vec<Self> {
        let mut named = BTreeSet::new();
        let mut kept: Vec<Self> = groups
            .iter()
            .map(|group| Self {
                ranks: group.ranks.iter().copied().filter(|rank| *rank < world_size && named.insert(*rank)).collect(),
                frames: group.frames.iter().take(KEPT).map(Frame::bounded).collect(),
            })
            .collect();
        kept.retain(|group| !group.ranks.is_empty());
        kept
    }
}

/// The frames of the thread that got the signal, which is the main thread.
pub fn trained_in(dump: &str) -> Vec<Frame> {
    let main = dump.lines().skip_while(|line| !line.starts_with("Current thread")).skip(1);
    main.map_while(Frame::parse).take(KEPT).collect()
}

/// The frames that stand one below the other.
pub fn frames_of(text: &str) -> Vec<Frame> {
    text.lines().map_while(Frame::parse).take(KEPT).collect()
}

/// Whether the rank waits for a batch of torch's data loader.
pub(super) fn waits_for_loader(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.file.ends_with("/torch/utils/data/dataloader.py"))
}

/// The innermost frame of the user's own code; that of a library where there is none.
pub fn own_frame(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| !frame.is_of_library()).or_else(|| frames.first())
}

/// The ranks that do the same together: the most ranks first.
pub fn grouped(stacks: &BTreeMap<u32, Vec<Frame>>) -> Vec<StackGroup> {
    let mut groups: BTreeMap<&[Frame], Vec<u32>> = BTreeMap::new();
    for (rank, frames) in stacks {
        groups.entry(frames).or_default().push(*rank);
    }
    let mut groups: Vec<StackGroup> =
        groups.into_iter().map(|(frames, ranks)| StackGroup { ranks, frames: frames.to_vec() }).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.ranks.len()), group.ranks.clone()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "Thread 0x00007f8 (most recent call first):\n  File \"/env/lib/python3.11/threading.py\", line 320 in wait\n\n\
        Current thread 0x00007f9 (most recent call first):\n  File \"/env/lib/python3.11/site-packages/torch/distributed/x.py\", line 2 in all_reduce\n  \
        File \"/home/me/train.py\", line 15 in load batch\n  File \"/home/me/train.py\", line 80 in <module>\n";

    #[test]
    fn the_main_thread_is_read_and_the_users_own_line_found() {
        let frames = trained_in(DUMP);
        assert_eq!(frames.len(), 3);
        assert_eq!(own_frame(&frames).unwrap().to_string(), "train.py:15 (load batch)");
        assert_eq!(own_frame(&frames[..1]).unwrap().to_string(), "x.py:2 (all_reduce)");
        assert!(trained_in("").is_empty() && own_frame(&[]).is_none());
        assert!(trained_in("Current thread 0x1:\n  File \"x\", line nonsense").is_empty());
    }

    #[test]
    fn ranks_at_the_same_place_are_told_together() {
        let frame = |line| vec![Frame { file: "a.py".to_owned(), line, function: "f".to_owned() }];
        let stacks = [(0, frame(7)), (1, frame(3)), (2, frame(7)), (3, Vec::new())].into();
        let ranks: Vec<Vec<u32>> = grouped(&stacks).into_iter().map(|group| group.ranks).collect();
        assert_eq!(ranks, [vec![0, 2], vec![1], vec![3]]);
    }
}
