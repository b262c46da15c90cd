//! Fits the constants of the time model and checks them on groups that the fit did not see.
//!
//! `cargo run --release -p fermi-planner --example fit -- RUNS.json [MORE.json …] [--out constants.json] [--check]`
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::error::Error;

use fermi_planner::calibrate;
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::evaluate::{self, Compared};
use fermi_planner::fit::{self, Freedom, Sample};
use fermi_planner::resolve;
use fermi_planner::run::{Run, Runs};

struct Lab {
    catalogue: Catalogue,
    runs: Vec<Run>,
}

impl Lab {
    fn train(&self, keep: impl Fn(&Run) -> bool, start: &Constants, rounds: usize) -> Constants {
        let mut samples: Vec<(String, Sample)> = Vec::new();
        for run in self.runs.iter().filter(|run| keep(run)) {
            if let (Some(seconds), Ok(found)) = (run.measured_step(), resolve::job(run, &self.catalogue)) {
                let several = found.job.cluster.nodes() > 1;
                let group = format!("{} {several}", run.group.as_deref().unwrap_or_default());
                samples.push((group, Sample { job: found.job, seconds, weight: 1.0 }));
            }
        }
        fit::weigh(&mut samples);
        let samples: Vec<Sample> = samples.into_iter().map(|(_, sample)| sample).collect();
        fit::fit(&samples, start, &Freedom::full(), rounds)
    }

    fn compare(&self, runs: &[&Run], constants: &Constants) -> Vec<Compared> {
        runs.iter().filter_map(|run| evaluate::compare(run, &self.catalogue, constants)).collect()
    }

    fn select(&self, keep: impl Fn(&Run) -> bool) -> Vec<&Run> {
        self.runs.iter().filter(|run| keep(run)).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = None;
    let mut check = false;
    let mut runs = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = arguments.next(),
            "--check" => check = true,
            file => runs.extend(serde_json::from_str::<Runs>(&std::fs::read_to_string(file)?)?.rows),
        }
    }
    let lab = Lab { catalogue: Catalogue::builtin(), runs };
    let full = lab.train(|_| true, &Constants::default(), 80);
    print("All runs, in sample", &lab.compare(&lab.select(|_| true), &full));
    if let Some(path) = out {
        std::fs::write(path, serde_json::to_string_pretty(&full)? + "\n")?;
    }
    if check {
        models_left_out(&lab, &full);
        groups_left_out(&lab, &full);
    }
    Ok(())
}

fn key(run: &Run) -> (String, String) {
    (run.group.clone().unwrap_or_default(), run.model_name.clone().unwrap_or_default())
}

/// Every third model of each group is held back in turn.
fn models_left_out(lab: &Lab, start: &Constants) {
    let keys: BTreeSet<(String, String)> = lab.runs.iter().map(key).collect();
    let mut compared = Vec::new();
    for fold in 0..3 {
        let held: BTreeSet<&(String, String)> = keys.iter().skip(fold).step_by(3).collect();
        let constants = lab.train(|run| !held.contains(&key(run)), start, 20);
        compared.extend(lab.compare(&lab.select(|run| held.contains(&key(run))), &constants));
    }
    print("Whole models held back", &compared);
}

/// Each group (framework, cluster, GPU) is held back in turn, then calibrated on five of its runs.
fn groups_left_out(lab: &Lab, start: &Constants) {
    let groups: BTreeSet<String> = lab.runs.iter().map(|run| key(run).0).collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for group in groups {
        let constants = lab.train(|run| key(run).0 != group, start, 20);
        let rows = lab.select(|run| key(run).0 == group && run.measured_step().is_some());
        before.extend(lab.compare(&rows, &constants));
        // A cluster has one kind of GPU; a table may hold several.
        let kinds: BTreeSet<&str> = rows.iter().filter_map(|run| run.gpu.as_deref()).collect();
        for kind in kinds {
            let rows: Vec<&Run> = rows.iter().copied().filter(|run| run.gpu.as_deref() == Some(kind)).collect();
            after.extend(calibrated(lab, &rows, &constants));
        }
    }
    print("Whole groups held back", &before);
    print("Whole groups held back, calibrated on five runs", &after);
}

/// Learns from five of the rows and compares the others.
fn calibrated(lab: &Lab, rows: &[&Run], constants: &Constants) -> Vec<Compared> {
    let few = rows.len().min(5);
    let picked: Vec<usize> = (0..few).map(|i| (i * rows.len() + rows.len() / 2) / few).collect();
    let lessons: Vec<Run> = picked.iter().map(|i| rows[*i].clone()).collect();
    let samples = calibrate::samples(&lessons, &lab.catalogue);
    let Some(learned) = calibrate::calibrate(&samples, constants) else { return Vec::new() };
    let unseen = |at: &usize| rows.len() < 10 || !picked.contains(at);
    let others: Vec<&Run> = (0..rows.len()).filter(unseen).map(|at| rows[at]).collect();
    lab.compare(&others, &learned.constants)
}

fn print(title: &str, compared: &[Compared]) {
    let report = evaluate::report(compared, 0);
    println!("\n## {title}\n\n| group | one node | several nodes |\n|---|---|---|");
    let cell = |spread: Option<evaluate::Spread>| {
        spread.map_or_else(|| "–".to_owned(), |s| format!("{:.1} % ({}, bias {:+.1})", s.mean, s.rows, s.bias))
    };
    for group in report.groups.iter().filter(|g| g.step_one_node.is_some() || g.step_several_nodes.is_some()) {
        println!("| {} | {} | {} |", group.group, cell(group.step_one_node), cell(group.step_several_nodes));
    }
    println!("| **mean over groups** | **{:.2} %** | **{:.2} %** |", report.step_one_node, report.step_several_nodes);
    println!(
        "\nLayout sweeps: {} with three or more layouts; the predicted best costs {:.1} % on average, {:.1} % at worst.",
        report.sweeps, report.sweep_cost_mean, report.sweep_cost_worst
    );
}
