//! DeepSpeed could not compile or load one of its operators.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "deepspeed_build",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MISMATCH: [&str; 3] =
    ["CUDAMismatchException", "CUDA version mismatch! DeepSpeed", "PyTorch version mismatch! DeepSpeed"];
const NO_CUDA_HOME: [&str; 2] = ["CUDA_HOME does not exist", "MissingCUDAException"];
const NO_NINJA: [&str; 1] = ["op due to ninja not being installed"];
const ANY: [&str; 3] = ["Unable to JIT load the", "DeepSpeed JIT builder for", "has no attribute 'ds_opt_adam'"];
/// What torch says of any extension; only that of DeepSpeed is meant here.
const EXTENSION: [&str; 1] = ["Error building extension '"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let cause = Text::new("DeepSpeed 的算子无法编译或加载", "DeepSpeed could not compile or load one of its operators");
    let (line, first) = if let Some(line) = scene.line_with(&MISMATCH) {
        let advice = Text::new(
            "安装与 torch 相同的 CUDA 版本（torch.version.cuda），或把 CUDA_HOME 指向它，然后重新安装 DeepSpeed：pip install \
             --force-reinstall --no-cache-dir --no-deps deepspeed",
            "Install the CUDA version that torch has (torch.version.cuda) or point CUDA_HOME to it, then install DeepSpeed \
             anew: pip install --force-reinstall --no-cache-dir --no-deps deepspeed",
        );
        (line, advice)
    } else if let Some(line) = scene.line_with(&NO_CUDA_HOME) {
        let advice = Text::new(
            "安装 CUDA 工具包（含 nvcc），并设置 CUDA_HOME，例如 export CUDA_HOME=/usr/local/cuda",
            "Install the CUDA toolkit with nvcc and set CUDA_HOME, such as export CUDA_HOME=/usr/local/cuda",
        );
        (line, advice)
    } else if let Some(line) = scene.line_with(&NO_NINJA) {
        (
            line,
            Text::new(
                "在同一环境中安装 ninja：pip install ninja",
                "Install ninja in the same environment: pip install ninja",
            ),
        )
    } else {
        let of_torch = || scene.line_with(&EXTENSION).filter(|_| scene.is_about(&["deepspeed"]));
        let line = scene.line_with(&ANY).or_else(of_torch)?;
        let advice = Text::new(
            "看报错上方编译器的第一个 error；缺编译器时安装 g++ 与 ninja",
            "Read the compiler's first error above; where there is no compiler install g++ and ninja",
        );
        (line, advice)
    };
    let then = Text::new(
        "；ds_report 会列出各算子缺什么，pip show deepspeed 显示版本；急用时让配置使用 torch 的优化器（\"torch_adam\": true）",
        "; ds_report lists what each operator lacks, pip show deepspeed the version; in a hurry let the configuration use \
         torch's optimizer (\"torch_adam\": true)",
    );
    let advice = Text::new(format!("{}{}", first.zh, then.zh), format!("{}{}", first.en, then.en));
    Some(Finding::new(Some(line), cause, advice))
}
