//! What is kept, who waits for what, and what each command is answered.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::request::Request;

/// Of all keys and values together.
const MOST_BYTES: usize = 1024 * 1024 * 1024;
/// What a key costs beside its bytes.
const PER_KEY: usize = 64;

const READY: u8 = 0;
const NOT_READY: u8 = 1;
const STOP_WAITING: u8 = 0;
const WAIT_CANCELED: u8 = 1;

/// Why a client is sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("the store is full")]
    Full,
    #[error("a number is expected there")]
    NotANumber,
}

/// A client that waits for an answer until something happens.
#[derive(Debug)]
enum Wait {
    /// Until all of these are there.
    Keys(HashSet<Vec<u8>>),
    /// Until so many have come to the barrier of this key.
    Barrier { key: Vec<u8>, world_size: i64 },
}

/// The store. Clients are known by numbers; what they are answered goes to `answer`.
#[derive(Debug, Default)]
pub struct Store {
    values: HashMap<Vec<u8>, Vec<u8>>,
    queues: HashMap<Vec<u8>, VecDeque<Vec<u8>>>,
    waits: HashMap<u64, Wait>,
    /// The clients that wait for a key.
    waiting_for: HashMap<Vec<u8>, HashSet<u64>>,
    bytes: usize,
}

impl Store {
    /// Takes one command of a client. `answer` hears what is sent to whom, in order.
    pub fn take(
        &mut self,
        client: u64,
        request: &Request<'_>,
        answer: &mut impl FnMut(u64, &[u8]),
    ) -> Result<(), Full> {
        match request {
            Request::Validate { .. } => {}
            Request::Ping { nonce } => answer(client, &nonce.to_le_bytes()),
            Request::Set { key, value } => {
                self.put(key, value)?;
                self.came(key, answer);
            }
            Request::MultiSet { pairs } => {
                for (key, value) in pairs {
                    self.put(key, value)?;
                    self.came(key, answer);
                }
            }
            Request::CompareSet { key, expected, desired } => {
                let (now, is_set) = self.compare_set(key, expected, desired)?;
                answer(client, &framed(&now));
                if is_set {
                    self.came(key, answer);
                }
            }
            Request::Get { key } => {
                let value = self.value(key);
                answer(client, &(value.len() as u64).to_le_bytes());
                answer(client, value);
            }
            Request::Add { key, amount } => {
                let sum = self.add(key, *amount)?;
                answer(client, &sum.to_le_bytes());
                self.came(key, answer);
            }
            Request::Append { key, value } => {
                match self.values.contains_key(*key) {
                    true => self.reserve(value.len())?,
                    false => self.reserve(cost(key, value))?,
                }
                self.values.entry(key.to_vec()).or_default().extend_from_slice(value);
                self.came(key, answer);
            }
            Request::Check { keys } => {
                let is_ready = keys.iter().all(|key| self.has(key));
                answer(client, &[if is_ready { READY } else { NOT_READY }]);
            }
            Request::Wait { keys } => {
                let missing: HashSet<Vec<u8>> =
                    keys.iter().filter(|key| !self.has(key)).map(|key| key.to_vec()).collect();
                if missing.is_empty() {
                    answer(client, &[STOP_WAITING]);
                } else {
                    self.wait(client, Wait::Keys(missing));
                }
            }
            Request::CancelWait => {
                self.forget(client);
                answer(client, &[WAIT_CANCELED]);
            }
            Request::CountKeys => answer(client, &count(self.values.len()).to_le_bytes()),
            Request::Delete { key } => {
                let removed = self.values.remove(*key);
                if let Some(value) = &removed {
                    self.bytes -= cost(key, value);
                }
                answer(client, &i64::from(removed.is_some()).to_le_bytes());
            }
            Request::MultiGet { keys } => {
                let all: Vec<u8> = keys.iter().flat_map(|key| framed(self.value(key))).collect();
                answer(client, &all);
            }
            Request::QueuePush { key, value } => {
                self.reserve(cost(key, value))?;
                self.queues.entry(key.to_vec()).or_default().push_back(value.to_vec());
                self.came(key, answer);
            }
            Request::QueuePop { key } => match self.pop(key) {
                Some(value) => answer(client, &[&1i64.to_le_bytes()[..], &framed(&value)].concat()),
                None => answer(client, &0i64.to_le_bytes()),
            },
            Request::QueueLength { key } => {
                answer(client, &count(self.queues.get(*key).map_or(0, VecDeque::len)).to_le_bytes());
            }
            Request::ListKeys => {
                let number = count(self.values.len()).to_le_bytes().to_vec();
                let all = number.into_iter().chain(self.values.keys().flat_map(|key| framed(key)));
                answer(client, &all.collect::<Vec<u8>>());
            }
            Request::Barrier { key, world_size } => {
                self.add(key, 1)?;
                self.wait(client, Wait::Barrier { key: key.to_vec(), world_size: *world_size });
                self.came(key, answer);
            }
        }
        Ok(())
    }

    /// Forgets what a client waited for: it has gone, or does not want to wait any longer.
    pub fn forget(&mut self, client: u64) {
        let Some(wait) = self.waits.remove(&client) else { return };
        let keys: Vec<Vec<u8>> = match wait {
            Wait::Keys(keys) => keys.into_iter().collect(),
            Wait::Barrier { key, .. } => vec![key],
        };
        for key in keys {
            self.stop_watching(client, &key);
        }
    }

    /// Those who wait, with a key that each waits for.
    pub fn waiting(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.waits.iter().filter_map(|(client, wait)| {
            let key = match wait {
                Wait::Keys(keys) => keys.iter().min()?,
                Wait::Barrier { key, .. } => key,
            };
            Some((*client, key.as_slice()))
        })
    }

    fn value(&self, key: &[u8]) -> &[u8] {
        self.values.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    fn has(&self, key: &[u8]) -> bool {
        self.values.contains_key(key) || self.queues.contains_key(key)
    }

    fn reserve(&mut self, more: usize) -> Result<(), Full> {
        let bytes = self.bytes.saturating_add(more);
        if bytes > MOST_BYTES {
            return Err(Full::Full);
        }
        self.bytes = bytes;
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Full> {
        self.reserve(cost(key, value))?;
        match self.values.get_mut(key) {
            Some(old) => {
                self.bytes -= cost(key, old);
                // A value that was once large does not keep its room.
                if old.capacity() > 2 * value.len() + PER_KEY {
                    *old = value.to_vec();
                } else {
                    old.clear();
                    old.extend_from_slice(value);
                }
            }
            None => {
                self.values.insert(key.to_vec(), value.to_vec());
            }
        }
        Ok(())
    }

    /// What the client is answered and whether the value is a new one. A key that is not there equals an empty value; with
    /// another expectation its client hears just that, as from torch.
    fn compare_set(&mut self, key: &[u8], expected: &[u8], desired: &[u8]) -> Result<(Vec<u8>, bool), Full> {
        match self.values.get(key) {
            Some(now) if now != expected => Ok((now.clone(), false)),
            None if !expected.is_empty() => Ok((expected.to_vec(), false)),
            _ => {
                self.put(key, desired)?;
                Ok((desired.to_vec(), true))
            }
        }
    }

    fn add(&mut self, key: &[u8], amount: i64) -> Result<i64, Full> {
        let now = self.values.get(key).map_or(Some(0), |value| leading_number(value)).ok_or(Full::NotANumber)?;
        let sum = now.wrapping_add(amount);
        self.put(key, sum.to_string().as_bytes())?;
        Ok(sum)
    }

    fn pop(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let queue = self.queues.get_mut(key)?;
        let value = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(key);
        }
        self.bytes -= cost(key, &value);
        Some(value)
    }

    fn wait(&mut self, client: u64, wait: Wait) {
        self.forget(client);
        match &wait {
            Wait::Keys(keys) => {
                for key in keys {
                    self.waiting_for.entry(key.clone()).or_default().insert(client);
                }
            }
            Wait::Barrier { key, .. } => {
                self.waiting_for.entry(key.clone()).or_default().insert(client);
            }
        }
        self.waits.insert(client, wait);
    }

    /// A key has a value: those who wait for nothing else any more are told so.
    fn came(&mut self, key: &[u8], answer: &mut impl FnMut(u64, &[u8])) {
        let Some(clients) = self.waiting_for.get(key) else { return };
        let clients: Vec<u64> = clients.iter().copied().collect();
        for client in clients {
            let is_done = match self.waits.get_mut(&client) {
                Some(Wait::Keys(missing)) => {
                    missing.remove(key);
                    let is_done = missing.is_empty();
                    self.stop_watching(client, key);
                    is_done
                }
                Some(Wait::Barrier { world_size, .. }) => {
                    let world_size = *world_size;
                    leading_number(self.value(key)).is_some_and(|came| came >= world_size)
                }
                None => false,
            };
            if is_done {
                self.forget(client);
                answer(client, &[STOP_WAITING]);
            }
        }
    }

    fn stop_watching(&mut self, client: u64, key: &[u8]) {
        if let Some(clients) = self.waiting_for.get_mut(key) {
            clients.remove(&client);
            if clients.is_empty() {
                self.waiting_for.remove(key);
            }
        }
    }
}

fn cost(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + PER_KEY
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

/// The number at the beginning of a text, as C reads it.
fn leading_number(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let digits = text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..sign + digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
