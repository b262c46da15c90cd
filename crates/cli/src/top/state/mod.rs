//! What `fermi top` knows and where the reader of the screen is. Keys ([`key`]) and what the server said ([`news`]) change
//! it; nothing here waits, draws or reads a clock.

mod key;
mod log;
mod news;
#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;

pub use key::{Key, KeyOrder};
pub use log::Log;
pub use news::{Detail, ServerNews, TaskPage};

use std::collections::BTreeMap;

use fermi_api::v1::{Explanation, Rank, Stream, Task, TaskRow};
use fermi_domain::language::Language;
use fermi_domain::phase::TaskPhase;

use super::charts::Charts;

/// Everything that the screen shows.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub language: Language,
    /// Its address.
    pub server: String,
    pub size: Size,
    /// Those that are not over first, each part newest first.
    pub rows: Vec<TaskRow>,
    /// There are more than `rows`.
    pub has_more: bool,
    pub details: BTreeMap<String, Detail>,
    /// The id of the chosen task.
    pub selected: Option<String>,
    /// How many tasks stand above the screen.
    pub first: usize,
    pub filter: String,
    pub open: Option<OpenTask>,
    pub prompt: Option<Prompt>,
    pub contact: Contact,
    /// What became of the last order; until the next key.
    pub notice: Option<String>,
}

/// The terminal, in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Whether the server answers. Two are equal when they look the same: each answer is later than the one before, and a
/// screen that would not differ is not drawn.
#[derive(Clone, Debug, Default)]
pub struct Contact {
    /// When it last did, in milliseconds of the same clock as [`State::tick`]'s.
    answered_ms: u64,
    /// So long after the last answer what is shown is said to be old, although nothing failed yet.
    patience_ms: u64,
    /// Why it does not.
    pub problem: Option<String>,
    /// How old what is shown is, in seconds; none while that does not matter, so that a quiet screen stays the same.
    pub age_s: Option<u64>,
}

impl PartialEq for Contact {
    fn eq(&self, other: &Self) -> bool {
        (&self.problem, self.age_s) == (&other.problem, other.age_s)
    }
}

/// What is asked of the reader, and takes all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Edits [`State::filter`].
    Filter,
    Ranks(String),
    Stop {
        id: String,
        name: String,
    },
    Help,
}

/// A part of a task's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    Ranks,
    Load,
    #[default]
    Log,
    Why,
}

impl Pane {
    pub const ALL: [Self; 4] = [Self::Ranks, Self::Load, Self::Log, Self::Why];

    fn moved(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|pane| *pane == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}

/// A task whose page is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenTask {
    pub id: String,
    pub task: Option<Box<Task>>,
    pub ranks: Vec<Rank>,
    pub charts: Charts,
    pub why: Option<Box<Explanation>>,
    pub log: Log,
    /// The task is not there any more.
    pub is_gone: bool,
    pub focus: Pane,
    /// Lines that the focused pane is scrolled by: the log from its end, the others from their beginning.
    pub scroll: usize,
    /// The chosen place among `ranks`.
    pub rank: usize,
}

/// What the server is to be asked for, as things stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The tasks that are on the screen, or nearly, with when they changed last.
    pub tasks: Vec<(String, u64)>,
    /// Those of them that move.
    pub active: Vec<String>,
    pub page: Option<WantedPage>,
}

/// The open task, and from where its log is to be read on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedPage {
    pub task: String,
    pub ranks: Vec<u32>,
    /// The attempt whose log is held; 0 before there is one.
    pub attempt: u32,
    pub offsets: BTreeMap<(u32, Stream), u64>,
}

impl WantedPage {
    /// Whether both ask for the same log of the same task.
    pub fn is_like(&self, other: &Self) -> bool {
        self.task == other.task && self.ranks == other.ranks
    }
}

impl State {
    pub fn new(language: Language, server: String, size: Size, patience_ms: u64) -> Self {
        Self {
            language,
            server,
            size,
            rows: Vec::new(),
            has_more: false,
            details: BTreeMap::new(),
            selected: None,
            first: 0,
            filter: String::new(),
            open: None,
            prompt: None,
            contact: Contact { patience_ms, ..Contact::default() },
            notice: None,
        }
    }

    /// The tasks that fit the filter, in the order of the screen.
    pub fn shown(&self) -> impl Iterator<Item = &TaskRow> {
        let wanted = self.filter.to_lowercase();
        self.rows.iter().filter(move |row| {
            let owner = row.created_by.as_ref().map_or("", |owner| owner.name.as_str());
            let texts = [&row.id, &row.name, owner, &row.status_text.zh, &row.status_text.en];
            wanted.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&wanted))
        })
    }

    /// Where the chosen task stands among those that are shown.
    pub fn position(&self) -> usize {
        self.shown().position(|row| Some(&row.id) == self.selected.as_ref()).unwrap_or(0)
    }

    pub fn selected_row(&self) -> Option<&TaskRow> {
        self.shown().find(|row| Some(&row.id) == self.selected.as_ref()).or_else(|| self.shown().next())
    }

    /// The task that a key is meant for: the open one, else the chosen one.
    pub fn subject(&self) -> Option<&TaskRow> {
        match &self.open {
            Some(open) => {
                let known = open.task.as_deref().map(|task| &task.row);
                known.or_else(|| self.rows.iter().find(|row| row.id == open.id))
            }
            None => self.selected_row(),
        }
    }

    /// How many tasks run, wait and are over.
    pub fn counts(&self) -> [usize; 3] {
        let count = |wanted: fn(TaskPhase) -> bool| self.rows.iter().filter(|row| wanted(row.status)).count();
        let runs = |phase: TaskPhase| !phase.is_final() && !waits(phase);
        [count(runs), count(waits), count(TaskPhase::is_final)]
    }

    /// What the server is to be asked for.
    pub fn wanted(&self) -> Wanted {
        let rows = usize::from(self.size.rows);
        let on_screen = || self.shown().skip(self.first).take(rows);
        Wanted {
            tasks: on_screen().map(|row| (row.id.clone(), row.updated_at)).collect(),
            active: on_screen().filter(|row| !row.status.is_final()).map(|row| row.id.clone()).collect(),
            page: self.open.as_ref().filter(|open| !open.is_gone).map(|open| WantedPage {
                task: open.id.clone(),
                ranks: open.log.ranks.clone(),
                attempt: open.log.attempt,
                offsets: open.log.offsets(),
            }),
        }
    }

    /// Time goes by.
    pub fn tick(&mut self, now_ms: u64) {
        let age_ms = now_ms.saturating_sub(self.contact.answered_ms);
        let matters = self.contact.problem.is_some() || age_ms >= self.contact.patience_ms;
        self.contact.age_s = matters.then_some(match age_ms / 1000 {
            seconds @ 0..60 => seconds,
            // What is shown in minutes changes once a minute.
            seconds => seconds / 60 * 60,
        });
    }

    /// The chosen task is among the `rows` of the list, and no pane is scrolled beyond its text, which `most` says.
    pub fn settle(&mut self, rows: usize, most: usize) {
        let (at, all) = (self.position(), self.shown().count());
        let lowest = (at + 1).saturating_sub(rows);
        self.first = self.first.clamp(lowest, at.max(lowest)).min(all.saturating_sub(rows));
        if let Some(open) = &mut self.open {
            open.scroll = open.scroll.min(most);
        }
    }
}

fn waits(phase: TaskPhase) -> bool {
    matches!(phase, TaskPhase::Initializing | TaskPhase::Queued)
}
