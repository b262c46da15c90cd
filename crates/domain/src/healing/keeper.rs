//! A keeper that stands still: it can neither end its run nor keep a lease, and looks alive to all who ask.

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// What holds a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeeperPause {
    /// A signal such as SIGSTOP; it is told to go on.
    Stopped,
    /// A debugger holds it, which only that can end.
    Traced,
    /// Its cgroup is frozen, which only whoever froze it can end.
    Frozen,
}

impl KeeperPause {
    /// Of the warden with this process number.
    pub fn text(self, pid: i32) -> Text {
        match self {
            Self::Stopped => Text::new(
                format!("看护进程 {pid} 曾被 SIGSTOP 之类的信号暂停，期间没有人看护这次运行；已让它继续"),
                format!(
                    "the warden, process {pid}, was stopped by a signal such as SIGSTOP, and nobody watched over the \
                     run meanwhile; it was told to go on"
                ),
            ),
            Self::Traced => Text::new(
                format!("看护进程 {pid} 被调试器暂停：调试器让它继续之前没有人看护这次运行，结束后也无法释放 Worker"),
                format!(
                    "the warden, process {pid}, is held by a debugger: until that lets it go on nobody watches over the \
                     run, and its workers are not given back when it ends"
                ),
            ),
            Self::Frozen => Text::new(
                format!(
                    "看护进程 {pid} 所在的 cgroup 被冻结：解冻（cgroup.freeze 写入 0）之前没有人看护这次运行，结束后也无法释放 Worker"
                ),
                format!(
                    "the warden, process {pid}, is frozen by its cgroup: until that is thawed (write 0 to its \
                     cgroup.freeze) nobody watches over the run, and its workers are not given back when it ends"
                ),
            ),
        }
    }
}

/// Of the supervisor with this process number, which the warden has let go on.
pub fn supervisor_woken(pid: i32) -> Text {
    Text::new(
        format!(
            "supervisor（进程 {pid}）曾被 SIGSTOP 之类的信号暂停，期间没有处理这次运行的任何事；看护进程已让它继续"
        ),
        format!(
            "the supervisor, process {pid}, was stopped by a signal such as SIGSTOP, and did nothing for the run \
             meanwhile; the warden told it to go on"
        ),
    )
}
