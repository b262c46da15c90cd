//! Reading what rows hold: documents, and numbers that SQLite keeps with a sign.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use crate::StoreError;

/// Milliseconds, lengths and revisions are never so large that the sign matters.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn document<T: DeserializeOwned>(noun: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Document { noun, source: Arc::new(source) })
}

pub(crate) fn json<T: Serialize>(noun: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Document { noun, source: Arc::new(source) })
}

/// One row that this release cannot read must not keep it from all the others: [`View::unreadable`](crate::View::unreadable)
/// names it.
pub(crate) fn readable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Document { .. } | StoreError::Value { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
