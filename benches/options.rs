//! What the person at the bench wants.

use std::path::PathBuf;

const HELP: &str =
    "cargo bench -p fermi-cli --bench launch -- [--rounds N] [--only NAME]… [--shielded] [--strict] [--out DIR]";

#[derive(Debug)]
pub struct Options {
    /// How often each competitor is measured.
    pub rounds: usize,
    /// The measures to take; all when empty.
    pub only: Vec<String>,
    /// At real-time priority, ranks and competitors included: other people's work on the machine does not count.
    pub shielded: bool,
    /// A missed promise is a failure.
    pub strict: bool,
    pub out: PathBuf,
}

impl Options {
    pub fn read(words: &[String], measures: &[&str]) -> Result<Self, String> {
        let mut options = Self { rounds: 15, only: Vec::new(), shielded: false, strict: false, out: default_out() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().cloned().ok_or_else(|| format!("{word} needs a value\n{HELP}"));
            match word.as_str() {
                "--rounds" => {
                    let text = value()?;
                    options.rounds = text
                        .parse()
                        .ok()
                        .filter(|rounds| *rounds > 0)
                        .ok_or_else(|| format!("--rounds cannot be '{text}': use a whole number from 1 up"))?;
                }
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--out" => options.out = PathBuf::from(value()?),
                "--shielded" => options.shielded = true,
                "--strict" => options.strict = true,
                // cargo bench says this to every bench.
                "--bench" => {}
                other => return Err(format!("there is no option {other}\n{HELP}")),
            }
        }
        match options.only.iter().find(|name| !measures.contains(&name.as_str())) {
            Some(unknown) => Err(format!("there is no measure '{unknown}': use one of {}", measures.join(", "))),
            None => Ok(options),
        }
    }

    pub fn wants(&self, measure: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == measure)
    }
}

/// The folder of results at the top of the repository; the present one when run without cargo.
fn default_out() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let top = package.as_deref().and_then(|package| package.parent()?.parent());
    top.map_or_else(|| PathBuf::from("bench-results"), |top| top.join("bench-results"))
}
