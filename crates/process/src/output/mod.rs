//! What ranks write: into files byte for byte, onto the terminal as asked, and the last of it kept for the verdict.
//!
//! One thread, the [`pump`], reads all streams of a node. Memory is bounded: a fixed buffer, a short tail per stream, one
//! unfinished line where lines are shown. A full disk drops and counts bytes; it never stops a training.

mod display;
mod lift;
mod lines;
mod log_file;
mod pump;
mod tail;

pub use display::{RANK_MACRO, Show};
pub use log_file::LogFile;
pub use pump::{Drained, Filtered, Pump, Stream, StreamKind, StreamSource, Tails};
