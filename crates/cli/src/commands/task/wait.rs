//! `fermi task wait`.

use std::process::ExitCode;
use std::time::Duration;

use super::{find, watch};
use crate::commands::usage::Expected;
use crate::connection::{Outcome, ServerFlags};
use crate::{exit_code, speech};

/// Stay until a task is over; non-zero when the training failed
#[derive(Debug, clap::Args)]
pub struct WaitFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// Give up after so long, such as 90, 90s, 5m or 2h; exit code 6
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,
    /// The task as JSON when it is over
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &WaitFlags) -> Outcome {
    let client = flags.server.connect()?;
    let id = find::id(&client, &flags.task)?;
    let task = watch::until_over(&client, &id, flags.timeout)?;
    if flags.json {
        speech::print_json(&client.task(&id)?.raw);
        let is_good = task.row.status == fermi_domain::phase::TaskPhase::Succeeded;
        return Ok(ExitCode::from(if is_good { exit_code::DONE } else { exit_code::FAILED }));
    }
    Ok(watch::end(&task))
}

/// Seconds, or a number with its unit.
pub fn parse_time(text: &str) -> Result<Duration, Expected> {
    let hint = || Expected(fermi_domain::language::Text::new("例如 90s、5m、2h", "write 90s, 5m or 2h"));
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let size = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(hint()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| hint())?;
    Duration::try_from_secs_f64(number * size).map_err(|_| hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("90", 90.0), ("1.5s", 1.5), ("5m", 300.0), ("2h", 7200.0), ("250ms", 0.25)] {
            assert_eq!(parse_time(text).unwrap(), Duration::from_secs_f64(seconds), "{text}");
        }
        for text in ["", "x", "-1", "5 weeks", "1e400"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
