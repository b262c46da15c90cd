//! Pieces that were not made for each other: driver, CUDA, torch, NCCL, C library, extensions.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "version_mismatch",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 18] = [
    "CUDA driver version is insufficient",
    "driver on your system is too old",
    "forward compatibility was attempted on non supported HW",
    "no kernel image is available for execution on the device",
    "is not compatible with the current PyTorch installation",
    "version `GLIBC",
    "version `CXXABI",
    "undefined symbol",
    "Mismatched NCCL version",
    "NCCL version mismatch",
    "module compiled against ABI version",
    "A module that was compiled using NumPy 1.x cannot be run in NumPy 2",
    "was compiled with",
    "compiled with a different version",
    "CUDA version that was used to compile",
    "binary incompatibility",
    "cannot open shared object file",
    "Exec format error",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let (cause, advice) = if line.contains("driver") || line.contains("forward compatibility") {
        (
            Text::new("NVIDIA 驱动版本过旧，不支持所装的 CUDA", "The NVIDIA driver is too old for the installed CUDA"),
            Text::new(
                "nvidia-smi 右上角是驱动支持的最高 CUDA；升级驱动，或安装对应较低 CUDA 的 torch（如 --index-url \
                 https://download.pytorch.org/whl/cu118）",
                "nvidia-smi shows at the top the newest CUDA that this driver supports: update the driver, or install torch \
                 for an older CUDA (such as --index-url https://download.pytorch.org/whl/cu118)",
            ),
        )
    } else if line.contains("NCCL version") {
        (
            Text::new("各节点的 NCCL 版本不一致", "The nodes have different versions of NCCL"),
            Text::new(
                "所有节点使用同一镜像或同一套包：python -c 'import torch; print(torch.cuda.nccl.version())'，\
                 并检查 LD_LIBRARY_PATH 是否指向另一份 libnccl",
                "Use one image or one set of packages on all nodes: compare `python -c 'import torch; \
                 print(torch.cuda.nccl.version())'`, and see whether LD_LIBRARY_PATH points at another libnccl",
            ),
        )
    } else if line.contains("GLIBC") || line.contains("CXXABI") {
        (
            Text::new("系统 C/C++ 库版本过旧", "The C or C++ library of this system is too old"),
            Text::new(
                "程序是在更新的系统上编译的：换用较新的镜像，或在本机重新编译该扩展（ldd --version 查看版本）",
                "The program was built on a newer system: use a newer image, or build the extension here (`ldd --version` \
                 shows what is installed)",
            ),
        )
    } else {
        (
            Text::new("已安装的组件版本不匹配", "Installed pieces do not fit each other"),
            Text::new(
                "在当前 torch 与 CUDA 下重装报错的扩展（pip install --no-build-isolation --force-reinstall …）；\
                 用 python -m torch.utils.collect_env 比较各节点的版本",
                "Reinstall the extension that complains under this torch and CUDA (pip install --no-build-isolation \
                 --force-reinstall …); `python -m torch.utils.collect_env` compares the nodes",
            ),
        )
    };
    Some(Finding::new(Some(line), cause, advice))
}
