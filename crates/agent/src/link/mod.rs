//! The link to the server: messages, and nothing but messages.
//!
//! [`ServerConnection`] is one connection; [`start`] keeps one open for ever in a thread of its own. Messages that were said while there
//! was none are lost, and said again by the registry after the next welcome.

mod connection;
mod dialer;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use fermi_api::link::AgentMessage;
use nix::sys::eventfd::EventFd;

pub use dialer::{Dialer, LinkNews, NoLink, RunsOfCluster, ServerHeard, start};

/// Where messages for the server go; they are sent at once when there is a connection.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: Sender<AgentMessage>,
    bell: Arc<EventFd>,
}

impl Outbox {
    pub fn send(&self, message: AgentMessage) {
        let _ = self.messages.send(message);
        let _ = self.bell.write(1);
    }

    /// Wakes the thread for other reasons.
    pub fn ring(&self) {
        let _ = self.bell.write(1);
    }
}
