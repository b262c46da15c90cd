//! Python could not import something.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "missing_module",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 4] =
    ["ModuleNotFoundError:", "ImportError:", ": No module named ", "Error while finding module specification"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let module = after(line, "No module named ", &[';', '(']).map(|name| name.trim_matches(['\'', '"']));
    let (cause, advice) = match module {
        Some(module) => {
            let package = module.split('.').next().unwrap_or(module);
            (
                Text::new(format!("缺少 Python 模块 {module}"), format!("The Python module {module} is not installed")),
                Text::new(
                    format!(
                        "在每个节点所用的解释器里安装：python -m pip install {package}；若它是你的代码，请从项目目录启动或设置 \
                         PYTHONPATH。用 which python 确认不是另一个虚拟环境"
                    ),
                    format!(
                        "Install it for the interpreter in use, on every node: `python -m pip install {package}`; if it is \
                         your own code, start in the project's folder or set PYTHONPATH. `which python` tells whether this \
                         is another virtual environment"
                    ),
                ),
            )
        }
        None => (
            Text::new("Python 导入失败", "A Python import failed"),
            Text::new(
                "该包的版本与代码不符，或与同名文件冲突（如当前目录里的 datasets.py）：用 python -m pip show <包名> \
                 查看版本，按代码要求安装",
                "The package's version does not fit the code, or a file of the same name hides it (a datasets.py in this \
                 folder): see `python -m pip show <package>` and install the version that the code wants",
            ),
        ),
    };
    Some(Finding::new(Some(line), cause, advice))
}
