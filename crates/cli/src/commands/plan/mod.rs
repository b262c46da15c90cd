//! `fermi plan`: which strategy, does it fit, how fast, how does it scale.

mod calibrate;
mod evaluate;
mod files;
mod guide;
mod machines;
mod predict;
mod recommend;
mod registered;
mod scale;
mod show;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_domain::language::{Notice, Text};
use fermi_planner::error::PlanError;

use crate::{exit_code, speech};

/// Plan a training: strategy, memory, speed, scaling
///
/// Names the strategy to use and why, shows memory per GPU by term, predicted step time and throughput, the ranked
/// alternatives, and what does not fit.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, allow_negative_numbers = true)]
#[command(after_help = "Example: fermi plan --model llama2-7b --gpus 4x8xA100-80G --network 100Gbps")]
pub struct PlanFlags {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    wanted: recommend::RecommendFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Guide(guide::GuideFlags),
    Predict(predict::PredictFlags),
    Evaluate(evaluate::EvaluateFlags),
    Calibrate(calibrate::CalibrateFlags),
    Scale(Box<scale::ScaleFlags>),
}

/// Files that extend what Fermi knows.
#[derive(Debug, Clone, Default, Args)]
pub struct KnowledgeFlags {
    /// Constants of this cluster, as `fermi plan calibrate` wrote them
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// More GPUs and models, in the form of the built-in catalogue (repeatable)
    #[arg(long, value_name = "FILE")]
    catalogue: Vec<PathBuf>,
}

/// Why a command ends without an answer: said once, in two languages.
#[derive(Debug)]
pub struct PlanRefusal(Notice);

impl PlanRefusal {
    fn new(message: Text, hint: Text) -> Self {
        Self(Notice::new("plan_refused", message, hint))
    }
}

impl From<PlanError> for PlanRefusal {
    fn from(error: PlanError) -> Self {
        Self(Notice::of(&error))
    }
}

pub fn execute(flags: &PlanFlags) -> ExitCode {
    let done = match &flags.verb {
        None => recommend::execute(&flags.wanted),
        Some(Verb::Guide(flags)) => {
            guide::execute(flags);
            Ok(())
        }
        Some(Verb::Predict(flags)) => predict::execute(flags),
        Some(Verb::Evaluate(flags)) => evaluate::execute(flags),
        Some(Verb::Calibrate(flags)) => calibrate::execute(flags),
        Some(Verb::Scale(flags)) => scale::execute(flags),
    };
    match done {
        Ok(()) => ExitCode::from(exit_code::DONE),
        Err(refusal) => {
            speech::complain(&refusal.0);
            ExitCode::from(exit_code::USAGE)
        }
    }
}
