//! Disks of machines that fill, and what agents keep on them of who they are.

use crate::agent::Pass;
use crate::world::World;

impl World {
    pub(crate) fn is_full(&self, machine: usize) -> bool {
        self.now < self.machines[machine].full_until
    }

    /// Whether the disk takes what tells how a run has ended.
    pub(crate) fn takes_results(&self, machine: usize) -> bool {
        !self.is_full(machine) || self.machines[machine].has_reserve
    }

    /// Another seal each time, and another one than a clone's; it is on disk before anyone sees it.
    pub(crate) fn propose_seal(&mut self, index: usize) {
        let folder = &mut self.agents[index].folder;
        let pending = folder.pass.next_seal.clone();
        let next_seal = match &pending {
            Some(before) => format!("{before}+{index}"),
            None => format!("s{}", self.rng.u32(..)),
        };
        folder.pass.pending_seals.extend(pending);
        folder.pass.next_seal = Some(next_seal);
        folder.older_pass = None;
    }

    /// The server has welcomed the agent with the proposed seal. On a full disk the proposal stays there, and a credential that
    /// was issued is lost with the agent's process.
    pub(crate) fn confirm_seal(&mut self, index: usize, credential: Option<String>) {
        let is_full = self.is_full(self.agents[index].machine);
        let folder = &mut self.agents[index].folder;
        let before = std::mem::take(&mut folder.pass);
        folder.pass = Pass {
            credential: credential.or_else(|| before.credential.clone()),
            seal: before.next_seal.clone().or_else(|| before.seal.clone()),
            ..Pass::default()
        };
        if is_full {
            folder.older_pass.get_or_insert(before);
        } else {
            folder.older_pass = None;
        }
    }

    /// Whether a clone shows a seal that is still the original's: the last one, or a proposal that was welcomed and that the
    /// original's full disk has not confirmed. Nothing tells it from the original's own next start.
    pub(crate) fn cannot_be_told_apart(&self, original: usize, clone: usize) -> bool {
        let seal = self.agents[original].folder.pass.seal.as_ref();
        let shown = &self.agents[clone].folder.pass;
        let has_proposed = shown.next_seal.iter().chain(&shown.pending_seals).any(|proposed| Some(proposed) == seal);
        shown.seal.as_ref() == seal || has_proposed
    }

    /// Who takes a name from another agent keeps it, and the other one is refused: what it has not sent stays with it.
    pub(crate) fn note_others_of_name(&mut self, index: usize) {
        for other in 0..self.agents.len() {
            if other == index || self.agents[other].name != self.agents[index].name {
                continue;
            }
            for run in self.agents[other].folder.runs.keys() {
                self.truth.incomplete.insert((run.task.clone(), run.generation));
            }
        }
    }
}
