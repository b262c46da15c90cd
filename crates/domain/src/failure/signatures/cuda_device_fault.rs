//! A GPU, its link or its driver is broken, not the program.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "cuda_device_fault",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 9] = [
    "uncorrectable ECC error",
    "uncorrectable NVLink error",
    "cudaErrorECCUncorrectable",
    "fallen off the bus",
    "GPU is lost",
    "cudaErrorDevicesUnavailable",
    "CUDA-capable device(s) is/are busy or unavailable",
    "CUDA error: hardware stack error",
    "Unable to determine the device handle for GPU",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let cause = Text::new("GPU 硬件、链路或驱动故障", "A GPU, its link or its driver failed");
    let advice = Text::new(
        "不要再用这块 GPU：用 nvidia-smi -q -d ECC 与 dmesg -T | grep -i xid 查看错误号，重置（nvidia-smi --gpu-reset）\
         或重启机器，仍出现则报修；重启训练时请换一个环境。若提示 busy，请检查是否处于独占模式或有残留进程",
        "Keep away from this GPU: `nvidia-smi -q -d ECC` and `dmesg -T | grep -i xid` show the error; reset it \
         (`nvidia-smi --gpu-reset`) or reboot, and have it repaired if it returns; restart on another environment. If it \
         says busy, look for exclusive mode or a process left behind",
    );
    Some(Finding::new(Some(line), cause, advice))
}
