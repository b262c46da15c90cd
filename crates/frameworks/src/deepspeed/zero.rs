//! `zero_optimization`: what is divided among the ranks, and what leaves the GPU.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use crate::{order::LaunchOrder, refusal::LaunchRefusal, settings::Settings};

/// The ZeRO section, decided.
#[derive(Clone, Debug)]
pub(crate) struct Zero {
    pub stage: u64,
    pub offload_optimizer: Option<&'static str>,
    pub offload_param: Option<&'static str>,
    nvme_path: Option<String>,
    pin_memory: bool,
    overlap: bool,
    allgather_bucket: u64,
    buckets: Buckets,
}

/// Sizes that depend on the model's hidden size.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    reduce: u64,
    prefetch: u64,
    persistence: u64,
}

impl Zero {
    pub(super) fn read(
        settings: &Settings<'_>,
        order: &LaunchOrder<'_>,
    ) -> Result<(Self, Option<Text>), LaunchRefusal> {
        // Pipelines allow no more than stage 1.
        let pipelines = order.fitting_strategy().is_some_and(|strategy| strategy.pipeline_parallel > 1);
        let stage = settings.count_from("zeroStage", 0)?.unwrap_or(if pipelines { 1 } else { 2 });
        if stage > 3 {
            let wanted = Text::new(" 0、1、2 或 3", "0, 1, 2 or 3");
            return Err(settings.refused("zeroStage", &stage.into(), wanted));
        }
        let (offload_optimizer, offload_param) = offload(settings, order, stage)?;
        let nvme = [offload_optimizer, offload_param].contains(&Some("nvme"));
        let nvme_path = settings.word("nvmePath")?.map(str::to_owned);
        if nvme && nvme_path.is_none() {
            return Err(LaunchRefusal::Rule {
                key: settings.key("nvmePath"),
                text: Text::new("卸载到 NVMe 需要目录", "Offloading to NVMe needs a folder"),
                hint: Text::new("填写 nvmePath，例如 /local_nvme", "give nvmePath, such as /local_nvme"),
            });
        }
        tensor_rule(settings, order, stage)?;
        let buckets = buckets(settings, stage)?;
        let is_auto = |file: &serde_json::Map<String, Value>| {
            file.get("zero_optimization").and_then(|zero| zero.get("reduce_bucket_size")) == Some(&Value::from("auto"))
        };
        let resolves = settings.section("config")?.is_none_or(is_auto);
        let note = (stage == 3 && resolves && !settings.has("reduceBucketSize")).then(|| buckets.text());
        let zero = Self {
            stage,
            offload_optimizer,
            offload_param,
            nvme_path,
            // Page-locked memory is the CUDA driver's.
            pin_memory: settings.flag("pinMemory")?.unwrap_or(order.on_gpus()),
            overlap: settings.flag("overlapComm")?.unwrap_or(true),
            allgather_bucket: settings.count("allgatherBucketSize")?.unwrap_or(200_000_000),
            buckets,
        };
        Ok((zero, note))
    }

    /// What leaves the GPU without having been asked for is said.
    pub(super) fn usual_offload(&self, settings: &Settings<'_>) -> Option<Text> {
        let is_asked = ["offloadOptimizer", "offloadParam"].iter().any(|name| settings.has(name));
        let leaves = self.offload_optimizer.is_some() || self.offload_param.is_some();
        (leaves && !is_asked).then(|| {
            Text::new(
                "ZeRO-3 的优化器状态与参数放在 CPU（offloadOptimizer、offloadParam 可更改）",
                "ZeRO-3 keeps optimizer states and parameters on the CPU (offloadOptimizer, offloadParam change that)",
            )
        })
    }

    pub(super) fn json(&self) -> Value {
        let mut json = Map::new();
        json.insert("stage".into(), self.stage.into());
        if let Some(device) = self.offload_optimizer {
            json.insert("offload_optimizer".into(), self.offload(device));
        }
        if let Some(device) = self.offload_param {
            json.insert("offload_param".into(), self.offload(device));
        }
        if self.stage == 3 {
            self.third_stage(&mut json)
        } else {
            self.lower_stages(&mut json)
        }
        Value::Object(json)
    }

    fn lower_stages(&self, json: &mut Map<String, Value>) {
        let keys: [(&str, Value); 6] = [
            ("allgather_partitions", true.into()),
            ("allgather_bucket_size", self.allgather_bucket.into()),
            ("overlap_comm", self.overlap.into()),
            ("reduce_scatter", true.into()),
            ("reduce_bucket_size", self.buckets.reduce.into()),
            ("contiguous_gradients", true.into()),
        ];
        json.extend(keys.map(|(key, value)| (key.to_owned(), value)));
    }

    fn third_stage(&self, json: &mut Map<String, Value>) {
        let Buckets { reduce, prefetch, persistence } = self.buckets;
        let keys: [(&str, Value); 9] = [
            ("overlap_comm", self.overlap.into()),
            ("contiguous_gradients", true.into()),
            ("sub_group_size", 1_000_000_000_u64.into()),
            ("reduce_bucket_size", reduce.into()),
            ("stage3_prefetch_bucket_size", prefetch.into()),
            ("stage3_param_persistence_threshold", persistence.into()),
            ("stage3_max_live_parameters", 1_000_000_000_u64.into()),
            ("stage3_max_reuse_distance", 1_000_000_000_u64.into()),
            ("stage3_gather_16bit_weights_on_model_save", true.into()),
        ];
        json.extend(keys.map(|(key, value)| (key.to_owned(), value)));
    }

    fn offload(&self, device: &str) -> Value {
        match &self.nvme_path {
            Some(path) if device == "nvme" => {
                json!({"device": device, "nvme_path": path, "pin_memory": self.pin_memory})
            }
            _ => json!({"device": device, "pin_memory": self.pin_memory}),
        }
    }
}

impl Buckets {
    fn text(self) -> Text {
        let Self { reduce, prefetch, persistence } = self;
        Text::new(
            format!("ZeRO-3 的 auto 解析为：reduce {reduce}，prefetch {prefetch}，persistence {persistence}"),
            format!("ZeRO-3's auto is resolved: reduce {reduce}, prefetch {prefetch}, persistence {persistence}"),
        )
    }
}

type Devices = (Option<&'static str>, Option<&'static str>);

/// ZeRO-3 leaves the GPU unless told otherwise; where there is none, there is nothing to leave.
fn offload(settings: &Settings<'_>, order: &LaunchOrder<'_>, stage: u64) -> Result<Devices, LaunchRefusal> {
    let devices = ["none", "cpu", "nvme"];
    let usual = if stage == 3 && order.on_gpus() { "cpu" } else { "none" };
    let optimizer = settings.choice("offloadOptimizer", &devices)?.unwrap_or(usual);
    let param = settings.choice("offloadParam", &devices)?.unwrap_or(usual);
    let rule = |key: &str, zh: &'static str, en: &'static str| LaunchRefusal::Rule {
        key: settings.key(key),
        text: Text::new(zh, en),
        hint: Text::new("提高 zeroStage，或填 none", "give a higher zeroStage, or none"),
    };
    if param != "none" && stage < 3 {
        return Err(rule("offloadParam", "参数卸载需要 ZeRO-3", "Offloading parameters needs ZeRO-3"));
    }
    if optimizer != "none" && stage == 0 {
        return Err(rule(
            "offloadOptimizer",
            "优化器卸载需要 ZeRO-1 以上",
            "Offloading the optimizer needs ZeRO-1 or more",
        ));
    }
    if optimizer == "nvme" && stage < 3 {
        return Err(rule("offloadOptimizer", "卸载到 NVMe 需要 ZeRO-3", "Offloading to NVMe needs ZeRO-3"));
    }
    let device = |word: &'static str| (word != "none").then_some(word);
    Ok((device(optimizer), device(param)))
}

/// DeepSpeed's tensor parallelism works up to ZeRO-2, its pipelines up to ZeRO-1.
fn tensor_rule(settings: &Settings<'_>, order: &LaunchOrder<'_>, stage: u64) -> Result<(), LaunchRefusal> {
    let Some(strategy) = order.fitting_strategy() else { return Ok(()) };
    let (most, zh, en) = match (strategy.pipeline_parallel > 1, strategy.tensor_parallel > 1) {
        (true, _) => (1, "流水线并行最多与 ZeRO-1 同用", "Pipelines go with ZeRO-1 at most"),
        (false, true) => (2, "张量并行最多与 ZeRO-2 同用", "Tensor parallelism goes with ZeRO-2 at most"),
        (false, false) => return Ok(()),
    };
    if stage <= most {
        return Ok(());
    }
    let hint = Text::new(format!("zeroStage 填 {most} 或更小"), format!("give zeroStage {most} or less"));
    Err(LaunchRefusal::Rule { key: settings.key("zeroStage"), text: Text::new(zh, en), hint })
}

/// By the rule that transformers applies to `auto` where the hidden size is known, else fixed sizes.
fn buckets(settings: &Settings<'_>, stage: u64) -> Result<Buckets, LaunchRefusal> {
    let reduce = settings.count("reduceBucketSize")?;
    let hidden = settings.count("hiddenSize")?;
    let (usual, prefetch, persistence) = match (stage, hidden) {
        (3, Some(hidden)) => {
            let square = hidden.saturating_mul(hidden).min(1 << 52);
            (square, square / 10 * 9, hidden.saturating_mul(10))
        }
        (3, None) => (500_000_000, 50_000_000, 1_000_000),
        _ => (200_000_000, 0, 0),
    };
    Ok(Buckets { reduce: reduce.unwrap_or(usual), prefetch, persistence })
}
