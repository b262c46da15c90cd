//! Keys and values by scope.

use std::collections::{HashMap, HashSet};

/// An address book of one rank is far below this.
pub(super) const LARGEST_VALUE: usize = 1 << 20;
/// All values together; enough for thousands of ranks.
const LARGEST_STORE: usize = 256 << 20;

#[derive(Debug, Default)]
pub(super) struct Store {
    scopes: HashMap<String, Scope>,
    size: usize,
}

#[derive(Debug, Default)]
struct Scope {
    values: HashMap<String, Vec<u8>>,
    finished: HashSet<String>,
}

impl Store {
    pub fn get(&self, scope: &str, key: &str) -> Option<&[u8]> {
        self.scopes.get(scope)?.values.get(key).map(Vec::as_slice)
    }

    /// The later value wins; refuses what would not fit any more.
    pub fn put(&mut self, scope: &str, key: &str, value: Vec<u8>) -> bool {
        let old = self.get(scope, key).map_or(0, <[u8]>::len);
        let size = self.size - old + value.len() + key.len();
        if size > LARGEST_STORE {
            return false;
        }
        self.size = size;
        self.scopes.entry(scope.to_owned()).or_default().values.insert(key.to_owned(), value);
        true
    }

    /// A rank is done with a scope; its value stays, since others may not have read it yet.
    pub fn finish(&mut self, scope: &str, key: &str) {
        if self.scopes.contains_key(scope) || self.size + key.len() <= LARGEST_STORE {
            self.size += key.len();
            self.scopes.entry(scope.to_owned()).or_default().finished.insert(key.to_owned());
        }
    }

    pub fn finished(&self, scope: &str) -> usize {
        self.scopes.get(scope).map_or(0, |scope| scope.finished.len())
    }
}
