//! `--include` and `--exclude` as deepspeed has them: `w0@w1:0,2` is all of w0 and slots 0 and 2 of w1.

use fermi_domain::messages::launch::LaunchProblem;

use super::hosts::Host;

const INCLUDE: &str = "--include";
const EXCLUDE: &str = "--exclude";

/// One part between two `@`: a host, and the slots of it that are meant.
struct Part<'a> {
    host: &'a str,
    slots: Option<Vec<u32>>,
}

/// Leaves what was asked for, in the order of the list.
pub fn apply(hosts: Vec<Host>, include: Option<&str>, exclude: Option<&str>) -> Result<Vec<Host>, LaunchProblem> {
    let left: Vec<Host> = match (include, exclude) {
        (Some(value), _) => included(hosts, &parts(INCLUDE, value)?)?,
        (None, Some(value)) => without(hosts, &parts(EXCLUDE, value)?)?,
        (None, None) => hosts,
    };
    if left.is_empty() { Err(LaunchProblem::NothingLeft) } else { Ok(left) }
}

fn parts<'a>(flag: &'static str, value: &'a str) -> Result<Vec<Part<'a>>, LaunchProblem> {
    let bad = || LaunchProblem::BadFilter { flag, value: value.to_owned() };
    value
        .split('@')
        .map(|part| {
            let (host, list) = part.split_once(':').map_or((part, None), |(host, list)| (host, Some(list)));
            let slots = list
                .map(|list| list.split(',').map(|slot| slot.trim().parse().ok()).collect::<Option<Vec<u32>>>())
                .map(|slots| slots.ok_or_else(bad))
                .transpose()?;
            if host.trim().is_empty() { Err(bad()) } else { Ok(Part { host: host.trim(), slots }) }
        })
        .collect()
}

/// Every host that is named must be in the list, and every slot of it too.
fn check(flag: &'static str, hosts: &[Host], parts: &[Part<'_>]) -> Result<(), LaunchProblem> {
    for Part { host, slots } in parts {
        let known = hosts
            .iter()
            .find(|known| known.address() == *host)
            .ok_or_else(|| LaunchProblem::FilteredHostUnknown { flag, host: (*host).to_owned() })?;
        let beyond = |all: u32| slots.iter().flatten().copied().find(|slot| *slot >= all).map(|slot| (slot, all));
        if let Some((slot, slots)) = known.slots.and_then(beyond) {
            return Err(LaunchProblem::FilteredSlotUnknown { flag, host: (*host).to_owned(), slot, slots });
        }
    }
    Ok(())
}

fn included(hosts: Vec<Host>, parts: &[Part<'_>]) -> Result<Vec<Host>, LaunchProblem> {
    check(INCLUDE, &hosts, parts)?;
    let chosen = hosts.into_iter().filter_map(|host| {
        let named: Vec<&Part<'_>> = parts.iter().filter(|part| part.host == host.address()).collect();
        if named.is_empty() {
            return None;
        }
        // A host that is named once as a whole is meant as a whole.
        let slots: Option<Vec<u32>> =
            named.iter().map(|part| part.slots.clone()).collect::<Option<Vec<_>>>().map(|all| all.concat());
        Some(match slots {
            Some(slots) => with_devices(host, slots),
            None => host,
        })
    });
    Ok(chosen.collect())
}

fn without(hosts: Vec<Host>, parts: &[Part<'_>]) -> Result<Vec<Host>, LaunchProblem> {
    check(EXCLUDE, &hosts, parts)?;
    let mut left = Vec::new();
    for host in hosts {
        let named: Vec<&Part<'_>> = parts.iter().filter(|part| part.host == host.address()).collect();
        if named.is_empty() {
            left.push(host);
            continue;
        }
        let Some(out) = named.iter().map(|part| part.slots.clone()).collect::<Option<Vec<_>>>().map(|all| all.concat())
        else {
            continue;
        };
        let all = host.slots.ok_or_else(|| LaunchProblem::SlotsNotStated { host: host.name.clone() })?;
        let kept: Vec<u32> = (0..all).filter(|slot| !out.contains(slot)).collect();
        if !kept.is_empty() {
            left.push(with_devices(host, kept));
        }
    }
    Ok(left)
}

fn with_devices(host: Host, mut devices: Vec<u32>) -> Host {
    devices.sort_unstable();
    devices.dedup();
    Host { slots: u32::try_from(devices.len()).ok(), devices: Some(devices), ..host }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::launch::hosts::read_file;

    fn list() -> Vec<Host> {
        read_file("hostfile", "w0 slots=4\nw1 slots=4\nme@w2 slots=2\nplain\n").unwrap()
    }

    fn seen(include: Option<&str>, exclude: Option<&str>) -> Result<Vec<String>, LaunchProblem> {
        let hosts = apply(list(), include, exclude)?;
        let show = |host: &Host| {
            let devices = host.devices.clone().unwrap_or_default();
            format!("{} {:?} {devices:?}", host.address(), host.slots.unwrap_or(0))
        };
        Ok(hosts.iter().map(show).collect())
    }

    #[test]
    fn deepspeeds_examples_hold() {
        assert_eq!(seen(Some("w0@w1:0,2"), None).unwrap(), ["w0 4 []", "w1 2 [0, 2]"]);
        assert_eq!(seen(Some("w1:2@w0:1@w1:0"), None).unwrap(), ["w0 1 [1]", "w1 2 [0, 2]"]);
        assert_eq!(seen(None, Some("w1:0@plain")).unwrap(), ["w0 4 []", "w1 3 [1, 2, 3]", "w2 2 []"]);
        assert_eq!(seen(None, Some("w0@w2:0,1@plain")).unwrap(), ["w1 4 []"]);
        assert_eq!(seen(None, None).unwrap().len(), 4);
    }

    #[test]
    fn slots_of_a_plain_host_can_be_named_but_not_left_out() {
        assert_eq!(seen(Some("plain:1,3"), None).unwrap(), ["plain 2 [1, 3]"]);
        assert_eq!(seen(None, Some("plain:0")), Err(LaunchProblem::SlotsNotStated { host: "plain".into() }));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let unknown = LaunchProblem::FilteredHostUnknown { flag: INCLUDE, host: "w9".into() };
        assert_eq!(seen(Some("w0@w9"), None), Err(unknown));
        let beyond = LaunchProblem::FilteredSlotUnknown { flag: EXCLUDE, host: "w1".into(), slot: 4, slots: 4 };
        assert_eq!(seen(None, Some("w1:4")), Err(beyond));
        for bad in ["", "@w0", "w0:", "w0:a", "w0:0,,1"] {
            assert!(matches!(seen(Some(bad), None), Err(LaunchProblem::BadFilter { .. })), "{bad}");
        }
        assert_eq!(seen(None, Some("w0@w1@w2@plain")), Err(LaunchProblem::NothingLeft));
    }
}
