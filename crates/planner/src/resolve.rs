//! From a row with gaps to a job: what is absent is derived, and what cannot be is named.

use crate::architecture::Architecture;
use crate::catalogue::{Catalogue, Gpu, GpuEntry, lineage};
use crate::error::PlanError;
use crate::framework::Family;
use crate::job::{Cluster, Job, Layout, Lora};
use crate::network::Network;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::recompute::Recompute;
use crate::run::Run;
use crate::sharding::{Offload, Sharding};

/// A job, and what of it was assumed.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    pub job: Job,
    /// Where the row does not say what is recomputed: the least with which it fits.
    pub assumed_recompute: Option<Recompute>,
}

impl Resolved {
    /// The job as its memory is to be judged.
    pub fn for_memory(&self) -> Job {
        let mut job = self.job;
        if let Some(recompute) = self.assumed_recompute {
            job.layout.recompute = recompute;
        }
        job
    }
}

/// The job of a row.
pub fn job(run: &Run, catalogue: &Catalogue) -> Result<Resolved, PlanError> {
    let architecture = architecture(run, catalogue)?;
    let framework = run.framework.clone().unwrap_or_default();
    let family = Family::parse(&framework);
    let cluster = cluster(run, catalogue)?;
    let note = format!("{framework} {}", run.note.as_deref().unwrap_or_default()).to_ascii_lowercase();
    let precision = match run.precision.as_deref() {
        Some(name) => Precision::parse(name).ok_or_else(|| {
            PlanError::unknown("precision", name, &["bf16".to_owned(), "fp16".to_owned(), "fp8".to_owned()])
        })?,
        None => Precision::Bf16,
    };
    let mut layout = layout(run, &cluster, family, &note)?;
    let stated = run.recompute.as_deref().and_then(Recompute::parse);
    layout.recompute = stated.unwrap_or(Recompute::None);
    let mut job = Job {
        architecture,
        seq_len: whole("seq_len", run.seq_len)?.ok_or_else(|| PlanError::missing("seq_len"))?,
        cluster,
        layout,
        precision,
        optimizer: run.optimizer.as_deref().and_then(Optimizer::parse).unwrap_or_default(),
        family,
        half_gradients: family == Family::MegatronCore && note.contains("nemo"),
        compiled: is_compiled(family, &layout, &note),
        hides_tensor: hides_tensor(family, &note),
        hides_data: hides_data(family, &note),
        lora: whole("lora_rank", run.lora_rank)?.filter(|rank| *rank > 0).map(|rank| Lora { rank }),
    };
    job.check()?;
    let assumed_recompute = stated.is_none().then(|| lightest_that_fits(&job));
    // Megatron moves activations elsewhere before it computes whole blocks again.
    if let Some(recompute) = assumed_recompute
        && family != Family::MegatronCore
    {
        job.layout.recompute = recompute;
    }
    Ok(Resolved { job, assumed_recompute })
}

/// Where nothing is said, people recompute no more than they must.
fn lightest_that_fits(job: &Job) -> Recompute {
    let room = job.cluster.gpu.memory_gib;
    [Recompute::None, Recompute::Attention, Recompute::Half]
        .into_iter()
        .find(|recompute| {
            let mut lighter = *job;
            lighter.layout.recompute = *recompute;
            crate::memory::estimate(&lighter).fits(room)
        })
        .unwrap_or(Recompute::Full)
}

/// A count: positive, whole, and of a size that machines have.
fn whole(field: &'static str, value: Option<f64>) -> Result<Option<u64>, PlanError> {
    match value {
        None => Ok(None),
        Some(v) if v < 0.0 => Err(PlanError::zero(field)),
        Some(v) if v > 1e12 && field != "params" => Err(PlanError::too_large(field)),
        Some(v) if v > 1e15 => Err(PlanError::too_large(field)),
        Some(v) => Ok(Some(v.round() as u64)),
    }
}

/// The shape of a row's model.
pub fn architecture(run: &Run, catalogue: &Catalogue) -> Result<Architecture, PlanError> {
    let name = run.model_name.as_deref().unwrap_or_default();
    let known = catalogue.model(name).map(|entry| entry.architecture());
    let need = |field: &'static str, value: Option<f64>, known: Option<u64>| {
        whole(field, value)?.or(known).ok_or_else(|| match run.model_name {
            Some(_) if !name.is_empty() => PlanError::unknown("model", name, &catalogue.models_near(name)),
            _ => PlanError::missing(field),
        })
    };
    let layers = need("layers", run.layers, known.map(|k| k.layers))?;
    let hidden = need("hidden", run.hidden, known.map(|k| k.hidden))?;
    let heads = need("heads", run.heads, known.map(|k| k.heads))?;
    let vocab = need("vocab", run.vocab, known.map(|k| k.vocab).or(Some(50_304)))?;
    let ffn = need("ffn", run.ffn, known.map(|k| k.ffn).or(Some(hidden.saturating_mul(4))))?;
    let kv_heads = need("kv_heads", run.kv_heads, known.map(|k| k.kv_heads).or(Some(heads)))?;
    if heads == 0 {
        return Err(PlanError::zero("heads"));
    }
    let same_width = known.filter(|k| k.hidden == hidden);
    let kin = lineage::of(name);
    let mut own = Architecture {
        layers,
        hidden,
        heads,
        kv_heads,
        head_dim: same_width.filter(|k| k.heads == heads).map_or(hidden / heads, |k| k.head_dim),
        ffn,
        vocab,
        gated: same_width.map_or(kin.gated && ffn != hidden.saturating_mul(4), |k| k.gated),
        tied: run.tied_embeddings.unwrap_or(same_width.map_or(kin.tied, |k| k.tied)),
        biases: same_width.map_or(kin.biases, |k| k.biases),
        norm: same_width.map_or(kin.norm, |k| k.norm),
        learned_positions: same_width.map_or(0, |k| k.learned_positions),
        causal: kin.causal,
        qk_norm: same_width.map_or(kin.qk_norm, |k| k.qk_norm),
        activation: same_width.map_or(kin.activation, |k| k.activation),
        experts: same_width.and_then(|k| k.experts),
        stated_params: None,
    };
    let stated = whole("params", run.params)?.filter(|p| *p > 0);
    if let (Some(stated), None) = (stated, same_width) {
        own = nearest_shape(own, stated, run.tied_embeddings);
    }
    let same_depth = same_width.filter(|k| k.layers == layers).and_then(|k| k.stated_params);
    own.stated_params = stated.or(same_depth);
    Ok(own)
}

/// Of the gated and the plain block, tied and untied tables, the one whose count comes nearest to the published one.
fn nearest_shape(shape: Architecture, stated: u64, tied: Option<bool>) -> Architecture {
    let mut best = shape;
    let miss = |a: &Architecture| a.counted_params().abs_diff(stated);
    for gated in [shape.gated, !shape.gated] {
        for own_tied in [tied.unwrap_or(shape.tied), tied.unwrap_or(!shape.tied)] {
            let candidate = Architecture { gated, tied: own_tied, ..shape };
            // Published counts are rounded: a change of shape needs a clear gain.
            if (miss(&candidate) as f64) < 0.6 * miss(&best) as f64 && miss(&best) as f64 > 0.02 * stated as f64 {
                best = candidate;
            }
        }
    }
    best
}

/// By name; a GPU that the catalogue does not know by its numbers.
fn gpu(run: &Run, catalogue: &Catalogue) -> Result<Gpu, PlanError> {
    let known = match run.gpu.as_deref() {
        Some(name) => catalogue.gpu(name, run.gpu_mem_gib),
        None => Err(PlanError::missing("gpu")),
    };
    let (Some(tflops), Some(memory)) = (run.gpu_tflops, run.gpu_mem_gib) else { return known };
    known.or_else(|_| GpuEntry::by_numbers(tflops, memory, run.gpu_bandwidth_gbs, run.gpu_link_gbs))
}

fn cluster(run: &Run, catalogue: &Catalogue) -> Result<Cluster, PlanError> {
    let gpu = gpu(run, catalogue)?;
    let cut = |v: Option<f64>| v.filter(|v| *v >= 1.0).unwrap_or(1.0);
    let layout = cut(run.tp) * cut(run.pp) * cut(run.cp) * cut(run.dp);
    let nodes = whole("nodes", run.nodes)?;
    let per_node = whole("gpus_per_node", run.gpus_per_node)?;
    let gpus = match whole("gpus", run.gpus)? {
        Some(gpus) => gpus,
        None => match (nodes, per_node) {
            (Some(n), Some(g)) => n.saturating_mul(g),
            _ if layout > 1.0 || run.dp.is_some() => layout as u64,
            (Some(n), None) => n.saturating_mul(8),
            _ => 1,
        },
    };
    if gpus == 0 {
        return Err(PlanError::zero("gpus"));
    }
    let per_node =
        per_node.filter(|g| *g > 0).or(nodes.filter(|n| *n > 0).map(|n| gpus.div_ceil(n))).unwrap_or(gpus.min(8));
    let network = run
        .network
        .as_deref()
        .and_then(|words| Network::parse(words, per_node))
        .unwrap_or_else(|| Network::of_gbps(gpu.usual_gbps * per_node as f64));
    Ok(Cluster { gpu, gpus, gpus_per_node: per_node, network, zones: None, host_gib: None })
}

fn layout(run: &Run, cluster: &Cluster, family: Family, note: &str) -> Result<Layout, PlanError> {
    let one = |field, value| whole(field, value).map(|v| v.filter(|v| *v > 0).unwrap_or(1));
    let (tp, pp, cp) = (one("tp", run.tp)?, one("pp", run.pp)?, one("cp", run.cp)?);
    let model = tp.saturating_mul(pp).saturating_mul(cp);
    let dp = match whole("dp", run.dp)?.filter(|d| *d > 0) {
        Some(dp) => dp,
        None => (cluster.gpus / model.max(1)).max(1),
    };
    let global = whole("global_batch", run.global_batch)?.filter(|g| *g > 0);
    let accumulation = whole("grad_accum", run.grad_accum)?.filter(|g| *g > 0);
    let per_replica = global.map(|g| (g as f64 / dp as f64).max(1.0));
    let vp = one("vp", run.vp)?;
    let stated = whole("micro_batch", run.micro_batch)?.filter(|b| *b > 0 && !note.contains("micro-batch not stated"));
    let micro_batch = match (stated, per_replica, accumulation) {
        (Some(b), _, _) => b,
        // Its pipelines cut a batch into as many micro-batches as there are stages, unless told otherwise.
        (None, Some(each), _) if family == Family::Torchtitan && pp > 1 => {
            (each / pp.saturating_mul(vp) as f64).floor().max(1.0) as u64
        }
        (None, Some(each), Some(m)) => (each / m as f64).round().max(1.0) as u64,
        // Nobody says: pipelines run single sequences, others a few.
        (None, Some(each), None) => {
            if pp > 1 {
                1
            } else {
                each.min(4.0) as u64
            }
        }
        (None, None, _) => 1,
    };
    let accumulation = match per_replica {
        Some(each) => (each / micro_batch as f64).round().max(1.0) as u64,
        None => accumulation.unwrap_or(1),
    };
    let sharding = match run.sharding.as_deref() {
        Some(name) => Sharding::parse(name).ok_or_else(|| {
            PlanError::unknown("sharding", name, &["ddp".to_owned(), "zero2".to_owned(), "fsdp_full".to_owned()])
        })?,
        None => Sharding::Ddp,
    };
    let offload = match run.offload.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("none" | "false" | "") => Offload::None,
        Some(words) if words.contains("nvme") => Offload::AllNvme,
        Some(words) if words.contains("param") || words.contains("all") => Offload::AllCpu,
        Some(_) => Offload::OptimizerCpu,
    };
    Ok(Layout {
        tp,
        pp,
        vp,
        cp,
        ep: one("ep", run.ep)?,
        dp,
        micro_batch,
        accumulation,
        sharding,
        offload,
        recompute: Recompute::None,
        sequence_parallel: run.seq_parallel.unwrap_or(tp > 1 && shards_the_sequence(family, pp)),
    })
}

/// Norms between tensor-parallel blocks work on a part of the sequence, unless the program is told otherwise.
fn shards_the_sequence(family: Family, pp: u64) -> bool {
    match family {
        Family::MegatronCore | Family::Torchtitan => true,
        // Its pipeline stages hand on whole tensors.
        Family::Fsdp2 => pp == 1,
        _ => false,
    }
}

/// Whether kernels are fused. In a loop of one's own the hooks that cut and join DTensors stand between the parts of a block,
/// and a compiler does not fuse across them.
fn is_compiled(family: Family, layout: &Layout, note: &str) -> bool {
    let says_not = note.contains("eager") || note.contains("compile=false");
    let is_cut = family == Family::Fsdp2 && layout.tp > 1;
    !(says_not || is_cut || matches!(family, Family::Transformers | Family::Pytorch | Family::BuiltIn))
}

/// Megatron overlaps nothing unless it is told to (`--tp-comm-overlap`, `--overlap-grad-reduce`, `--overlap-param-gather`: off by
/// default), which the recipes of NeMo and Megatron-Bridge do.
fn megatron_overlaps(note: &str) -> bool {
    ["nemo", "bridge", "overlap"].iter().any(|word| note.contains(word))
}

/// XLA always overlaps tensor-parallel messages, PyTorch where it is asked to.
fn hides_tensor(family: Family, note: &str) -> bool {
    match family {
        Family::MaxText => true,
        Family::MegatronCore => megatron_overlaps(note),
        _ => ["async tp", "asynctp"].iter().any(|word| note.contains(word)),
    }
}

fn hides_data(family: Family, note: &str) -> bool {
    match family {
        Family::MegatronLegacy | Family::MegatronDeepspeed => false,
        Family::MegatronCore => megatron_overlaps(note),
        _ => true,
    }
}
