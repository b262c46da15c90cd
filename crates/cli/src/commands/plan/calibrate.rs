//! `fermi plan calibrate`: learns the constants of a cluster from a handful of runs.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::language::{Language, Text};
use fermi_planner::calibrate::{Calibration, calibrate, samples};
use fermi_planner::catalogue::Catalogue;
use fermi_planner::evaluate::compare;
use fermi_planner::run::Run;

use super::show::seconds;
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
    refuse_what_no_cluster_does(&rows, &catalogue, &learned)?;
    let path = flags.out.clone().unwrap_or_else(files::default_calibration);
    files::write(&path, (serde_json::to_string_pretty(&learned).unwrap_or_default() + "\n").as_bytes())?;
    let (runs, before, after) = (learned.runs, learned.error_before, learned.error_after);
    if flags.json {
        let answer = serde_json::json!({ "calibration": path, "runs": runs, "error_before": before, "error_after": after,
                "changed": !learned.is_unchanged() });
        speech::print(&(answer.to_string() + "\n"));
        return Ok(());
    }
    let path = path.display();
    let found = if learned.is_unchanged() {
        Text::new(
            format!("这 {runs} 次运行与预测的平均误差为 {before:.1} %，没有显示出这个集群的特点：常数不变"),
            format!(
                "the {runs} runs are met within {before:.1} % on average and say nothing of this cluster: no constant moved"
            ),
        )
    } else {
        Text::new(
            format!("用 {runs} 次运行校准：平均误差 {before:.1} % → {after:.1} %"),
            format!("learned from {runs} runs: mean error {before:.1} % → {after:.1} %"),
        )
    };
    speech::print(&match speech::language() {
        Language::ZhCn => format!("{}\n已写入 {path}\n用法：fermi plan … --calibration {path}\n", found.zh),
        Language::En => format!("{}\nwritten to {path}\nuse it: fermi plan … --calibration {path}\n", found.en),
    });
    Ok(())
}

/// A run that is off by more than this factor after learning was written down wrong.
const NO_CLUSTER: f64 = 5.0;

fn refuse_what_no_cluster_does(rows: &[Run], catalogue: &Catalogue, learned: &Calibration) -> Result<(), PlanRefusal> {
    let off = rows.iter().enumerate().find_map(|(at, row)| {
        let measured = row.measured_step()?;
        let times = 1.0 + compare(row, catalogue, &learned.constants)?.step?;
        (times.max(1.0 / times) > NO_CLUSTER).then_some((at + 1, measured, measured * times))
    });
    let Some((number, measured, expected)) = off else { return Ok(()) };
    let (measured, expected) = (seconds(measured), seconds(expected));
    Err(PlanRefusal::new(
        Text::new(
            format!("第 {number} 行写的是每步 {measured}，学习之后仍预计 {expected}：没有集群相差这么多"),
            format!(
                "row {number} says {measured} a step where {expected} are expected even after learning: no cluster is so far off"
            ),
        ),
        Text::new(
            "请检查单位：step_time_s 以秒计，tokens_per_s 是全部 GPU 之和；并检查该行的 GPU、批次和布局",
            "check the units: step_time_s is in seconds, tokens_per_s of all GPUs together; and the row's GPUs, batch and layout",
        ),
    ))
}
