//! Variables of the wire: NCCL and gloo.

use fermi_domain::{
    contract::engines,
    language::Text,
    launch::{Placeholder, Template},
};

use crate::{draft::Draft, order::LaunchOrder, refusal::LaunchRefusal};

/// What the task's options say about the wire, and what the machines' places ask for.
pub(crate) fn add(order: &LaunchOrder<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let options = &order.spec.options;
    match options.interface.as_deref() {
        Some(interface) => {
            let interface = word("interface", interface, Text::new("网卡名，例如 eth0", "a name such as eth0"))?;
            draft.env.set(engines::NCCL_SOCKET_IFNAME, interface);
            draft.env.set(engines::GLOO_SOCKET_IFNAME, interface);
        }
        // Gloo takes the address that the host's own name resolves to, which is often 127.0.1.1; NCCL the first interface
        // that it finds, which may be a container's bridge.
        None if order.ranks.node_count() > 1 => {
            if order.on_gpus() {
                draft.env.set(engines::NCCL_SOCKET_IFNAME, Template::placeholder(Placeholder::Interface));
            }
            draft.env.set(engines::GLOO_SOCKET_IFNAME, Template::placeholder(Placeholder::Interface));
        }
        None => {}
    }
    if let Some(seconds) = options.timeout {
        if seconds == 0 {
            let wanted = Text::new("至少 1 秒", "at least 1 second");
            return Err(LaunchRefusal::OptionInvalid { option: "timeout", wanted });
        }
        draft.env.set_display(engines::FERMI_COLLECTIVE_TIMEOUT, seconds);
        // Not read by today's torch, but by scripts that people have.
        draft.env.set_display(engines::NCCL_TIMEOUT, seconds);
    }
    infiniband(order, draft);
    if options.p2p == Some(false) {
        draft.env.set(engines::NCCL_P2P_DISABLE, "1");
    }
    if let Some(level) = options.nccl_debug.as_deref() {
        let level = level_of("ncclDebug", level, &["VERSION", "WARN", "INFO", "TRACE", "ABORT", "NONE"])?;
        draft.env.set(engines::NCCL_DEBUG, level);
    }
    if let Some(level) = options.torch_debug.as_deref() {
        let level = level_of("torchDebug", level, &["OFF", "INFO", "DETAIL"])?;
        draft.env.set(engines::TORCH_DISTRIBUTED_DEBUG, level);
    }
    if options.cuda_launch_blocking == Some(true) {
        draft.env.set(engines::CUDA_LAUNCH_BLOCKING, "1");
    }
    Ok(())
}

/// An InfiniBand fabric ends at the zone's border; NCCL would choose it on both sides and hang.
fn infiniband(order: &LaunchOrder<'_>, draft: &mut Draft) {
    match order.spec.options.infiniband {
        Some(true) => draft.env.set(engines::NCCL_IB_DISABLE, "0"),
        Some(false) => draft.env.set(engines::NCCL_IB_DISABLE, "1"),
        None if order.zones().len() > 1 && order.on_gpus() => {
            draft.env.set(engines::NCCL_IB_DISABLE, "1");
            draft.notes.push(Text::new(
                format!("跨 {} 个可用区：NCCL 不使用 InfiniBand（options.infiniband 可更改）", order.zones().len()),
                format!("{} zones: NCCL without InfiniBand (options.infiniband changes that)", order.zones().len()),
            ));
        }
        None => {}
    }
}

fn word<'a>(option: &'static str, given: &'a str, wanted: Text) -> Result<&'a str, LaunchRefusal> {
    let fine = !given.is_empty() && !given.chars().any(|letter| letter.is_control() || letter.is_whitespace());
    fine.then_some(given).ok_or(LaunchRefusal::OptionInvalid { option, wanted })
}

/// One of the levels of a log, in any case.
fn level_of(option: &'static str, given: &str, levels: &[&'static str]) -> Result<&'static str, LaunchRefusal> {
    let found = levels.iter().find(|level| level.eq_ignore_ascii_case(given.trim()));
    found.copied().ok_or_else(|| {
        let wanted = Text::new(format!(" {} 之一", levels.join("、")), format!("one of {}", levels.join(", ")));
        LaunchRefusal::OptionInvalid { option, wanted }
    })
}
