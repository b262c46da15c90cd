//! The script wanted a GPU where it can see none.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature =
    Signature { id: "no_gpu", class: FailureClass::User, recurrence: Recurrence::WouldRepeat, role: Role::Cause, find };

const MARKS: [&str; 6] = [
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "no CUDA-capable device is detected",
    "Torch not compiled with CUDA enabled",
    "ProcessGroupNCCL is only supported with GPUs, no GPUs found",
    "No HIP GPUs are available",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let cause = Text::new("脚本需要 GPU，但没有可见的 GPU", "The script wants a GPU and can see none");
    let advice = Text::new(
        "nvidia-smi 应列出 GPU；容器请加 --gpus all；检查 CUDA_VISIBLE_DEVICES 是否为空；torch 须为 CUDA 版\
         （python -c 'import torch; print(torch.version.cuda)'）。若要在 CPU 上训练，后端用 gloo，且不要调用 .cuda()",
        "nvidia-smi should list GPUs; give a container --gpus all; see whether CUDA_VISIBLE_DEVICES is empty; torch must be \
         a CUDA build (`python -c 'import torch; print(torch.version.cuda)'`). To train on CPU use the backend gloo and do \
         not call .cuda()",
    );
    Some(Finding::new(Some(line), cause, advice))
}
