//! Fits the constants of the time model and checks them on runs that the fit did not see.
//!
//! `cargo run --release -p fermi-planner --example fit -- RUNS.json [MORE.json …] [--out constants.json]
//! [--check [--residuals residuals.json] [--intervals intervals.json] [--without FOLDER]] [--ways 12]`
//!
//! What is held back is held back from the first round on: every fit of a check begins at the same values that no run has seen.
//! `--without` writes the constants that have seen no run of a generation of GPUs, one file for each.
//! `--ways` shares the models out over three folds in so many ways more, since small groups make one way luckier than another.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::error::Error;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use fermi_planner::calibrate;
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::evaluate::{self, Compared};
use fermi_planner::fit::{self, Freedom, Sample};
use fermi_planner::interval::{Intervals, Kind, Residuals, left_out_coverage};
use fermi_planner::resolve;
use fermi_planner::run::{Run, Runs};

/// Enough for every fit to come to rest.
const ROUNDS: usize = 80;
const FOLDS: usize = 3;

struct Lab {
    catalogue: Catalogue,
    runs: Vec<Run>,
}

impl Lab {
    fn train(&self, keep: impl Fn(&Run) -> bool) -> Constants {
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
        fit::fit(&samples, &Constants::default(), &Freedom::full(), ROUNDS)
    }

    fn compare(&self, runs: &[&Run], constants: &Constants) -> Vec<Compared> {
        runs.iter().filter_map(|run| evaluate::compare(run, &self.catalogue, constants)).collect()
    }

    fn select(&self, keep: impl Fn(&Run) -> bool) -> Vec<&Run> {
        self.runs.iter().filter(|run| keep(run)).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut out, mut residuals, mut intervals, mut without) = (None, None, None, None);
    let (mut check, mut ways) = (false, 0);
    let mut runs = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = arguments.next(),
            "--residuals" => residuals = arguments.next(),
            "--intervals" => intervals = arguments.next(),
            "--without" => without = arguments.next(),
            "--check" => check = true,
            "--ways" => ways = arguments.next().ok_or("--ways needs a number")?.parse()?,
            file => runs.extend(serde_json::from_str::<Runs>(&std::fs::read_to_string(file)?)?.rows),
        }
    }
    let lab = Lab { catalogue: Catalogue::builtin(), runs };
    let full = lab.train(|_| true);
    let in_sample = lab.compare(&lab.select(|_| true), &full);
    print("All runs, in sample", &in_sample);
    if let Some(path) = out {
        std::fs::write(path, serde_json::to_string_pretty(&full)? + "\n")?;
    }
    if check {
        let unseen = generations_held_back(&lab);
        let found = held_back(&lab, &unseen, &in_sample);
        let made = Intervals::of(&found);
        println!("\n## Intervals\n\n| kind | low | high | runs | inside, group left out |\n|---|---|---|---|---|");
        for (kind, groups) in &found {
            let (interval, count) = (made.factors(*kind), groups.values().map(Vec::len).sum::<usize>());
            let covered = left_out_coverage(groups, kind.margin()) * 100.0;
            println!("| {kind:?} | {:.3} | {:.3} | {count} | {covered:.0} % |", interval.low, interval.high);
        }
        for one in without.iter().flat_map(|folder| unseen.iter().map(move |one| (folder, one))) {
            let path = Path::new(one.0).join(format!("{}.json", one.1.generation));
            std::fs::write(path, serde_json::to_string_pretty(&one.1.constants)? + "\n")?;
        }
        if let Some(path) = residuals {
            std::fs::write(path, serde_json::to_string(&found)? + "\n")?;
        }
        if let Some(path) = intervals {
            std::fs::write(path, serde_json::to_string_pretty(&made)? + "\n")?;
        }
    }
    if ways > 0 {
        in_many_ways(&lab, ways);
    }
    Ok(())
}

/// The models of all groups in some order, and every third of them for each fold.
fn folds(lab: &Lab, way: u64) -> Vec<BTreeSet<Key>> {
    let mut keys: Vec<Key> = lab.runs.iter().map(key).collect::<BTreeSet<Key>>().into_iter().collect();
    if way > 0 {
        keys.sort_by_key(|key| shuffled(way, key));
    }
    (0..FOLDS).map(|fold| keys.iter().skip(fold).step_by(FOLDS).cloned().collect()).collect()
}

/// A number that says nothing of the key, and another one for each way.
fn shuffled(way: u64, (group, model): &Key) -> u64 {
    let begin = 0xcbf2_9ce4_8422_2325 ^ way.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bytes = group.bytes().chain([0]).chain(model.bytes());
    let mixed = bytes.fold(begin, |mixed, byte| (mixed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

fn in_many_ways(lab: &Lab, ways: u64) {
    println!(
        "\n## Whole models held back, in {ways} ways to share them out\n\n| way | one node | several nodes |\n|---|---|---|"
    );
    let means: Vec<(f64, f64)> = (1..=ways)
        .map(|way| {
            let report = evaluate::report(&models_held_back(lab, way), 0);
            println!("| {way} | {:.2} % | {:.2} % |", report.step_one_node, report.step_several_nodes);
            (report.step_one_node, report.step_several_nodes)
        })
        .collect();
    let mean = |pick: fn(&(f64, f64)) -> f64| means.iter().map(pick).sum::<f64>() / means.len().max(1) as f64;
    let worst = |pick: fn(&(f64, f64)) -> f64| means.iter().map(pick).fold(0.0, f64::max);
    println!("| **mean** | **{:.2} %** | **{:.2} %** |", mean(|one| one.0), mean(|one| one.1));
    println!("| worst | {:.2} % | {:.2} % |", worst(|one| one.0), worst(|one| one.1));
}

/// Each fold in its own thread.
fn models_held_back(lab: &Lab, way: u64) -> Vec<Compared> {
    thread::scope(|scope| {
        let threads: Vec<_> = folds(lab, way)
            .into_iter()
            .map(|held| {
                scope.spawn(move || {
                    let constants = lab.train(|run| !held.contains(&key(run)));
                    lab.compare(&lab.select(|run| held.contains(&key(run))), &constants)
                })
            })
            .collect();
        threads.into_iter().flat_map(finished).collect()
    })
}

/// What a thread has found; a fold that panicked ends the fit, since the means without it would look like all of them.
fn finished<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn group(run: &Run) -> String {
    run.group.clone().unwrap_or_default()
}

/// Group and model.
type Key = (String, String);

fn key(run: &Run) -> Key {
    (group(run), run.model_name.clone().unwrap_or_default())
}

/// `hopper`, `blackwell` and so on.
fn generation(lab: &Lab, run: &Run) -> String {
    let known = run.gpu.as_deref().and_then(|name| lab.catalogue.gpu(name, run.gpu_mem_gib).ok());
    known.and_then(|gpu| serde_json::to_value(gpu.generation).ok()?.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A generation of GPUs, the constants that have seen no run of it, and how far they are off.
struct Unseen {
    generation: String,
    constants: Constants,
    compared: Vec<Compared>,
}

/// Each generation in its own thread.
fn generations_held_back(lab: &Lab) -> Vec<Unseen> {
    let generations: BTreeSet<String> = lab.runs.iter().map(|run| generation(lab, run)).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = generations
            .into_iter()
            .map(|name| {
                scope.spawn(move || {
                    let constants = lab.train(|run| generation(lab, run) != name);
                    let compared = lab.compare(&lab.select(|run| generation(lab, run) == name), &constants);
                    Unseen { generation: name, constants, compared }
                })
            })
            .collect();
        threads.into_iter().map(finished).collect()
    })
}

/// Prints the checks in order, and returns how far the unseen runs were off.
fn held_back(lab: &Lab, unseen: &[Unseen], in_sample: &[Compared]) -> Residuals {
    let groups: BTreeSet<String> = lab.runs.iter().map(group).collect();
    let models = models_held_back(lab, 0);
    let clusters: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = groups.iter().map(|name| scope.spawn(move || group_left_out(lab, name))).collect();
        threads.into_iter().map(finished).collect()
    });
    let (before, after): (Vec<_>, Vec<_>) = clusters.into_iter().unzip();
    let before: Vec<Compared> = before.into_iter().flatten().collect();
    print("Whole models held back", &models);
    for one in unseen {
        print(&format!("Runs on {} held back", one.generation), &one.compared);
    }
    let all: Vec<Compared> = unseen.iter().flat_map(|one| one.compared.iter().cloned()).collect();
    print("Whole generations of GPUs held back", &all);
    print("Whole groups held back", &before);
    print("Whole groups held back, calibrated on five runs", &after.into_iter().flatten().collect::<Vec<_>>());
    residuals(&models, &before, unseen, in_sample)
}

/// A group (framework, cluster, GPU) is held back, then calibrated on five of its runs.
fn group_left_out(lab: &Lab, name: &str) -> (Vec<Compared>, Vec<Compared>) {
    let constants = lab.train(|run| group(run) != name);
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

/// Runs of known frameworks and GPUs err as unseen models do, those of other frameworks as unseen groups, those on other GPUs as
/// unseen generations. Memory has no fit: its rows are all
/// in sample, which `Intervals::of` allows for.
fn residuals(models: &[Compared], groups: &[Compared], unseen: &[Unseen], in_sample: &[Compared]) -> Residuals {
    let mut found = Residuals::new();
    let mut add = |kind: Kind, group: &str, error: f64| {
        let value = (-(1.0 + error).ln() * 1e4).round() / 1e4;
        found.entry(kind).or_default().entry(group.to_owned()).or_default().push(value);
    };
    let several = |one: &Compared, nodes: Kind, node: Kind| if one.several_nodes { nodes } else { node };
    for one in models.iter().filter(|one| one.step.is_some()) {
        let kind = several(one, Kind::StepSeveralNodes, Kind::StepOneNode);
        add(kind, &one.group, one.step.unwrap_or_default());
    }
    for one in groups.iter().filter(|one| one.step.is_some()) {
        let kind = several(one, Kind::NewStepSeveralNodes, Kind::NewStepOneNode);
        add(kind, &one.group, one.step.unwrap_or_default());
    }
    for (generation, one) in unseen.iter().flat_map(|it| it.compared.iter().map(move |one| (&it.generation, one))) {
        let kind = several(one, Kind::NewGpuSeveralNodes, Kind::NewGpuOneNode);
        if let Some(error) = one.step {
            add(kind, &format!("{generation} {}", one.group), error);
        }
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
