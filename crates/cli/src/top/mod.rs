//! `fermi top`: a server's tasks on a terminal, as they change.
//!
//! [`state`] is what is known and what keys and answers make of it, without a terminal or a clock; [`view`] is what that
//! looks like; [`reader`] asks the server and [`screen`] owns the terminal. [`charts`] and [`crate::plain`] make numbers and
//! strangers' texts fit to be drawn. Only the public API is used, and no key waits for it.

mod charts;
mod reader;
mod screen;
mod state;
mod view;
mod words;

pub use screen::run;
pub use words::no_terminal;
