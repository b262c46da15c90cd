//! JAX: a `jax.distributed.initialize()` without arguments finds coordinator, count and place.
//!
//! JAX reads the coordinator's address from a variable, but the number and place of processes only from a cluster that
//! it recognises; OpenMPI's is the smallest to stand in for.

use fermi_domain::{
    contract::engines,
    language::Text,
    launch::{Placeholder, Template},
};

use crate::{
    batch, ddp,
    draft::Draft,
    order::LaunchOrder,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

const OWN: &[Setting] = &[
    Setting::new("platform", "cpu 或 gpu", "cpu or gpu; by the ranks unless given"),
    Setting::new("preallocate", "是否预先占用显存", "whether GPU memory is taken at the start"),
    Setting::new("memoryFraction", "可用显存比例", "the share of GPU memory that may be used"),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let wanted = batch::Wanted::read(settings)?;
    if wanted.is_given() {
        ddp::script_batch(order, wanted, draft)?;
    }
    let usual = if order.on_gpus() { "gpu" } else { "cpu" };
    let platform = settings.choice("platform", &["cpu", "gpu"])?.unwrap_or(usual);
    if platform == "gpu" && !order.on_gpus() {
        return Err(LaunchRefusal::Rule {
            key: settings.key("platform"),
            text: Text::new("gpu 平台需要每个 rank 都有 GPU", "The platform gpu needs a GPU under every rank"),
            hint: Text::new("使用 cpu，或选择有 GPU 的环境", "give cpu, or choose environments with GPUs"),
        });
    }
    draft.env.set(engines::JAX_PLATFORM_NAME, platform);
    draft.env.set_display(engines::XLA_PYTHON_CLIENT_PREALLOCATE, settings.flag("preallocate")?.unwrap_or(false));
    draft.env.set_display(engines::XLA_PYTHON_CLIENT_MEM_FRACTION, memory_fraction(settings)?);
    if platform == "cpu" {
        draft.env.set(engines::JAX_CPU_COLLECTIVES_IMPLEMENTATION, "gloo");
    }
    let master =
        || Template::placeholder(Placeholder::MasterAddress).then(":").then_placeholder(Placeholder::MasterPort);
    draft.env.set(engines::JAX_COORDINATOR_ADDRESS, master());
    draft.env.set_display(engines::JAX_NUM_PROCESSES, order.ranks.world_size());
    let uri = Template::text("1.0;tcp://")
        .then_placeholder(Placeholder::MasterAddress)
        .then(":")
        .then_placeholder(Placeholder::MasterPort);
    draft.env.set(engines::OMPI_MCA_ORTE_HNP_URI, uri);
    draft.env.set_display(engines::OMPI_COMM_WORLD_SIZE, order.ranks.world_size());
    draft.each_rank(order, |slot, variables| {
        variables.set_display(engines::JAX_PROCESS_ID, slot.rank);
        variables.set_display(engines::OMPI_COMM_WORLD_RANK, slot.rank);
        variables.set_display(engines::OMPI_COMM_WORLD_LOCAL_RANK, slot.local_rank);
    });
    Ok(())
}

/// The share of a GPU's memory, which is neither nothing nor more than all of it.
fn memory_fraction(settings: &Settings<'_>) -> Result<f64, LaunchRefusal> {
    match settings.number("memoryFraction")? {
        None => Ok(0.9),
        Some(share) if share > 0.0 && share <= 1.0 => Ok(share),
        Some(share) => {
            let wanted = Text::new("大于 0 且不超过 1 的数", "a number above 0 and up to 1");
            Err(settings.refused("memoryFraction", &share.into(), wanted))
        }
    }
}
