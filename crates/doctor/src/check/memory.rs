//! Memory of the host, beside that of its GPUs, and memory that processes share.

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::facts::{GpuFacts, MemoryFacts};
use crate::{Finding, Topic};

/// Less than this times the memory of the GPUs is short: checkpoints, loaders and offloading go through the host.
const TIMES: u64 = 2;
const MOST_TIMES: u64 = 4;
/// Containers have 64 MB where none is asked for.
const SHARED_FEW: u64 = 1 << 30;
const SHARED_NONE: u64 = 16 << 20;

pub fn check(memory: &MemoryFacts, gpus: Option<&GpuFacts>) -> Vec<Finding> {
    vec![size(memory, gpus), free(memory), shared(memory)].into_iter().flatten().collect()
}

fn size(memory: &MemoryFacts, gpus: Option<&GpuFacts>) -> Option<Finding> {
    if memory.total == 0 {
        let text = Text::new(
            "不知道有多少内存：/proc/meminfo 读不出",
            "how much memory there is cannot be told: /proc/meminfo cannot be read",
        );
        return Some(Finding::skipped("memory.size", Topic::Cpu, text));
    }
    let total = Bytes(memory.total).rounded();
    let of_gpus: u64 = gpus.into_iter().flat_map(|it| &it.gpus).map(|gpu| gpu.memory_total).sum();
    if of_gpus == 0 {
        return Some(Finding::ok(
            "memory.size",
            Topic::Cpu,
            Text::new(format!("内存 {total}"), format!("{total} of memory")),
        ));
    }
    let on_gpus = Bytes(of_gpus).rounded();
    let times = memory.total as f64 / of_gpus as f64;
    if memory.total >= TIMES * of_gpus {
        let text = Text::new(
            format!("内存 {total}，是显存 {on_gpus} 的 {times:.1} 倍"),
            format!("{total} of memory, {times:.1} times the {on_gpus} of the GPUs"),
        );
        return Some(Finding::ok("memory.size", Topic::Cpu, text));
    }
    let text = Text::new(
        format!("内存 {total} 只有显存 {on_gpus} 的 {times:.1} 倍，推荐 {TIMES}–{MOST_TIMES} 倍"),
        format!(
            "{total} of memory are {times:.1} times the {on_gpus} of the GPUs; {TIMES} to {MOST_TIMES} times are advised"
        ),
    );
    let advice = Text::new(
        "避免卸载到 CPU，减少数据加载进程，或增加内存",
        "do not offload to the CPU, use fewer loader processes, or add memory",
    );
    Some(Finding::warning("memory.size", Topic::Cpu, text).advice(advice))
}

fn free(memory: &MemoryFacts) -> Option<Finding> {
    let left = memory.total.saturating_sub(memory.used);
    (left < memory.total / 10).then(|| {
        let (left, total) = (Bytes(left).rounded(), Bytes(memory.total).rounded());
        let text =
            Text::new(format!("内存只剩 {left} / {total}"), format!("only {left} of {total} of memory are free"));
        let fix = Text::new("看看是谁在占用", "see who uses it");
        Finding::warning("memory.free", Topic::Cpu, text).fix(fix, "ps -eo pid,user,rss,args --sort=-rss | head")
    })
}

fn shared(memory: &MemoryFacts) -> Option<Finding> {
    let fix = Text::new("扩大它；容器以 --shm-size 启动", "make it larger; start a container with --shm-size");
    let command = "sudo mount -o remount,size=16G /dev/shm   # docker run --shm-size=16g";
    let Some(shared) = &memory.shared else {
        let text = Text::new(
            "没有 /dev/shm，数据加载进程无法交换数据",
            "there is no /dev/shm: loader processes cannot hand data over",
        );
        return Some(Finding::error("memory.shared", Topic::Cpu, text).fix(fix, command));
    };
    let (free, total) = (Bytes(shared.free).rounded(), Bytes(shared.total).rounded());
    let seen = Text::new(format!("/dev/shm 剩 {free} / {total}"), format!("{free} of {total} of /dev/shm are free"));
    if !shared.is_writable || shared.free < SHARED_NONE {
        let text = Text::new(
            "/dev/shm 不能用，DataLoader 与 NCCL 会以 Bus error 失败",
            "/dev/shm cannot be used: data loaders and NCCL fail with a bus error",
        );
        return Some(Finding::error("memory.shared", Topic::Cpu, text).seen(seen).fix(fix, command));
    }
    if shared.free < SHARED_FEW {
        let text = Text::new(
            "/dev/shm 太小，多个 DataLoader 进程会以 Bus error 失败",
            "/dev/shm is small: several loader processes may fail with a bus error",
        );
        return Some(Finding::warning("memory.shared", Topic::Cpu, text).seen(seen).fix(fix, command));
    }
    Some(Finding::ok("memory.shared", Topic::Cpu, seen))
}

#[cfg(test)]
mod tests {
    use fermi_hardware::gpu_health::GpuHealth;

    use super::super::tests::states;
    use super::*;
    use crate::State;
    use crate::facts::SharedMemory;

    const GIB: u64 = 1 << 30;

    fn memory(total: u64, used: u64, shared: u64) -> MemoryFacts {
        let shared = SharedMemory { total: shared, free: shared, is_writable: true };
        MemoryFacts { total, used, shared: Some(shared) }
    }

    #[test]
    fn the_host_has_at_least_twice_the_memory_of_its_gpus() {
        let gpus = GpuFacts {
            gpus: vec![GpuHealth { memory_total: 80 * GIB, ..GpuHealth::default() }; 2],
            ..GpuFacts::default()
        };
        let state = |total: u64| check(&memory(total * GIB, 0, 8 * GIB), Some(&gpus))[0].state;
        assert_eq!(state(512), State::Ok);
        assert_eq!(state(320), State::Ok);
        assert_eq!(state(319), State::Warning);
        assert_eq!(check(&memory(GIB, 0, 8 * GIB), None)[0].state, State::Ok);
        assert_eq!(state(0), State::Skipped, "it cannot be told");
    }

    #[test]
    fn shared_memory_of_a_plain_container_is_a_warning_and_a_full_one_an_error() {
        let state = |shared| check(&memory(64 * GIB, 0, shared), None).pop().unwrap().state;
        assert_eq!(state(16 * GIB), State::Ok);
        assert_eq!(state(64 << 20), State::Warning);
        assert_eq!(state(0), State::Error);
        let full = check(&memory(64 * GIB, 60 * GIB, 16 * GIB), None);
        assert_eq!(states(&full)[1], ("memory.free", State::Warning));
    }
}
