//! The journal of a run and the record beside it, on a disk that may be full.

use fermi_domain::event::{Outcome, RunEvent};

use crate::world::World;

/// A line that waits for the disk.
#[derive(Clone, Debug)]
pub(super) struct WaitingLine {
    text: Vec<u8>,
    is_result: bool,
}

impl World {
    /// Writes a line to the journal, and the end of the run to its record as well.
    pub(super) fn record(&mut self, index: usize, event: RunEvent) {
        let can_keep_result = self.takes_results(self.keepers[index].machine);
        let is_result = event.is_result();
        self.keepers[index].has_succeeded |= matches!(event, RunEvent::RunEnded { outcome: Outcome::Succeeded, .. });
        if matches!(event, RunEvent::RunEnded { .. })
            && can_keep_result
            && let Some(files) = self.files(index)
        {
            files.result.get_or_insert_with(|| event.clone());
        }
        let text = self.lines.write(event);
        self.keepers[index].unwritten.push(WaitingLine { text, is_result });
        self.write_what_waits(index);
    }

    /// On a full disk results go into what was reserved for them, ahead of what tells of the way, which is lost then.
    fn write_what_waits(&mut self, index: usize) {
        let machine = self.keepers[index].machine;
        let mut written = std::mem::take(&mut self.keepers[index].unwritten);
        if self.is_full(machine) {
            let results = if self.machines[machine].has_reserve {
                written.iter().rposition(|line| line.is_result).map_or(0, |last| last + 1)
            } else {
                0
            };
            self.keepers[index].unwritten = written.split_off(results);
            written.retain(|line| line.is_result);
        }
        if written.is_empty() {
            return;
        }
        let Some(journal) = self.files(index).map(|files| files.journal.clone()) else { return };
        written.iter().for_each(|line| journal.append(&line.text));
        let (agent, run) = (self.keepers[index].agent, self.keepers[index].run.clone());
        self.wrote(agent, &run, None);
    }

    /// Keepers try again what their disk has not taken.
    pub(crate) fn try_disks_again(&mut self) {
        for index in 0..self.keepers.len() {
            let keepers = &self.keepers[index];
            if keepers.is_up && !keepers.unwritten.is_empty() && self.now >= self.machines[keepers.machine].paused_until
            {
                self.write_what_waits(index);
            }
        }
    }

    /// The supervisor has brought its part to an end, and the warden says so in the room that it has reserved.
    pub(super) fn ends_in_order(&mut self, index: usize) {
        let is_first = self.keepers[index].run.node_rank.get() == 0;
        let Some(files) = self.files(index) else { return self.keepers_exit(index) };
        files.in_order = true;
        if is_first && self.keepers[index].has_succeeded {
            let run = self.keepers[index].run.clone();
            self.truth.ended_well(&run.task, run.generation);
        }
        self.keepers_exit(index);
    }
}
