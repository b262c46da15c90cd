//! Hugging Face accelerate: the variables it reads under any launcher, and its YAML for those who use its own.

use std::fmt::Write as _;

use fermi_domain::{
    contract::engines,
    language::Text,
    launch::{Placeholder, Template},
};

use crate::{deepspeed::Configuration, draft::Draft, fsdp::Sharding, order::LaunchOrder, yaml};

/// For DeepSpeed: the JSON says everything, so accelerate is pointed at it.
pub(crate) fn deepspeed(order: &LaunchOrder<'_>, configuration: &Configuration, file: Template, draft: &mut Draft) {
    draft.env.set(engines::ACCELERATE_USE_DEEPSPEED, "true");
    draft.env.set(engines::ACCELERATE_DEEPSPEED_CONFIG_FILE, file.clone());
    if configuration.decides("precision") {
        draft.env.set(engines::ACCELERATE_MIXED_PRECISION, configuration.precision.in_accelerate());
    }
    if !order.on_gpus() {
        draft.notes.push(Text::new(
            "在 CPU 上使用 DeepSpeed 时，直接写 Accelerator() 的脚本只计 1 个进程，各 rank 得到相同的数据；transformers 的 Trainer 和 deepspeed.initialize 不受影响",
            "with DeepSpeed on CPU a plain Accelerator() counts one process, so all ranks get the same data; transformers' Trainer and deepspeed.initialize are not affected",
        ));
    }
    let head = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: \"";
    let mut rest = "\"\n".to_owned();
    let _ = writeln!(rest, "  zero3_init_flag: {}", configuration.zero.stage == 3);
    if order.ranks.node_count() > 1 {
        // Otherwise accelerate takes pdsh to reach the other machines, and a host file.
        rest.push_str("  deepspeed_multinode_launcher: standard\n");
    }
    // accelerate refuses a precision here beside a DeepSpeed file, which has its own.
    let text = Template::text(head)
        .then_placeholder(Placeholder::LaunchFolder)
        .then(format!("/{}{rest}", crate::deepspeed::FILE));
    file_of_machines("accelerate_deepspeed.yaml", order, text, draft);
}

/// For FSDP: everything by variables.
pub(crate) fn fsdp(order: &LaunchOrder<'_>, sharding: &Sharding, draft: &mut Draft) {
    draft.env.set(engines::ACCELERATE_USE_FSDP, "true");
    draft.env.set(engines::ACCELERATE_MIXED_PRECISION, sharding.precision.in_accelerate());
    if !order.on_gpus() {
        draft.env.set(engines::ACCELERATE_USE_CPU, "true");
    }
    let mut text = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n".to_owned();
    let _ = writeln!(text, "mixed_precision: {}", yaml::scalar(sharding.precision.in_accelerate()));
    text.push_str("fsdp_config:\n");
    for (variable, key, value) in sharding.in_accelerate() {
        draft.env.set(variable, value.as_str());
        let _ = writeln!(text, "  {key}: {}", spelled(&value));
    }
    if let Some((replicate, shard)) = sharding.mesh {
        draft.env.set(engines::ACCELERATE_USE_PARALLELISM_CONFIG, "true");
        draft.env.set_display(engines::PARALLELISM_CONFIG_DP_REPLICATE_SIZE, replicate);
        draft.env.set_display(engines::PARALLELISM_CONFIG_DP_SHARD_SIZE, shard);
        let _ = writeln!(text, "parallelism_config:\n  parallelism_config_dp_replicate_size: {replicate}");
        let _ = writeln!(text, "  parallelism_config_dp_shard_size: {shard}");
    }
    if !order.on_gpus() {
        text.push_str("use_cpu: true\n");
    }
    file_of_machines("accelerate_fsdp.yaml", order, Template::text(text), draft);
}

/// Flags and numbers stand bare in YAML.
fn spelled(value: &str) -> String {
    if ["true", "false"].contains(&value) || value.parse::<u64>().is_ok() {
        value.to_owned()
    } else {
        yaml::scalar(value)
    }
}

/// `accelerate launch` starts as many processes on each machine as on any other, so nodes that differ have no file.
fn file_of_machines(name: &str, order: &LaunchOrder<'_>, text: Template, draft: &mut Draft) {
    let ranks = order.ranks_per_node();
    if ranks.iter().any(|count| Some(count) != ranks.first()) {
        draft.notes.push(Text::new(
            format!("各节点 rank 数不同，accelerate launch 无法启动：不写 {name}"),
            format!(
                "accelerate launch starts the same number of processes on every node: no {name} for nodes that differ"
            ),
        ));
        return;
    }
    draft.file(name, places_of_machines(order, text));
}

/// The same file lies on every node, so it says nothing that differs: `accelerate launch --machine_rank N` does.
fn places_of_machines(order: &LaunchOrder<'_>, text: Template) -> Template {
    let machines = format!(
        "num_machines: {}\nnum_processes: {}\nmachine_rank: 0  # accelerate launch --machine_rank N\nmain_process_ip: \"",
        order.ranks.node_count(),
        order.ranks.world_size(),
    );
    text.then(machines)
        .then_placeholder(Placeholder::MasterAddress)
        .then("\"\nmain_process_port: ")
        .then_placeholder(Placeholder::MasterPort)
        .then("\nrdzv_backend: static\nsame_network: true\n")
}
