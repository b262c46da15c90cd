//! What runs hold from the server: renewed by agents, kept by wardens.

use crate::world::World;

/// An answer may have lain about for so long when it renews a lease, and not longer.
const OLDEST_ANSWER_MS: u64 = 5_000;

impl World {
    /// The server has answered what the agent asked then.
    pub fn server_answered(&mut self, agent: usize, asked_ms: u64) {
        self.agents[agent].server_heard_ms = asked_ms;
        let renewed_at = asked_ms + self.rng.u64(..OLDEST_ANSWER_MS);
        let runs = self.agents[agent].live_runs();
        for keepers in self.keepers.iter_mut().filter(|keepers| keepers.is_up && keepers.agent == agent) {
            if let Some(length) = keepers.assignment.policy.server_lease_ms.filter(|_| runs.contains(&keepers.run)) {
                keepers.lease_until_ms = Some(renewed_at + length);
            }
        }
    }

    /// Wardens end the runs whose lease is over; on a machine that stands still nothing runs meanwhile.
    pub fn end_leases(&mut self) {
        for index in 0..self.keepers.len() {
            let keepers = &self.keepers[index];
            if keepers.is_up && keepers.lease_until_ms.is_some_and(|until| self.now >= until) {
                self.tell(|world| format!("the lease of {} ends", world.keepers[index].run));
                self.truth.harmed(&self.keepers[index].run.task);
                self.keepers_exit(index);
            }
        }
    }
}
