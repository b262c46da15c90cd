//! Finds the addresses of a receiver, and leaves out those that nothing is sent to: a name may lead anywhere, and elsewhere the next
//! time.

use std::io;
use std::time::Duration;

use fermi_domain::webhook::{OfTheMachineAlone, host_may_be_told, may_be_told};
use ureq::Timeout;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Behind a proxy names of the outside are often unknown, and nobody answers who is asked for them.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub struct ReceiverResolver(DefaultResolver);

impl Resolver for ReceiverResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let (mut allowed, mut refused) = (self.0.empty(), None);
        for address in found.iter() {
            match may_be_told(address.ip()) {
                Ok(()) => allowed.push(*address),
                Err(alone) => refused = Some(alone),
            }
        }
        match refused {
            Some(alone) if allowed.is_empty() => Err(ureq::Error::Io(io::Error::other(alone))),
            _ => Ok(allowed),
        }
    }
}

/// Whether a receiver that a proxy is asked for is one that nothing is sent to, as far as can be seen from here: the proxy looks its
/// name up itself. One whose name nobody here knows is left to the proxy.
pub fn refused_by_proxy(config: &Config, receiver: &Uri) -> Option<OfTheMachineAlone> {
    config.proxy().filter(|proxy| !proxy.is_no_proxy(receiver))?;
    // A webhook that an older release has taken may name what is known by its name alone.
    if let Some(Err(alone)) = receiver.host().map(host_may_be_told) {
        return Some(alone);
    }
    let timeout = NextTimeout { after: LOOKED_UP_WITHIN.into(), reason: Timeout::Resolve, ..NextTimeout::default() };
    let found = DefaultResolver::default().resolve(receiver, config, timeout).ok()?;
    // The proxy takes which of them it wants.
    found.iter().find_map(|address| may_be_told(address.ip()).err())
}

/// Whether nothing was sent for this reason.
pub fn refusal(error: &ureq::Error) -> Option<OfTheMachineAlone> {
    let ureq::Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref().cloned()
}
