//! `fermi trainer`: the built-in trainer, for demos, tests and machines without Python.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use fermi_domain::contract;
use fermi_domain::language::{Notice, Text};
use fermi_trainer::{Fault, FaultKind, Preset, RankPosition, TrainError, TrainerConfig, train};

use crate::commands::usage::Expected;
use crate::{exit_code, speech};

/// Train a small built-in transformer (one process of a distributed run)
///
/// A decoder-only byte-level transformer on a text that comes with Fermi. It reads RANK, WORLD_SIZE, MASTER_ADDR and
/// MASTER_PORT like any distributed script and needs neither Python nor a GPU.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi run --nproc-per-node 2 --no-python fermi trainer --steps 100")]
pub struct TrainerFlags {
    /// tiny, small or base
    #[arg(long, default_value_t = Preset::default(), value_parser = parse_preset)]
    preset: Preset,
    /// Steps to train
    #[arg(long, default_value_t = TrainerConfig::default().steps)]
    steps: u64,
    /// Sequences per step over all ranks [default: 16, or the next number that all ranks can share]
    #[arg(long, value_name = "N")]
    global_batch: Option<usize>,
    /// Sequences a rank takes at once; the rest is accumulated [default: its whole share]
    #[arg(long, value_name = "N")]
    micro_batch: Option<usize>,
    /// Bytes per sequence [default: the preset's]
    #[arg(long, value_name = "N")]
    seq_len: Option<usize>,
    /// Peak learning rate [default: the preset's]
    #[arg(long)]
    lr: Option<f32>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = TrainerConfig::default().seed)]
    seed: u64,
    /// Where checkpoints go [default: FERMI_CHECKPOINT_DIR]
    #[arg(long, value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value_t = TrainerConfig::default().checkpoint_every)]
    checkpoint_every: u64,
    /// Continue from the newest checkpoint [also: FERMI_RESUME=1]
    #[arg(long)]
    resume: bool,
    /// Steps between lines of output
    #[arg(long, value_name = "N", default_value_t = TrainerConfig::default().log_every)]
    log_every: u64,
    /// Wait so many milliseconds in each step, to have something to watch
    #[arg(long, value_name = "MS")]
    throttle: Option<u64>,
    /// Fail on purpose in the first attempt, for trying out restarts: RANK:STEP[:error|abort|hang]
    #[arg(long, value_name = "FAULT", value_parser = parse_fault)]
    fault: Option<Fault>,
}

pub fn execute(flags: &TrainerFlags) -> ExitCode {
    let position = match position() {
        Ok(position) => position,
        Err(notice) => {
            speech::complain(&notice);
            return ExitCode::from(exit_code::USAGE);
        }
    };
    match train(&config(flags, &position), &position, &mut io::stdout()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            speech::complain(&error);
            ExitCode::from(usage_or_failed(&error))
        }
    }
}

fn config(flags: &TrainerFlags, position: &RankPosition) -> TrainerConfig {
    let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    let is_first_attempt = is(contract::FERMI_ATTEMPT, "1");
    TrainerConfig {
        preset: flags.preset,
        steps: flags.steps,
        global_batch: flags
            .global_batch
            .unwrap_or_else(|| TrainerConfig::default().global_batch.next_multiple_of(position.world_size.max(1))),
        micro_batch: flags.micro_batch,
        seq_len: flags.seq_len,
        lr: flags.lr,
        seed: flags.seed,
        checkpoint_dir: flags.checkpoint_dir.clone().or_else(|| path(contract::FERMI_CHECKPOINT_DIR)),
        checkpoint_every: flags.checkpoint_every,
        resume: flags.resume || is(contract::FERMI_RESUME, "1"),
        resume_step: std::env::var(contract::FERMI_RESUME_STEP).ok().and_then(|step| step.parse().ok()),
        begins_anew: is(contract::FERMI_RESUME, "0"),
        checkpoints_shared: !is(contract::FERMI_CHECKPOINT_SHARED, "0"),
        progress_file: path(contract::FERMI_PROGRESS_FILE),
        log_every: flags.log_every,
        throttle: flags.throttle.map(Duration::from_millis),
        fault: flags.fault.filter(|_| is_first_attempt),
        ..TrainerConfig::default()
    }
}

/// Where this process stands, from the variables that every launcher sets; alone when there are none.
fn position() -> Result<RankPosition, Notice> {
    let Ok(world_size) = std::env::var(contract::WORLD_SIZE) else { return Ok(RankPosition::alone()) };
    let number = |name: &str, value: Option<String>| {
        let value = value.or_else(|| std::env::var(name).ok());
        let found = value.as_deref().and_then(|value| value.parse::<usize>().ok());
        found.ok_or_else(|| misplaced(&no_number(name, value.as_deref())))
    };
    let rank = number(contract::RANK, None)?;
    let port = number(contract::MASTER_PORT, None)?;
    Ok(RankPosition {
        rank,
        world_size: number(contract::WORLD_SIZE, Some(world_size))?,
        local_rank: number(contract::LOCAL_RANK, None).unwrap_or(rank),
        master_addr: std::env::var(contract::MASTER_ADDR).unwrap_or_else(|_| "127.0.0.1".to_owned()),
        master_port: u16::try_from(port).map_err(|_| {
            let name = contract::MASTER_PORT;
            misplaced(&Text::new(
                format!("{name} 必须是端口，现在是 {port}"),
                format!("{name} must be a port, it is {port}"),
            ))
        })?,
        run_id: std::env::var(contract::FERMI_TASK_ID)
            .or_else(|_| std::env::var(contract::TORCHELASTIC_RUN_ID))
            .unwrap_or_default(),
    })
}

fn no_number(name: &str, value: Option<&str>) -> Text {
    match value {
        Some(value) => Text::new(
            format!("{name} 必须是数字，现在是 “{value}”"),
            format!("{name} must be a number, it is '{value}'"),
        ),
        None => {
            Text::new(format!("{name} 必须是数字，现在没有设置"), format!("{name} must be a number, it is not set"))
        }
    }
}

fn misplaced(text: &Text) -> Notice {
    let hint = Text::new(
        "用 fermi run 启动，它会设置这些变量；只训练一个进程时去掉 WORLD_SIZE",
        "start it with fermi run, which sets these variables; for one process alone unset WORLD_SIZE",
    );
    Notice::new("rank_variables", text.clone(), hint)
}

fn parse_preset(text: &str) -> Result<Preset, Expected> {
    let names = || Text::new("可用的值：tiny、small、base", "use tiny, small or base");
    text.parse().map_err(|_| Expected(names()))
}

fn usage_or_failed(error: &TrainError) -> u8 {
    if matches!(error, TrainError::Config(_)) { exit_code::USAGE } else { exit_code::FAILED }
}

fn parse_fault(text: &str) -> Result<Fault, Expected> {
    let hint = || Expected(Text::new("写成 RANK:STEP[:error|abort|hang]", "write RANK:STEP[:error|abort|hang]"));
    let mut parts = text.split(':');
    let rank = parts.next().and_then(|part| part.parse().ok()).ok_or_else(hint)?;
    let step = parts.next().and_then(|part| part.parse().ok()).ok_or_else(hint)?;
    let kind = match parts.next() {
        None | Some("error") => FaultKind::Error,
        Some("abort") => FaultKind::Abort,
        Some("hang") => FaultKind::Hang,
        Some(_) => return Err(hint()),
    };
    Ok(Fault { rank, step, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_there_is_not_is_answered_with_those_that_there_are() {
        let said = parse_preset("huge").unwrap_err().0;
        for preset in Preset::ALL {
            assert!(said.en.contains(preset.name()) && said.zh.contains(preset.name()), "{said:?}");
            assert_eq!(parse_preset(preset.name()).unwrap(), preset);
        }
    }

    #[test]
    fn a_variable_that_is_no_number_is_named_in_both_languages() {
        assert_eq!(no_number("RANK", None).zh, "RANK 必须是数字，现在没有设置");
        assert_eq!(no_number("RANK", Some("x")).en, "RANK must be a number, it is 'x'");
    }
}
