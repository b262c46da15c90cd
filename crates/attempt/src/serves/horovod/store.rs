//! Keys and values by scope.

use std::collections::HashMap;

/// An address book of one rank is far below this.
pub(super) const LARGEST_VALUE: usize = 1 << 20;
/// All values together; enough for thousands of ranks.
const LARGEST_STORE: usize = 256 << 20;

#[derive(Debug, Default)]
pub(super) struct Store {
    scopes: HashMap<String, HashMap<String, Vec<u8>>>,
    size: usize,
}

impl Store {
    pub fn get(&self, scope: &str, key: &str) -> Option<&[u8]> {
        self.scopes.get(scope)?.get(key).map(Vec::as_slice)
    }

    /// The later value wins; refuses what would not fit any more.
    pub fn put(&mut self, scope: &str, key: &str, value: Vec<u8>) -> bool {
        let old = self.get(scope, key).map_or(0, <[u8]>::len);
        let size = self.size - old + value.len() + key.len();
        if size > LARGEST_STORE {
            return false;
        }
        self.size = size;
        self.scopes.entry(scope.to_owned()).or_default().insert(key.to_owned(), value);
        true
    }
}
