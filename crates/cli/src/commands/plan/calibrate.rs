//! `fermi plan calibrate`: learns the constants of a cluster from a handful of runs.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::language::{Language, Text};
use fermi_planner::calibrate::{calibrate, samples};

use super::{KnowledgeFlags, PlanRefusal, files};
use crate::speech;

/// Learn the constants of a cluster from a handful of measured runs
#[derive(Debug, Args)]
pub struct CalibrateFlags {
    /// {"rows": […]} with outcomes; five are enough
    #[arg(long, value_name = "FILE")]
    runs: PathBuf,
    /// Where the constants go [default: fermi/planner-calibration.json in the user's configuration]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    knowledge: KnowledgeFlags,
}

pub fn execute(flags: &CalibrateFlags) -> Result<(), PlanRefusal> {
    let (catalogue, constants) = files::knowledge(&flags.knowledge)?;
    let rows = files::runs(&flags.runs)?;
    let lessons = samples(&rows, &catalogue);
    let learned = calibrate(&lessons, &constants).ok_or_else(|| {
        PlanRefusal::new(
            Text::new("没有一行可用于校准", "no row can be learned from"),
            Text::new(
                "每行需要完整的配置和 step_time_s 或 tokens_per_s",
                "rows need their settings and step_time_s or tokens_per_s",
            ),
        )
    })?;
    let path = flags.out.clone().unwrap_or_else(files::default_calibration);
    files::write(&path, (serde_json::to_string_pretty(&learned).unwrap_or_default() + "\n").as_bytes())?;
    let (runs, before, after) = (learned.runs, learned.error_before, learned.error_after);
    if flags.json {
        let answer =
            serde_json::json!({ "calibration": path, "runs": runs, "error_before": before, "error_after": after });
        speech::print(&(answer.to_string() + "\n"));
        return Ok(());
    }
    let path = path.display();
    speech::print(&match speech::language() {
        Language::ZhCn => format!(
            "用 {runs} 次运行校准：平均误差 {before:.1} % → {after:.1} %\n已写入 {path}\n用法：fermi plan … --calibration {path}\n"
        ),
        Language::En => format!(
            "learned from {runs} runs: mean error {before:.1} % → {after:.1} %\nwritten to {path}\nuse it: fermi plan … --calibration {path}\n"
        ),
    });
    Ok(())
}
