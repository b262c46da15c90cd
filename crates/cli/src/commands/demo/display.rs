//! What people see while the demo plays: on a terminal a picture that changes, elsewhere a line now and then.

use std::cell::Cell;
use std::io::IsTerminal;

use fermi_api::client::ServerAddress;
use fermi_api::v1::{CreateAnswer, Rank, RankState, Task};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::environments;
use crate::speech::{self, Paint, pick};
use crate::table;

/// Without a terminal a line is written each time so much of the training is done.
const TENTHS: u64 = 10;

/// The picture, or the lines in its place.
pub struct DemoDisplay {
    is_live: bool,
    is_quiet: bool,
    paint: Paint,
    all: MultiProgress,
    bar: ProgressBar,
    lights: ProgressBar,
    last_status: Cell<Option<fermi_domain::phase::TaskPhase>>,
    last_tenth: Cell<u64>,
}

impl DemoDisplay {
    pub fn new(is_quiet: bool) -> Self {
        let all = MultiProgress::new();
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("  {prefix} {bar:36.cyan/dim} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
        let lights = ProgressBar::new(1);
        lights.set_style(ProgressStyle::with_template("  {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        let is_live = std::io::stderr().is_terminal() && !is_quiet;
        Self {
            is_live,
            is_quiet,
            paint: Paint::for_stderr(),
            all,
            bar,
            lights,
            last_status: Cell::new(None),
            last_tenth: Cell::new(0),
        }
    }

    fn say(&self, text: &str) {
        if self.is_quiet {
            return;
        }
        if self.is_live {
            let _ = self.all.println(text);
        } else {
            speech::say(&format!("{text}\n"));
        }
    }

    pub fn opening(&self) {
        let title =
            pick("Fermi 演示：三个可用区，六个进程，一次训练", "Fermi demo: three zones, six ranks, one training");
        self.say(&format!("\n  {}\n", self.paint.bold(title)));
    }

    pub fn remark(&self, line: &str) {
        self.say(&format!("  {line}"));
    }

    pub fn cluster(&self, server: &ServerAddress) {
        self.say(&format!("\n  {} {server}/", self.paint.dim(pick("控制台", "console"))));
    }

    pub fn created(&self, message: &str, answer: &CreateAnswer) {
        self.say(&format!("\n  {} {}", self.paint.green("✓"), self.paint.bold(message)));
        self.say(&format!("    {}  {}", answer.description, self.paint.dim(&answer.task_id)));
        for warning in &answer.warnings {
            self.say(&format!("    {} {}", self.paint.yellow("!"), warning.message));
        }
        self.say("");
        if self.is_live {
            self.all.add(self.bar.clone());
            self.all.add(self.lights.clone());
        }
    }

    pub fn show(&self, task: &Task, ranks: &[Rank]) {
        let language = speech::language();
        let status = task.row.status;
        let word = task.row.status_text.in_language(language);
        let progress = task.progress.as_ref();
        let (step, steps) = progress.map_or((0, 1), |at| (at.step, at.total_steps.unwrap_or(at.step).max(1)));
        let loss = progress.and_then(|at| at.loss).map_or_else(String::new, |loss| format!("loss {loss:.4}"));
        if self.is_live {
            self.bar.set_length(steps);
            self.bar.set_position(step);
            self.bar.set_prefix(word.to_owned());
            self.bar.set_message(format!("{step}/{steps}  {loss}"));
            self.lights.set_message(self.lights(ranks));
            self.bar.tick();
            self.lights.tick();
            return;
        }
        if self.last_status.replace(Some(status)) != Some(status) {
            self.say(&format!("  {word}"));
        }
        let tenth = step * TENTHS / steps;
        if tenth > self.last_tenth.get() {
            self.last_tenth.set(tenth);
            self.say(&format!("  {} {step}/{steps}  {loss}", pick("步", "step")));
        }
    }

    /// One light for each rank, behind its environment's name.
    fn lights(&self, ranks: &[Rank]) -> String {
        let mut parts = Vec::new();
        for spec in environments() {
            let lights: String = ranks
                .iter()
                .filter(|rank| rank.node == spec.name)
                .map(|rank| match rank.state {
                    RankState::Waiting => self.paint.dim("○"),
                    RankState::Running => self.paint.green("●"),
                    RankState::Succeeded => self.paint.green("✓"),
                    RankState::Failed => self.paint.red("✗"),
                    RankState::Stopped => self.paint.dim("□"),
                })
                .collect();
            let lights = if lights.is_empty() { self.paint.dim("○○") } else { lights };
            parts.push(format!("{} {lights}", self.paint.dim(&table::cut(&spec.name, 18))));
        }
        parts.join("   ")
    }

    pub fn close(&self) {
        if self.is_live {
            self.bar.finish_and_clear();
            self.lights.finish_and_clear();
            let _ = self.all.clear();
        }
    }
}
