//! `scheduler`: how the learning rate rises and falls.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::integration::Integration;
use crate::{refusal::LaunchRefusal, settings::Settings};

pub(super) const KINDS: [&str; 4] = ["WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "none"];

/// Steps of warm-up when nobody says.
const USUAL_WARMUP: u64 = 500;

/// The section, or none where the script schedules or nothing changes; and what is to be said about it.
pub(super) fn read(
    settings: &Settings<'_>,
    integration: Integration,
    learning_rate: f64,
) -> Result<(Option<Value>, Option<Text>), LaunchRefusal> {
    let kind = settings.choice("scheduler", &KINDS)?.unwrap_or(usual(settings, integration));
    let total = settings.count("totalSteps")?;
    let ramp = settings.choice("warmupType", &["log", "linear"])?;
    let usual_warmup = total.map_or(USUAL_WARMUP, |total| (total / 10).clamp(1, USUAL_WARMUP));
    let (warmup, note) = match settings.count_from("warmupSteps", 0)?.unwrap_or(usual_warmup) {
        0 if kind == "WarmupLR" => return Ok((None, Some(no_warmup()))),
        0 => (1, (kind != "none").then(|| one_step(kind))),
        warmup => (warmup, None),
    };
    let total = match total {
        Some(total) => Value::from(total),
        None if integration.fills_auto() => "auto".into(),
        None if matches!(kind, "WarmupDecayLR" | "WarmupCosineLR") => return Err(without_total(settings, kind)),
        None => Value::Null,
    };
    let mut params = Map::new();
    match kind {
        "none" => return Ok((None, None)),
        "WarmupCosineLR" => drop(params.insert("warmup_min_ratio".into(), 0.into())),
        _ => {
            params.insert("warmup_min_lr".into(), 0.into());
            params.insert("warmup_max_lr".into(), learning_rate.into());
        }
    }
    params.insert("warmup_num_steps".into(), warmup.into());
    params.extend(ramp.map(|ramp| ("warmup_type".to_owned(), ramp.into())));
    if kind != "WarmupLR" {
        params.insert("total_num_steps".into(), total);
    }
    Ok((Some(json!({"type": kind, "params": params})), note))
}

/// transformers has schedules of its own, and fills in a warm-up of no steps, which DeepSpeed refuses, unless its
/// arguments have one. accelerate's scripts bring theirs.
fn usual(settings: &Settings<'_>, integration: Integration) -> &'static str {
    let is_set = ["warmupSteps", "totalSteps", "warmupType"].iter().any(|name| settings.has(name));
    match integration {
        Integration::Nothing => "WarmupLR",
        Integration::Transformers if is_set => "WarmupLR",
        Integration::Transformers | Integration::Accelerate => "none",
    }
}

fn no_warmup() -> Text {
    Text::new(
        "预热步数为 0：学习率不变，不写 scheduler",
        "no steps of warm-up: the learning rate is constant, and no scheduler is written",
    )
}

fn one_step(kind: &str) -> Text {
    Text::new(format!("{kind} 至少预热 1 步，而非 0"), format!("{kind} warms up for 1 step at least, not 0"))
}

fn without_total(settings: &Settings<'_>, kind: &str) -> LaunchRefusal {
    LaunchRefusal::Rule {
        key: settings.key("totalSteps"),
        text: Text::new(format!("{kind} 需要总步数"), format!("{kind} needs the number of steps in all")),
        hint: Text::new("填写 totalSteps，或使用 WarmupLR", "give totalSteps, or take WarmupLR"),
    }
}
