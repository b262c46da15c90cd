//! Any other Python exception, named by its line.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "python_exception",
    class: FailureClass::User,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let named = scene.traceback.as_ref().map(|traceback| traceback.exception.as_str());
    let exception = named.or_else(|| scene.evidence.error_file.and_then(|message| message.lines().next()))?;
    let kind = exception.split(':').next().unwrap_or(exception).trim();
    let cause = Text::new(format!("Python 异常 {kind}"), format!("Python raised {kind}"));
    let advice = Text::new(
        "查看下方的调用栈：最后一个属于你代码的位置通常就是原因；可先用单进程复现",
        "Read the traceback: the last place in your own code is mostly the reason; reproduce it with one process first",
    );
    let finding = Finding::new(Some(exception), cause, advice);
    // A slip in the code meets every attempt before its first step; any other exception may be the data or the moment.
    let is_slip = SLIPS.contains(&kind) && !scene.evidence.made_progress;
    Some(if is_slip { finding.recurrence(Recurrence::WouldRepeat) } else { finding })
}

/// Exceptions that only another version of the code avoids.
const SLIPS: [&str; 5] = ["NameError", "AttributeError", "TypeError", "UnboundLocalError", "NotImplementedError"];
