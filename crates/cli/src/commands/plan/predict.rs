//! `fermi plan predict`: numbers for every row of a file.

use std::path::PathBuf;

use clap::Args;
use fermi_planner::interval::Verdict;
use fermi_planner::predict::{RowPrediction, predict};

use super::show::{columns, number};
use super::{KnowledgeFlags, PlanRefusal, files};
use crate::speech;

/// Predict step time and memory of the runs in a file
#[derive(Debug, Args)]
pub struct PredictFlags {
    /// {"rows": […]}: runs without outcomes; absent fields are derived where possible
    #[arg(long, value_name = "FILE")]
    runs: PathBuf,
    /// One JSON object with a row for each row, in the same order
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    knowledge: KnowledgeFlags,
}

pub fn execute(flags: &PredictFlags) -> Result<(), PlanRefusal> {
    let (catalogue, constants) = files::knowledge(&flags.knowledge)?;
    let rows = files::runs(&flags.runs)?;
    let language = speech::language();
    let answers: Vec<RowPrediction> = rows.iter().map(|run| predict(run, &catalogue, &constants, language)).collect();
    if flags.json {
        speech::print(&(serde_json::json!({ "rows": answers }).to_string() + "\n"));
        return Ok(());
    }
    let mut table = vec![["#", "model", "step", "tokens/s", "peak GiB", "fits", ""].map(str::to_owned).to_vec()];
    for (at, (run, answer)) in rows.iter().zip(&answers).enumerate() {
        let model = run.model_name.clone().unwrap_or_default();
        table.push(match answer {
            RowPrediction::Numbers(p) => vec![
                (at + 1).to_string(),
                model,
                format!("{} s ({}–{})", number(p.step_time_s), number(p.step_time_low_s), number(p.step_time_high_s)),
                number(p.tokens_per_s),
                format!("{} ({}–{})", number(p.peak_mem_gib), number(p.peak_mem_low_gib), number(p.peak_mem_high_gib)),
                match p.verdict {
                    Verdict::Fits => "✓",
                    Verdict::Tight => "~",
                    Verdict::DoesNotFit => "✗",
                }
                .to_owned(),
                p.explain.clone(),
            ],
            RowPrediction::Reason { reason, .. } => {
                vec![
                    (at + 1).to_string(),
                    model,
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    reason.clone(),
                ]
            }
        });
    }
    speech::print(&columns(&table));
    Ok(())
}
