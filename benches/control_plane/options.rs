//! What the person at the bench wants.

use std::path::PathBuf;

const HELP: &str = "cargo bench -p fermi-cli --bench control_plane -- [PART]… [--json FILE] [--out DIR] [--strict]";

#[derive(Debug)]
pub struct Options {
    /// The parts to measure; all when empty.
    parts: Vec<String>,
    /// Where the samples go; a file named by the date in `out` when not given.
    pub json: Option<PathBuf>,
    pub out: PathBuf,
    /// A missed promise is a failure.
    pub strict: bool,
}

impl Options {
    pub fn read(words: &[String], parts: &[&str]) -> Result<Self, String> {
        let top = std::env::var_os("CARGO_MANIFEST_DIR").map(|package| PathBuf::from(package).join("../.."));
        let out = top.unwrap_or_default().join("bench-results/control-plane");
        let mut options = Self { parts: Vec::new(), json: None, out, strict: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(PathBuf::from).ok_or_else(|| format!("{word} needs a value\n{HELP}"));
            match word.as_str() {
                "--json" => options.json = Some(value()?),
                "--out" => options.out = value()?,
                "--strict" => options.strict = true,
                // cargo bench says this to every bench.
                "--bench" => {}
                part if parts.contains(&part) => options.parts.push(part.to_owned()),
                other => {
                    let parts = parts.join(", ");
                    return Err(format!("there is no part or option '{other}': parts are {parts}\n{HELP}"));
                }
            }
        }
        Ok(options)
    }

    pub fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.names(part)
    }

    /// Whether a part was asked for by its name.
    pub fn names(&self, part: &str) -> bool {
        self.parts.iter().any(|name| name == part)
    }
}
