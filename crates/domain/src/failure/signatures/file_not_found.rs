//! A file, folder or program is not there.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "file_not_found",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 6] = [
    "FileNotFoundError:",
    "NotADirectoryError:",
    "can't open file",
    "No such file or directory",
    "command not found",
    "Can't find __main__ module",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let program = line.contains("command not found") || scene.exit_code().is_none();
    let path = after(line, "can't open file '", &['\''])
        .or_else(|| after(line, "directory: '", &['\'']))
        .or_else(|| after(line, "FileNotFoundError: '", &['\'']));
    let cause = match path {
        Some(path) => Text::new(format!("找不到 {path}"), format!("{path} does not exist")),
        None if program => Text::new("找不到要启动的程序", "The program to start does not exist"),
        None => Text::new("找不到文件或目录", "A file or folder does not exist"),
    };
    let advice = Text::new(
        "在失败的节点上检查该路径：数据与代码须在每个节点的同一路径可见（共享盘或快照）；相对路径以工作目录为准，\
         建议用绝对路径；程序须在该节点的 PATH 中",
        "Check the path on the node that failed: code and data must be visible under the same path on every node (shared \
         disk or snapshot); a relative path starts at the working folder, so prefer an absolute one; a program must be on \
         that node's PATH",
    );
    Some(Finding::new(Some(line), cause, advice))
}
