//! Whose turn it is to ask the company's service: so many ask at a time, and of one network so few that others find a turn too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// So many ask the service at a time.
const AT_ONCE: usize = 8;
/// So many of them for those who come from one network.
const OF_NETWORK: usize = 3;
/// Who gets no turn in this time is asked to come again.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// A turn that brought nothing is taken for as long: guesses of one network ask the service so many times a second.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    of_networks: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Turn {
    _own: OwnedSemaphorePermit,
    _one: OwnedSemaphorePermit,
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(AT_ONCE)), of_networks: Mutex::default() }
    }
}

impl Turns {
    /// Waits for one, in the order in which those of a network have come.
    pub async fn take(&self, network: IpAddr) -> Option<Turn> {
        let own = self.of(network);
        let both = async {
            let own = own.acquire_owned().await.ok()?;
            Some(Turn { _own: own, _one: self.all.clone().acquire_owned().await.ok()? })
        };
        timeout(COMES_WITHIN, both).await.ok().flatten()
    }

    fn of(&self, network: IpAddr) -> Arc<Semaphore> {
        let mut known = self.of_networks.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody asks or waits by those that only this table holds.
        known.retain(|_, turns| Arc::strong_count(turns) > 1);
        known.entry(network).or_insert_with(|| Arc::new(Semaphore::new(OF_NETWORK))).clone()
    }
}

impl Turn {
    /// Gives it back when it has lasted a while.
    pub fn end_later(self) {
        tokio::spawn(async move {
            tokio::time::sleep(AFTER_FAILURE).await;
            drop(self);
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn network(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[tokio::test]
    async fn one_network_leaves_turns_for_others() {
        let turns = Turns::default();
        let taken = |last: u8| turns.take(network(last)).now_or_never().flatten();
        let mut greedy: Vec<Option<Turn>> = (0..OF_NETWORK).map(|_| taken(1)).collect();
        assert!(greedy.iter().all(Option::is_some) && taken(1).is_none());
        let others: Vec<Option<Turn>> = (2..=6).map(taken).collect();
        assert!(others.iter().all(Option::is_some));
        assert!(taken(7).is_none(), "{AT_ONCE} at a time");
        greedy.pop();
        assert!(taken(1).is_some(), "one was given back");
        drop((greedy, others));
        drop(taken(8));
        assert_eq!(turns.of_networks.lock().unwrap().len(), 1, "networks without a turn are forgotten");
    }

    #[tokio::test]
    async fn a_turn_that_brought_nothing_is_not_given_back_at_once() {
        let turns = Turns::default();
        for _ in 0..OF_NETWORK {
            turns.take(network(1)).await.unwrap().end_later();
        }
        let began = std::time::Instant::now();
        assert!(turns.take(network(1)).await.is_some());
        assert!(began.elapsed() > AFTER_FAILURE / 2, "{:?}", began.elapsed());
    }
}
