//! What ranks have counted in an attempt, once it has ended.

use serde::{Deserialize, Serialize};

use super::slow::waited_for_the_slowest;
use crate::event::RunEvent;
use crate::pulse::Pulse;

/// What those of a node have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    pub attempt: u32,
    pub steps: u64,
    pub saved_steps: u64,
    pub saving_ms: u64,
    /// How long each of them was in collectives.
    pub waited_ms: Vec<u64>,
}

impl Measured {
    pub fn of(attempt: u32, pulses: &[Pulse]) -> Self {
        let most = |count: fn(&Pulse) -> u64| pulses.iter().map(count).max().unwrap_or(0);
        Self {
            attempt,
            steps: most(|pulse| pulse.steps),
            saved_steps: most(|pulse| pulse.saved_at),
            saving_ms: most(|pulse| pulse.saving_ns) / 1_000_000,
            waited_ms: pulses.iter().map(|pulse| pulse.waiting_ns / 1_000_000).collect(),
        }
    }

    /// Of the ranks of two nodes together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.steps = self.steps.max(other.steps);
        self.saved_steps = self.saved_steps.max(other.saved_steps);
        self.saving_ms = self.saving_ms.max(other.saving_ms);
        self.waited_ms.extend(&other.waited_ms);
        self
    }

    /// Nothing where no hook has seen a step.
    pub fn event(&self) -> Option<RunEvent> {
        let Self { attempt, steps, saved_steps, saving_ms, .. } = *self;
        let slow_ms = waited_for_the_slowest(&self.waited_ms);
        let is_worth = steps > 0 || saving_ms > 0 || slow_ms > 0;
        is_worth.then_some(RunEvent::AttemptMeasured { attempt, steps, saved_steps, saving_ms, slow_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(steps: u64, saving_ms: u64, waited_ms: &[u64]) -> Measured {
        Measured { attempt: 2, steps, saved_steps: steps, saving_ms, waited_ms: waited_ms.to_vec() }
    }

    #[test]
    fn what_the_ranks_of_one_node_waited_for_is_known_by_those_of_the_other() {
        // The slow rank is alone on its node, and the others all wait equally long.
        let (first, second) = (node(100, 5, &[200_000, 205_000, 195_000]), node(99, 7, &[10_000]));
        let slow = |measured: &Measured| match measured.event() {
            Some(RunEvent::AttemptMeasured { attempt: 2, steps, saving_ms, slow_ms, .. }) => {
                (steps, saving_ms, slow_ms)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((slow(&first), slow(&second)), ((100, 5, 0), (99, 7, 0)));
        assert_eq!(slow(&first.and(&second)), (100, 7, 190_000));
    }

    #[test]
    fn ranks_without_a_hook_have_counted_nothing() {
        assert_eq!(Measured::of(1, &[]).event(), None);
        assert_eq!(Measured::of(1, &[Pulse::default()]).event(), None);
    }
}
