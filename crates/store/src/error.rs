//! What can go wrong below the nouns, whichever of them is asked for.

use std::sync::Arc;

use thiserror::Error;

/// Why the store could not do what it was asked.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    #[error("the database refused")]
    Sql(#[source] Arc<rusqlite::Error>),
    /// A row holds what this version cannot read.
    #[error("a stored {noun} cannot be read")]
    Document {
        noun: &'static str,
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// A column holds a value that nothing here ever wrote.
    #[error("a stored {noun} holds `{value}`, which means nothing")]
    Value { noun: &'static str, value: String },
    /// Nothing of the batch is stored.
    #[error("the commit failed, nothing was stored")]
    Commit(#[source] Arc<rusqlite::Error>),
    /// The database ended the transaction on its own, as it does when the disk is full.
    #[error("the database gave the transaction up, nothing was stored")]
    TransactionLost,
    #[error("the work on the store panicked, nothing was stored")]
    Panicked,
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the disk had no room for it, as far as the database says so.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sql(error) | Self::Commit(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::TransactionLost => true,
            Self::Document { .. } | Self::Value { .. } | Self::Panicked | Self::Closed => false,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

/// Why a write changed nothing.
#[derive(Clone, Debug, Error)]
pub enum WriteError<E> {
    /// The closure itself said no.
    #[error("the change was refused")]
    Refused(E),
    /// The closure was content, or never ran; the store could not keep what it did.
    #[error(transparent)]
    Failed(StoreError),
}

impl<E: From<StoreError>> WriteError<E> {
    /// For callers to whom a failing store is one of their own errors: `.map_err(WriteError::flatten)`.
    pub fn flatten(self) -> E {
        match self {
            Self::Refused(error) => error,
            Self::Failed(error) => error.into(),
        }
    }
}

/// Why a row was not changed.
#[derive(Clone, Debug, Error)]
pub enum UpdateError {
    /// Somebody else changed it since it was read.
    #[error("it was changed in the meantime: revision {expected} was expected, {found} is stored")]
    Conflict { expected: u64, found: u64 },
    #[error("it does not exist")]
    Missing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for UpdateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}
