//! What the launcher itself keeps in memory while two Python ranks do nothing.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::before::Edition;
use crate::kin;
use crate::lab::{Lab, Trouble};
use crate::report::{Better, Bound, Report, Table};
use crate::signs::{self, Signs};
use crate::stats::Samples;

const PATIENCE: Duration = Duration::from_secs(60);
/// Memory differs little between starts; torchrun takes seconds for each.
const ROUNDS: usize = 5;

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let mut signs = Signs::open(lab.folder().join("memory"))?;
    let (mut fermi, mut before, mut torchrun) = (Samples::default(), Samples::default(), Samples::default());
    let rounds = lab.options.rounds.min(ROUNDS);
    for round in 0..rounds {
        lab.progress("memory", round, rounds);
        for edition in lab.editions() {
            let samples = if *edition == Edition::Now { &mut fermi } else { &mut before };
            samples.push(summed_pss(lab, lab.fermi_run_of(*edition), &mut signs)?);
        }
        if let Some(program) = lab.beside_python("torchrun") {
            torchrun.push(summed_pss(lab, Command::new(program), &mut signs)?);
        }
    }
    let ratio = torchrun.median() / fermi.median();
    let mut table = Table::new(
        "Memory of the launcher's own processes beside 2 sleeping ranks, MB (PSS)",
        &["launcher", "median", "min", "max"],
    );
    for (name, samples) in [("fermi run, three processes", &fermi), ("torchrun", &torchrun)] {
        let mb =
            |kib: f64| if kib.is_nan() { "left out: not installed".to_owned() } else { format!("{:.2}", kib / 1e3) };
        table.row([name.to_owned(), mb(samples.median()), mb(samples.least()), mb(samples.most())]);
    }
    table.print();
    if !ratio.is_nan() {
        report.promise("memory (PSS), torchrun / fermi", Bound::AtLeast(20.0), ratio, "x");
    }
    let both = (before.median() / 1e3, fermi.median() / 1e3);
    report.compare("memory of the launcher's three processes (PSS)", Better::Lower, both, "MB");
    report.keep("memory", json!({ "fermiKib": fermi.json(), "torchrunKib": torchrun.json() }));
    Ok(())
}

fn summed_pss(lab: &Lab, mut command: Command, signs: &mut Signs) -> Result<f64, Trouble> {
    command.args(["--nproc-per-node", "2"]).arg(lab.script("sign.py"));
    command.env(signs::VARIABLE, signs.path()).env("FERMI_BENCH_STAY", "600");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let ranks: Vec<i32> = signs.wait(2, PATIENCE)?.iter().map(|sign| sign.pid).collect();
    // Let the launcher finish what it does after a start.
    std::thread::sleep(Duration::from_millis(500));
    let launcher = i32::try_from(child.id())?;
    let memory = kin::memory(&kin::keepers(launcher, &ranks));
    // SAFETY: our own child, not yet waited for.
    unsafe { libc::kill(launcher, libc::SIGTERM) };
    child.wait()?;
    Ok(memory.pss as f64)
}
