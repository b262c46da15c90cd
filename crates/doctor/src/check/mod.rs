//! Judges facts. Nothing here looks at the machine.

mod clock;
mod cpu;
mod disk;
mod gpu;
mod infiniband;
mod launch;
mod limits;
mod memory;
mod name;
mod network;
mod port;
mod python;
mod ranks;
pub mod wire;

use fermi_domain::language::Text;

use crate::facts::{DriverFacts, GpuFacts, MachineFacts, Seen};
use crate::{Finding, Topic};

/// Everything that is to be said of one machine, in the order in which people read it.
pub fn machine(facts: &MachineFacts) -> Vec<Finding> {
    let gpus = gpus_of(facts);
    let network = facts.network.known();
    [
        judged(&facts.gpus, "gpu.driver", Topic::Gpu, &LOADING, gpu::check),
        judged(&facts.cpu, "cpu.cores", Topic::Cpu, &READING, |cpu| cpu::check(cpu, gpus)),
        judged(&facts.memory, "memory.size", Topic::Cpu, &READING, |memory| memory::check(memory, gpus)),
        judged(&facts.limits, "limits.files", Topic::Limits, &READING, |limits| {
            limits::check(limits, network.is_some_and(|it| infiniband::is_used(&it.infiniband)))
        }),
        judged(&facts.disk, "disk.write", Topic::Disk, &WRITING, disk::check),
        judged(&facts.clock, "clock.sync", Topic::Clock, &READING, |clock| vec![clock::check(clock)]),
        judged(&facts.network, "network.interfaces", Topic::Network, &READING, network::check),
        judged(&facts.network, "network.infiniband", Topic::Network, &READING, |network| {
            infiniband::check(network, gpus.is_some())
        }),
        judged(&facts.firewall, "network.firewall", Topic::Network, &READING, |firewall| {
            vec![network::firewall(firewall, network, facts.port.known().map_or(0, |port| port.port))]
        }),
        judged(&facts.name, "network.name", Topic::Network, &RESOLVING, |name| vec![name::check(name, network)]),
        judged(&facts.loopback, "launch.ranks", Topic::Launch, &ADDING, |ranks| vec![ranks::check(ranks)]),
        judged(&facts.port, "launch.port", Topic::Launch, &BINDING, |port| vec![port::check(port)]),
        judged(&facts.master, "launch.master", Topic::Launch, &CALLING, |master| {
            master.iter().map(port::master).collect()
        }),
        launch::check(&facts.launch, gpus, network),
        judged(&facts.python, "python.version", Topic::Python, &ASKING, |python| python::check(python.as_ref(), gpus)),
    ]
    .concat()
}

/// The GPUs where a driver answers and there are some.
pub(crate) fn gpus_of(facts: &MachineFacts) -> Option<&GpuFacts> {
    match facts.gpus.known() {
        Some(DriverFacts::Answers(gpus)) if !gpus.gpus.is_empty() => Some(gpus),
        _ => None,
    }
}

/// What a step waited for, in both languages.
struct Waiting(&'static str, &'static str);

const LOADING: Waiting =
    Waiting("加载 GPU 驱动库并询问每块 GPU", "loading the GPU driver's library and asking each GPU");
const READING: Waiting = Waiting("读取 /proc 与 /sys", "reading /proc and /sys");
const WRITING: Waiting = Waiting("在该目录写一个小文件", "writing a small file into the folder");
const RESOLVING: Waiting = Waiting("解析本机主机名", "resolving this machine's name");
const ADDING: Waiting = Waiting("两个 rank 在回环网络上求和", "two ranks adding over the loopback");
const BINDING: Waiting = Waiting("占用主节点端口", "taking the master's port");
const CALLING: Waiting = Waiting("连接 MASTER_ADDR", "connecting to MASTER_ADDR");
const ASKING: Waiting = Waiting("Python 回答", "Python to answer");

/// A step that was late is a finding of its own.
fn judged<T>(
    seen: &Seen<T>,
    check: &'static str,
    topic: Topic,
    waiting: &Waiting,
    judge: impl FnOnce(&T) -> Vec<Finding>,
) -> Vec<Finding> {
    match seen {
        Seen::Known(facts) => judge(facts),
        Seen::Late { seconds } => {
            let Waiting(zh, en) = waiting;
            let text = Text::new(
                format!("{seconds} 秒内没有结果，当时在等：{zh}"),
                format!("no answer within {seconds} s; it was waiting for: {en}"),
            );
            let advice = Text::new(
                "查看内核日志中是否有挂起的设备或文件系统",
                "look in the kernel's log for a device or file system that hangs",
            );
            vec![Finding::error(check, topic, text).fix(advice, "sudo dmesg --level=err,warn | tail -n 40")]
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::State;

    /// `check state` of each finding, for tables.
    pub fn states(findings: &[Finding]) -> Vec<(&'static str, State)> {
        findings.iter().map(|finding| (name(finding), finding.state)).collect()
    }

    /// Checks of this crate have names that are known when it is built.
    pub fn name(finding: &Finding) -> &'static str {
        match &finding.check {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => panic!("{name} was read"),
        }
    }

    #[test]
    fn a_late_step_is_an_error_that_says_what_it_waited_for() {
        let late: Seen<()> = Seen::Late { seconds: 10 };
        let found = judged(&late, "disk.write", Topic::Disk, &WRITING, |()| Vec::new());
        assert_eq!(states(&found), [("disk.write", State::Error)]);
        assert!(found[0].text.en.contains("writing a small file"), "{}", found[0].text.en);
        assert!(found[0].text.zh.contains("10 秒"), "{}", found[0].text.zh);
    }
}
