//! A CUDA kernel was given something wrong: an index out of range, a bad address.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "cuda_kernel_fault",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 8] = [
    "CUDA error: device-side assert triggered",
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: unspecified launch failure",
    "CUDA error: misaligned address",
    "CUDA error: invalid device ordinal",
    "CUDA error: invalid configuration argument",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUBLAS_STATUS_EXECUTION_FAILED",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    if line.contains("invalid device ordinal") {
        let cause = Text::new("使用了不存在的 GPU 编号", "The script used the number of a GPU that is not there");
        let advice = Text::new(
            "用 LOCAL_RANK 选卡（torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))），不要用 RANK；\
             并确认每个节点的进程数不超过其 GPU 数（nvidia-smi -L）",
            "Choose the GPU by LOCAL_RANK (torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))), not by RANK, and \
             start no more processes on a node than it has GPUs (`nvidia-smi -L`)",
        );
        return Some(Finding::new(Some(line), cause, advice));
    }
    let cause = Text::new("CUDA 核函数出错", "A CUDA kernel failed");
    let advice = Text::new(
        "设置 CUDA_LAUNCH_BLOCKING=1 再运行，栈才会指向真正的调用；device-side assert 多为标签或词表索引越界\
         （检查类别数、tokenizer 与 embedding 大小是否一致）；可用 compute-sanitizer 定位非法访问",
        "Run again with CUDA_LAUNCH_BLOCKING=1 so that the stack shows the real call; a device-side assert is mostly a \
         label or token index out of range (compare the number of classes, the tokenizer and the embedding); \
         compute-sanitizer finds illegal accesses",
    );
    let finding = Finding::new(Some(line), cause, advice);
    // The same kernels ran before: a flipped bit or a rare sample is possible, so a restart is worth trying.
    Some(if scene.evidence.made_progress { finding.recurrence(Recurrence::MayPass) } else { finding })
}
