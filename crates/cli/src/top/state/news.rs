//! What the server said, and what that changes.

use std::collections::BTreeSet;

use fermi_api::v1::{Explanation, LogChunk, Metrics, Progress, Rank, Task, TaskRow};
use fermi_domain::language::Text;

use super::State;
use crate::top::charts::{self, Charts};

/// An answer, or that none came.
#[derive(Clone, Debug)]
pub enum ServerNews {
    Rows {
        rows: Vec<TaskRow>,
        has_more: bool,
    },
    Detail(String, Detail),
    Page(Box<TaskPage>),
    Log {
        task: String,
        pieces: Vec<LogChunk>,
    },
    /// The task is not there any more.
    Gone(String),
    /// Nobody answers, or not well; the sentence says why.
    Lost(String),
    /// What became of an order.
    Ordered(String),
    /// An order that came to nothing, perhaps because nobody answers.
    Refused(String),
}

/// What a list shows of a task and does not know itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    pub gpus: usize,
    pub progress: Option<Progress>,
    /// Of the newest attempt.
    pub phase: Option<Text>,
    /// Seconds, oldest first.
    pub steps: Vec<f64>,
}

/// Everything on the page of a task but its log.
#[derive(Clone, Debug)]
pub struct TaskPage {
    pub task: Task,
    pub ranks: Vec<Rank>,
    pub metrics: Metrics,
    pub why: Explanation,
}

impl Detail {
    pub fn of(task: &Task, metrics: &Metrics) -> Self {
        Self {
            gpus: task.rank_map.iter().filter(|slot| slot.gpu.is_some()).count(),
            progress: task.progress.clone(),
            phase: task.attempts.last().map(|attempt| attempt.status_text.clone()),
            steps: charts::step_times(&metrics.series),
        }
    }
}

impl State {
    /// Takes what the server said at this time.
    pub fn hear(&mut self, news: ServerNews, now_ms: u64) {
        match &news {
            ServerNews::Lost(_) | ServerNews::Refused(_) => {}
            _ => {
                self.contact.answered_ms = now_ms;
                self.contact.problem = None;
            }
        }
        match news {
            ServerNews::Rows { rows, has_more } => self.take_rows(rows, has_more),
            ServerNews::Detail(id, detail) => {
                self.details.insert(id, detail);
            }
            ServerNews::Page(page) => self.take_page(*page),
            ServerNews::Log { task, pieces } => {
                if let Some(open) = self.open.as_mut().filter(|open| open.id == task) {
                    pieces.iter().for_each(|piece| open.log.take(piece));
                }
            }
            ServerNews::Gone(id) => {
                if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
                    open.is_gone = true;
                }
            }
            ServerNews::Lost(why) => self.contact.problem = Some(why),
            ServerNews::Ordered(answer) | ServerNews::Refused(answer) => self.notice = Some(answer),
        }
        self.tick(now_ms);
    }

    fn take_rows(&mut self, rows: Vec<TaskRow>, has_more: bool) {
        let before = self.position();
        let (active, over): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| !row.status.is_final());
        self.rows = active.into_iter().chain(over).collect();
        self.has_more = has_more;
        let known: BTreeSet<&str> = self.rows.iter().map(|row| row.id.as_str()).collect();
        self.details.retain(|id, _| known.contains(id.as_str()));
        // The chosen task may have been deleted: then the one in its place is chosen.
        let is_there = self.shown().any(|row| Some(&row.id) == self.selected.as_ref());
        if !is_there {
            let last = self.shown().count().saturating_sub(1);
            let chosen = self.shown().nth(before.min(last)).map(|row| row.id.clone());
            self.selected = chosen;
        }
    }

    fn take_page(&mut self, page: TaskPage) {
        let TaskPage { task, ranks, metrics, why } = page;
        self.details.insert(task.row.id.clone(), Detail::of(&task, &metrics));
        let Some(open) = self.open.as_mut().filter(|open| open.id == task.row.id) else { return };
        open.charts = Charts::of(&metrics.series, &ranks);
        open.rank = open.rank.min(ranks.len().saturating_sub(1));
        open.ranks = ranks;
        open.why = Some(Box::new(why));
        open.task = Some(Box::new(task));
    }
}
