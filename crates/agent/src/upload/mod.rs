//! Sends home what runs write: every byte once, in order, from files that only grow.
//!
//! The files themselves are the queue, so that memory stays flat whatever ranks write and however long the server is away.
//! The server knows how much of a file it has; after a restart of either side that is where it goes on. Journals have a
//! thread and a connection of their own and never wait behind logs.

mod client;
mod file;
mod set;
mod tail;
mod told;
mod uploader;
mod watch;

pub use client::{HttpUploadClient, Piece, PieceAnswer, UploadClient, WelcomedAs};
pub use file::{Step, UploadFile};
pub use tail::GrowingFile;
pub use told::journal_tells_all;
pub use uploader::{UploadOrder, Uploader};

/// What an uploader sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadKind {
    /// The events of the run.
    Journal,
    /// What ranks write.
    Streams,
}

impl UploadKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Streams => "streams",
        }
    }
}
