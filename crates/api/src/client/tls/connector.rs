//! TLS below HTTP. The configuration is made with the first connection that needs it: most commands speak to loopback.

use std::fmt;
use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use fermi_domain::access::Fingerprint;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, TcpConnector,
    Transport, TransportAdapter,
};
use ureq::{Agent, Error};

use super::{TlsRefusal, trust};

/// An agent of this configuration that believes a server by its fingerprint, or by the system's authorities.
pub fn agent(config: Config, pinned: Option<Fingerprint>) -> Agent {
    let tls = TlsConnector { pinned, config: OnceLock::new() };
    let chain = ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default()).chain(tls);
    Agent::with_parts(config, chain, DefaultResolver::default())
}

#[derive(Debug)]
struct TlsConnector {
    pinned: Option<Fingerprint>,
    config: OnceLock<Arc<ClientConfig>>,
}

impl TlsConnector {
    fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let made = trust::config(self.pinned)?;
        Ok(self.config.get_or_init(|| made).clone())
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else { return Ok(None) };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|_| Error::HostNotFound)?;
        let mut connection = ClientConnection::new(self.config()?, name).map_err(|error| Error::Other(error.into()))?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        socket.set_timeout(details.timeout);
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| match TlsRefusal::of(&error) {
                Some(refusal) => Error::Other(Box::new(refusal)),
                None => Error::from(error),
            })?;
        }
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(TlsTransport { buffers, stream: StreamOwned::new(connection, socket) })))
    }
}

struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsTransport").finish_non_exhaustive()
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        self.stream.write_all(&self.buffers.output()[..amount])?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
