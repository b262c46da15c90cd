//! Horovod in gloo mode, without horovodrun: Fermi serves the rendezvous and gives each slot its variables.

use std::collections::BTreeMap;

use fermi_domain::{
    contract::engines,
    ids::NodeRank,
    launch::{Placeholder, Serves, Template},
    rank_map::RankSlot,
};

use crate::{
    batch, ddp,
    draft::Draft,
    hosts,
    order::LaunchOrder,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

const OWN: &[Setting] = &[
    Setting::new("fusionThresholdMb", "张量融合缓冲区（MB）", "the fusion buffer in MB"),
    Setting::new("cycleTimeMs", "通信周期（毫秒）", "the cycle time in ms"),
    Setting::new(
        "timeline",
        "时间线文件，相对路径位于输出目录",
        "a timeline file, in the output folder unless its path is absolute",
    ),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let wanted = batch::Wanted::read(settings)?;
    if wanted.is_given() {
        ddp::script_batch(order, wanted, draft)?;
    }
    tuning(settings, draft)?;
    draft.env.set(engines::HOROVOD_CONTROLLER, "gloo");
    draft.env.set(engines::HOROVOD_CPU_OPERATIONS, "gloo");
    draft.env.set(engines::HOROVOD_GLOO_RENDEZVOUS_ADDR, Template::placeholder(Placeholder::MasterAddress));
    draft.env.set(engines::HOROVOD_GLOO_RENDEZVOUS_PORT, Template::placeholder(Placeholder::MasterPort));
    let interface = order.spec.options.interface.clone();
    draft.env.set(
        engines::HOROVOD_GLOO_IFACE,
        interface.map_or(Template::placeholder(Placeholder::Interface), Template::text),
    );
    if let Some(seconds) = order.spec.options.timeout {
        draft.env.set_display(engines::HOROVOD_GLOO_TIMEOUT_SECONDS, seconds);
    }
    draft.env.set_display(engines::HOROVOD_SIZE, order.ranks.world_size());
    let names: BTreeMap<NodeRank, String> =
        order.ranks.nodes().map(|node| node.node_rank).zip(hosts::names(order)).collect();
    draft.each_rank(order, |slot, variables| {
        let (cross_rank, cross_size) = cross(order, slot);
        // It goes into the rendezvous's addresses, and only has to tell nodes apart.
        let name = names.get(&slot.node_rank).cloned().unwrap_or_default();
        variables.set(engines::HOROVOD_HOSTNAME, name);
        variables.set_display(engines::HOROVOD_RANK, slot.rank);
        variables.set_display(engines::HOROVOD_LOCAL_RANK, slot.local_rank);
        variables.set_display(engines::HOROVOD_LOCAL_SIZE, slot.local_world_size);
        variables.set_display(engines::HOROVOD_CROSS_RANK, cross_rank);
        variables.set_display(engines::HOROVOD_CROSS_SIZE, cross_size);
    });
    let file = draft.file("horovod_hosts", hosts::bare_file(order));
    draft.env.set(engines::FERMI_CONFIG_FILE, file);
    draft.serves = Serves::HorovodRendezvous;
    Ok(())
}

fn tuning(settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    if let Some(megabytes) = settings.count_from("fusionThresholdMb", 0)? {
        draft.env.set_display(engines::HOROVOD_FUSION_THRESHOLD, megabytes.saturating_mul(1 << 20));
    }
    if let Some(milliseconds) = settings.number("cycleTimeMs")? {
        draft.env.set_display(engines::HOROVOD_CYCLE_TIME, milliseconds);
    }
    if let Some(name) = settings.word("timeline")? {
        let in_folder = || Template::placeholder(Placeholder::OutputFolder).then(format!("/{name}"));
        let path = if name.starts_with('/') { Template::text(name) } else { in_folder() };
        draft.env.set(engines::HOROVOD_TIMELINE, path);
    }
    Ok(())
}

/// The slots with the same local rank on all nodes; with unequal nodes there are fewer of the higher ones.
fn cross(order: &LaunchOrder<'_>, slot: &RankSlot) -> (usize, usize) {
    let same = |other: &&RankSlot| other.local_rank == slot.local_rank;
    let before = order.ranks.slots().iter().filter(same).filter(|other| other.node_rank < slot.node_rank).count();
    (before, order.ranks.slots().iter().filter(same).count())
}
