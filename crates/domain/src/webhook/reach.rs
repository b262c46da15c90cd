//! Which addresses nothing is sent to: those at which a cloud hands a machine its own keys. What answers there would answer the
//! server's machine, not the one who asked for the webhook.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::language::{Explained, Hint, Text};

/// Others are addresses of the link.
const BEYOND_THE_LINK: [IpAddr; 7] = [
    // Of Alibaba Cloud, Azure and Oracle.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    // Of AWS, Google Cloud, Scaleway and Oracle.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
];
/// Names that lead to them wherever they are looked up.
const NAMES: [&str; 4] = ["metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

/// A place that is for the machine alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} is for the machine itself")]
pub struct OfTheMachineAlone {
    /// The address, or the name that leads to it.
    pub place: String,
}

/// Whether something may be sent there. This machine's own ports are no more than those of any other: a receiver may be here.
pub fn may_be_told(address: IpAddr) -> Result<(), OfTheMachineAlone> {
    let inner = innermost(address);
    let is_of_link = match inner {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if is_of_link || BEYOND_THE_LINK.contains(&inner) {
        return Err(OfTheMachineAlone { place: address.to_string() });
    }
    Ok(())
}

/// Whether a host may be told, as far as can be seen before its name is looked up.
pub fn host_may_be_told(host: &str) -> Result<(), OfTheMachineAlone> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return may_be_told(address);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_of_a_cloud = NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is_of_a_cloud { Err(OfTheMachineAlone { place: host.to_owned() }) } else { Ok(()) }
}

/// The address of version 4 that a longer one carries: mapped, compatible, or by way of a translator or a tunnel.
fn innermost(address: IpAddr) -> IpAddr {
    let IpAddr::V6(long) = address else { return address };
    let short = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match long.segments() {
        [0x2002, high, low, ..] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => short(high, low),
        // `::` and `::1` are this machine.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => short(high, low),
        _ => address.to_canonical(),
    }
}

impl Explained for OfTheMachineAlone {
    fn id(&self) -> &'static str {
        "url_of_the_machine"
    }

    fn text(&self) -> Text {
        let place = &self.place;
        Text::new(
            format!("不向 {place} 发送：云平台在这样的地址向机器提供其自身的密钥"),
            format!("nothing is sent to {place}: at such addresses a cloud gives machines their own keys"),
        )
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::new("使用接收方自己的地址", "give the receiver's own address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clouds_keys_are_not_asked_for_and_receivers_anywhere_else_are_told() {
        for address in [
            "169.254.169.254",
            "169.254.0.23",
            "fe80::1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fd00:42::42",
            "fd00:c1::a9fe:a9fe",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b::100.100.100.200",
            "2002:a9fe:a9fe::",
        ] {
            assert!(may_be_told(address.parse().unwrap()).is_err(), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.7",
            "8.8.8.8",
            "::1",
            "fd12::1",
            "100.100.100.201",
            "169.253.0.1",
            "2002:808:808::1",
            "::",
        ] {
            assert!(may_be_told(address.parse().unwrap()).is_ok(), "{address}");
        }
    }

    #[test]
    fn names_of_such_services_are_known_however_they_are_written() {
        for name in ["metadata.google.internal", "Metadata.Google.Internal.", "instance-data", "[fd00:ec2::254]"] {
            assert!(host_may_be_told(name).is_err(), "{name}");
        }
        assert!(host_may_be_told("metadata.example.org").is_ok());
    }
}
