//! Whom a request comes from when a proxy stands between: what it says is believed of proxies that were named, and of no
//! one else.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An address, or a range of them such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    network: IpAddr,
    prefix: u32,
}

/// Why a text is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address or a range, such as 10.0.0.7 or 10.0.0.0/8, is expected")]
pub struct NoRange;

impl FromStr for AddressRange {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, NoRange> {
        let (network, prefix) = match text.trim().split_once('/') {
            Some((network, prefix)) => (network, Some(prefix.parse::<u32>().map_err(|_| NoRange)?)),
            None => (text.trim(), None),
        };
        let network: IpAddr = network.parse().map_err(|_| NoRange)?;
        let most = if network.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(most);
        if prefix > most { Err(NoRange) } else { Ok(Self { network, prefix }) }
    }
}

impl AddressRange {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// Who counts as one that comes from here: an IPv4 address, and of IPv6 the 64 bits that a single machine is given whole.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

/// The proxies that are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(pub Vec<AddressRange>);

/// What a proxy says of the one for whom it asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forwarded<'a> {
    /// The addresses that a request came through, the first one first.
    pub through: Option<&'a str>,
    /// `http` or `https`.
    pub scheme: Option<&'a str>,
}

/// Who asks, and whether what they say could be read on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub address: IpAddr,
    pub is_encrypted: bool,
}

impl TrustedProxies {
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }

    /// Who asks through `peer`. Of the addresses that were passed on, the last one that is no proxy of ours counts: what
    /// stands before it, anyone may have written.
    pub fn behind(&self, peer: Peer, said: Forwarded<'_>) -> Peer {
        if !self.trusts(peer.address) {
            return peer;
        }
        let mut behind =
            Peer { is_encrypted: said.scheme.map_or(peer.is_encrypted, |scheme| scheme == "https"), ..peer };
        for word in said.through.unwrap_or_default().rsplit(',') {
            let Ok(address) = word.trim().parse::<IpAddr>() else { break };
            let address = address.to_canonical();
            behind.address = address;
            if !self.trusts(address) {
                break;
            }
        }
        behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_holds_what_begins_like_it() {
        let cases = [
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fd12::1", true),
            ("::/0", "2001:db8::1", true),
            ("::1", "::2", false),
        ];
        for (range, text, expected) in cases {
            assert_eq!(range.parse::<AddressRange>().unwrap().contains(address(text)), expected, "{range} {text}");
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0", "a/8", "10.0.0.0/-1", "10.0.0.0/"] {
            assert_eq!(text.parse::<AddressRange>(), Err(NoRange), "{text}");
        }
    }

    #[test]
    fn a_machine_with_a_whole_network_of_addresses_counts_as_one() {
        let of = |text: &str| network_of(address(text)).to_string();
        assert_eq!(of("10.1.2.3"), "10.1.2.3");
        assert_eq!(of("::ffff:10.1.2.3"), "10.1.2.3");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    }

    #[test]
    fn only_named_proxies_say_who_asks_and_only_of_the_last_stranger() {
        let proxies = TrustedProxies(vec!["10.0.0.0/24".parse().unwrap()]);
        let said = |peer: &str, through: Option<&str>, scheme: Option<&str>| {
            let peer = Peer { address: address(peer), is_encrypted: false };
            let behind = proxies.behind(peer, Forwarded { through, scheme });
            (behind.address.to_string(), behind.is_encrypted)
        };
        let word = |text: &str, is_encrypted| (text.to_owned(), is_encrypted);
        assert_eq!(said("8.8.8.8", Some("1.1.1.1"), Some("https")), word("8.8.8.8", false));
        assert_eq!(said("10.0.0.1", None, None), word("10.0.0.1", false));
        assert_eq!(said("10.0.0.1", Some("1.1.1.1"), Some("https")), word("1.1.1.1", true));
        assert_eq!(said("10.0.0.1", Some("6.6.6.6, 1.1.1.1, 10.0.0.9"), Some("http")), word("1.1.1.1", false));
        assert_eq!(said("10.0.0.1", Some("nonsense"), None), word("10.0.0.1", false));
        assert_eq!(said("10.0.0.1", Some("::ffff:1.1.1.1"), None), word("1.1.1.1", false));
    }
}
