//! Native code gave up by abort().

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, SIGABRT, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature =
    Signature { id: "aborted", class: FailureClass::User, recurrence: Recurrence::MayPass, role: Role::Cause, find };

const LAST_WORDS: [&str; 6] =
    ["what():", "terminate called", "Assertion `", "Fatal Python error:", "Check failed:", "double free or corruption"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    if scene.signal()? != SIGABRT {
        return None;
    }
    let cause = Text::new("进程自行中止（SIGABRT）", "The process aborted itself (SIGABRT)");
    let advice = Text::new(
        "中止前的最后几行通常写有原因（what()、Check failed）；设置 PYTHONFAULTHANDLER=1 可看到 Python 栈，\
         TORCH_SHOW_CPP_STACKTRACES=1 可看到 C++ 栈",
        "The last lines before the abort usually hold the reason (what(), Check failed); PYTHONFAULTHANDLER=1 shows the \
         Python stack, TORCH_SHOW_CPP_STACKTRACES=1 the one of C++",
    );
    Some(Finding::new(scene.first_line_with(&LAST_WORDS), cause, advice))
}
