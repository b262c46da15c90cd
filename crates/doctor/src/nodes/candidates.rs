//! The addresses at which a node may be found.

use std::net::IpAddr;

use super::message::Address;
use crate::facts::Interface;
use crate::look;

/// Where others may find this machine, network cards first; the loopback where there is nothing else.
pub fn candidates() -> Vec<Address> {
    let own = look::own_addresses().into_iter().map(|(interface, ip)| Address { interface, ip }).collect();
    outward(own, &look::interfaces())
}

/// Bridges inside a machine have the same address on many machines, so that whoever tries it reaches itself.
fn outward(own: Vec<Address>, interfaces: &[Interface]) -> Vec<Address> {
    let of = |address: &Address| interfaces.iter().find(|it| it.name == address.interface);
    let (inner, mut outward): (Vec<Address>, Vec<Address>) =
        own.into_iter().partition(|address| of(address).is_some_and(Interface::is_inner));
    outward.sort_by_key(|address| !of(address).is_some_and(|it| it.is_physical));
    let found = if outward.is_empty() { inner } else { outward };
    if found.is_empty() {
        return vec![Address { interface: "lo".into(), ip: IpAddr::from([127, 0, 0, 1]) }];
    }
    found
}

/// Those of a peer that are not this machine's as well. Of a node on the same machine that would be none, and all are kept.
pub fn elsewhere<'a>(addresses: &'a [Address], own: &[IpAddr]) -> Vec<&'a Address> {
    let (shared, others): (Vec<&Address>, Vec<&Address>) = addresses.iter().partition(|it| own.contains(&it.ip));
    if others.is_empty() { shared } else { others }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(interface: &str, last: u8) -> Address {
        Address { interface: interface.into(), ip: IpAddr::from([10, 0, 0, last]) }
    }

    fn interface(name: &str, is_physical: bool, is_bridge: bool) -> Interface {
        Interface { name: name.into(), is_physical, is_bridge, ..Interface::default() }
    }

    #[test]
    fn bridges_inside_the_machine_are_offered_only_where_there_is_nothing_else() {
        let interfaces =
            [interface("br0", true, true), interface("docker0", false, true), interface("wg0", false, false)];
        let names = |own: Vec<Address>| -> Vec<String> {
            outward(own, &interfaces).into_iter().map(|it| it.interface).collect()
        };
        let all = vec![address("docker0", 1), address("unknown", 2), address("wg0", 3), address("br0", 4)];
        assert_eq!(names(all), ["br0", "unknown", "wg0"]);
        assert_eq!(names(vec![address("docker0", 1)]), ["docker0"]);
        assert_eq!(names(Vec::new()), ["lo"]);
    }

    #[test]
    fn an_address_that_leads_back_is_not_tried() {
        let theirs = [address("eth0", 2), address("kube-ipvs0", 9)];
        let own = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 9])];
        assert_eq!(elsewhere(&theirs, &own), [&theirs[0]]);
        let same: Vec<IpAddr> = theirs.iter().map(|it| it.ip).collect();
        assert_eq!(elsewhere(&theirs, &same).len(), 2, "it is this machine");
    }
}
