//! `optimizer`: which one, with its numbers, and where it works.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::{integration::Integration, zero::Zero};
use crate::{order::LaunchOrder, refusal::LaunchRefusal, settings::Settings};

/// The optimizers that can be named; the last leaves it to the script.
pub(super) const KINDS: [&str; 8] = ["AdamW", "Adam", "SGD", "Lamb", "Lion", "Adagrad", "Muon", "none"];

/// The section, and what follows from it elsewhere in the JSON.
#[derive(Clone, Debug)]
pub(super) struct Optimizer {
    /// None where the script brings its own.
    pub json: Option<Value>,
    /// ZeRO takes it only when told so.
    pub untested_with_zero: bool,
    /// Muon looks at whole matrices, so ZeRO-3 must not reduce them in parts.
    pub needs_whole_gradients: bool,
}

impl Optimizer {
    pub(super) fn read(
        settings: &Settings<'_>,
        order: &LaunchOrder<'_>,
        zero: &Zero,
        integration: Integration,
        learning_rate: f64,
    ) -> Result<Self, LaunchRefusal> {
        let usual = if integration == Integration::Accelerate { "none" } else { "AdamW" };
        let kind = settings.choice("optimizer", &KINDS)?.unwrap_or(usual);
        let decay = settings.number("weightDecay")?.unwrap_or(3e-7);
        let betas = betas(settings)?;
        let eps = settings.number("eps")?.unwrap_or(1e-8);
        works_here(settings, order, zero, kind)?;
        let mut params = Map::new();
        params.insert("lr".into(), learning_rate.into());
        match kind {
            "SGD" | "Adagrad" | "Muon" => {}
            "Lion" => drop(params.insert("betas".into(), betas.into())),
            _ => {
                params.insert("betas".into(), betas.into());
                params.insert("eps".into(), eps.into());
            }
        }
        params.insert("weight_decay".into(), decay.into());
        if matches!(kind, "AdamW" | "Adam") && !order.on_gpus() && zero.offload_optimizer.is_none() {
            // The fused one is built for CUDA when it is first used; on CPU torch's own does the same.
            params.insert("torch_adam".into(), true.into());
        }
        Ok(Self {
            json: (kind != "none").then(|| json!({"type": kind, "params": params})),
            untested_with_zero: zero.stage > 0 && matches!(kind, "SGD" | "Lamb" | "none"),
            needs_whole_gradients: zero.stage == 3 && kind == "Muon",
        })
    }

    /// The optimizer that the user's program brings itself.
    pub(super) fn of_the_script() -> Self {
        Self { json: None, untested_with_zero: false, needs_whole_gradients: false }
    }
}

/// Two shares of what was; at one and above Adam's averages never settle, and torch refuses them.
fn betas(settings: &Settings<'_>) -> Result<[f64; 2], LaunchRefusal> {
    let Some(betas) = settings.pair("betas")? else { return Ok([0.8, 0.999]) };
    if betas.iter().all(|beta| (0.0..1.0).contains(beta)) {
        return Ok(betas);
    }
    let wanted =
        Text::new("两个不小于 0 且小于 1 的数，例如 [0.9,0.95]", "two numbers from 0 to below 1, such as [0.9,0.95]");
    Err(settings.refused("betas", &betas.into(), wanted))
}

/// Lamb and Lion are kernels for GPUs; only Lion has one for states on the CPU too.
fn works_here(
    settings: &Settings<'_>,
    order: &LaunchOrder<'_>,
    zero: &Zero,
    kind: &'static str,
) -> Result<(), LaunchRefusal> {
    let rule = |text: Text, hint: Text| Err(LaunchRefusal::Rule { key: settings.key("optimizer"), text, hint });
    let offloaded = zero.offload_optimizer.is_some();
    if kind == "Lamb" && offloaded {
        return rule(
            Text::new("Lamb 不能与优化器卸载同用", "Lamb does not go with an offloaded optimizer"),
            Text::new("offloadOptimizer 填 none，或使用 AdamW", "give offloadOptimizer none, or take AdamW"),
        );
    }
    let needs_gpu = kind == "Lamb" || (kind == "Lion" && !offloaded);
    if needs_gpu && !order.on_gpus() {
        return rule(
            Text::new(format!("{kind} 需要每个 rank 都有 GPU"), format!("{kind} needs a GPU under every rank")),
            Text::new("使用 AdamW，或选择有 GPU 的环境", "take AdamW, or choose environments with GPUs"),
        );
    }
    Ok(())
}
