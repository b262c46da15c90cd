//! What users have used, and whose turn it is.
//!
//! The use of workers is counted in worker-milliseconds that fade by half in [`Rules::half_life`]. What a user holds now
//! counts as if it had been held for [`HELD`] more: so users alternate within one decision, before anything has been used.

use std::collections::HashMap;

use super::rules::{Limits, Rules};

/// One hour.
const HELD: f64 = 3_600_000.0;

/// A user by number, for as long as the queue lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Owner(pub u32);

impl Owner {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The accounts of all users.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    numbers: HashMap<String, Owner>,
    accounts: Vec<Account>,
}

#[derive(Clone, Debug)]
struct Account {
    name: String,
    /// Worker-milliseconds, faded to `at_ms`.
    used: f64,
    at_ms: u64,
    held: Held,
}

/// What a user has at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub workers: u64,
    pub tasks: u64,
}

impl Shares {
    pub fn owner(&mut self, name: &str) -> Owner {
        if let Some(owner) = self.numbers.get(name) {
            return *owner;
        }
        let owner = Owner(u32::try_from(self.accounts.len()).unwrap_or(u32::MAX));
        self.numbers.insert(name.to_owned(), owner);
        self.accounts.push(Account { name: name.to_owned(), used: 0.0, at_ms: 0, held: Held::default() });
        owner
    }

    pub fn name(&self, owner: Owner) -> &str {
        self.accounts.get(owner.index()).map_or("", |account| &account.name)
    }

    /// What each user has at the moment.
    pub fn all_held(&self) -> Vec<Held> {
        self.accounts.iter().map(|account| account.held).collect()
    }

    /// What each user may have.
    pub fn limits(&self, rules: &Rules) -> Vec<Limits> {
        self.accounts.iter().map(|account| rules.limits(&account.name)).collect()
    }

    /// From now on the user has so many workers and tasks more.
    pub fn take(&mut self, owner: Owner, more: Held, rules: &Rules, now_ms: u64) {
        self.change(owner, rules, now_ms, |held| {
            held.workers += more.workers;
            held.tasks += more.tasks;
        });
    }

    /// From now on the user has so many workers and tasks less.
    pub fn give_back(&mut self, owner: Owner, less: Held, rules: &Rules, now_ms: u64) {
        self.change(owner, rules, now_ms, |held| {
            held.workers = held.workers.saturating_sub(less.workers);
            held.tasks = held.tasks.saturating_sub(less.tasks);
        });
    }

    fn change(&mut self, owner: Owner, rules: &Rules, now_ms: u64, apply: impl FnOnce(&mut Held)) {
        if let Some(account) = self.accounts.get_mut(owner.index()) {
            account.used = account.used_at(now_ms, rules);
            account.at_ms = account.at_ms.max(now_ms);
            apply(&mut account.held);
        }
    }

    /// Adds what was used in the past: so a server that starts knows the shares from the tasks that it has stored.
    pub fn charge(&mut self, owner: Owner, workers: u64, from_ms: u64, to_ms: u64, rules: &Rules, now_ms: u64) {
        let rate = fading(rules);
        let span = to_ms.saturating_sub(from_ms) as f64;
        let used = workers as f64 * integral(span, rate) * (-rate * now_ms.saturating_sub(to_ms) as f64).exp();
        self.change(owner, rules, now_ms, |_| {});
        if let Some(account) = self.accounts.get_mut(owner.index()) {
            account.used += used;
        }
    }

    /// What each user has had by now, for its share: the least comes first.
    pub fn costs(&self, rules: &Rules, now_ms: u64) -> Vec<f64> {
        self.accounts
            .iter()
            .map(|account| {
                let held = account.held.workers as f64 * HELD;
                (account.used_at(now_ms, rules) + held) / f64::from(rules.share(&account.name))
            })
            .collect()
    }

    /// By how much the cost of a user grows with so many workers.
    pub fn cost_of(&self, owner: Owner, workers: u64, rules: &Rules) -> f64 {
        workers as f64 * HELD / f64::from(rules.share(self.name(owner)))
    }
}

impl Account {
    fn used_at(&self, now_ms: u64, rules: &Rules) -> f64 {
        let span = now_ms.saturating_sub(self.at_ms) as f64;
        let rate = fading(rules);
        self.used * (-rate * span).exp() + self.held.workers as f64 * integral(span, rate)
    }
}

/// Per millisecond.
fn fading(rules: &Rules) -> f64 {
    std::f64::consts::LN_2 / (rules.half_life.as_millis().max(1) as f64)
}

/// What one worker in use for a span comes to at its end, faded.
fn integral(span: f64, rate: f64) -> f64 {
    -(-rate * span).exp_m1() / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seconds;

    fn rules() -> Rules {
        Rules { half_life: Seconds(1_000), ..Rules::default() }
    }

    #[test]
    fn use_fades_by_half_and_the_present_counts_as_well() {
        let (mut shares, rules) = (Shares::default(), rules());
        let owner = shares.owner("ada");
        shares.take(owner, Held { workers: 2, tasks: 1 }, &rules, 0);
        assert_eq!(shares.costs(&rules, 0), [2.0 * HELD]);
        shares.give_back(owner, Held { workers: 2, tasks: 1 }, &rules, 1_000);
        let used = shares.costs(&rules, 1_000)[0];
        assert!((1_990.0..2_000.0).contains(&used), "{used}");
        let half = shares.costs(&rules, 1_001_000)[0];
        assert!((half * 2.0 - used).abs() < 1e-6, "{half}");
        assert_eq!(shares.all_held(), [Held::default()]);
    }

    #[test]
    fn a_share_of_two_counts_use_half() {
        let mut rules = rules();
        rules.users.insert("bo".into(), crate::queue::UserRules { share: 2, limits: None });
        let mut shares = Shares::default();
        for name in ["ada", "bo"] {
            let owner = shares.owner(name);
            shares.take(owner, Held { workers: 4, tasks: 1 }, &rules, 0);
        }
        let costs = shares.costs(&rules, 500_000);
        assert!((costs[0] - 2.0 * costs[1]).abs() < 1e-6);
        assert!((shares.cost_of(Owner(1), 4, &rules) - 2.0 * HELD).abs() < 1e-6);
    }

    #[test]
    fn what_was_used_before_a_restart_counts_the_same() {
        let rules = rules();
        let (mut lived, mut restarted) = (Shares::default(), Shares::default());
        let held = Held { workers: 3, tasks: 1 };
        let (a, b) = (lived.owner("ada"), restarted.owner("ada"));
        lived.take(a, held, &rules, 10_000);
        lived.give_back(a, held, &rules, 700_000);
        restarted.charge(b, 3, 10_000, 700_000, &rules, 900_000);
        assert!((lived.costs(&rules, 950_000)[0] - restarted.costs(&rules, 950_000)[0]).abs() < 1.0);
    }
}
