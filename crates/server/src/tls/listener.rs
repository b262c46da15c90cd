//! Takes connections and shakes hands with each beside the others: one that is slow, or says nothing, holds nobody up.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::plaintext;

/// How long a handshake may take.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Handshakes at a time, and of one address.
const MOST_HANDSHAKES: usize = 1_024;
const MOST_OF_ONE: usize = 128;
/// Connections that are ready and not taken yet.
const READY: usize = 64;
/// The first byte of every handshake.
const HANDSHAKE: u8 = 0x16;

/// Gives connections with which hands have been shaken.
#[derive(Debug)]
pub struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Listens from now on, until it is dropped.
    pub fn start(listener: TcpListener, config: Arc<ServerConfig>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (done, ready) = mpsc::channel(READY);
        tokio::spawn(take(listener, TlsAcceptor::from(config), done));
        Ok(Self { ready, address })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
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
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let handshakes = Handshakes::default();
    loop {
        let (socket, peer) = tokio::select! {
            // The trait's own way goes on after an error, such as too many open files.
            taken = Listener::accept(&mut listener) => taken,
            () = done.closed() => return,
        };
        let turn = handshakes.begin(peer.ip());
        let (acceptor, done) = (acceptor.clone(), done.clone());
        tokio::spawn(async move {
            let shaken = tokio::select! {
                shaken = timeout(HANDSHAKE_PATIENCE, shake_hands(socket, &acceptor)) => shaken,
                () = turn.ends.notified() => return,
            };
            drop(turn);
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
async fn shake_hands(socket: TcpStream, acceptor: &TlsAcceptor) -> io::Result<Option<TlsStream<TcpStream>>> {
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
    acceptor.accept(socket).await.map(Some)
}

/// Who is shaking hands, the longest first.
#[derive(Clone, Debug, Default)]
struct Handshakes(Arc<Mutex<HashMap<IpAddr, VecDeque<Arc<Notify>>>>>);

/// One handshake; over when it is dropped.
struct Turn {
    handshakes: Handshakes,
    peer: IpAddr,
    /// Told when another one takes its place.
    ends: Arc<Notify>,
}

impl Handshakes {
    /// Where there are too many, the one of the busiest address that has taken longest gives way: who shakes hands is
    /// done in a moment, who says nothing is not.
    fn begin(&self, peer: IpAddr) -> Turn {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let busiest = match running.get(&peer) {
            Some(own) if own.len() >= MOST_OF_ONE => Some(peer),
            _ if running.values().map(VecDeque::len).sum::<usize>() >= MOST_HANDSHAKES => {
                running.iter().max_by_key(|(_, turns)| turns.len()).map(|(peer, _)| *peer)
            }
            _ => None,
        };
        if let Some(longest) = busiest.and_then(|busiest| running.get_mut(&busiest)?.pop_front()) {
            longest.notify_one();
        }
        let ends = Arc::new(Notify::new());
        running.entry(peer).or_default().push_back(ends.clone());
        Turn { handshakes: self.clone(), peer, ends }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = self.handshakes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = running.get_mut(&self.peer) {
            turns.retain(|turn| !Arc::ptr_eq(turn, &self.ends));
            if turns.is_empty() {
                running.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn who_says_nothing_gives_way_to_who_comes_next() {
        let handshakes = Handshakes::default();
        let (ann, bob) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let silent: Vec<Turn> = (0..MOST_OF_ONE).map(|_| handshakes.begin(ann)).collect();
        let is_ended = |turn: &Turn| turn.ends.notified().now_or_never().is_some();
        assert!(!silent.iter().any(is_ended));
        let other = handshakes.begin(bob);
        let next = handshakes.begin(ann);
        assert!(is_ended(&silent[0]) && !is_ended(&silent[1]) && !is_ended(&other) && !is_ended(&next));
        drop((silent, other, next));
        assert!(handshakes.0.lock().unwrap().is_empty());
    }
}
