//! The operating system refused access.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "permission_denied",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 4] = ["Permission denied", "PermissionError:", "Operation not permitted", "Read-only file system"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let path = after(line, ": '", &['\'']).filter(|path| path.contains('/'));
    let cause = match path {
        Some(path) => Text::new(format!("没有权限访问 {path}"), format!("Access to {path} was refused")),
        None => Text::new("没有权限", "The operating system refused access"),
    };
    let advice = Text::new(
        "用运行训练的用户查看 ls -ld <路径> 与 id；改正属主（chown）或把输出目录、HF_HOME 指到可写处；\
         启动的程序需要可执行位（chmod +x）；只读挂载请以读写方式挂载",
        "As the user that runs the training look at `ls -ld <path>` and `id`; correct the owner (chown) or point the output \
         folder and HF_HOME at a place that is writable; a program needs its execute bit (chmod +x); mount a read-only \
         file system for writing",
    );
    Some(Finding::new(Some(line), cause, advice))
}
