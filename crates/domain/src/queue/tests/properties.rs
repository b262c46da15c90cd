//! What holds whatever comes: clusters, tasks and ends by a seed.

use std::collections::{HashMap, HashSet};

use fermi_mutator::Dice;
use proptest::prelude::*;

use super::*;
use crate::ids::WorkerId;

/// A cluster with a clock, in which tasks come and end.
struct Play {
    queue: Queue,
    offers: Vec<Offer>,
    dice: Dice,
    now: u64,
    /// When each running task ends, which only the play knows.
    ends: HashMap<TaskId, u64>,
    count: u32,
    traits: Traits,
}

/// The GPU of a worker.
fn model_of<'a>(offer: &'a Offer, worker: &WorkerId) -> Option<&'a str> {
    let mut models = offer.runs.iter().flat_map(|run| (0..run.count).map(|_| run.model.as_deref()));
    models.nth(worker.index() as usize).flatten()
}

/// What the tasks of a play are like.
#[derive(Clone, Copy)]
struct Traits {
    users: u64,
    priorities: u64,
    all_limited: bool,
}

impl Play {
    fn new(seed: u64, rules: Rules, traits: Traits) -> Self {
        let mut dice = Dice::new(seed);
        let mut queue = Queue::new(rules);
        let mut offers = Vec::new();
        for number in 0..dice.between(2, 6) {
            let zone = ["a", "b"][dice.below(2) as usize];
            let mut runs: Vec<String> = Vec::new();
            for _ in 0..=dice.below(8).saturating_sub(5) {
                let model = ["H100", "A100"][dice.below(2) as usize];
                runs.push(format!("{} {model}", dice.between(1, 4)));
            }
            offers.push(offer(&format!("n{number} {} {zone}", runs.join(" "))));
        }
        offers.iter().cloned().for_each(|offer| queue.set_environment(offer));
        Self { queue, offers, dice, now: 0, ends: HashMap::new(), count: 0, traits }
    }

    fn arrive(&mut self) {
        let dice = &mut self.dice;
        let kind = ["H100", "A100", "-"][dice.below(3) as usize];
        let need = match dice.below(4) {
            0 | 1 => auto(&format!("{}x{} {kind}", dice.between(1, 3), dice.between(1, 4))),
            _ => {
                let mut workers = HashSet::new();
                for _ in 0..dice.between(1, 4) {
                    let offer = &self.offers[dice.below(self.offers.len() as u64) as usize];
                    workers.insert(WorkerId::new(offer.name.clone(), dice.below(offer.worker_count().into()) as u32));
                }
                Need::Workers(workers.into_iter().collect())
            }
        };
        let mut request = request(&format!("t{}", self.count), need);
        request.owner = format!("user-{}", dice.below(self.traits.users));
        request.priority = dice.below(self.traits.priorities) as i32;
        request.preemptible = dice.below(2) == 0;
        if self.traits.all_limited || dice.below(3) > 0 {
            request = request.limited(dice.between(1, 6));
        }
        self.count += 1;
        insert(&mut self.queue, self.now, [request]);
    }

    /// Decides, and holds what was decided against what must always be so.
    fn decide(&mut self) {
        for decision in self.queue.decide(self.now) {
            match decision {
                Decision::Start(start) => self.started(&start),
                Decision::Preempt(preempt) => {
                    let by = preempt.by_ms.min(self.ends[&preempt.victim]);
                    self.ends.insert(preempt.victim, by);
                }
            }
        }
        let mut seen = HashSet::new();
        for worker in self.queue.running().flat_map(|running| &running.workers) {
            assert!(seen.insert(worker.clone()), "{worker} is held twice");
        }
    }

    fn started(&mut self, start: &Start) {
        let running = self.queue.running().find(|running| running.request.task == start.task).unwrap();
        let offer_of = |worker: &WorkerId| self.offers.iter().find(|offer| offer.name == worker.node()).unwrap();
        assert!(start.workers.iter().all(|worker| offer_of(worker).status.is_reachable()), "{start:?}");
        let given: HashSet<&WorkerId> = start.workers.iter().collect();
        match &running.request.need {
            Need::Workers(wanted) => assert_eq!(given, wanted.iter().collect(), "all of them or none"),
            Need::Auto(wish) => {
                assert_eq!(given.len() as u64, wish.size.total(), "all of them or none");
                let models: HashSet<_> = given.iter().map(|worker| model_of(offer_of(worker), worker)).collect();
                assert!(models.iter().all(|model| wish.kind.takes(*model)));
                let mut on: HashMap<&str, u32> = HashMap::new();
                given.iter().for_each(|worker| *on.entry(worker.node()).or_default() += 1);
                let Size { nodes, workers } = wish.size;
                assert!(on.len() == nodes as usize && on.values().all(|count| *count == workers), "{on:?}");
            }
        }
        let longest = running.request.limit_ms().unwrap_or(9 * HOUR);
        let takes = self.dice.between(1, longest);
        // Often exactly its limit, where bounds are tight.
        let takes = if self.dice.below(2) == 0 { longest } else { takes };
        self.ends.insert(start.task.clone(), self.now + takes);
    }

    /// Goes to the next time at which a task ends, and ends it.
    fn next_end(&mut self) -> bool {
        let Some(next) = self.ends.values().min().copied() else { return false };
        self.now = self.now.max(next);
        let mut over: Vec<TaskId> =
            self.ends.iter().filter(|(_, end)| **end <= next).map(|(task, _)| task.clone()).collect();
        over.sort();
        for task in over {
            self.ends.remove(&task);
            let gave_way =
                self.queue.running().any(|running| running.request.task == task && running.stopping != Stopping::No);
            if gave_way && self.dice.below(2) == 0 {
                give_back(&mut self.queue, &task, self.now);
            } else {
                self.queue.ended(&task, self.now);
            }
        }
        true
    }

    fn flip(&mut self) {
        let at = self.dice.below(self.offers.len() as u64) as usize;
        let status = [EnvironmentStatus::Running, EnvironmentStatus::Drained][self.dice.below(2) as usize];
        self.offers[at].status = status;
        self.queue.set_environment(self.offers[at].clone());
    }

    /// Until nothing runs any more; answers who still waits.
    fn finish(&mut self) -> usize {
        self.decide();
        while self.next_end() {
            self.decide();
        }
        self.queue.waiting()
    }

    /// The tasks that wait and are promised a start, and by when.
    fn bounds(&mut self) -> Vec<(TaskId, u64)> {
        let tasks: Vec<TaskId> = (0..self.count).map(|number| TaskId(format!("t{number}"))).collect();
        let told = tasks.into_iter().filter_map(|task| {
            let bound = self.queue.explain(&task, self.now).filter(|told| told.is_promised)?.from.known()?;
            Some((task, bound))
        });
        told.collect()
    }

    fn waits(&mut self, task: &TaskId) -> bool {
        self.queue.explain(task, self.now).is_some()
    }
}

const ANY: Traits = Traits { users: 3, priorities: 3, all_limited: false };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_worker_is_held_twice_gangs_are_whole_and_everything_that_fits_starts(seed: u64, preempts: bool) {
        let preemption = if preempts { Preemption::After(Seconds(600)) } else { Preemption::Off };
        let mut play = Play::new(seed, Rules { preemption, ..Rules::default() }, ANY);
        for _ in 0..120 {
            match play.dice.below(10) {
                0..=4 => play.arrive(),
                5..=7 => { play.next_end(); }
                8 => play.flip(),
                _ => play.now += play.dice.below(HOUR),
            }
            play.decide();
        }
        for at in 0..play.offers.len() {
            play.offers[at].status = EnvironmentStatus::Running;
            play.queue.set_environment(play.offers[at].clone());
        }
        play.finish();
        let tasks: Vec<TaskId> = (0..play.count).map(|number| TaskId(format!("t{number}"))).collect();
        for task in tasks {
            let reason = play.queue.explain(&task, play.now).map(|waiting| waiting.reason);
            prop_assert!(matches!(reason, None | Some(Reason::NeverFits { .. })), "{task} starves: {reason:?}");
        }
    }

    #[test]
    fn the_rest_of_the_queue_is_left_out_only_where_none_of_it_starts(seed: u64, preempts: bool) {
        let preemption = if preempts { Preemption::After(Seconds(600)) } else { Preemption::Off };
        let mut play = Play::new(seed, Rules { preemption, ..Rules::default() }, ANY);
        for _ in 0..60 {
            match play.dice.below(10) {
                0..=5 => play.arrive(),
                6..=8 => { play.next_end(); }
                _ => play.flip(),
            }
            // As the queue is settled by every look.
            play.queue.explain(&TaskId("none".into()), play.now);
            let started = |most: usize| {
                let starts = play.queue.walk(play.now).decide_and_look_on(most).starts;
                starts.into_iter().map(|starting| (starting.task, starting.workers)).collect::<Vec<_>>()
            };
            prop_assert_eq!(started(0), started(usize::MAX));
            if play.dice.below(3) > 0 {
                play.decide();
            }
        }
    }

    #[test]
    fn what_is_promised_to_the_first_in_line_is_kept(seed: u64) {
        // Users fall behind each other, later tasks come; none has a higher priority.
        let rules = Rules { aging: None, ..Rules::default() };
        let mut play = Play::new(seed, rules, Traits { priorities: 1, ..ANY });
        let mut promised: HashMap<TaskId, u64> = HashMap::new();
        for _ in 0..150 {
            if play.dice.below(2) == 0 { play.arrive() } else { play.next_end(); }
            play.decide();
            for kept in play.queue.reservations() {
                if let Latest::At(from) = kept.from {
                    let before = promised.insert(kept.task.clone(), from);
                    prop_assert!(before.is_none_or(|before| from <= before), "{} moved from {before:?} to {from}", kept.task);
                }
            }
            let waiting: Vec<TaskId> = promised.keys().cloned().collect();
            for task in waiting {
                let is_late = play.now > promised[&task] && play.waits(&task);
                prop_assert!(!is_late, "{task} was promised {} and waits at {}", promised[&task], play.now);
            }
        }
    }

    #[test]
    fn what_a_task_is_promised_is_kept_when_no_other_comes(seed: u64) {
        let rules = Rules { aging: None, ..Rules::default() };
        let mut play = Play::new(seed, rules, Traits { users: 1, priorities: 2, all_limited: false });
        for _ in 0..play.dice.between(3, 30) {
            play.arrive();
            if play.dice.below(4) == 0 {
                play.decide();
            }
        }
        play.decide();
        let bounds = play.bounds();
        while play.next_end() {
            play.decide();
            for (task, bound) in &bounds {
                prop_assert!(play.now <= *bound || !play.waits(task), "{task} was told {bound} and waits at {}", play.now);
            }
        }
    }
}
