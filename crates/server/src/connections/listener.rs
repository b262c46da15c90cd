//! Takes connections as long as there is room.

use std::io;
use std::net::SocketAddr;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

use super::{BoundedStream, Connections};

#[derive(Debug)]
pub struct BoundedListener {
    listener: TcpListener,
    connections: Connections,
}

impl BoundedListener {
    pub fn new(listener: TcpListener, connections: Connections) -> Self {
        Self { listener, connections }
    }
}

impl Listener for BoundedListener {
    type Io = BoundedStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        self.connections.room().await;
        // The trait's own way goes on after an error, such as too many open files.
        let (socket, peer) = Listener::accept(&mut self.listener).await;
        (BoundedStream::new(socket, self.connections.enter(peer.ip())), peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
