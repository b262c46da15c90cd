//! DeepSpeed could not be initialised, as those say who call it, and nothing says more of the reason.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "deepspeed_start",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const SAID: [&str; 2] = ["DeepSpeed initialization failed", "Failed to initialize DeepSpeed"];
/// What is missing then is the reason.
const MODULE: [&str; 2] = ["ModuleNotFoundError:", ": No module named "];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&SAID).filter(|_| scene.line_with(&MODULE).is_none())?;
    let cause = Text::new("DeepSpeed 初始化失败", "DeepSpeed could not be initialised");
    let advice = Text::new(
        "看报错上方的第一个原因；pip show deepspeed 显示版本，ds_report 列出各算子缺什么；版本与 torch 不合时重新安装：pip \
         install --force-reinstall --no-cache-dir --no-deps deepspeed",
        "Read the first reason above; pip show deepspeed tells the version and ds_report what each operator lacks; where the \
         version does not fit torch install it anew: pip install --force-reinstall --no-cache-dir --no-deps deepspeed",
    );
    Some(Finding::new(Some(line), cause, advice))
}
