//! `fermi plan evaluate`: errors per group against measured outcomes.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::language::{Language, Text};
use fermi_planner::evaluate::{Evaluation, Spread, compare, report};

use super::{KnowledgeFlags, PlanRefusal, files};
use crate::speech;

/// Compare predictions with measured runs, per group
#[derive(Debug, Args)]
pub struct EvaluateFlags {
    /// {"rows": […]} with outcomes
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    runs: Vec<PathBuf>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    knowledge: KnowledgeFlags,
}

pub fn execute(flags: &EvaluateFlags) -> Result<(), PlanRefusal> {
    let (catalogue, constants) = files::knowledge(&flags.knowledge)?;
    let mut rows = Vec::new();
    for path in &flags.runs {
        rows.extend(files::runs(path)?);
    }
    let compared: Vec<_> = rows.iter().filter_map(|run| compare(run, &catalogue, &constants)).collect();
    let measured = compared.iter().any(|c| c.step.is_some() || c.peak.is_some());
    if !measured {
        return Err(PlanRefusal::new(
            Text::new("没有一行带有测量结果", "no row has a measured outcome"),
            Text::new(
                "每行需要 step_time_s、tokens_per_s 或 peak_mem_gib",
                "rows need step_time_s, tokens_per_s or peak_mem_gib",
            ),
        ));
    }
    let summary = report(&compared, rows.len() - compared.len());
    if flags.json {
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
        speech::print(&(json + "\n"));
    } else {
        speech::print(&markdown(&summary, speech::language()));
    }
    Ok(())
}

/// The table as the documentation carries it.
fn markdown(report: &Evaluation, language: Language) -> String {
    let zh = language == Language::ZhCn;
    let head = if zh {
        "| 组 | 单机步时 | 多机步时 | 峰值显存 |\n|---|---|---|---|\n"
    } else {
        "| group | step, one node | step, several nodes | peak memory |\n|---|---|---|---|\n"
    };
    let cell = |spread: Option<Spread>| {
        spread.map_or_else(|| "–".to_owned(), |s| format!("{:.1} % ({}; {:+.1})", s.mean, s.rows, s.bias))
    };
    let mut out = head.to_owned();
    for g in &report.groups {
        out += &format!(
            "| {} | {} | {} | {} |\n",
            g.group,
            cell(g.step_one_node),
            cell(g.step_several_nodes),
            cell(g.peak_memory)
        );
    }
    let m = report.peak_memory;
    let mean = |value: f64, any: bool| if any { format!("{value:.2} %") } else { "–".to_owned() };
    out += &format!(
        "| **{}** | **{}** | **{}** | **{}** |\n\n",
        if zh { "各组平均" } else { "mean" },
        mean(report.step_one_node, report.groups.iter().any(|g| g.step_one_node.is_some())),
        mean(report.step_several_nodes, report.groups.iter().any(|g| g.step_several_nodes.is_some())),
        mean(m.mean, m.rows > 0)
    );
    let Evaluation { out_of_memory_called_fitting, ran_called_not_fitting, ran, refused, rows, sweeps, .. } = report;
    let (ran_called_tight, step_inside, peak_inside) =
        (report.ran_called_tight, report.step_inside, report.peak_inside);
    let (median, mean, cost, worst) = (m.median, m.mean, report.sweep_cost_mean, report.sweep_cost_worst);
    out += Text::new(
        format!(
            "峰值显存（{} 行）：中位 {median:.2} %，平均 {mean:.2} %。把跑爆显存的说成放得下：{out_of_memory_called_fitting}；\
             把跑过的说成放不下：{ran_called_not_fitting}/{ran}，说成勉强：{ran_called_tight}。落在区间内：步时 \
             {step_inside:.0} %，显存 {peak_inside:.0} %。无法建模：{refused}/{rows} 行。布局扫描 {sweeps} 组：\
             按预测挑最优平均多花 {cost:.1} %，最多 {worst:.1} %。\n",
            m.rows,
        ),
        format!(
            "Peak memory over {} rows: median {median:.2} %, mean {mean:.2} %. Ran out of memory but called fitting: \
             {out_of_memory_called_fitting}; ran but called not fitting: {ran_called_not_fitting} of {ran}, called tight: \
             {ran_called_tight}. Inside their intervals: {step_inside:.0} % of steps, {peak_inside:.0} % of peaks. Refused: \
             {refused} of {rows} rows. Of {sweeps} layout sweeps the predicted best costs {cost:.1} % on average, \
             {worst:.1} % at worst.\n",
            m.rows,
        ),
    )
    .in_language(language);
    out
}
