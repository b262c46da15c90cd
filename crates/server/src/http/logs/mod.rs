//! What ranks wrote: read, searched, followed.

mod follow;
mod raw;
mod read;
mod search;
mod selection;
mod shared_looks;
mod shown;

pub use read::{__path_logs, blocking, logs};
pub use search::{__path_search, search};
pub use shared_looks::SharedLooks;
