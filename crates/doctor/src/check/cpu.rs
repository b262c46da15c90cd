//! CPUs: enough of them for the GPUs, and not held back.

use fermi_domain::language::Text;

use crate::facts::{CpuFacts, GpuFacts};
use crate::{Finding, Topic};

/// A rank of its own and its data loaders.
const PER_GPU: f64 = 4.0;

pub fn check(cpu: &CpuFacts, gpus: Option<&GpuFacts>) -> Vec<Finding> {
    let mut findings = vec![cores(cpu, gpus)];
    findings.extend(load(cpu));
    findings.extend(governor(cpu));
    findings
}

/// A quota counts less than the cores that are seen.
fn usable(cpu: &CpuFacts) -> f64 {
    cpu.quota.map_or(cpu.cores as f64, |quota| quota.min(cpu.cores as f64))
}

fn cores(cpu: &CpuFacts, gpus: Option<&GpuFacts>) -> Finding {
    let usable = usable(cpu);
    let model = cpu.model.as_deref().unwrap_or_default();
    let numa = cpu.numa_nodes;
    let seen = Text::new(format!("{model}，{numa} 个 NUMA 节点"), format!("{model}, {numa} NUMA nodes"));
    let count = gpus.map_or(0, |it| it.gpus.len());
    if count > 0 && usable < PER_GPU * count as f64 {
        let text = Text::new(
            format!("{usable:.0} 个 CPU 核对 {count} 块 GPU 太少，数据加载会拖慢训练"),
            format!("{usable:.0} cores for {count} GPUs are few: loading data will hold the training up"),
        );
        let fix = Text::new(
            format!("每块 GPU 至少给 {PER_GPU:.0} 个核；容器用 --cpus"),
            format!("give at least {PER_GPU:.0} cores per GPU; for a container with --cpus"),
        );
        return Finding::warning("cpu.cores", Topic::Cpu, text)
            .seen(seen)
            .fix(fix, "nproc; cat /sys/fs/cgroup/cpu.max");
    }
    let text = Text::new(format!("{usable:.0} 个 CPU 核"), format!("{usable:.0} cores"));
    Finding::ok("cpu.cores", Topic::Cpu, text).seen(seen)
}

fn load(cpu: &CpuFacts) -> Option<Finding> {
    let usable = usable(cpu);
    let load = cpu.load;
    (load > usable * 1.5).then(|| {
        let text = Text::new(
            format!("CPU 已很忙：{load:.0} 个进程等待 {usable:.0} 个核"),
            format!("the CPUs are busy: {load:.0} processes want {usable:.0} cores"),
        );
        let fix = Text::new("看看是谁在占用", "see who uses them");
        Finding::warning("cpu.load", Topic::Cpu, text).fix(fix, "ps -eo pid,user,pcpu,args --sort=-pcpu | head")
    })
}

fn governor(cpu: &CpuFacts) -> Option<Finding> {
    let governor = cpu.governor.as_deref().filter(|governor| *governor == "powersave")?;
    let text = Text::new(
        format!("CPU 调频策略为 {governor}，可能跑不到最高频率"),
        format!("the CPUs' governor is {governor}: they may not reach their speed"),
    );
    let fix = Text::new("改为 performance", "switch to performance");
    Some(
        Finding::warning("cpu.governor", Topic::Cpu, text)
            .fix(fix, "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"),
    )
}

#[cfg(test)]
mod tests {
    use fermi_hardware::gpu_health::GpuHealth;

    use super::super::tests::states;
    use super::*;
    use crate::State;

    #[test]
    fn cores_are_counted_against_the_gpus_and_a_quota_counts() {
        let gpus = GpuFacts { gpus: vec![GpuHealth::default(); 8], ..GpuFacts::default() };
        let cpu = CpuFacts { cores: 64, numa_nodes: 2, ..CpuFacts::default() };
        assert_eq!(states(&check(&cpu, Some(&gpus))), [("cpu.cores", State::Ok)]);
        let small = CpuFacts { quota: Some(8.0), ..cpu.clone() };
        assert_eq!(states(&check(&small, Some(&gpus))), [("cpu.cores", State::Warning)]);
        assert_eq!(states(&check(&small, None)), [("cpu.cores", State::Ok)]);
        let busy = CpuFacts { load: 200.0, governor: Some("powersave".into()), ..cpu };
        let found = [("cpu.cores", State::Ok), ("cpu.load", State::Warning), ("cpu.governor", State::Warning)];
        assert_eq!(states(&check(&busy, None)), found);
    }
}
