//! Takes connections and shakes hands with each beside the others: one that is slow, or says nothing, holds nobody up.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::plaintext;
use crate::connections::{BoundedStream, Connections, Ticket};

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
    /// Listens from now on, until it is dropped.
    pub fn start(listener: TcpListener, config: Arc<ServerConfig>, connections: Connections) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (done, ready) = mpsc::channel(READY);
        tokio::spawn(take(listener, TlsAcceptor::from(config), connections, done));
        Ok(Self { ready, address })
    }
}

impl Listener for TlsListener {
    type Io = Shaken;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The task that takes connections ends with this listener only.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn take(
    mut listener: TcpListener,
    acceptor: TlsAcceptor,
    connections: Connections,
    done: mpsc::Sender<(Shaken, SocketAddr)>,
) {
    loop {
        let (socket, peer) = tokio::select! {
            // The trait's own way goes on after an error, such as too many open files.
            taken = async { connections.room().await; Listener::accept(&mut listener).await } => taken,
            () = done.closed() => return,
        };
        let ticket = connections.enter(peer.ip());
        let (acceptor, done) = (acceptor.clone(), done.clone());
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
