//! The link to the server: words, and nothing but words.
//!
//! [`Line`] is one connection; [`start`] keeps one open for ever in a thread of its own. Words that were said while there
//! was none are lost, and said again by the registry after the next welcome.

mod dialer;
mod line;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use fermi_api::link::AgentWord;
use nix::sys::eventfd::EventFd;

pub use dialer::{Dialer, LinkNews, start};

/// Where words for the server go; they are sent at once when there is a connection.
#[derive(Clone, Debug)]
pub struct Outbox {
    words: Sender<AgentWord>,
    bell: Arc<EventFd>,
}

impl Outbox {
    pub fn say(&self, word: AgentWord) {
        let _ = self.words.send(word);
        let _ = self.bell.write(1);
    }

    /// Wakes the thread for other reasons.
    pub fn ring(&self) {
        let _ = self.bell.write(1);
    }
}
