//! All workers by number: where they are, and who has them.

use std::collections::HashMap;

use super::moment::Latest;
use super::offer::Offer;
use crate::{
    ids::{EnvironmentId, TaskId, WorkerId},
    natural,
};

/// The environments in the order of their names, their bays and workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    environments: Vec<Environment>,
    by_name: HashMap<String, usize>,
    by_id: HashMap<EnvironmentId, usize>,
    bays: Vec<Bay>,
    slots: Vec<Slot>,
}

#[derive(Clone, Debug)]
struct Environment {
    offer: Offer,
    first: u32,
    count: u32,
    moved: Option<Moved>,
}

/// Where the workers of an environment stand whose GPUs of one model do not follow each other.
#[derive(Clone, Debug)]
struct Moved {
    /// By the worker's number, how many stand before it.
    place: Vec<u32>,
    /// The worker's number, by how many stand before it.
    worker: Vec<u32>,
}

impl Moved {
    /// Of workers by model, in the order of the models' first ones; none where that is their own order.
    fn of(models: &[usize]) -> Option<Self> {
        if models.is_sorted() {
            return None;
        }
        let mut worker: Vec<u32> = (0..models.len() as u32).collect();
        worker.sort_by_key(|number| models[*number as usize]);
        let mut place = vec![0; worker.len()];
        worker.iter().zip(0..).for_each(|(number, at)| place[*number as usize] = at);
        Some(Self { place, worker })
    }
}

/// All workers of one environment that have the same GPU.
#[derive(Clone, Debug)]
pub(super) struct Bay {
    environment: u32,
    pub first: u32,
    pub count: u32,
    pub model: Option<String>,
    /// Bays of one pool are in one zone and have the same GPU.
    pub pool: u32,
}

#[derive(Clone, Debug)]
struct Slot {
    bay: u32,
    taken: Option<Taken>,
}

/// By whom a worker is used, and until when at the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub task: TaskId,
    pub until: Latest,
}

impl Bay {
    pub fn workers(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

impl Inventory {
    /// Numbers the workers; all of them are free. Of two environments with one name the first counts.
    pub fn of<'a>(offers: impl Iterator<Item = &'a Offer>) -> Self {
        let mut offers: Vec<&Offer> = offers.collect();
        offers.sort_by(|a, b| natural::compare(&a.name, &b.name).then_with(|| a.environment.cmp(&b.environment)));
        offers.dedup_by(|next, kept| next.name == kept.name);
        let mut inventory = Self::default();
        let mut pools: HashMap<(Option<String>, Option<String>), u32> = HashMap::new();
        for offer in offers {
            let (index, first) = (inventory.environments.len(), inventory.slots.len() as u32);
            let (mut counts, mut models): (Vec<(Option<String>, u32)>, Vec<usize>) = Default::default();
            for run in &offer.runs {
                let known = counts.iter().position(|(model, _)| *model == run.model);
                let at = known.unwrap_or_else(|| {
                    counts.push((run.model.clone(), 0));
                    counts.len() - 1
                });
                counts[at].1 += run.count;
                models.extend((0..run.count).map(|_| at));
            }
            for (model, count) in counts {
                let next = pools.len() as u32;
                let pool = *pools.entry((offer.zone.clone(), model.clone())).or_insert(next);
                let (bay, first) = (inventory.bays.len() as u32, inventory.slots.len() as u32);
                inventory.bays.push(Bay { environment: index as u32, first, count, model, pool });
                inventory.slots.extend((0..count).map(|_| Slot { bay, taken: None }));
            }
            inventory.by_name.insert(offer.name.clone(), index);
            inventory.by_id.insert(offer.environment.clone(), index);
            let (count, moved) = (offer.worker_count(), Moved::of(&models));
            inventory.environments.push(Environment { offer: offer.clone(), first, count, moved });
        }
        inventory
    }

    /// Changes what is said of an environment, without touching its workers. Answers whether that was possible.
    pub fn restate(&mut self, offer: &Offer) -> bool {
        let known = self.by_id.get(&offer.environment).and_then(|index| self.environments.get_mut(*index));
        match known.filter(|known| known.offer.is_same_place(offer)) {
            Some(known) => {
                known.offer.status = offer.status;
                true
            }
            None => false,
        }
    }

    pub fn number(&self, worker: &WorkerId) -> Option<u32> {
        let environment = &self.environments[*self.by_name.get(worker.node())?];
        let place = match &environment.moved {
            Some(moved) => *moved.place.get(worker.index() as usize)?,
            None => Some(worker.index()).filter(|index| *index < environment.count)?,
        };
        Some(environment.first + place)
    }

    pub fn worker(&self, number: u32) -> WorkerId {
        let environment = self.environment_of_bay(self.bay_of(number));
        let place = number - environment.first;
        let index = environment.moved.as_ref().map_or(place, |moved| moved.worker[place as usize]);
        WorkerId::new(environment.offer.name.clone(), index)
    }

    pub fn bays(&self) -> &[Bay] {
        &self.bays
    }

    pub fn bay(&self, bay: u32) -> &Bay {
        &self.bays[bay as usize]
    }

    pub fn bay_of(&self, worker: u32) -> u32 {
        self.slots[worker as usize].bay
    }

    pub fn offer(&self, bay: u32) -> &Offer {
        &self.environment_of_bay(bay).offer
    }

    /// Equal for bays of one environment.
    pub fn environment_number(&self, bay: u32) -> u32 {
        self.bay(bay).environment
    }

    fn environment_of_bay(&self, bay: u32) -> &Environment {
        &self.environments[self.bay(bay).environment as usize]
    }

    /// Whether something new may start there.
    pub fn serves(&self, bay: u32) -> bool {
        self.offer(bay).status.is_reachable()
    }

    pub fn worker_count(&self) -> usize {
        self.slots.len()
    }

    pub fn taken(&self, worker: u32) -> Option<&Taken> {
        self.slots[worker as usize].taken.as_ref()
    }

    pub fn take(&mut self, worker: u32, taken: Taken) {
        self.slots[worker as usize].taken = Some(taken);
    }

    /// Answers whether it was this task's.
    pub fn free(&mut self, worker: u32, task: &TaskId) -> bool {
        let taken = &mut self.slots[worker as usize].taken;
        taken.take_if(|taken| taken.task == *task).is_some()
    }
}
