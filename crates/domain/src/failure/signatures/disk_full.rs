//! A file system had no space, no inodes or no quota left.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "disk_full",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 8] = [
    "No space left on device",
    "Disk quota exceeded",
    "ENOSPC",
    "not enough disk space",
    "PytorchStreamWriter failed writing file",
    "database or disk is full",
    // What torch.save makes of a full disk.
    "basic_ios::clear: iostream error",
    ". unexpected pos ",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let cause = match quoted_path(line) {
        Some(path) => {
            Text::new(format!("磁盘已满：无法写入 {path}"), format!("The disk is full: {path} could not be written"))
        }
        None => Text::new("磁盘空间或配额已用尽", "The disk is full, or its quota is used up"),
    };
    let advice = Text::new(
        "df -h 与 df -i 查看空间与 inode，du -xsh * 找出大目录；删除旧检查点或减少保留个数（save_total_limit），\
         把 HF_HOME、TMPDIR 指到大盘；配额用 quota -s 查看",
        "`df -h` and `df -i` show space and inodes, `du -xsh *` the large folders; delete old checkpoints or keep fewer \
         (save_total_limit), point HF_HOME and TMPDIR at a larger disk; `quota -s` shows a quota",
    );
    Some(Finding::new(Some(line), cause, advice))
}

fn quoted_path(line: &str) -> Option<&str> {
    let path = after(line, "device: '", &['\''])?;
    path.starts_with('/').then_some(path)
}
