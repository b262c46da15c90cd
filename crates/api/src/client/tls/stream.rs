//! A connection to a server, encrypted where its address says so.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use fermi_domain::access::Fingerprint;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::trust;
use crate::client::ServerAddress;

/// Bytes to and from a server.
#[derive(Debug)]
pub enum ServerStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl ServerStream {
    /// Shakes hands over a connection that was made; the connection's own timeouts bound it.
    pub fn over(mut socket: TcpStream, server: &ServerAddress, pinned: Option<Fingerprint>) -> io::Result<Self> {
        if !server.is_tls() {
            return Ok(Self::Plain(socket));
        }
        let name = ServerName::try_from(server.host().to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(trust::config(pinned)?, name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    /// What the bytes go through.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

impl AsFd for ServerStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl Read for ServerStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
