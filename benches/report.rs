//! What a run of the benches leaves: tables for people, one JSON file for comparison.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::machine;

/// On which side of the bound the promise lies.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A number that the project promises.
#[derive(Debug)]
struct Promise {
    name: String,
    bound: Bound,
    measured: f64,
    unit: &'static str,
}

impl Promise {
    fn held(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.measured <= most,
            Bound::AtLeast(least) => self.measured >= least,
        }
    }

    fn bound_text(&self) -> String {
        match self.bound {
            Bound::AtMost(most) => format!("<= {most} {}", self.unit),
            Bound::AtLeast(least) => format!(">= {least} {}", self.unit),
        }
    }
}

/// More than this is not the machine's noise any more.
const SLOWER: f64 = 1.05;

/// A number of both builds.
#[derive(Debug)]
struct Comparison {
    name: String,
    better: Better,
    before: f64,
    now: f64,
    unit: &'static str,
}

/// In which direction a number is better.
#[derive(Clone, Copy, Debug)]
pub enum Better {
    Lower,
    Higher,
}

impl Comparison {
    /// By how much it has become worse: 1.1 is a tenth.
    fn worse(&self) -> f64 {
        match self.better {
            Better::Lower => self.now / self.before,
            Better::Higher => self.before / self.now,
        }
    }

    fn held(&self) -> bool {
        self.worse().is_nan() || self.worse() <= SLOWER
    }
}

#[derive(Debug)]
pub struct Report {
    head: Value,
    measures: Vec<(String, Value)>,
    promises: Vec<Promise>,
    comparisons: Vec<Comparison>,
}

impl Report {
    /// Begins with what must be known to compare it with another one: the machine, and the conditions of the benches.
    pub fn begin(conditions: &[(&str, Value)]) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut head = json!({
            "format": 1,
            "date": date(unix),
            "unixSeconds": unix,
            "fermi": env!("CARGO_PKG_VERSION"),
            "machine": machine::facts(),
        });
        for (name, value) in conditions {
            head[*name] = value.clone();
        }
        println!("machine: {}", head["machine"]);
        Self { head, measures: Vec::new(), promises: Vec::new(), comparisons: Vec::new() }
    }

    /// Keeps the samples of a measure.
    pub fn keep(&mut self, name: &str, details: Value) {
        self.measures.push((name.to_owned(), details));
    }

    pub fn broke(&mut self, name: &str, trouble: &str) {
        self.keep(name, json!({ "broken": trouble }));
    }

    pub fn promise(&mut self, name: &str, bound: Bound, measured: f64, unit: &'static str) {
        self.promises.push(Promise { name: name.to_owned(), bound, measured, unit });
    }

    /// Keeps a number of both builds; one that the other build does not have is left out.
    pub fn compare(&mut self, name: &str, better: Better, (before, now): (f64, f64), unit: &'static str) {
        if before.is_finite() {
            self.comparisons.push(Comparison { name: name.to_owned(), better, before, now, unit });
        }
    }

    pub fn all_held(&self) -> bool {
        self.promises.iter().all(Promise::held) && self.comparisons.iter().all(Comparison::held)
    }

    pub fn print_comparison(&self) {
        if self.comparisons.is_empty() {
            return;
        }
        let mut table = Table::new("Before and now, in one run", &["measure", "before", "now", "change", ""]);
        for comparison in &self.comparisons {
            let Comparison { name, before, now, unit, .. } = comparison;
            table.row([
                name.clone(),
                format!("{before:.2} {unit}"),
                format!("{now:.2} {unit}"),
                format!("{:+.1} %", (now / before - 1.0) * 100.0),
                if comparison.held() { "ok" } else { "WORSE" }.to_owned(),
            ]);
        }
        table.print();
    }

    pub fn print_promises(&self) {
        if self.promises.is_empty() {
            return;
        }
        let mut table = Table::new("Promised numbers", &["promise", "bound", "measured", ""]);
        for promise in &self.promises {
            let verdict = if promise.held() { "ok" } else { "MISS" };
            table.row([
                promise.name.clone(),
                promise.bound_text(),
                format!("{:.2} {}", promise.measured, promise.unit),
                verdict.to_owned(),
            ]);
        }
        table.print();
    }

    /// Writes a file named by the date and says where it is.
    pub fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.json", date(self.head["unixSeconds"].as_u64().unwrap_or(0))));
        self.write(&path)?;
        Ok(path)
    }

    /// Writes everything into this file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let promises: Vec<Value> = self
            .promises
            .iter()
            .map(|promise| {
                json!({
                    "name": promise.name,
                    "bound": promise.bound_text(),
                    "measured": promise.measured,
                    "unit": promise.unit,
                    "held": promise.held(),
                })
            })
            .collect();
        let mut whole = self.head.clone();
        whole["loadAverageAtEnd"] = json!(machine::load_average());
        whole["promises"] = json!(promises);
        let comparisons = self.comparisons.iter().map(|comparison| {
            let Comparison { name, before, now, unit, .. } = comparison;
            json!({ "name": name, "before": before, "now": now, "unit": unit, "held": comparison.held() })
        });
        whole["comparison"] = comparisons.collect();
        whole["measures"] = self.measures.iter().cloned().collect();
        fs::write(path, serde_json::to_vec_pretty(&whole)?)
    }
}

#[allow(dead_code, reason = "of the benches that share this file, one plays a part as a whole by each build")]
impl Report {
    /// One that is never printed: for the other build, whose promises are only compared.
    pub fn aside() -> Self {
        Self { head: Value::Null, measures: Vec::new(), promises: Vec::new(), comparisons: Vec::new() }
    }

    /// Compares what both builds were measured at where something is promised.
    pub fn compare_with(&mut self, before: &Self) {
        for old in &before.promises {
            let Some(now) = self.promises.iter().find(|promise| promise.name == old.name) else { continue };
            let better = match old.bound {
                Bound::AtMost(_) => Better::Lower,
                Bound::AtLeast(_) => Better::Higher,
            };
            let both = (old.measured, now.measured);
            self.compare(&old.name, better, both, old.unit);
        }
    }
}

/// `20260131T235959Z`: sorts by time and is a file name everywhere.
fn date(unix: u64) -> String {
    let moment = libc::time_t::try_from(unix).unwrap_or_default();
    // SAFETY: both calls write into buffers that we own and that are long enough.
    let (text, length) = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&moment, &mut parts);
        let mut text = [0u8; 32];
        let length = libc::strftime(text.as_mut_ptr().cast(), text.len(), c"%Y%m%dT%H%M%SZ".as_ptr(), &parts);
        (text, length)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// Columns for people: the first to the left, the others to the right.
#[derive(Debug)]
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: &str, columns: &[&str]) -> Self {
        let head = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.to_owned(), rows: vec![head] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn print(&self) {
        println!("\n{}", self.title);
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            println!("  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
}

/// Milliseconds with a precision that fits their size.
pub fn ms(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}
