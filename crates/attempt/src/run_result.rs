//! How a run ended on a node, on disk beside its journal. Its room is taken when the run begins, so that the end is known
//! even where ranks have filled the disk and the journal could not take the last line.

use std::fs;
use std::io;
use std::path::Path;

use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::in_place;
use serde::{Deserialize, Serialize};

pub const VERSION: u32 = 1;
pub const FILE_NAME: &str = "result.json";
/// One that is longer, for the evidence of its verdict, is written without it.
const ROOM: usize = 16 << 10;

/// The result of a run, as one node knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    pub version: u32,
    pub run_id: String,
    pub outcome: Outcome,
    pub attempts: u32,
    pub ended_ms: u64,
    /// Lines that the journal lacks, `run.ended` possibly among them.
    pub journal_lost: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<Verdict>>,
}

impl RunResult {
    /// What `run.ended` says, once it is recorded; nothing for any other event.
    pub fn of(event: &RunEvent, run_id: &str, ended_ms: u64, journal_lost: u64) -> Option<Self> {
        let RunEvent::RunEnded { outcome, attempts, verdict } = event else { return None };
        Some(Self {
            version: VERSION,
            run_id: run_id.to_owned(),
            outcome: *outcome,
            attempts: *attempts,
            ended_ms,
            journal_lost,
            verdict: Some(verdict.clone()),
        })
    }

    /// The `run.ended` that it was made of, with a verdict that says less where that one was too long to be kept.
    pub fn into_event(self) -> RunEvent {
        let verdict = self.verdict.unwrap_or_else(|| {
            Box::new(Verdict::of(match self.outcome {
                Outcome::Succeeded => VerdictKind::Succeeded,
                Outcome::Stopped { .. } => VerdictKind::StoppedByUser,
                Outcome::Failed => VerdictKind::RankFailed,
            }))
        });
        RunEvent::RunEnded { outcome: self.outcome, attempts: self.attempts, verdict }
    }

    /// Puts the result in the room that [`reserve`] has taken.
    pub fn write(mut self, run_folder: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self)?;
        if text.len() > ROOM {
            self.verdict = None;
            text = serde_json::to_vec(&self)?;
        }
        in_place::overwrite(&run_folder.join(FILE_NAME), &text)
    }
}

/// Takes the room for a result. Until there is one the file says nothing.
pub fn reserve(run_folder: &Path) -> io::Result<()> {
    in_place::reserve(&run_folder.join(FILE_NAME), b"{}", ROOM)
}

/// The result of a run; none as long as it runs, or where its supervisor died before it ended.
pub fn result(run_folder: &Path) -> Option<RunResult> {
    let text = fs::read(run_folder.join(FILE_NAME)).ok()?;
    let found: RunResult = serde_json::from_slice(&text).ok()?;
    (found.version <= VERSION).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(evidence: usize) -> RunResult {
        let verdict = Verdict { evidence: vec!["x".repeat(evidence)], ..Verdict::of(VerdictKind::Succeeded) };
        let event = RunEvent::RunEnded { outcome: Outcome::Succeeded, attempts: 2, verdict: Box::new(verdict) };
        RunResult::of(&event, "run-1", 7, 3).unwrap()
    }

    #[test]
    fn a_result_is_there_when_the_run_has_ended_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(result(folder.path()), None);
        reserve(folder.path()).unwrap();
        assert_eq!(result(folder.path()), None);
        ended(10).write(folder.path()).unwrap();
        assert_eq!(result(folder.path()), Some(ended(10)));
    }

    #[test]
    fn a_verdict_that_does_not_fit_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        reserve(folder.path()).unwrap();
        ended(ROOM).write(folder.path()).unwrap();
        let found = result(folder.path()).unwrap();
        assert_eq!((found.outcome, found.verdict), (Outcome::Succeeded, None));
    }
}
