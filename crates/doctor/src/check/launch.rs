//! The variables of a launch: whole, without contradiction, and true of this machine.

use fermi_domain::contract::engines::{
    GLOO_SOCKET_IFNAME, JAX_PLATFORM_NAME, NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME, XLA_PYTHON_CLIENT_MEM_FRACTION,
};
use fermi_domain::contract::{
    CUDA_VISIBLE_DEVICES, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, NODE_RANK, RANK, WORLD_SIZE,
};
use fermi_domain::language::Text;

use super::infiniband;
use crate::facts::{GpuFacts, LaunchVariables, NetworkFacts};
use crate::{Finding, Topic};

/// Those that a rank cannot do without.
const NEEDED: [&str; 4] = [RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT];
const NUMBERS: [&str; 6] = [RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK, MASTER_PORT];
const JAX_PLATFORMS: &str = "JAX_PLATFORMS";

pub fn check(launch: &LaunchVariables, gpus: Option<&GpuFacts>, network: Option<&NetworkFacts>) -> Vec<Finding> {
    let mut findings = vec![ranks(launch)];
    findings.extend(visible(launch, gpus));
    if let Some(network) = network {
        findings.extend(
            [NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME].iter().filter_map(|name| interface(launch, name, network)),
        );
        findings.extend(no_infiniband(launch, network));
    }
    findings.extend(jax(launch, gpus));
    findings.extend(fraction(launch));
    findings
}

fn error(check: &'static str, zh: String, en: String) -> Finding {
    Finding::error(check, Topic::Launch, Text::new(zh, en))
}

fn ranks(launch: &LaunchVariables) -> Finding {
    let set: Vec<&str> = NUMBERS.into_iter().chain([MASTER_ADDR]).filter(|name| launch.get(name).is_some()).collect();
    if set.is_empty() {
        let text = Text::new(
            "没有设置 RANK 等启动变量；由 fermi run 设置",
            "RANK and the like are not set; fermi run sets them",
        );
        return Finding::ok("launch.variables", Topic::Launch, text);
    }
    let number = |name: &str| launch.get(name).and_then(|text| text.parse::<u64>().ok());
    let unset = Text::new("取消这些变量，让 fermi run 设置", "unset them and let fermi run set them");
    let command = format!("unset {}", set.join(" "));
    if let Some(bad) = NUMBERS.into_iter().find(|name| launch.get(name).is_some() && number(name).is_none()) {
        let value = launch.get(bad).unwrap_or_default();
        return error("launch.variables", format!("{bad}=“{value}” 不是数字"), format!("{bad}=“{value}” is no number"))
            .fix(unset, command);
    }
    for (small, large) in [(RANK, WORLD_SIZE), (LOCAL_RANK, LOCAL_WORLD_SIZE), (LOCAL_RANK, WORLD_SIZE)] {
        if let (Some(rank), Some(count)) = (number(small), number(large))
            && rank >= count
        {
            return error(
                "launch.variables",
                format!("{small}={rank} 应小于 {large}={count}"),
                format!("{small}={rank} must be below {large}={count}"),
            )
            .fix(unset, command);
        }
    }
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| launch.get(name).is_none()).collect();
    let shown = set.iter().map(|name| format!("{name}={}", launch.get(name).unwrap_or_default()));
    let shown = shown.collect::<Vec<_>>().join(" ");
    // A master alone is what people export before `fermi run`.
    if !missing.is_empty() && [RANK, WORLD_SIZE, LOCAL_RANK].iter().any(|name| launch.get(name).is_some()) {
        let missing = missing.join(", ");
        return Finding::warning(
            "launch.variables",
            Topic::Launch,
            Text::new(
                format!("启动变量不完整，缺少 {missing}；init_process_group 会失败"),
                format!("the variables of a launch are not complete, {missing} is missing: init_process_group fails"),
            ),
        )
        .seen(Text::new(shown.clone(), shown))
        .fix(unset, command);
    }
    Finding::ok("launch.variables", Topic::Launch, Text::new(shown.clone(), shown))
}

fn visible(launch: &LaunchVariables, gpus: Option<&GpuFacts>) -> Option<Finding> {
    let list = launch.0.get(CUDA_VISIBLE_DEVICES)?;
    let count = gpus.map_or(0, |it| it.gpus.len());
    let unset = Text::new("取消或改正它", "unset or correct it");
    let command = format!("unset {CUDA_VISIBLE_DEVICES}");
    let entries: Vec<&str> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let beyond = entries.iter().filter_map(|entry| entry.parse::<usize>().ok()).find(|index| *index >= count);
    if let Some(beyond) = beyond.filter(|_| count > 0) {
        return Some(
            error(
                "launch.visible",
                format!("{CUDA_VISIBLE_DEVICES}={list} 中的 {beyond} 不存在，本机只有 {count} 块 GPU"),
                format!("{CUDA_VISIBLE_DEVICES}={list} names GPU {beyond}, but there are only {count}"),
            )
            .fix(unset, command),
        );
    }
    (count > 0 && entries.is_empty()).then(|| {
        Finding::warning(
            "launch.visible",
            Topic::Launch,
            Text::new(
                format!("{CUDA_VISIBLE_DEVICES} 为空，训练看不到 {count} 块 GPU"),
                format!("{CUDA_VISIBLE_DEVICES} is empty: a training sees none of {count} GPUs"),
            ),
        )
        .fix(unset, command)
    })
}

/// NCCL takes prefixes, `=` for whole names and `^` for all others; gloo takes whole names.
fn interface(launch: &LaunchVariables, name: &'static str, network: &NetworkFacts) -> Option<Finding> {
    let value = launch.get(name)?;
    if value.starts_with('^') {
        return None;
    }
    let is_exact = value.starts_with('=') || name == GLOO_SOCKET_IFNAME;
    let wanted: Vec<&str> = value.trim_start_matches('=').split(',').map(str::trim).collect();
    let names: Vec<&str> = network.interfaces.iter().map(|it| it.name.as_str()).chain(["lo"]).collect();
    let is_there = |want: &&str| names.iter().any(|name| if is_exact { name == want } else { name.starts_with(*want) });
    if wanted.iter().any(is_there) {
        return None;
    }
    let known = names.join(", ");
    let best = super::network::usable(network).next().map_or("eth0", |it| it.name.as_str());
    let fix = Text::new("改成存在的网卡", "name one that exists");
    Some(
        error(
            "launch.interface",
            format!("{name}={value}，但没有这个网卡；有 {known}"),
            format!("{name}={value}, but there is no such interface; there are {known}"),
        )
        .fix(fix, format!("export {name}={best}")),
    )
}

fn no_infiniband(launch: &LaunchVariables, network: &NetworkFacts) -> Option<Finding> {
    let is_off = launch.get(NCCL_IB_DISABLE).is_some_and(|value| value != "0");
    (is_off && infiniband::is_used(&network.infiniband)).then(|| {
        let text = Text::new(
            "有可用的 InfiniBand，但 NCCL_IB_DISABLE 让 NCCL 走 TCP",
            "InfiniBand works, but NCCL_IB_DISABLE makes NCCL use TCP",
        );
        let fix = Text::new("取消它", "unset it");
        Finding::warning("launch.infiniband", Topic::Launch, text).fix(fix, format!("unset {NCCL_IB_DISABLE}"))
    })
}

fn jax(launch: &LaunchVariables, gpus: Option<&GpuFacts>) -> Option<Finding> {
    let (name, value) = [JAX_PLATFORMS, JAX_PLATFORM_NAME].iter().find_map(|name| Some((*name, launch.get(name)?)))?;
    let wants_gpu = ["gpu", "cuda"].contains(&value.split(',').next().unwrap_or_default());
    (wants_gpu && gpus.is_none()).then(|| {
        let fix = Text::new("改为 cpu，或换到有 GPU 的机器", "set it to cpu, or use a machine with GPUs");
        error(
            "launch.jax",
            format!("{name}={value}，但这里没有 GPU，JAX 会启动失败"),
            format!("{name}={value}, but there is no GPU here: JAX does not start"),
        )
        .fix(fix, format!("export {name}=cpu"))
    })
}

fn fraction(launch: &LaunchVariables) -> Option<Finding> {
    let name = XLA_PYTHON_CLIENT_MEM_FRACTION;
    let value = launch.get(name)?;
    let is_right = value.parse::<f64>().is_ok_and(|share| share > 0.0 && share <= 1.0);
    (!is_right).then(|| {
        let fix = Text::new("取 0 到 1 之间的值", "give a share between 0 and 1");
        error(
            "launch.fraction",
            format!("{name}=“{value}” 不是 0 到 1 之间的数"),
            format!("{name}=“{value}” is no number between 0 and 1"),
        )
        .fix(fix, format!("export {name}=0.8"))
    })
}

#[cfg(test)]
mod tests {
    use fermi_hardware::gpu_health::GpuHealth;

    use super::super::tests::states;
    use super::*;
    use crate::State::{self, Error, Ok, Warning};
    use crate::facts::{InfinibandPort, Interface};

    fn found(line: &str, gpu_count: usize) -> Vec<(&'static str, State)> {
        let pairs = line.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        let launch = LaunchVariables(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        let gpus = GpuFacts { gpus: vec![GpuHealth::default(); gpu_count], ..GpuFacts::default() };
        let interface = Interface { name: "eth0".into(), is_up: true, ..Interface::default() };
        let port = InfinibandPort { state: "ACTIVE".into(), ..InfinibandPort::default() };
        let network = NetworkFacts { interfaces: vec![interface], infiniband: vec![port], has_peer_memory: true };
        states(&check(&launch, (gpu_count > 0).then_some(&gpus), Some(&network)))
    }

    #[test]
    fn a_launch_is_whole_or_not_there() {
        for (line, state) in [
            ("", Ok),
            ("MASTER_ADDR=gn6 MASTER_PORT=29500", Ok),
            ("RANK=0 WORLD_SIZE=2 MASTER_ADDR=gn6 MASTER_PORT=29500 LOCAL_RANK=0 NODE_RANK=0", Ok),
            ("RANK=0 WORLD_SIZE=2", Warning),
            ("RANK=2 WORLD_SIZE=2 MASTER_ADDR=gn6 MASTER_PORT=29500", Error),
            ("RANK=zero WORLD_SIZE=2 MASTER_ADDR=gn6 MASTER_PORT=29500", Error),
            ("LOCAL_RANK=4 LOCAL_WORLD_SIZE=4 RANK=0 WORLD_SIZE=8 MASTER_ADDR=gn6 MASTER_PORT=1", Error),
        ] {
            assert_eq!(found(line, 0), [("launch.variables", state)], "{line}");
        }
    }

    #[test]
    fn variables_that_are_not_true_of_this_machine_are_found() {
        let second = |line: &str, gpus| found(line, gpus).get(1).copied();
        for line in [
            "CUDA_VISIBLE_DEVICES=0,1",
            "NCCL_SOCKET_IFNAME=eth",
            "NCCL_SOCKET_IFNAME=^docker0,lo",
            "GLOO_SOCKET_IFNAME=lo",
            "JAX_PLATFORM_NAME=gpu",
            "XLA_PYTHON_CLIENT_MEM_FRACTION=0.9",
            "NCCL_IB_DISABLE=0",
        ] {
            assert_eq!(second(line, 2), None, "{line}");
        }
        assert_eq!(second("CUDA_VISIBLE_DEVICES=0,2", 2), Some(("launch.visible", Error)));
        assert_eq!(second("CUDA_VISIBLE_DEVICES=", 2), Some(("launch.visible", Warning)));
        assert_eq!(second("NCCL_SOCKET_IFNAME==eth", 0), Some(("launch.interface", Error)));
        assert_eq!(second("GLOO_SOCKET_IFNAME=ens3", 0), Some(("launch.interface", Error)));
        assert_eq!(second("NCCL_IB_DISABLE=1", 0), Some(("launch.infiniband", Warning)));
        assert_eq!(second("JAX_PLATFORM_NAME=gpu", 0), Some(("launch.jax", Error)));
        assert_eq!(second("XLA_PYTHON_CLIENT_MEM_FRACTION=90", 0), Some(("launch.fraction", Error)));
    }
}
