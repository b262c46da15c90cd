//! The built-in trainer with one rank and with two, for information.

use std::process::Stdio;

use serde_json::json;

use crate::before::Edition;
use crate::lab::{Lab, Trouble};
use crate::report::{Better, Report, Table};
use crate::stats::Samples;

const ROUNDS: usize = 5;
const STEPS: &str = "150";

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let mut taken = [("1", Samples::default()), ("2", Samples::default())];
    let mut before = Samples::default();
    let rounds = lab.options.rounds.min(ROUNDS);
    for round in 0..rounds {
        lab.progress("trainer", round, rounds);
        for (ranks, samples) in &mut taken {
            samples.push(tokens_per_second(lab, Edition::Now, ranks)?);
        }
        if lab.editions().contains(&Edition::Before) {
            before.push(tokens_per_second(lab, Edition::Before, "2")?);
        }
    }
    let mut table = Table::new("Built-in trainer, tokens/s", &["ranks", "median", "min", "max"]);
    for (ranks, samples) in &taken {
        let numbers = [samples.median(), samples.least(), samples.most()].map(|value| format!("{value:.0}"));
        table.row(std::iter::once((*ranks).to_owned()).chain(numbers));
    }
    table.print();
    let both = (before.median(), taken[1].1.median());
    report.compare("built-in trainer, two ranks", Better::Higher, both, "tokens/s");
    report.keep("trainer", json!({ "oneRank": taken[0].1.json(), "twoRanks": taken[1].1.json() }));
    Ok(())
}

/// Its last line: `done: …, 12,345 tokens/s, …`.
fn tokens_per_second(lab: &Lab, edition: Edition, ranks: &str) -> Result<f64, Trouble> {
    let mut command = lab.fermi_run_of(edition);
    command.args(["-q", "-n", ranks, "--no-python"]).arg(lab.fermi(edition)).args(["trainer", "--steps", STEPS]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let done = text.lines().find(|line| line.starts_with("done:")).ok_or("the trainer did not finish")?;
    let before = done.split(" tokens/s").next().and_then(|text| text.rsplit(' ').next()).unwrap_or_default();
    Ok(before.replace(',', "").parse()?)
}
