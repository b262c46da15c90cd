//! What `fermi run` refuses, and why. The sentences, each with its hint beside it, are in [`told`].

mod told;

use crate::language::{Explained, FrontEnd, Hint, Text};
use crate::messages::slurm::SlurmProblem;

/// A reason not to start. Nothing has been started or changed when one of these is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunProblem {
    NoScript,
    UnknownOption {
        name: String,
        near: Option<String>,
    },
    ScriptNotFound {
        path: String,
    },
    ScriptIsFolder {
        path: String,
    },
    ScriptNotReadable {
        path: String,
        error: Text,
    },
    ScriptIsProgram {
        path: String,
    },
    ProgramNotFound {
        name: String,
    },
    ProgramNotExecutable {
        path: String,
    },
    PythonNotFound {
        tried: String,
    },
    ModuleWithoutPython,
    WarmWithoutHook,
    WarmWithoutPython,
    RunPathWithoutFile {
        path: String,
    },
    BadProcessCount {
        value: String,
    },
    TooManyProcesses {
        value: usize,
        most: usize,
    },
    TwoProcessCounts {
        one: String,
        other: String,
    },
    NoGpu,
    NotEnoughGpus {
        wanted: usize,
        found: usize,
    },
    BadNodeCount {
        value: String,
    },
    NodeRankBeyond {
        value: u32,
        nodes: u32,
    },
    NodeRankMissing,
    MasterAddrMissing,
    BadEndpoint {
        value: String,
    },
    BadRendezvousConf {
        value: String,
    },
    BadRendezvousBackend {
        value: String,
    },
    RanksFilterOnSeveralNodes,
    BadStreams {
        flag: &'static str,
        value: String,
    },
    BadRankList {
        flag: &'static str,
        value: String,
    },
    BadSignal {
        value: String,
    },
    UncatchableSignal {
        value: String,
    },
    BadDuration {
        flag: &'static str,
        value: String,
    },
    BadMasterAddr {
        value: String,
    },
    BadPort {
        value: String,
    },
    BadVariable {
        name: &'static str,
        value: String,
    },
    BadAssignment {
        value: String,
    },
    BadDeviceList {
        flag: &'static str,
        value: String,
    },
    UnknownHost {
        value: String,
    },
    /// A file of hosts where a host is expected.
    HostFile {
        path: String,
    },
    BadCpuList {
        value: String,
    },
    LogFolderIsFile {
        path: String,
    },
    FolderNotWritable {
        path: String,
        error: Text,
    },
    PathNotUnicode {
        path: String,
    },
    NoHome,
    NoWorkingFolder {
        error: Text,
    },
    UnknownMode {
        value: String,
    },
    RankWithoutWorld,
    RankBeyondWorld {
        rank: u32,
        world: u32,
    },
    WorldAgainstProcesses {
        world: u32,
        processes: u32,
    },
    TorchrunNotFound,
    /// There is no `/proc`.
    NoProcesses,
    KeepersNotStarted {
        error: Text,
    },
    /// Said by the framework itself.
    Framework {
        text: Text,
        hint: Text,
    },
    FrameworkWithoutSeat,
    /// The framework itself serves at the port where the store would be.
    StoreOfFramework {
        framework: &'static str,
    },
    /// `python` where the script is expected.
    InterpreterAsScript {
        name: String,
    },
    /// A path where the name of a module is expected.
    ModuleIsPath {
        path: String,
    },
    Slurm(SlurmProblem),
}

impl RunProblem {
    /// What a framework, or the rank map made for it, says.
    pub fn of_framework(message: &impl Explained) -> Self {
        let text = message.text();
        let hint = message.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
        Self::Framework { hint: hint.unwrap_or_else(|| text.clone()), text }
    }
}

impl Explained for RunProblem {
    fn id(&self) -> &'static str {
        "run_refused"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        self.told().1
    }
}

impl From<SlurmProblem> for RunProblem {
    fn from(problem: SlurmProblem) -> Self {
        Self::Slurm(problem)
    }
}
