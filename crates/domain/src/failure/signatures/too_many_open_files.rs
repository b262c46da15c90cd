//! The process may not open more files.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "too_many_open_files",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 3] = ["Too many open files", "received 0 items of ancdata", "EMFILE"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    if scene.never_began() {
        return Some(Finding::new(Some(line), launchers_cause(), launchers_advice()));
    }
    let cause = Text::new("打开的文件过多", "Too many files are open");
    let advice = Text::new(
        "提高上限（ulimit -n 65536），或在脚本开头加 torch.multiprocessing.set_sharing_strategy('file_system')，\
         或减少 num_workers",
        "Raise the limit (`ulimit -n 65536`), or begin the script with \
         torch.multiprocessing.set_sharing_strategy('file_system'), or lower num_workers",
    );
    Some(Finding::new(Some(line), cause, advice))
}

/// The script has no part in it: the launcher holds some files for every rank.
fn launchers_cause() -> Text {
    Text::new(
        "fermi 在启动 rank 时已达到打开文件数的上限",
        "Fermi itself came to the limit of open files while it started the ranks",
    )
}

fn launchers_advice() -> Text {
    Text::new(
        "在启动 fermi 的 shell 中提高上限（ulimit -n 65536；硬上限见 ulimit -Hn），每个 rank 约需 8 个，或减少每台机器的 rank 数",
        "Raise the limit in the shell that starts fermi (`ulimit -n 65536`; `ulimit -Hn` shows how far), about 8 for each rank, \
         or start fewer ranks on a machine",
    )
}
