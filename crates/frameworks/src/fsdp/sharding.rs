//! How parameters are divided. FSDP1's names are what people know; FSDP2 does the work.

use fermi_domain::{contract::engines, language::Text};
use serde_json::{Value, json};

use crate::{order::LaunchOrder, precision::Precision, refusal::LaunchRefusal, settings::Settings};

/// The FSDP configuration, decided.
#[derive(Clone, Debug)]
pub(crate) struct Sharding {
    strategy: &'static str,
    pub precision: Precision,
    /// Copies × parts, where each node holds a whole copy.
    pub mesh: Option<(u32, u32)>,
    wrap: &'static str,
    layers: Vec<String>,
    min_num_params: Option<u64>,
    pub offload_params: bool,
    activation_checkpointing: bool,
    state_dict_type: &'static str,
    output: Option<Precision>,
    cast_forward_inputs: bool,
    cpu_ram_efficient_loading: bool,
}

/// What is wrapped, in accelerate's names, and the short ones.
const WRAPS: [(&str, &str); 3] =
    [("TRANSFORMER_BASED_WRAP", "transformer"), ("SIZE_BASED_WRAP", "size"), ("NO_WRAP", "none")];

impl Sharding {
    pub(super) fn read(order: &LaunchOrder<'_>, settings: &Settings<'_>) -> Result<(Self, Vec<Text>), LaunchRefusal> {
        let strategies = ["FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD"];
        let strategy = settings.choice("shardingStrategy", &strategies)?.unwrap_or("FULL_SHARD");
        let (precision, note) = Precision::read(settings, order, Precision::Bf16)?;
        let mut notes: Vec<Text> = note.into_iter().collect();
        let layers = settings.words("transformerLayers")?.unwrap_or_default();
        let min_num_params = settings.count("minNumParams")?;
        let usual = if min_num_params.is_some() && layers.is_empty() { "size" } else { "transformer" };
        let names = WRAPS.map(|(_, short)| short).into_iter().chain(WRAPS.map(|(name, _)| name)).collect::<Vec<_>>();
        let wrap = settings.choice("wrapPolicy", &names)?.unwrap_or(usual);
        let wrap = WRAPS.iter().find(|(name, short)| [*name, *short].contains(&wrap)).map_or(wrap, |(name, _)| name);
        if !order.on_gpus() {
            notes.push(Text::new(
                "accelerate 在 CPU 上不切分，退回 DDP；直接使用 fully_shard 的脚本会切分",
                "accelerate does not shard on CPU and falls back to DDP; scripts that call fully_shard do",
            ));
        }
        let sharding = Self {
            strategy,
            precision,
            mesh: if strategy == "HYBRID_SHARD" { Some(mesh(order, settings)?) } else { None },
            wrap,
            layers,
            min_num_params: min_num_params.or((wrap == "SIZE_BASED_WRAP").then_some(100_000_000)),
            offload_params: settings.flag("offloadParams")?.unwrap_or(false),
            activation_checkpointing: settings.flag("activationCheckpointing")?.unwrap_or(false),
            state_dict_type: settings
                .choice("stateDictType", &["SHARDED_STATE_DICT", "FULL_STATE_DICT"])?
                .unwrap_or("SHARDED_STATE_DICT"),
            output: Precision::of(settings, "outputDtype")?,
            cast_forward_inputs: settings.flag("castForwardInputs")?.unwrap_or(true),
            cpu_ram_efficient_loading: settings.flag("cpuRamEfficientLoading")?.unwrap_or(false),
        };
        Ok((sharding, notes))
    }

    /// FSDP2's word for the strategy: whether parameters are given back between forward and backward.
    fn reshard_after_forward(&self) -> bool {
        self.strategy != "SHARD_GRAD_OP"
    }

    /// `fsdp_config.json`.
    pub(super) fn json(&self) -> Value {
        let dtype = self.precision.in_torch();
        json!({
            "fsdp_version": 2,
            "sharding_strategy": self.strategy,
            "reshard_after_forward": self.reshard_after_forward(),
            "device_mesh": self.mesh.map(|(replicate, shard)| json!({"replicate": replicate, "shard": shard})),
            "mixed_precision": {
                "param_dtype": dtype, "reduce_dtype": dtype, "output_dtype": self.output.map(Precision::in_torch),
                "cast_forward_inputs": self.cast_forward_inputs,
            },
            "auto_wrap_policy": self.wrap,
            "transformer_layer_cls_to_wrap": (!self.layers.is_empty()).then_some(&self.layers),
            "min_num_params": self.min_num_params,
            "offload_params": self.offload_params,
            "activation_checkpointing": self.activation_checkpointing,
            "state_dict_type": self.state_dict_type,
        })
    }

    /// Variable, key of the YAML, value. FSDP1's strategy is left out: accelerate refuses it beside version 2.
    pub(crate) fn in_accelerate(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut lines = vec![
            (engines::FSDP_VERSION, "fsdp_version", "2".to_owned()),
            (
                engines::FSDP_RESHARD_AFTER_FORWARD,
                "fsdp_reshard_after_forward",
                self.reshard_after_forward().to_string(),
            ),
            (engines::FSDP_AUTO_WRAP_POLICY, "fsdp_auto_wrap_policy", self.wrap.to_owned()),
            (engines::FSDP_OFFLOAD_PARAMS, "fsdp_offload_params", self.offload_params.to_string()),
            (engines::FSDP_STATE_DICT_TYPE, "fsdp_state_dict_type", self.state_dict_type.to_owned()),
            (
                engines::FSDP_ACTIVATION_CHECKPOINTING,
                "fsdp_activation_checkpointing",
                self.activation_checkpointing.to_string(),
            ),
            // Said in both places, since accelerate's variables and its YAML differ in what they take for granted.
            (
                engines::FSDP_CPU_RAM_EFFICIENT_LOADING,
                "fsdp_cpu_ram_efficient_loading",
                self.cpu_ram_efficient_loading.to_string(),
            ),
        ];
        if !self.layers.is_empty() {
            let layers = self.layers.join(",");
            lines.push((engines::FSDP_TRANSFORMER_CLS_TO_WRAP, "fsdp_transformer_layer_cls_to_wrap", layers));
        }
        if let Some(least) = self.min_num_params {
            lines.push((engines::FSDP_MIN_NUM_PARAMS, "fsdp_min_num_params", least.to_string()));
        }
        lines
    }
}

/// A copy per node needs nodes of one size.
fn mesh(order: &LaunchOrder<'_>, settings: &Settings<'_>) -> Result<(u32, u32), LaunchRefusal> {
    let ranks = order.ranks_per_node();
    let first = ranks.first().copied().unwrap_or(1);
    if ranks.iter().all(|ranks| *ranks == first) {
        return Ok((order.ranks.node_count(), first));
    }
    let counts = ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ");
    Err(LaunchRefusal::Rule {
        key: settings.key("shardingStrategy"),
        text: Text::new(
            format!("HYBRID_SHARD 要求各节点 rank 数相同，现为 {counts}"),
            format!("HYBRID_SHARD wants the same number of ranks on every node, not {counts}"),
        ),
        hint: Text::new(
            "使用 FULL_SHARD，或选择相同数量的 Worker",
            "take FULL_SHARD, or choose as many workers on each",
        ),
    })
}
