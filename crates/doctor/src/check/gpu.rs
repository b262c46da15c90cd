//! GPUs, their driver, what is wrong with them and who holds them.

use std::collections::BTreeMap;

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;
use fermi_hardware::gpu_health::{GpuHealth, Slowdown};

use crate::facts::{DriverFacts, GpuFacts};
use crate::{Finding, Topic};

/// Above this a GPU is close to slowing itself down.
const HOT: u32 = 85;
/// What a driver and an idle context take; more is somebody's.
const IDLE: u64 = 1 << 30;

pub fn check(driver: &DriverFacts) -> Vec<Finding> {
    match driver {
        DriverFacts::Answers(facts) if facts.gpus.is_empty() => vec![none()],
        DriverFacts::Answers(facts) => answers(facts),
        DriverFacts::Silent { on_bus: 0, has_devices: false, .. } => vec![none()],
        DriverFacts::Silent { on_bus, has_devices, reason } => vec![silent(*on_bus, *has_devices, reason)],
    }
}

fn none() -> Finding {
    Finding::skipped(
        "gpu.list",
        Topic::Gpu,
        Text::new("没有 NVIDIA GPU，GPU 检查已跳过", "there is no NVIDIA GPU; its checks are skipped"),
    )
}

fn silent(on_bus: usize, has_devices: bool, reason: &str) -> Finding {
    let seen = Text::new(
        format!("PCI 总线上有 {on_bus} 块 NVIDIA GPU；NVML：{reason}"),
        format!("{on_bus} NVIDIA GPUs on the PCI bus; NVML: {reason}"),
    );
    if has_devices {
        let text = Text::new("GPU 驱动没有应答", "the GPU driver does not answer");
        let fix = Text::new(
            "查看驱动的说法；升级驱动后需要重启机器",
            "see what the driver says; after an upgrade of the driver the machine has to be restarted",
        );
        return Finding::error("gpu.driver", Topic::Gpu, text).seen(seen).fix(fix, "nvidia-smi");
    }
    let text = Text::new("有 GPU，但这里用不了", "there are GPUs, but none can be used here");
    let fix = Text::new(
        "安装驱动；在容器中则以 --gpus all 启动容器",
        "install the driver; in a container, start it with --gpus all",
    );
    Finding::warning("gpu.driver", Topic::Gpu, text).seen(seen).fix(fix, "sudo modprobe nvidia && nvidia-smi")
}

fn answers(facts: &GpuFacts) -> Vec<Finding> {
    let mut findings = vec![list(&facts.gpus), versions(facts)];
    findings.push(worst(&facts.gpus, "gpu.ecc", ecc, |gpus| {
        let with = gpus.iter().filter(|gpu| gpu.has_ecc == Some(true)).count();
        match with {
            0 => Text::new("这些 GPU 不报告 ECC", "these GPUs do not report ECC"),
            _ => Text::new("显存没有不可纠正的错误（ECC）", "no uncorrected errors of GPU memory (ECC)"),
        }
    }));
    findings.push(worst(&facts.gpus, "gpu.throttling", throttling, |gpus| {
        match gpus.iter().filter_map(|it| it.temperature).max() {
            Some(hottest) => Text::new(
                format!("没有 GPU 被降频，最高 {hottest} °C"),
                format!("no GPU is slowed down; the hottest has {hottest} °C"),
            ),
            None => Text::new("没有 GPU 被降频", "no GPU is slowed down"),
        }
    }));
    findings.push(worst(&facts.gpus, "gpu.holders", holders, |_| {
        Text::new("没有进程占用显存", "no process holds GPU memory")
    }));
    findings.extend(facts.gpus.iter().find_map(lanes));
    findings
}

fn list(gpus: &[GpuHealth]) -> Finding {
    let mut kinds: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    for gpu in gpus {
        *kinds.entry((&gpu.model, Bytes(gpu.memory_total).whole_gib())).or_default() += 1;
    }
    let names: Vec<String> =
        kinds.iter().map(|((model, gib), count)| format!("{count} × {model} ({gib} GB)")).collect();
    let names = names.join(", ");
    if kinds.len() == 1 {
        return Finding::ok("gpu.list", Topic::Gpu, Text::new(names.clone(), names));
    }
    let text = Text::new(
        format!("GPU 型号不同：{names}；一起训练时最慢的一块决定速度"),
        format!("GPUs of different kinds: {names}; together they run at the pace of the slowest"),
    );
    let fix = Text::new("让一次训练只用同一种 GPU", "let one training use GPUs of one kind");
    Finding::warning("gpu.list", Topic::Gpu, text).fix(fix, "CUDA_VISIBLE_DEVICES=0,1 fermi run train.py")
}

fn versions(facts: &GpuFacts) -> Finding {
    let unknown = || "?".to_owned();
    let (driver, cuda) = (facts.driver.clone().unwrap_or_else(unknown), facts.cuda.clone().unwrap_or_else(unknown));
    Finding::ok(
        "gpu.driver",
        Topic::Gpu,
        Text::new(format!("驱动 {driver}，支持到 CUDA {cuda}"), format!("driver {driver}, up to CUDA {cuda}")),
    )
}

/// The finding of the GPU that is worst off, or that all are well.
fn worst(
    gpus: &[GpuHealth],
    check: &'static str,
    judge: fn(&GpuHealth) -> Option<Finding>,
    well: impl FnOnce(&[GpuHealth]) -> Text,
) -> Finding {
    let found = gpus.iter().filter_map(judge).max_by_key(|finding| finding.state);
    found.unwrap_or_else(|| Finding::ok(check, Topic::Gpu, well(gpus)))
}

fn ecc(gpu: &GpuHealth) -> Option<Finding> {
    let index = gpu.index;
    if gpu.uncorrected.is_some_and(|errors| errors > 0) {
        let errors = gpu.uncorrected.unwrap_or_default();
        let text = Text::new(
            format!("GPU {index} 有 {errors} 个不可纠正的显存错误，训练会崩溃或算错"),
            format!(
                "GPU {index} has had {errors} errors of memory that could not be corrected; a training crashes or goes wrong"
            ),
        );
        let fix = Text::new(
            "停下使用它的进程后复位；仍然出现则更换这块 GPU",
            "stop what uses it and reset it; if errors return, have the GPU replaced",
        );
        return Some(
            Finding::error("gpu.ecc", Topic::Gpu, text).fix(fix, format!("sudo nvidia-smi --gpu-reset -i {index}")),
        );
    }
    if gpu.needs_reset == Some(true) {
        let text = Text::new(
            format!("GPU {index} 的坏显存页等待复位后停用"),
            format!("GPU {index} has bad memory that a reset takes out of use"),
        );
        let fix = Text::new("停下使用它的进程后复位", "stop what uses it and reset it");
        return Some(
            Finding::warning("gpu.ecc", Topic::Gpu, text).fix(fix, format!("sudo nvidia-smi --gpu-reset -i {index}")),
        );
    }
    if gpu.has_ecc == Some(false) {
        let text = Text::new(
            format!("GPU {index} 的 ECC 已关闭，显存错误不会被发现"),
            format!("ECC of GPU {index} is off: errors of its memory go unnoticed"),
        );
        let fix = Text::new("打开 ECC，然后重启机器", "switch it on, then restart the machine");
        return Some(
            Finding::warning("gpu.ecc", Topic::Gpu, text).fix(fix, format!("sudo nvidia-smi -i {index} -e 1")),
        );
    }
    None
}

fn throttling(gpu: &GpuHealth) -> Option<Finding> {
    let index = gpu.index;
    let degrees = gpu.temperature.map(|it| format!("{it} °C"));
    let seen = |finding: Finding| match &degrees {
        Some(degrees) => finding.seen(Text::new(degrees.clone(), degrees.clone())),
        None => finding,
    };
    let (text, fix) = match gpu.slowed_by.first() {
        Some(Slowdown::Heat) => (
            Text::new(format!("GPU {index} 因过热降频"), format!("GPU {index} is slowed down by heat")),
            Text::new("检查风扇、进风和机房温度", "look at fans, air flow and the room's temperature"),
        ),
        Some(Slowdown::PowerBrake) => (
            Text::new(
                format!("GPU {index} 因供电制动降频"),
                format!("GPU {index} is slowed down by the power supply's brake"),
            ),
            Text::new("检查电源与供电线", "look at the power supply and its cables"),
        ),
        Some(Slowdown::Hardware) => (
            Text::new(format!("GPU {index} 被硬件降频"), format!("GPU {index} is slowed down by its hardware")),
            Text::new("查看降频原因", "see the reasons"),
        ),
        Some(Slowdown::PowerCap) => (
            Text::new(format!("GPU {index} 已到功率上限"), format!("GPU {index} has reached its limit of power")),
            Text::new("若散热允许，提高功率上限", "raise the limit if cooling allows"),
        ),
        None if gpu.temperature.is_some_and(|it| it >= HOT) => (
            Text::new(format!("GPU {index} 很热，即将降频"), format!("GPU {index} is hot and about to slow down")),
            Text::new("检查风扇、进风和机房温度", "look at fans, air flow and the room's temperature"),
        ),
        None => return None,
    };
    let finding = Finding::warning("gpu.throttling", Topic::Gpu, text);
    Some(seen(finding).fix(fix, format!("nvidia-smi -i {index} -q -d PERFORMANCE,TEMPERATURE,POWER")))
}

fn holders(gpu: &GpuHealth) -> Option<Finding> {
    let index = gpu.index;
    if gpu.holders.is_empty() && gpu.memory_used < IDLE {
        return None;
    }
    let used = Bytes(gpu.memory_used).rounded();
    let total = Bytes(gpu.memory_total).rounded();
    let text = Text::new(
        format!("GPU {index} 的显存已被占用 {used} / {total}"),
        format!("{used} of GPU {index}'s {total} are in use"),
    );
    if gpu.holders.is_empty() {
        let seen = Text::new(
            "占用者不可见：在另一个容器中，或已退出但未释放",
            "by a process that cannot be seen: in another container, or gone without letting go",
        );
        let fix = Text::new("在宿主机上查看占用者", "look for it on the host");
        return Some(
            Finding::warning("gpu.holders", Topic::Gpu, text).seen(seen).fix(fix, "sudo fuser -v /dev/nvidia*"),
        );
    }
    let names = gpu.holders.iter().map(|holder| {
        let memory = holder.memory.map(|bytes| format!(", {}", Bytes(bytes).rounded())).unwrap_or_default();
        format!("{} ({}{memory})", holder.command.as_deref().unwrap_or("?"), holder.pid)
    });
    let names = names.collect::<Vec<_>>().join("; ");
    let pids = gpu.holders.iter().map(|holder| holder.pid.to_string()).collect::<Vec<_>>().join(" ");
    let fix = Text::new("若它们不再需要，结束它们", "end them if they are of no use any more");
    Some(
        Finding::warning("gpu.holders", Topic::Gpu, text)
            .seen(Text::new(names.clone(), names))
            .fix(fix, format!("kill {pids}")),
    )
}

fn lanes(gpu: &GpuHealth) -> Option<Finding> {
    let (now, most) = gpu.lanes.filter(|(now, most)| now < most)?;
    let index = gpu.index;
    let text = Text::new(
        format!("GPU {index} 只用了 PCIe {most} 条通道中的 {now} 条，数据传输变慢"),
        format!("GPU {index} runs on {now} of its {most} PCIe lanes: copies are slow"),
    );
    let fix = Text::new("检查插槽与转接卡", "look at the slot and the riser");
    Some(
        Finding::warning("gpu.lanes", Topic::Gpu, text)
            .fix(fix, format!("nvidia-smi -i {index} -q | grep -A 8 'GPU Link Info'")),
    )
}

#[cfg(test)]
mod tests {
    use fermi_hardware::gpu_health::GpuHolder;

    use super::super::tests::states;
    use super::*;
    use crate::State;

    fn gpu(index: u32) -> GpuHealth {
        GpuHealth {
            index,
            model: "H200".into(),
            memory_total: 140 << 30,
            memory_used: 500 << 20,
            temperature: Some(40),
            has_ecc: Some(true),
            uncorrected: Some(0),
            needs_reset: Some(false),
            lanes: Some((16, 16)),
            ..GpuHealth::default()
        }
    }

    fn found(gpus: Vec<GpuHealth>) -> Vec<Finding> {
        let facts = GpuFacts { driver: Some("570.1".into()), cuda: Some("12.8".into()), gpus };
        check(&DriverFacts::Answers(facts))
    }

    fn bad(gpus: Vec<GpuHealth>) -> Vec<(&'static str, State)> {
        states(&found(gpus)).into_iter().filter(|(_, state)| *state != State::Ok).collect()
    }

    #[test]
    fn healthy_gpus_are_all_well() {
        assert_eq!(bad(vec![gpu(0), gpu(1)]), []);
        assert_eq!(found(vec![gpu(0), gpu(1)])[0].text.en, "2 × H200 (140 GB)");
    }

    #[test]
    fn each_ailment_is_named() {
        let sick = |change: fn(&mut GpuHealth)| {
            let mut second = gpu(1);
            change(&mut second);
            bad(vec![gpu(0), second])
        };
        assert_eq!(sick(|gpu| gpu.uncorrected = Some(3)), [("gpu.ecc", State::Error)]);
        assert_eq!(sick(|gpu| gpu.needs_reset = Some(true)), [("gpu.ecc", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.has_ecc = Some(false)), [("gpu.ecc", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.slowed_by = vec![Slowdown::Heat]), [("gpu.throttling", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.temperature = Some(90)), [("gpu.throttling", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.memory_used = 30 << 30), [("gpu.holders", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.lanes = Some((4, 16))), [("gpu.lanes", State::Warning)]);
        assert_eq!(sick(|gpu| gpu.model = "T4".into()), [("gpu.list", State::Warning)]);
        // Consumer cards have no ECC, which is no fault.
        assert_eq!(sick(|gpu| (gpu.has_ecc, gpu.uncorrected) = (None, None)), []);
    }

    #[test]
    fn who_holds_memory_is_named_with_the_command_that_ends_it() {
        let mut busy = gpu(0);
        let command = Some("python train.py".to_owned());
        busy.holders = vec![GpuHolder { pid: 4711, memory: Some(8 << 30), command }];
        let finding = found(vec![busy]).into_iter().find(|it| it.check == "gpu.holders").unwrap();
        assert_eq!(finding.evidence.unwrap().en, "python train.py (4711, 8.0 GB)");
        assert_eq!(finding.fix.unwrap().command.as_deref(), Some("kill 4711"));
    }

    #[test]
    fn no_gpu_is_no_fault_but_a_silent_driver_is() {
        let silent = |on_bus, has_devices| {
            states(&check(&DriverFacts::Silent { on_bus, has_devices, reason: "not found".into() }))
        };
        assert_eq!(silent(0, false), [("gpu.list", State::Skipped)]);
        assert_eq!(silent(8, false), [("gpu.driver", State::Warning)]);
        assert_eq!(silent(8, true), [("gpu.driver", State::Error)]);
    }
}
