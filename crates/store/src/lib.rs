//! What the server must not lose: tasks, events, environments, leases, journals' offsets, and the bytes that ranks write.
//!
//! Never decides: it keeps what it is given and says no only where two truths would collide (a revision that is too old,
//! a worker that is held, an offset that does not fit). Never reads a clock: `now_ms` is an argument.
//!
//! Start reading at [`Store`]; then
//! - how it is kept: `open` (one folder, one server, pragmas), `migrations`, `writer` (one thread, group commit), `reader`
//!   (snapshots), `transaction` (what a closure gets);
//! - what is kept in rows: [`tasks`], [`events`], [`environments`], [`groups`], [`leases`], [`runs`], [`datasets`], [`models`],
//!   [`trailing`], [`users`], [`tokens`], [`secrets`], [`owners`], [`idempotency`], [`snapshots`]; [`retention`] asks what of it is still referred to;
//! - what is kept in files: [`chunks`];
//! - what is kept elsewhere: [`backup`], and what a restore leaves behind: [`history`].

pub mod backup;
pub mod chunks;
pub mod datasets;
pub mod environments;
pub mod events;
pub mod groups;
pub mod history;
pub mod idempotency;
pub mod leases;
pub mod models;
mod oidc_links;
pub mod owners;
pub mod retention;
pub mod runs;
pub mod secrets;
pub mod snapshots;
pub mod tasks;
pub mod tokens;
pub mod trailing;
pub mod users;
pub mod webhooks;

mod ballast;
pub mod catalogue;
mod error;
mod metrics;
mod migrations;
mod numbered;
mod open;
mod page;
mod reader;
mod row;
mod spent;
mod start_word;
mod store;
mod transaction;
mod unreadable;
mod writer;

pub use error::{StoreError, UpdateError, WriteError};
pub use metrics::StoreMetrics;
pub use open::OpenError;
pub use page::{BadToken, Page, PageToken, Versioned};
pub use store::Store;
pub use transaction::{Transaction, View};
pub use unreadable::UnreadableRow;
