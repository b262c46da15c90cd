//! What ranks write: into files byte for byte, onto the terminal as asked, and the last of it kept for the verdict.
//!
//! One thread, the [`pump`], reads all streams of a node; it never waits for the terminal's reader, which is the matter
//! of the [`terminal_writer`]. Memory is bounded: a fixed buffer, a short tail per stream, one unfinished line where
//! lines are shown, a [`backlog`] of lines that the terminal has not taken. A full disk and a slow terminal drop and
//! count; they never stop a training.

mod backlog;
mod display;
mod lift;
mod lines;
mod log_file;
mod outlet;
mod pump;
mod reader;
mod stream;
mod tail;
mod terminal_writer;

pub use backlog::Dropped;
pub use display::{RANK_MACRO, Show};
pub use log_file::LogFile;
pub use pump::{Pump, Tails};
pub use stream::{Filtered, StreamKind, StreamSource};
pub use terminal_writer::TerminalWriter;
