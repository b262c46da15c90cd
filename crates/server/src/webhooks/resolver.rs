//! Finds the addresses of a receiver, and leaves out those that nothing is sent to: a name may lead anywhere, and elsewhere the next
//! time.

use std::io;

use fermi_domain::webhook::{OfTheMachineAlone, may_be_told};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

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

/// Whether nothing was sent for this reason.
pub fn refusal(error: &ureq::Error) -> Option<OfTheMachineAlone> {
    let ureq::Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref().cloned()
}
