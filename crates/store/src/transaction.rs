//! What a closure gets to work with: a consistent view of everything, and in a write the right to change it.
//!
//! The methods stand with their nouns, such as [`View::task`] in [`crate::tasks`].

use std::{ops::Deref, sync::Arc};

use rusqlite::Connection;

use crate::events::StoredEvent;

/// Everything, as it is at one moment.
#[derive(Debug)]
pub struct View<'c> {
    pub(crate) connection: &'c Connection,
}

/// A view that can be changed. What it does is kept as a whole, or not at all.
#[derive(Debug)]
pub struct Transaction<'c> {
    view: View<'c>,
    /// To be told once they are committed.
    pub(crate) events: Vec<Arc<StoredEvent>>,
}

impl<'c> Transaction<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { view: View { connection }, events: Vec::new() }
    }
}

impl<'c> Deref for Transaction<'c> {
    type Target = View<'c>;

    fn deref(&self) -> &View<'c> {
        &self.view
    }
}
