//! Which connection a request came over, as axum tells the layers above.

use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::http::HeaderMap;
use axum::serve::IncomingStream;
use fermi_domain::access::{Forwarded, Peer, TrustedProxies};

use crate::connections::{BoundedListener, Ticket};
use crate::tls::TlsListener;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    pub is_encrypted: bool,
    /// None where no listener has taken it.
    pub ticket: Option<Ticket>,
}

impl Connected<IncomingStream<'_, BoundedListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, BoundedListener>) -> Self {
        let ticket = Some(stream.io().ticket().clone());
        Self { peer: *stream.remote_addr(), is_encrypted: false, ticket }
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        let ticket = Some(stream.io().get_ref().0.ticket().clone());
        Self { peer: *stream.remote_addr(), is_encrypted: true, ticket }
    }
}

/// What proxies write, in the order in which they came to be.
const FORWARDED: [&str; 5] = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", "forwarded"];

/// A request says that it comes from a proxy.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
}

impl Connection {
    /// Who asks: the other end, or whom a proxy that is trusted says that it asks for.
    pub fn asker(&self, proxies: &TrustedProxies, headers: &HeaderMap) -> Peer {
        let peer = Peer { address: self.peer.ip().to_canonical(), is_encrypted: self.is_encrypted };
        let lines = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let through = lines.collect::<Vec<_>>().join(",");
        let scheme = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        proxies.behind(peer, Forwarded { through: Some(&through), scheme })
    }
}
