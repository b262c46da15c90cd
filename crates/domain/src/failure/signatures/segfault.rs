//! Native code touched memory that is not its own, or met an instruction that this CPU lacks.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature =
    Signature { id: "segfault", class: FailureClass::User, recurrence: Recurrence::MayPass, role: Role::Cause, find };

/// What torch says when a process of a data loader crashed.
const LOADER: &str = "is killed by signal: Segmentation fault";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let loader = scene.line_with(&[LOADER]);
    let signal = scene.signal().filter(|signal| matches!(signal, 4 | 7 | 8 | 11)).or(loader.map(|_| 11))?;
    let cause = match signal {
        4 => Text::new(
            "进程执行了此 CPU 不支持的指令（SIGILL）",
            "The process met an instruction that this CPU lacks (SIGILL)",
        ),
        7 => Text::new("进程发生总线错误（SIGBUS）", "The process had a bus error (SIGBUS)"),
        8 => Text::new("进程发生算术异常（SIGFPE）", "The process had an arithmetic fault (SIGFPE)"),
        _ if loader.is_some() => Text::new(
            "数据加载子进程发生段错误（SIGSEGV）",
            "A data loading process had a segmentation fault (SIGSEGV)",
        ),
        _ => Text::new("进程发生段错误（SIGSEGV）", "The process had a segmentation fault (SIGSEGV)"),
    };
    let advice = match signal {
        4 => Text::new(
            "安装为此机器 CPU 编译的版本（常见于在新 CPU 上编译、在旧 CPU 上运行的扩展）",
            "Install a build for this machine's CPU; extensions compiled on a newer CPU often fail like this",
        ),
        7 => Text::new(
            "多为 /dev/shm 已满，或被映射的文件在读取时被截断：查看 df -h /dev/shm，容器请加 --shm-size=16g",
            "Most often /dev/shm is full, or a mapped file was cut while in use: see `df -h /dev/shm`, and give the \
             container --shm-size=16g",
        ),
        _ => Text::new(
            "设置 PYTHONFAULTHANDLER=1 再运行，可看到崩溃时的 Python 栈；检查自编译扩展（flash-attn、apex）是否与当前 \
             torch、CUDA 版本匹配；若只在某台机器上发生，请检查其内存与驱动",
            "Run again with PYTHONFAULTHANDLER=1 to see the Python stack of the crash; check that compiled extensions \
             (flash-attn, apex) fit this torch and CUDA; if only one machine does it, check its memory and driver",
        ),
    };
    let line = scene.line_with(&["Fatal Python error:", "Segmentation fault", "Bus error", "Caught signal 11", LOADER]);
    Some(Finding::new(line, cause, advice))
}
