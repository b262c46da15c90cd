//! The benches of `fermi run`, beside the launchers it replaces.
//!
//! Competitors take turns within every round, so that whatever else the machine does hits all alike, and medians are
//! compared. Every number that the project promises is checked against its bound: `ok` or `MISS`. A miss is no failure,
//! because a bench is no test and machines differ; `--strict` makes it one. Tables go to stdout, all samples to a JSON
//! file under `bench-results/`. With FERMI_BENCH_BEFORE=/path/to/fermi another build takes part too, and a table says what
//! has become slower.
//!
//! Start reading at a measure (`first_line`, `restart`, `memory`, `flood`, `teardown`, `trainer`, `collective`); [`lab`]
//! is what they work with. This binary also plays the ranks that need no Python: [`rank`].

// A bench speaks on its streams.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod before;
mod collective;
mod first_line;
mod flood;
mod kin;
mod lab;
mod machine;
mod memory;
mod options;
mod peers;
mod rank;
mod rendezvous;
mod report;
mod restart;
mod signs;
mod stats;
mod store;
mod teardown;
mod trainer;

use std::process::ExitCode;

use lab::{Lab, Trouble};
use options::Options;
use report::Report;

type Measure = fn(&Lab, &mut Report) -> Result<(), Trouble>;

const MEASURES: [(&str, Measure); 9] = [
    ("first-line", first_line::measure),
    ("restart", restart::measure),
    ("memory", memory::measure),
    ("flood", flood::measure),
    ("teardown", teardown::measure),
    ("rendezvous", rendezvous::measure),
    ("store", store::measure),
    ("trainer", trainer::measure),
    ("collective", collective::measure),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = rank::play(&words) {
        return code;
    }
    let names = MEASURES.map(|(name, _)| name);
    let done = Options::read(&words, &names).map_err(Trouble::from).and_then(run);
    match done {
        Ok(code) => code,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::from(2)
        }
    }
}

fn run(options: Options) -> Result<ExitCode, Trouble> {
    let lab = Lab::open(options)?;
    let Options { rounds, shielded, .. } = lab.options;
    let mut report = Report::begin(&[("rounds", rounds.into()), ("shielded", shielded.into())]);
    let mut broken = false;
    for (name, measure) in MEASURES.iter().filter(|(name, _)| lab.options.wants(name)) {
        if let Err(trouble) = measure(&lab, &mut report) {
            eprintln!("error: {name} could not be measured: {trouble}");
            report.broke(name, &trouble.to_string());
            broken = true;
        }
    }
    report.print_comparison();
    report.print_promises();
    println!("\nall samples: {}", report.save(&lab.options.out)?.display());
    let failed = broken || lab.options.strict && !report.all_held();
    Ok(ExitCode::from(u8::from(failed)))
}
