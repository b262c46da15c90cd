//! Which addresses nothing is sent to: those at which a cloud hands a machine its own keys. What answers there would answer the
//! server's machine, not the one who asked for the webhook.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::language::{Explained, Hint, Text};

/// Of Alibaba Cloud; others use addresses of the link.
const BEYOND_THE_LINK: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Of AWS.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// An address that is for the machine alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is for the machine itself")]
pub struct OfTheMachineAlone {
    pub address: IpAddr,
}

/// Whether something may be sent there. This machine's own ports are no more than those of any other: a receiver may be here.
pub fn may_be_told(address: IpAddr) -> Result<(), OfTheMachineAlone> {
    let is_of_link = match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if is_of_link || BEYOND_THE_LINK.contains(&address.to_canonical()) {
        return Err(OfTheMachineAlone { address });
    }
    Ok(())
}

impl Explained for OfTheMachineAlone {
    fn id(&self) -> &'static str {
        "url_of_the_machine"
    }

    fn text(&self) -> Text {
        let address = self.address;
        Text::new(
            format!("不向 {address} 发送：云平台在这样的地址向机器提供其自身的密钥"),
            format!("nothing is sent to {address}: at such addresses a cloud gives machines their own keys"),
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
        for address in
            ["169.254.169.254", "::ffff:169.254.169.254", "169.254.0.23", "fe80::1", "100.100.100.200", "fd00:ec2::254"]
        {
            assert!(may_be_told(address.parse().unwrap()).is_err(), "{address}");
        }
        for address in ["127.0.0.1", "10.0.0.7", "8.8.8.8", "::1", "fd12::1", "100.100.100.201", "169.253.0.1"] {
            assert!(may_be_told(address.parse().unwrap()).is_ok(), "{address}");
        }
    }
}
