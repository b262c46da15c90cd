//! The script does not parse, or refused its arguments.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "usage_error",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const SYNTAX: [&str; 3] = ["SyntaxError:", "IndentationError:", "TabError:"];
/// argparse, click and Python's own command line.
const USAGE: [&str; 6] = [
    ": error: ",
    "Error: No such option",
    "Error: Missing option",
    "Error: Invalid value",
    "unknown option --",
    "Error: Got unexpected",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    if let Some(line) = scene.line_where(|line| SYNTAX.iter().any(|mark| line.trim_start().starts_with(mark))) {
        let cause = Text::new("脚本有语法错误", "The script has a syntax error");
        let advice = Text::new(
            "按上方的文件与行号修改；python -m py_compile <脚本> 可在启动前检查；若语法较新，请确认 python --version",
            "Correct the file and line shown above; `python -m py_compile <script>` checks it before a launch; if the syntax \
             is new, see `python --version`",
        );
        return Some(Finding::new(Some(line), cause, advice));
    }
    if scene.exit_code() != Some(2) {
        return None;
    }
    let line = scene.line_with(&USAGE)?;
    let cause = Text::new("脚本不接受所给的参数", "The script refused its arguments");
    let advice = Text::new(
        "用 python <脚本> --help 查看参数；启动器的选项写在脚本名之前，脚本的参数写在之后",
        "See `python <script> --help`; options of the launcher stand before the script's name, arguments of the script \
         after it",
    );
    Some(Finding::new(Some(line), cause, advice))
}
