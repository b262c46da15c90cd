//! What agents send piece by piece, as the server takes it.

use fermi_agent::upload::Piece;
use fermi_api::link::{Taken, UnwantedRun};
use fermi_domain::fleet::{self, Fit, Wanted};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::{RunKey, TaskInput};

use super::{CLUSTER, Server};
use crate::lines::Lines;
use crate::truth::Truth;

impl Server {
    /// Whether a piece was sent to the state of the database that there is.
    pub fn is_of_epoch(&self, epoch: Option<u64>) -> bool {
        epoch == Some(self.database.history.epoch)
    }

    /// A piece of a journal.
    pub fn take_journal(
        &mut self,
        from: &EnvironmentId,
        run: &RunKey,
        (offset, bytes): (u64, &[u8]),
        now: u64,
        lines: &Lines,
        truth: &mut Truth,
    ) -> (u16, Option<Taken>) {
        if self.write(now).is_err() {
            return (503, None);
        }
        let node = self.database.tasks.get(&run.task).and_then(|task| task.node_of(run));
        let Some(node) = node else { return self.unwanted(run) };
        if node.environment != *from {
            return (403, None);
        }
        let time_ms = self.wall(now);
        let (length, tail) = self.database.journals.entry(run.clone()).or_default();
        if *length != offset {
            return (409, Some(has(*length)));
        }
        tail.extend_from_slice(bytes);
        *length += bytes.len() as u64;
        let has_now = *length;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = tail.split_off(whole);
        let text = std::mem::replace(tail, rest);
        let inputs: Vec<TaskInput> = lines
            .read(&text)
            .map(|event| TaskInput::Journal { node: run.node_rank, time_ms, event: Box::new(event.clone()) })
            .collect();
        truth.journal_taken(now, run, offset, bytes);
        self.apply_within(&run.task, inputs, now, truth);
        (200, Some(has(has_now)))
    }

    pub fn journal_length(&self, from: &EnvironmentId, run: &RunKey) -> (u16, Option<Taken>) {
        let task = self.database.tasks.get(&run.task).filter(|_| self.stray(run).is_none());
        match task.and_then(|task| task.environment_of(run)) {
            None => self.unwanted(run),
            Some(environment) if environment != from => (403, None),
            Some(_) => (200, Some(has(self.database.journals.get(run).map_or(0, |(length, _)| *length)))),
        }
    }

    /// A piece of what a rank wrote; without bytes, how much is there.
    pub fn take_stream(
        &mut self,
        from: &EnvironmentId,
        run: &RunKey,
        (attempt, rank): (u32, u32),
        piece: Option<Piece<'_>>,
        now: u64,
        truth: &mut Truth,
    ) -> (u16, Option<Taken>) {
        let task = self.database.tasks.get(&run.task).filter(|_| self.stray(run).is_none());
        let Some(task) = task else { return self.unwanted(run) };
        match task.environment_of(run) {
            None => return self.unwanted(run),
            Some(environment) if environment != from => return (403, None),
            Some(_) => {}
        }
        let key = (run.task.clone(), attempt, rank);
        let have = self.streams.get(&key).map_or(0, |kept| kept.len() as u64);
        let Some(Piece { offset, bytes, journal }) = piece else { return (200, Some(has(have))) };
        match task.wants_stream(run, attempt, journal) {
            Wanted::Yes => {}
            Wanted::NotYet => return (503, None),
            Wanted::Never => return self.unwanted(run),
        }
        match fleet::fit(have, offset, bytes.len()) {
            Fit::Gap => return (409, Some(has(have))),
            Fit::Known => {}
            Fit::Append { known } => {
                let new = &bytes[known..];
                let Ok(written) = self.disk.append(now, new.len()) else { return (503, None) };
                self.streams.entry(key.clone()).or_default().extend_from_slice(&new[..written]);
            }
        }
        let kept = self.streams.get(&key).map_or(&[][..], Vec::as_slice);
        let is_answered = !self.disk.has_killed();
        truth.stream_taken(now, (run.task.clone(), (run.generation, attempt), rank), kept, is_answered);
        (200, Some(has(kept.len() as u64)))
    }

    /// The last word on a run, unless it is an operator's.
    fn unwanted(&self, run: &RunKey) -> (u16, Option<Taken>) {
        if self.is_set_aside(run) { (503, None) } else { (410, Some(unwanted(run))) }
    }
}

fn unwanted(run: &RunKey) -> Taken {
    Taken { length: 0, unwanted: Some(UnwantedRun { cluster: CLUSTER.to_owned(), run: run.clone() }) }
}

fn has(length: u64) -> Taken {
    Taken { length, unwanted: None }
}
