//! PyTorch FSDP: a JSON for scripts, accelerate's variables and YAML.

mod sharding;

use fermi_domain::{contract, contract::engines};

pub(crate) use sharding::Sharding;

use crate::{
    accelerate, backend, batch, ddp,
    draft::Draft,
    order::LaunchOrder,
    precision,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

const OWN: &[Setting] = &[
    precision::SETTING,
    Setting::new(
        "shardingStrategy",
        "FULL_SHARD、SHARD_GRAD_OP 或 HYBRID_SHARD",
        "FULL_SHARD, SHARD_GRAD_OP or HYBRID_SHARD",
    ),
    Setting::new(
        "wrapPolicy",
        "transformer、size 或 none，也可写 TRANSFORMER_BASED_WRAP、SIZE_BASED_WRAP、NO_WRAP",
        "transformer, size or none; also TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP, NO_WRAP",
    ),
    Setting::new(
        "transformerLayers",
        "要包装的层的类名，列表或逗号分隔",
        "names of the layers' classes to wrap, as a list or with commas",
    ),
    Setting::new("minNumParams", "按大小包装时的最少参数数", "least parameters of a part wrapped by size"),
    Setting::new("outputDtype", "前向输出的格式：fp32、fp16 或 bf16", "format of what comes out: fp32, fp16 or bf16"),
    Setting::new("castForwardInputs", "是否转换前向输入的格式", "whether what goes in is cast"),
    Setting::new(
        "cpuRamEfficientLoading",
        "是否只由第一个 rank 读入权重",
        "whether the first rank alone reads the weights",
    ),
    Setting::new("offloadParams", "参数是否放在 CPU", "whether parameters go to the CPU"),
    Setting::new("activationCheckpointing", "是否重算激活", "whether activations are computed again"),
    Setting::new("stateDictType", "SHARDED_STATE_DICT 或 FULL_STATE_DICT", "SHARDED_STATE_DICT or FULL_STATE_DICT"),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let wanted = batch::Wanted::read(settings)?;
    let (sharding, notes) = Sharding::read(order, settings)?;
    draft.notes.extend(notes);
    if sharding.offload_params {
        let (backend, note) = backend::with_tensors_on_cpu(order, draft.backend);
        draft.backend = backend;
        draft.env.set(contract::FERMI_BACKEND, backend);
        draft.notes.extend(note);
    }
    if wanted.is_given() {
        ddp::script_batch(order, wanted, draft)?;
    }
    let json = serde_json::to_string_pretty(&sharding.json()).unwrap_or_default();
    let file = draft.file("fsdp_config.json", json + "\n");
    draft.env.set(engines::FERMI_CONFIG_FILE, file);
    accelerate::fsdp(order, &sharding, draft);
    Ok(())
}
