//! The disk under the server's database and streams: any write may fail, and the server may die in any.

use super::StoreDown;

/// How the next writes go.
#[derive(Debug, Default)]
pub struct ServerDisk {
    pub fails_until_ms: u64,
    /// So many writes succeed before so many fail.
    failing: Option<(u8, u8)>,
    death: Option<Death>,
    /// It has died, and comes back after so long.
    died: Option<u64>,
}

/// The server dies in a write.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// So many writes come before it.
    pub after: u8,
    /// Whether what was being written is found on disk later.
    pub is_kept: bool,
    pub back_after_ms: u64,
}

/// A write that went to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// The disk says that it has it.
    Synced,
    /// The server has died in it.
    Torn { is_kept: bool },
}

impl ServerDisk {
    pub fn fail(&mut self, after: u8, count: u8) {
        self.failing = Some((after, count));
    }

    pub fn die(&mut self, death: Death) {
        self.death.get_or_insert(death);
    }

    pub fn mend(&mut self) {
        *self = Self::default();
    }

    /// Whether the server has died in a write and is to be taken down: nothing that it would answer is heard.
    pub fn has_killed(&self) -> bool {
        self.died.is_some()
    }

    /// After how long a server that has died in a write comes back.
    pub fn take_death(&mut self) -> Option<u64> {
        self.died.take()
    }

    /// A transaction: all of it is on disk or nothing.
    pub fn write(&mut self, now: u64) -> Result<(), StoreDown> {
        match self.attempt(now)? {
            Written::Synced | Written::Torn { is_kept: true } => Ok(()),
            Written::Torn { is_kept: false } => Err(StoreDown),
        }
    }

    /// Bytes behind others. The answer is how many of them are on disk.
    pub fn append(&mut self, now: u64, bytes: usize) -> Result<usize, StoreDown> {
        match self.attempt(now)? {
            Written::Synced | Written::Torn { is_kept: true } => Ok(bytes),
            Written::Torn { is_kept: false } => Ok(bytes / 2),
        }
    }

    fn attempt(&mut self, now: u64) -> Result<Written, StoreDown> {
        if self.has_killed() || now < self.fails_until_ms {
            return Err(StoreDown);
        }
        match &mut self.failing {
            Some((0, count)) => {
                *count -= 1;
                if *count == 0 {
                    self.failing = None;
                }
                return Err(StoreDown);
            }
            Some((after, _)) => *after -= 1,
            None => {}
        }
        match self.death.take() {
            Some(Death { after: 0, is_kept, back_after_ms }) => {
                self.died = Some(back_after_ms);
                Ok(Written::Torn { is_kept })
            }
            death => {
                self.death = death.map(|death| Death { after: death.after - 1, ..death });
                Ok(Written::Synced)
            }
        }
    }
}
