//! Takes connections and shakes hands with each beside the others: one that is slow, or says nothing, holds nobody up.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use fermi_store::StoreError;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::plaintext;
use crate::background::{self, BackgroundLoop};
use crate::connections::{BoundedStream, Connections, Ticket};
use crate::core::Core;

/// How long a handshake may take.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Connections that are ready and not taken yet.
const READY: usize = 64;
/// The first byte of every handshake.
const HANDSHAKE: u8 = 0x16;

/// A connection with which hands have been shaken.
type Shaken = TlsStream<BoundedStream<TcpStream>>;

/// Gives connections with which hands have been shaken.
#[derive(Debug)]
pub struct TlsListener {
    ready: mpsc::Receiver<(Shaken, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Listens from now on, until the server ends.
    pub fn start(
        core: &Core,
        listener: TcpListener,
        config: Arc<ServerConfig>,
        connections: Connections,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (done, ready) = mpsc::channel(READY);
        let acceptor = TlsAcceptor::from(config);
        background::start(core, Handshakes { listener, acceptor, connections, done, taken: None });
        Ok(Self { ready, address })
    }
}

impl Listener for TlsListener {
    type Io = Shaken;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The loop that takes connections ends with the server only.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

/// Takes connections, one after the other.
struct Handshakes {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    connections: Connections,
    done: mpsc::Sender<(Shaken, SocketAddr)>,
    /// The one that came last, with which hands are to be shaken.
    taken: Option<(TcpStream, SocketAddr)>,
}

impl BackgroundLoop for Handshakes {
    const NAME: &'static str = "handshakes";
    const PERIOD: Duration = Duration::from_secs(5);

    async fn woken(&mut self) {
        self.connections.room().await;
        // The trait's own way goes on after an error, such as too many open files.
        self.taken = Some(Listener::accept(&mut self.listener).await);
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        let Some((socket, peer)) = self.taken.take() else { return Ok(()) };
        let ticket = self.connections.enter(peer.ip());
        let (acceptor, done) = (self.acceptor.clone(), self.done.clone());
        tokio::spawn(async move {
            let shaken = tokio::select! {
                shaken = timeout(HANDSHAKE_PATIENCE, shake_hands(socket, &acceptor, &ticket)) => shaken,
                () = ticket.ended() => return,
            };
            match shaken {
                Ok(Ok(Some(stream))) => drop(done.send((stream, peer)).await),
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a handshake failed"),
                Err(_) => tracing::debug!(%peer, "a handshake took too long"),
            }
        });
        Ok(())
    }
}

/// None where the peer speaks no TLS and was told so.
async fn shake_hands(socket: TcpStream, acceptor: &TlsAcceptor, ticket: &Ticket) -> io::Result<Option<Shaken>> {
    let mut first = [0];
    if socket.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    if first[0] != HANDSHAKE {
        plaintext::answer(socket).await?;
        return Ok(None);
    }
    // Answers are short, and each waits for the one before.
    socket.set_nodelay(true)?;
    acceptor.accept(BoundedStream::new(socket, ticket.clone())).await.map(Some)
}
