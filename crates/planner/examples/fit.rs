//! Fits the constants of the time model and checks them on runs that the fit did not see.
//!
//! `cargo run --release -p fermi-planner --example fit -- RUNS.json [MORE.json …] [--out constants.json]
//! [--check [--residuals residuals.json] [--intervals intervals.json]]`
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::error::Error;
use std::thread;

use fermi_planner::calibrate;
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::evaluate::{self, Compared};
use fermi_planner::fit::{self, Freedom, Sample};
use fermi_planner::interval::{Intervals, Kind, Residuals, left_out_coverage};
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
    let (mut out, mut residuals, mut intervals) = (None, None, None);
    let mut check = false;
    let mut runs = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = arguments.next(),
            "--residuals" => residuals = arguments.next(),
            "--intervals" => intervals = arguments.next(),
            "--check" => check = true,
            file => runs.extend(serde_json::from_str::<Runs>(&std::fs::read_to_string(file)?)?.rows),
        }
    }
    let lab = Lab { catalogue: Catalogue::builtin(), runs };
    let full = lab.train(|_| true, &Constants::default(), 80);
    let in_sample = lab.compare(&lab.select(|_| true), &full);
    print("All runs, in sample", &in_sample);
    if let Some(path) = out {
        std::fs::write(path, serde_json::to_string_pretty(&full)? + "\n")?;
    }
    if check {
        let found = held_back(&lab, &full, &in_sample);
        let made = Intervals::of(&found);
        println!("\n## Intervals\n\n| kind | low | high | runs | inside, group left out |\n|---|---|---|---|---|");
        for (kind, groups) in &found {
            let (interval, count) = (made.factors(*kind), groups.values().map(Vec::len).sum::<usize>());
            let covered = left_out_coverage(groups, kind.margin()) * 100.0;
            println!("| {kind:?} | {:.3} | {:.3} | {count} | {covered:.0} % |", interval.low, interval.high);
        }
        if let Some(path) = residuals {
            std::fs::write(path, serde_json::to_string(&found)? + "\n")?;
        }
        if let Some(path) = intervals {
            std::fs::write(path, serde_json::to_string_pretty(&made)? + "\n")?;
        }
    }
    Ok(())
}

fn group(run: &Run) -> String {
    run.group.clone().unwrap_or_default()
}

fn key(run: &Run) -> (String, String) {
    (group(run), run.model_name.clone().unwrap_or_default())
}

/// The first letter of a GPU's name tells its generation apart from those of the other rows.
fn generation(run: &Run) -> char {
    let name = run.gpu.clone().unwrap_or_default();
    name.chars().find(|c| *c != 'G').unwrap_or(' ')
}

/// Every check in its own thread; prints them in order, and returns how far the unseen runs were off.
fn held_back(lab: &Lab, start: &Constants, in_sample: &[Compared]) -> Residuals {
    let groups: BTreeSet<String> = lab.runs.iter().map(group).collect();
    let generations: BTreeSet<char> = lab.runs.iter().map(generation).collect();
    let (models, kinds, clusters) = thread::scope(|scope| {
        let keys: BTreeSet<(String, String)> = lab.runs.iter().map(key).collect();
        let folds: Vec<_> = (0..3)
            .map(|fold| {
                // Every third model of each group.
                let held: BTreeSet<(String, String)> = keys.iter().skip(fold).step_by(3).cloned().collect();
                scope.spawn(move || {
                    let constants = lab.train(|run| !held.contains(&key(run)), start, 20);
                    lab.compare(&lab.select(|run| held.contains(&key(run))), &constants)
                })
            })
            .collect();
        let kinds: Vec<_> = generations
            .iter()
            .map(|kind| {
                scope.spawn(move || {
                    let constants = lab.train(|run| generation(run) != *kind, &Constants::default(), 40);
                    lab.compare(&lab.select(|run| generation(run) == *kind), &constants)
                })
            })
            .collect();
        let clusters: Vec<_> =
            groups.iter().map(|name| scope.spawn(move || group_left_out(lab, name, start))).collect();
        let all = |threads: Vec<thread::ScopedJoinHandle<'_, Vec<Compared>>>| -> Vec<Compared> {
            threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        };
        let clusters: Vec<_> = clusters.into_iter().filter_map(|thread| thread.join().ok()).collect();
        (all(folds), all(kinds), clusters)
    });
    let (before, after): (Vec<_>, Vec<_>) = clusters.into_iter().unzip();
    let before: Vec<Compared> = before.into_iter().flatten().collect();
    print("Whole models held back", &models);
    print("Whole generations of GPUs held back", &kinds);
    print("Whole groups held back", &before);
    print("Whole groups held back, calibrated on five runs", &after.into_iter().flatten().collect::<Vec<_>>());
    residuals(&models, &before, in_sample)
}

/// A group (framework, cluster, GPU) is held back, then calibrated on five of its runs.
fn group_left_out(lab: &Lab, name: &str, start: &Constants) -> (Vec<Compared>, Vec<Compared>) {
    let constants = lab.train(|run| group(run) != name, start, 20);
    let rows = lab.select(|run| group(run) == name && run.measured_step().is_some());
    // A cluster has one kind of GPU; a table may hold several.
    let kinds: BTreeSet<&str> = rows.iter().filter_map(|run| run.gpu.as_deref()).collect();
    let after = kinds.into_iter().flat_map(|kind| {
        let rows: Vec<&Run> = rows.iter().copied().filter(|run| run.gpu.as_deref() == Some(kind)).collect();
        calibrated(lab, &rows, &constants)
    });
    (lab.compare(&rows, &constants), after.collect())
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

/// Runs of known frameworks and GPUs err as unseen models do, others as unseen groups. Memory has no fit: its rows are all
/// in sample, which `Intervals::of` allows for.
fn residuals(models: &[Compared], groups: &[Compared], in_sample: &[Compared]) -> Residuals {
    let mut found = Residuals::new();
    let mut add = |kind: Kind, group: &str, error: f64| {
        let value = (-(1.0 + error).ln() * 1e4).round() / 1e4;
        found.entry(kind).or_default().entry(group.to_owned()).or_default().push(value);
    };
    for one in models.iter().filter(|one| one.step.is_some()) {
        let kind = if one.several_nodes { Kind::StepSeveralNodes } else { Kind::StepOneNode };
        add(kind, &one.group, one.step.unwrap_or_default());
    }
    for one in groups.iter().filter(|one| one.step.is_some()) {
        let kind = if one.several_nodes { Kind::NewStepSeveralNodes } else { Kind::NewStepOneNode };
        add(kind, &one.group, one.step.unwrap_or_default());
    }
    for one in in_sample.iter().filter(|one| one.peak.is_some()) {
        let error = one.peak.unwrap_or_default();
        add(Kind::Memory, &one.group, error);
        add(Kind::NewMemory, &one.group, error);
    }
    found
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
