//! Why an agent cannot begin.

use std::io;
use std::path::PathBuf;

use fermi_domain::access::RunAsRefusal;
use fermi_domain::language::{Explained, Hint, Text, reason};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum AgentError {
    #[error("another agent already uses {}", folder.display())]
    FolderInUse { folder: PathBuf },
    #[error("cannot use {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    /// Other users of the machine get at what is in it.
    #[error("others may enter {}: its mode is {mode:o}", folder.display())]
    TooOpen { folder: PathBuf, mode: u32 },
    /// Accounts were asked for that only root can give.
    #[error("only an agent that is root starts ranks as other accounts")]
    NotRoot,
    #[error("{}", .0.text().en)]
    RunAs(RunAsRefusal),
    #[error("the machine refuses what an agent needs")]
    Machine(#[from] io::Error),
}

impl Explained for AgentError {
    fn id(&self) -> &'static str {
        "agent_not_started"
    }

    fn text(&self) -> Text {
        match self {
            Self::FolderInUse { folder } => {
                Text::new(format!("另一个 agent 正在使用 {}", folder.display()), self.to_string())
            }
            Self::TooOpen { folder, mode } => {
                Text::new(format!("其他用户可以进入 {}：权限为 {mode:o}", folder.display()), self.to_string())
            }
            Self::NotRoot => Text::new("只有以 root 运行的 agent 才能以其他账户启动 rank", self.to_string()),
            Self::RunAs(refusal) => refusal.text(),
            Self::Folder { path, source } => {
                let (path, why) = (path.display(), reason::of_io(source));
                Text::new(format!("无法使用 {path}：{}", why.zh), format!("cannot use {path}: {}", why.en))
            }
            Self::Machine(source) => {
                let why = reason::of_io(source);
                Text::new(
                    format!("系统拒绝了 agent 需要的操作：{}", why.zh),
                    format!("the machine refuses what an agent needs: {}", why.en),
                )
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::FolderInUse { .. } => Hint::new(
                "先结束它，或用 --data-dir 给这个 agent 另一个文件夹",
                "end it first, or give this agent another folder with --data-dir",
            ),
            Self::TooOpen { folder, .. } => {
                let command = format!("chmod 700 {}", folder.display());
                Hint::new(
                    format!("其中有凭据与日志；先执行 {command}"),
                    format!("it holds a credential and logs; run `{command}` first"),
                )
            }
            Self::NotRoot => Hint::new(
                "以 root 启动 agent，或去掉 --run-as：rank 会以这个 agent 的账户运行",
                "start the agent as root, or leave --run-as out: ranks run as the account of this agent",
            ),
            Self::RunAs(refusal) => return refusal.hint(),
            Self::Folder { .. } => Hint::new(
                "检查权限和磁盘空间，或用 --data-dir 指定另一个文件夹",
                "check permissions and disk space, or name another folder with --data-dir",
            ),
            Self::Machine(_) => Hint::new("检查系统限制（ulimit）", "check the limits of this user (ulimit)"),
        })
    }
}
