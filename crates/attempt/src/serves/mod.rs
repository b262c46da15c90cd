//! What the coordinator's node serves to the ranks of an attempt, at the master's port.

mod horovod;

use std::io;
use std::net::TcpListener;

use fermi_domain::launch::Serves;
use fermi_tcpstore::{Options, StoreServer, WaitingClient};
use horovod::KeyValueServer;

use crate::bundle::NodeBundle;
use crate::link::JoinAnswer;
use crate::{frame, listen};

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Rank 0 listens there itself.
    Nothing,
    HorovodRendezvous,
    TorchStore,
}

impl Served {
    /// What a launch wants.
    pub fn of(bundle: &NodeBundle) -> Self {
        match bundle.serves {
            Serves::HorovodRendezvous => Self::HorovodRendezvous,
            Serves::Nothing if bundle.hosts_store => Self::TorchStore,
            Serves::Nothing => Self::Nothing,
        }
    }

    /// The same where some ranks cannot meet at a hosted store.
    pub fn without_store(self) -> Self {
        if self == Self::TorchStore { Self::Nothing } else { self }
    }
}

/// What is served now. Each attempt has its own: what ranks of the one before have put there would lead the next astray.
#[derive(Debug, Default)]
pub struct Serving {
    /// Listens, and nobody serves there yet.
    waiting: Option<(Served, TcpListener)>,
    key_values: Option<KeyValueServer>,
    store: Option<StoreServer>,
}

impl Serving {
    /// Listens in place of what was served before, so that ranks which begin now find the port open.
    pub fn listen(&mut self, what: Served, port: u16) -> io::Result<()> {
        self.stop();
        if what != Served::Nothing {
            self.waiting = Some((what, listen::on_all_addresses(port)?));
        }
        Ok(())
    }

    /// Serves where it listens. A node that comes meanwhile hears `to_nodes`, where it can be told. Call it when all ranks have
    /// been forked: a second thread makes each fork slower.
    pub fn begin(&mut self, to_nodes: &JoinAnswer) -> io::Result<()> {
        match self.waiting.take() {
            None | Some((Served::Nothing, _)) => {}
            // It has a thread of its own, so its socket blocks.
            Some((Served::HorovodRendezvous, socket)) => self.key_values = Some(KeyValueServer::start(socket)?),
            Some((Served::TorchStore, socket)) => {
                let mut answer_to_frames = Vec::new();
                frame::write(&mut answer_to_frames, to_nodes)?;
                let options = Options { answer_to_frames, ..Options::default() };
                self.store = Some(StoreServer::start(socket, options)?);
            }
        }
        Ok(())
    }

    /// The clients of the hosted store that wait for a key, as they were at the last look; none where no store is hosted.
    pub fn waiting(&self) -> Option<Vec<WaitingClient>> {
        self.store.as_ref().map(StoreServer::waiting)
    }

    /// The port is free afterwards.
    pub fn stop(&mut self) {
        *self = Self::default();
    }
}
