//! What an environment offers to the queue.

use std::collections::BTreeMap;

use crate::{
    environment::{Environment, EnvironmentStatus, MOST_WORKERS},
    ids::EnvironmentId,
};

/// An environment as the queue sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub environment: EnvironmentId,
    /// The name that its workers bear.
    pub name: String,
    pub zone: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub status: EnvironmentStatus,
    /// Its workers in the order of their numbers, as runs with the same GPU.
    pub runs: Vec<WorkerRun>,
}

/// Workers with consecutive numbers and the same GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRun {
    /// None without a GPU.
    pub model: Option<String>,
    pub count: u32,
}

impl Offer {
    pub fn of(environment: &Environment) -> Self {
        let mut runs: Vec<WorkerRun> = Vec::new();
        let mut left = MOST_WORKERS;
        for gpus in environment.gpus.iter().filter(|gpus| gpus.count > 0) {
            let count = gpus.count.min(left);
            left -= count;
            match runs.last_mut().filter(|run| run.model.as_deref() == Some(&gpus.model)) {
                Some(run) => run.count += count,
                None => runs.push(WorkerRun { model: Some(gpus.model.clone()), count }),
            }
        }
        if runs.is_empty() {
            runs.push(WorkerRun { model: None, count: environment.worker_count() });
        }
        runs.retain(|run| run.count > 0);
        Self {
            environment: environment.id.clone(),
            name: environment.name.clone(),
            zone: environment.zone.clone(),
            labels: environment.labels.clone(),
            // Who has its workers is known from leases.
            status: match environment.status {
                EnvironmentStatus::Busy => EnvironmentStatus::Running,
                status => status,
            },
            runs,
        }
    }

    pub fn worker_count(&self) -> u32 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Whether both have the same workers in the same place, whatever their state.
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        Self { status: self.status, ..other.clone() } == *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Gpus, tests::environment};

    #[test]
    fn an_offer_has_as_many_workers_as_its_environment() {
        let mut mixed = environment("e", "gn6", 2, "A100", "z");
        mixed.gpus.push(Gpus { model: "H100".into(), count: 4, ..mixed.gpus[0].clone() });
        mixed.gpus.push(Gpus { model: "H100".into(), count: 1, ..mixed.gpus[0].clone() });
        let bare = environment("e", "gn6", 0, "A100", "z");
        let mut huge = environment("e", "gn6", 1, "A100", "z");
        huge.gpus[0].count = u32::MAX;
        huge.gpus.push(huge.gpus[0].clone());
        for environment in [&mixed, &bare, &huge] {
            let offer = Offer::of(environment);
            assert_eq!(offer.worker_count(), environment.worker_count());
            assert!(offer.runs.iter().all(|run| run.count > 0));
        }
        assert_eq!(Offer::of(&mixed).runs.len(), 2);
        assert_eq!(Offer::of(&bare).runs[0].model, None);
    }
}
