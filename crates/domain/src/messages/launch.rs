//! What `fermi launch-multi-node` refuses and reports: each a sentence and a hint.

use crate::language::{Explained, Hint, Text};

/// A reason not to start. Nothing has been started when one of these is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchProblem {
    NoScript,
    NoHosts,
    HostListUnreadable { path: String, error: Text },
    BadHostLine { place: String, text: String },
    HostTwice { host: String },
    EmptyHostList { place: String },
    BadHostName { host: String },
    BadCount { what: &'static str, value: String },
    TooFewHosts { wanted: usize, found: usize },
    MasterNotListed { master: String },
    MasterIsLoopback { master: String, other: String },
    BadFilter { flag: &'static str, value: String },
    FilteredHostUnknown { flag: &'static str, host: String },
    FilteredSlotUnknown { flag: &'static str, host: String, slot: u32, slots: u32 },
    SlotsNotStated { host: String },
    NothingLeft,
    SetByLaunch { option: String },
    BadAssignment { value: String },
    VariableNotSet { name: String },
    BadEnvironmentLine { path: String, line: usize, text: String },
    SshNotFound { program: String, error: Text },
    BinaryUnreadable { error: Text },
    NoWorkingFolder { error: Text },
}

impl LaunchProblem {
    /// The sentence, and beside it what to do.
    fn told(&self) -> (Text, Hint) {
        match self {
            Self::NoScript => (
                Text::new("没有指定要运行的脚本", "no script to run was given"),
                both("fermi launch-multi-node 10.0.0.1 2 4 train.py", "例如：", "for example: "),
            ),
            Self::NoHosts => (
                Text::new("不知道要在哪些主机上启动", "there is no list of hosts to start on"),
                Hint::new(
                    "用 --hostfile FILE（每行 `主机 slots=N`）、当前目录下的 hostfile，或 --hosts a:4,b:4",
                    "use --hostfile FILE with lines `host slots=N`, a file hostfile in this folder, or --hosts a:4,b:4",
                ),
            ),
            Self::HostListUnreadable { path, error } => (
                Text::new(
                    format!("无法读取主机列表 {path}：{}", error.zh),
                    format!("cannot read the hosts in {path}: {}", error.en),
                ),
                Hint::new("检查路径和权限", "check the path and its permissions"),
            ),
            Self::BadHostLine { place, text } => (
                Text::new(format!("{place} 不是一个主机：“{text}”"), format!("{place} is no host: '{text}'")),
                both("gn6 slots=4", "每行一台主机，例如：", "one host in each line, such as: "),
            ),
            Self::HostTwice { host } => (
                Text::new(format!("主机 {host} 在列表中出现了两次"), format!("the host {host} is listed twice")),
                Hint::new("每台主机只写一次，用 slots=N 说明个数", "name each host once, with slots=N"),
            ),
            Self::EmptyHostList { place } => (
                Text::new(format!("{place} 中没有主机"), format!("there is no host in {place}")),
                both("gn6 slots=4", "每行写一台，例如：", "write one in each line, such as: "),
            ),
            Self::BadHostName { host } => (
                Text::new(format!("“{host}” 不能是主机名"), format!("'{host}' cannot be the name of a host")),
                Hint::new("写主机名、地址或 user@host", "write a name, an address or user@host"),
            ),
            Self::BadCount { what, value } => (
                Text::new(format!("{what} 不能是 “{value}”"), format!("{what} cannot be '{value}'")),
                Hint::new(
                    "用正整数，或 auto（列表中的全部）",
                    "use a number from 1 up, or auto for all that the list has",
                ),
            ),
            Self::TooFewHosts { wanted, found } => (
                Text::new(
                    format!("需要 {wanted} 台主机，列表中只有 {found} 台"),
                    format!("{wanted} hosts are asked for, {found} can be used"),
                ),
                Hint::new("在主机列表中补充主机，或减少 NODES", "add hosts to the list, or ask for fewer NODES"),
            ),
            Self::MasterNotListed { master } => (
                Text::new(
                    format!("主节点 {master} 不在主机列表中，而列表已经够用"),
                    format!("the master {master} is not in the list of hosts, which is long enough without it"),
                ),
                Hint::new(
                    "MASTER 写列表中的名字（或 auto 取第一台）；若它在网络中另有地址，用 --master-addr",
                    "let MASTER be a name from the list, or auto for the first; --master-addr gives another address of it",
                ),
            ),
            Self::MasterIsLoopback { master, other } => (
                Text::new(
                    format!("{other} 无法通过 {master} 找到主节点"),
                    format!("{other} cannot reach the first host at {master}"),
                ),
                Hint::new(
                    "用 --master-addr 给出主节点在网络中的地址",
                    "give the first host's address in the network with --master-addr",
                ),
            ),
            Self::BadFilter { flag, value } => (
                Text::new(format!("{flag} 不能是 “{value}”"), format!("{flag} cannot be '{value}'")),
                both("w0@w1:0,2", "例如：", "for example: "),
            ),
            Self::FilteredHostUnknown { flag, host } => (
                Text::new(
                    format!("{flag} 提到的 {host} 不在主机列表中"),
                    format!("{flag} names {host}, which is not in the list of hosts"),
                ),
                Hint::new("检查拼写；名字要与列表一致", "check the spelling; names are those of the list"),
            ),
            Self::FilteredSlotUnknown { flag, host, slot, slots } => (
                Text::new(
                    format!("{flag} 提到 {host} 的第 {slot} 个槽位，而它只有 {slots} 个（从 0 开始）"),
                    format!("{flag} names slot {slot} of {host}, which has {slots}, counted from 0"),
                ),
                Hint::new("检查 slots=N", "check slots=N in the list"),
            ),
            Self::SlotsNotStated { host } => (
                Text::new(
                    format!("列表没有说明 {host} 有几个槽位，无法从中排除"),
                    format!("the list does not say how many slots {host} has, so none can be left out"),
                ),
                both(&format!("{host} slots=4"), "在列表中写明，例如：", "say it in the list, such as: "),
            ),
            Self::NothingLeft => (
                Text::new("--include/--exclude 之后没有剩下主机", "--include and --exclude leave no host"),
                Hint::new("放宽条件", "leave fewer out"),
            ),
            Self::SetByLaunch { option } => (
                Text::new(
                    format!("{option} 由 launch-multi-node 为每台主机设置"),
                    format!("{option} is set by launch-multi-node itself, for each host"),
                ),
                Hint::new(
                    "主机与个数由 MASTER NODES GPUS 和主机列表决定",
                    "hosts and their ranks follow from MASTER NODES GPUS and the list of hosts",
                ),
            ),
            Self::BadAssignment { value } => (
                Text::new(
                    format!("-x 需要 NAME 或 NAME=VALUE，而不是 “{value}”"),
                    format!("-x needs NAME or NAME=VALUE, not '{value}'"),
                ),
                both("-x NCCL_DEBUG=INFO", "例如：", "for example: "),
            ),
            Self::VariableNotSet { name } => (
                Text::new(
                    format!("-x {name}：这里没有设置该环境变量"),
                    format!("-x {name}: there is no such variable here to pass on"),
                ),
                both(&format!("-x {name}=VALUE"), "写成 ", "write "),
            ),
            Self::BadEnvironmentLine { path, line, text } => (
                Text::new(
                    format!("{path} 第 {line} 行不是 NAME=VALUE：“{text}”"),
                    format!("line {line} of {path} is not NAME=VALUE: '{text}'"),
                ),
                both("NCCL_DEBUG=INFO", "每行一个，例如：", "one in each line, such as: "),
            ),
            Self::SshNotFound { program, error } => (
                Text::new(format!("无法启动 {program}：{}", error.zh), format!("cannot start {program}: {}", error.en)),
                Hint::new(
                    "安装 openssh-client，或用 --ssh 指定程序",
                    "install openssh-client, or name another program with --ssh",
                ),
            ),
            Self::BinaryUnreadable { error } => (
                Text::new(
                    format!("无法读取自身以便复制：{}", error.zh),
                    format!("cannot read this program to copy it: {}", error.en),
                ),
                Hint::new("去掉 --copy-binary", "leave --copy-binary out"),
            ),
            Self::NoWorkingFolder { error } => (
                Text::new(
                    format!("当前目录不可用：{}", error.zh),
                    format!("the current folder cannot be used: {}", error.en),
                ),
                Hint::new("换到一个存在的目录再运行", "change to a folder that exists and try again"),
            ),
        }
    }
}

impl Explained for LaunchProblem {
    fn id(&self) -> &'static str {
        "launch_refused"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

fn both(example: &str, zh: &str, en: &str) -> Hint {
    Hint::new(format!("{zh}{example}"), format!("{en}{example}"))
}

/// What is wrong with one host, found before anything was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostTrouble {
    Unreachable { said: String },
    Silent { seconds: u64 },
    NoFolder { path: String },
    NoFermi { tried: String },
    FermiDoesNotRun { path: String },
    OtherVersion { path: String, theirs: String, ours: String },
    NotCopied { said: String },
    Refused { said: String },
}

impl HostTrouble {
    /// The sentence, and beside it what to do.
    fn told(&self) -> (Text, Option<Hint>) {
        let ssh = || {
            Some(Hint::new(
                "先试 `ssh 主机 true`：要能不输密码登录（ssh-copy-id），端口用 --ssh-port，用户用 --user，其余用 --ssh-option",
                "try `ssh HOST true` first: it must work without a password (ssh-copy-id); --ssh-port, --user and --ssh-option are passed to ssh",
            ))
        };
        let binary = || {
            Some(Hint::new(
                "加上 --copy-binary 把这个 fermi 复制过去，或用 --remote-fermi 指定它在那里的路径",
                "add --copy-binary to copy this fermi there, or say with --remote-fermi where it is",
            ))
        };
        match self {
            Self::Unreachable { said } => {
                (Text::new(format!("连接失败：{said}"), format!("cannot be reached: {said}")), ssh())
            }
            Self::Silent { seconds } => {
                (Text::new(format!("{seconds} 秒内没有回答"), format!("did not answer within {seconds} s")), ssh())
            }
            Self::NoFolder { path } => (
                Text::new(format!("那里没有目录 {path}"), format!("there is no folder {path}")),
                Some(Hint::new(
                    "在那里建立同样的目录（共享磁盘，或 rsync 代码），或用 --chdir 指定另一个",
                    "make the same folder there (a shared disk, or rsync your code), or name another with --chdir",
                )),
            ),
            Self::NoFermi { tried } => (
                Text::new(format!("那里没有 fermi（找过 {tried}）"), format!("there is no fermi (looked for {tried})")),
                binary(),
            ),
            Self::FermiDoesNotRun { path } => (
                Text::new(format!("{path} 在那里无法运行"), format!("{path} does not run there")),
                Some(Hint::new(
                    "检查处理器架构（uname -m）；不同架构请在那里安装对应的 fermi，并用 --remote-fermi 指定",
                    "check the architecture (uname -m); install a fermi for it there and name it with --remote-fermi",
                )),
            ),
            Self::OtherVersion { path, theirs, ours } => (
                Text::new(format!("{path} 是 {theirs}，这里是 {ours}"), format!("{path} is {theirs}, this is {ours}")),
                binary(),
            ),
            Self::NotCopied { said } => (
                Text::new(format!("无法复制 fermi：{said}"), format!("fermi could not be copied: {said}")),
                Some(Hint::new(
                    "检查那里的 ~/.cache 是否可写、磁盘是否已满",
                    "check that ~/.cache can be written there and has room",
                )),
            ),
            Self::Refused { said } => (Text::new(said.clone(), said.clone()), None),
        }
    }
}

impl Explained for HostTrouble {
    fn id(&self) -> &'static str {
        "host_not_ready"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        self.told().1
    }
}

/// What is said in the course of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchNews {
    NotReady { troubled: usize, hosts: usize },
    Ready,
    Copying { hosts: usize },
    Starting { ranks: Option<u32>, hosts: String, master: String },
    Stopping { signal: String },
    Killing,
    ConnectionLost { host: String, said: String },
    EndedEarly { host: String, how: String },
    LeftRunning { hosts: String },
}

impl LaunchNews {
    pub fn text(&self) -> Text {
        match self {
            Self::NotReady { troubled, hosts } => Text::new(
                format!("{hosts} 台主机中有 {troubled} 台没有就绪，什么都没有启动"),
                format!("{troubled} of {hosts} hosts are not ready; nothing was started"),
            ),
            Self::Ready => Text::new("就绪", "ready"),
            Self::Copying { hosts } => {
                Text::new(format!("正在把 fermi 复制到 {hosts} 台主机"), format!("copying fermi to {hosts} hosts"))
            }
            Self::Starting { ranks: Some(ranks), hosts, master } => Text::new(
                format!("共 {ranks} 个 rank：{hosts} · master {master}"),
                format!("{ranks} ranks: {hosts} · master {master}"),
            ),
            Self::Starting { ranks: None, hosts, master } => {
                Text::new(format!("启动 {hosts} · master {master}"), format!("starting {hosts} · master {master}"))
            }
            Self::Stopping { signal } => Text::new(
                format!("正在停止所有主机（{signal}）；再按一次 Ctrl-C 立即终止"),
                format!("stopping all hosts ({signal}); Ctrl-C again kills"),
            ),
            Self::Killing => Text::new("正在立即终止所有主机上的进程", "killing everything on all hosts"),
            Self::ConnectionLost { host, said } => Text::new(
                format!("与 {host} 的 ssh 连接断开（{said}），那里的进程随之结束"),
                format!("the ssh connection to {host} broke ({said}), and what ran there ended with it"),
            ),
            Self::EndedEarly { host, how } => Text::new(
                format!("{host} 上的 fermi run 提前结束（{how}），其余已停止"),
                format!("fermi run on {host} ended early ({how}); the others were stopped"),
            ),
            Self::LeftRunning { hosts } => Text::new(
                format!("没有等到 {hosts} 的结束；连接已切断，那里的进程会自行停止"),
                format!(
                    "the end on {hosts} was not waited for; the connection is cut, and what runs there stops by itself"
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::FrontEnd;

    #[test]
    fn every_sentence_is_there_in_both_languages() {
        let problems = [
            LaunchProblem::NoHosts,
            LaunchProblem::BadCount { what: "NODES", value: "x".into() },
            LaunchProblem::SetByLaunch { option: "--nnodes".into() },
        ];
        for problem in problems {
            for text in [problem.text(), problem.hint().unwrap().spelled(FrontEnd::CommandLine)] {
                assert!(!text.en.is_empty() && text.en.is_ascii(), "{text:?}");
                assert!(!text.zh.is_ascii(), "{text:?}");
            }
        }
    }
}
