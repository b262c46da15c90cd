//! What the serving thread shows of those who wait, when it is asked.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of a key so much is shown.
const SHOWN: usize = 256;

/// A client that waits for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingClient {
    pub address: IpAddr,
    /// What it has said in its first ping: a client of torch's says its process.
    pub process: Option<u32>,
    /// One of the keys that it waits for.
    pub key: String,
}

/// The last look, and whether another is wanted. Who asks never waits for the serving thread.
#[derive(Debug, Default)]
pub struct WaitBoard {
    is_asked: AtomicBool,
    waiting: Mutex<Vec<WaitingClient>>,
}

impl WaitBoard {
    /// What was seen last; the next look is asked for.
    pub fn ask(&self) -> Vec<WaitingClient> {
        self.is_asked.store(true, Ordering::Release);
        self.waiting.lock().map(|waiting| waiting.clone()).unwrap_or_default()
    }

    /// Writes a look down, if one is asked for.
    pub fn answer(&self, look: impl FnOnce() -> Vec<WaitingClient>) {
        if self.is_asked.swap(false, Ordering::AcqRel)
            && let Ok(mut waiting) = self.waiting.lock()
        {
            *waiting = look();
        }
    }
}

/// A key for people: its beginning and its end where it is long.
pub fn shown(key: &[u8]) -> String {
    let key = match key.len() > SHOWN {
        true => [&key[..SHOWN / 2], "…".as_bytes(), &key[key.len() - SHOWN / 2..]].concat(),
        false => key.to_vec(),
    };
    String::from_utf8_lossy(&key).into_owned()
}
