//! The number format: from the command, the settings, or DeepSpeed's section, which must agree.

use fermi_domain::language::Text;
use serde_json::Value;

use super::given_arguments::{GivenArguments, agree};
use crate::{order::LaunchOrder, precision::Precision, refusal::LaunchRefusal, settings::Settings};

/// What was given; bf16 on GPUs where nothing was, and fp32 elsewhere, which the second value says.
pub(super) fn read(
    order: &LaunchOrder<'_>,
    args: &GivenArguments<'_>,
    deepspeed: Option<&Settings<'_>>,
) -> Result<(Precision, Option<Text>), LaunchRefusal> {
    let (in_settings, note) = Precision::read(args.settings, order, Precision::Bf16)?;
    let set = args.settings.has("precision").then(|| spelled(in_settings));
    let in_section = match deepspeed {
        Some(section) => of_section(order, section)?,
        None => None,
    };
    let set = agree("precision", set, "deepspeed.precision", in_section)?;
    let elsewhere = if args.settings.has("precision") { "precision" } else { "deepspeed.precision" };
    let found = match in_command(order, args)? {
        Some((flag, word)) => agree(flag, Some(word), elsewhere, set)?,
        None => set,
    };
    Ok(match found {
        Some("fp16") => (Precision::Fp16, None),
        Some("bf16") => (Precision::Bf16, None),
        Some(_) => (Precision::Fp32, None),
        None => (in_settings, note),
    })
}

fn in_command(
    order: &LaunchOrder<'_>,
    args: &GivenArguments<'_>,
) -> Result<Option<(&'static str, &'static str)>, LaunchRefusal> {
    match (args.argv.has("--fp16"), args.argv.has("--bf16")) {
        (true, true) => {
            let (key, here, there) = ("--fp16".to_owned(), "fp16".to_owned(), "--bf16".to_owned());
            Err(LaunchRefusal::Contradiction { key, here, there })
        }
        (true, false) if !order.on_gpus() => Err(LaunchRefusal::HalfPrecisionOnCpu { key: "--fp16".to_owned() }),
        (true, false) => Ok(Some(("--fp16", "fp16"))),
        (false, true) => Ok(Some(("--bf16", "bf16"))),
        (false, false) => Ok(None),
    }
}

/// Of DeepSpeed's section: its setting, else what the user's own JSON turns on.
fn of_section(order: &LaunchOrder<'_>, section: &Settings<'_>) -> Result<Option<&'static str>, LaunchRefusal> {
    if section.has("precision") {
        return Ok(Some(spelled(Precision::read(section, order, Precision::Fp32)?.0)));
    }
    let own = section.section("config")?;
    let on = |word: &str| own.and_then(|json| json.get(word)?.get("enabled")).and_then(Value::as_bool) == Some(true);
    Ok(["fp16", "bf16"].into_iter().find(|word| on(word)))
}

fn spelled(precision: Precision) -> &'static str {
    match precision {
        Precision::Fp32 => "fp32",
        Precision::Fp16 => "fp16",
        Precision::Bf16 => "bf16",
    }
}
