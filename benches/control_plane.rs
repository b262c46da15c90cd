//! The benches of the control plane: a real server, real agents, and as many callers as are promised.
//!
//! Everything runs on loopback in a temporary folder and is ended afterwards. The callers are played by this program
//! with as little work as possible, since they share the machine with what they measure. Every number that the project
//! promises is checked against its bound: `ok` or `MISS`. A miss is no failure; `--strict` makes it one. With
//! FERMI_BENCH_BEFORE=/path/to/fermi every part is played by that build first, and a table compares the two.
//!
//! Start reading at a part (`idle`, `access`, `creates`, `reads`, `submit`, `flood`, `followers`, `log_followers`,
//! `agents`, `soak`);
//! [`fleet`](control_plane::fleet) is what they measure, [`load`](control_plane::load) and
//! [`wire`](control_plane::wire) are the callers.

// A bench speaks on its streams.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod before;
mod machine;
mod report;

mod control_plane {
    pub mod access;
    pub mod agents;
    pub mod creates;
    pub mod crowd;
    pub mod disk;
    pub mod fleet;
    pub mod flood;
    pub mod followers;
    pub mod idle;
    pub mod journals;
    pub mod load;
    pub mod log_followers;
    pub mod options;
    pub mod outside;
    pub mod reads;
    pub mod simulated;
    pub mod soak;
    pub mod spread;
    pub mod submit;
    pub mod wire;
    pub mod writer;
}

use std::error::Error;
use std::process::ExitCode;

use before::Edition;
use control_plane::options::Options;
use control_plane::{
    access, agents, creates, fleet, flood, followers, idle, log_followers, outside, reads, soak, submit, writer,
};
use report::Report;

/// Why something could not be measured.
pub type Trouble = Box<dyn Error>;

type Part = fn(&mut Report) -> Result<(), Trouble>;

const PARTS: [(&str, Part); 10] = [
    ("idle", idle::measure),
    ("access", access::measure),
    ("creates", creates::measure),
    ("reads", reads::measure),
    ("submit", submit::measure),
    ("flood", flood::measure),
    ("followers", followers::measure),
    ("log-followers", log_followers::measure),
    ("agents", agents::measure),
    ("many-agents", agents::measure_many),
];

/// Too long to be measured unasked.
const NAMED_PARTS: [(&str, Part); 1] = [("soak", soak::measure)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = writer::play(&words) {
        return code;
    }
    let names: Vec<&str> = PARTS.iter().chain(&NAMED_PARTS).map(|(name, _)| *name).collect();
    match Options::read(&words, &names).map_err(Trouble::from).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Trouble> {
    outside::end_marked_when_interrupted(fleet::own_mark())?;
    let mut report = Report::begin(&[]);
    let mut broken = false;
    let usual = PARTS.iter().filter(|(name, _)| options.wants(name));
    for (name, measure) in usual.chain(NAMED_PARTS.iter().filter(|(name, _)| options.names(name))) {
        if let Err(trouble) = take(name, *measure, &mut report) {
            eprintln!("error: {name} could not be measured: {trouble}");
            report.broke(name, &trouble.to_string());
            broken = true;
        }
    }
    report.print_comparison();
    report.print_promises();
    let path = match &options.json {
        Some(path) => report.write(path).map(|()| path.clone())?,
        None => report.save(&options.out)?,
    };
    println!("\nall samples: {}", path.display());
    let failed = broken || options.strict && !report.all_held();
    Ok(ExitCode::from(u8::from(failed)))
}

/// Measures a part; where another build is named to compare with, that one first.
fn take(name: &str, part: Part, report: &mut Report) -> Result<(), Trouble> {
    let Some(binary) = before::named()? else { return part(report) };
    println!("\n{name}, before: {}", binary.display());
    let mut aside = Report::aside();
    fleet::measure_from_here(Edition::Before);
    let before = part(&mut aside);
    fleet::measure_from_here(Edition::Now);
    before?;
    println!("\n{name}, now:");
    part(report)?;
    report.compare_with(&aside);
    Ok(())
}
