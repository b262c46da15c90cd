//! What the coordinator's node serves to the ranks of an attempt, at the master's port.

mod horovod;

use std::io;
use std::net::TcpListener;

use fermi_domain::launch::Serves;
use horovod::KeyValueServer;

/// What is served now. Each attempt has its own: what ranks of the one before have put there would lead the next astray.
#[derive(Debug, Default)]
pub struct Serving {
    key_values: Option<KeyValueServer>,
}

impl Serving {
    /// Serves this in place of what was served before.
    pub fn start(&mut self, what: Serves, port: u16) -> io::Result<()> {
        self.stop();
        match what {
            Serves::Nothing => {}
            Serves::HorovodRendezvous => {
                // It has a thread of its own, so its socket blocks.
                self.key_values = Some(KeyValueServer::start(TcpListener::bind(("0.0.0.0", port))?)?);
            }
        }
        Ok(())
    }

    /// The port is free afterwards.
    pub fn stop(&mut self) {
        self.key_values = None;
    }
}
