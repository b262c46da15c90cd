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
    let cause = Text::new("打开的文件过多", "Too many files are open");
    let advice = Text::new(
        "提高上限（ulimit -n 65536），或在脚本开头加 torch.multiprocessing.set_sharing_strategy('file_system')，\
         或减少 num_workers",
        "Raise the limit (`ulimit -n 65536`), or begin the script with \
         torch.multiprocessing.set_sharing_strategy('file_system'), or lower num_workers",
    );
    Some(Finding::new(Some(line), cause, advice))
}
