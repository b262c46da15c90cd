//! `fermi launch settings [FRAMEWORK]`.

use clap::Args;
use fermi_domain::framework::Framework;
use fermi_frameworks::{Setting, settings_of};
use serde_json::json;

use super::EngineRefusal;
use crate::commands::engine;
use crate::speech::{self, Paint};

/// List the settings that a framework knows, for --set and options.framework
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi launch settings deepspeed")]
pub struct SettingsFlags {
    /// pytorch-ddp, pytorch-fsdp, deepspeed, horovod, megatron-lm, jax [default: all]
    framework: Option<String>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(flags: &SettingsFlags) -> Result<(), EngineRefusal> {
    let frameworks = match &flags.framework {
        Some(name) => vec![engine::known(name)?],
        None => Framework::ALL.into(),
    };
    let text = if flags.json { as_json(&frameworks) } else { as_lists(&frameworks, flags.framework.is_some()) };
    speech::print(&text);
    Ok(())
}

fn as_json(frameworks: &[Framework]) -> String {
    let setting = |setting: &Setting| json!({"name": setting.name, "about": setting.about()});
    let one = |framework: &Framework| {
        let settings: Vec<_> = settings_of(*framework).iter().map(setting).collect();
        json!({"framework": framework, "settings": settings})
    };
    format!("{}\n", json!(frameworks.iter().map(one).collect::<Vec<_>>()))
}

/// A framework that has none is shown only where it was asked for.
fn as_lists(frameworks: &[Framework], is_asked_for: bool) -> String {
    let paint = Paint::for_stdout();
    let language = speech::language();
    let mut text = String::new();
    for framework in frameworks {
        let settings = settings_of(*framework);
        if settings.is_empty() && !is_asked_for {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}{}\n", paint.bold(framework.as_str()));
        let width = settings.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
        for setting in settings {
            text += &format!("  {:width$}  {}\n", setting.name, setting.about().in_language(language));
        }
    }
    text
}
