//! The list of hosts: deepspeed's hostfile (`host slots=4`), plain names, or `a:2,b:4` on the command line.

use fermi_domain::messages::launch::LaunchProblem;

/// A host of the list, before anything was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As ssh takes it: a name, an address or `user@host`.
    pub name: String,
    /// How many ranks it can take; none where the list does not say.
    pub slots: Option<u32>,
    /// Which GPUs of it are to be used, where `--include` or `--exclude` chose.
    pub devices: Option<Vec<u32>>,
}

impl Host {
    fn new(name: &str, slots: Option<u32>) -> Option<Self> {
        is_name(name).then(|| Self { name: name.to_owned(), slots, devices: None })
    }

    /// Without `user@`: what other hosts call it.
    pub fn address(&self) -> &str {
        address_of(&self.name)
    }
}

/// What stands behind `user@`, without the brackets of an IPv6 address.
pub fn address_of(name: &str) -> &str {
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// ssh would take a leading hyphen for an option.
pub fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "'\"$`\\;&|<>(){}*?!,=".contains(c);
    !name.is_empty() && !name.starts_with('-') && !name.contains(odd) && !address_of(name).is_empty()
}

/// Reads a hostfile; `path` is for sentences.
pub fn read_file(path: &str, text: &str) -> Result<Vec<Host>, LaunchProblem> {
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let plain = line.split('#').next().unwrap_or_default().trim();
        if plain.is_empty() {
            continue;
        }
        let bad =
            || LaunchProblem::BadHostLine { place: format!("{path}:{}", index + 1), text: line.trim().to_owned() };
        hosts.push(read_line(plain).ok_or_else(bad)?);
    }
    checked(hosts, path)
}

/// `host`, `host slots=4`, `host:4`; Open MPI's `max_slots=` says nothing that we need.
fn read_line(line: &str) -> Option<Host> {
    let mut words = line.split_whitespace();
    let (name, mut slots) = read_host(words.next()?)?;
    for word in words {
        match word.split_once('=')? {
            ("slots", number) => slots = Some(count(number)?),
            ("max_slots" | "max-slots", number) => {
                count(number)?;
            }
            _ => return None,
        }
    }
    Host::new(&name, slots)
}

/// `a:2,b:4` or `a,b`.
pub fn read_list(value: &str) -> Result<Vec<Host>, LaunchProblem> {
    let hosts: Result<Vec<Host>, LaunchProblem> = value
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            read_host(part)
                .and_then(|(name, slots)| Host::new(&name, slots))
                .ok_or_else(|| LaunchProblem::BadHostLine { place: "--hosts".to_owned(), text: part.to_owned() })
        })
        .collect();
    checked(hosts?, "--hosts")
}

fn read_host(word: &str) -> Option<(String, Option<u32>)> {
    let colons = word.matches(':').count();
    match word.rsplit_once(':') {
        // `[::1]:4` has slots; `::1` and `[::1]` are addresses.
        Some((name, slots)) if (colons == 1 || name.ends_with(']')) && !word.ends_with(']') => {
            Some((name.to_owned(), Some(count(slots)?)))
        }
        _ => Some((word.to_owned(), None)),
    }
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| (1..=4096).contains(count))
}

fn checked(hosts: Vec<Host>, place: &str) -> Result<Vec<Host>, LaunchProblem> {
    for (index, host) in hosts.iter().enumerate() {
        if hosts[..index].iter().any(|earlier| earlier.address() == host.address()) {
            return Err(LaunchProblem::HostTwice { host: host.name.clone() });
        }
    }
    if hosts.is_empty() { Err(LaunchProblem::EmptyHostList { place: place.to_owned() }) } else { Ok(hosts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(String, Option<u32>)> {
        let hosts = read_file("hostfile", text).unwrap();
        hosts.into_iter().map(|host| (host.name, host.slots)).collect()
    }

    #[test]
    fn deepspeeds_hostfile_and_plain_names_are_read() {
        let text = "# our machines\n\ngn6 slots=4\n  gn7   slots=2  # half of it\ngn40\nroot@10.0.0.9 slots=8 max_slots=8\nmpich:3\n";
        let wanted =
            [("gn6", Some(4)), ("gn7", Some(2)), ("gn40", None), ("root@10.0.0.9", Some(8)), ("mpich", Some(3))];
        assert_eq!(seen(text), wanted.map(|(name, slots)| (name.to_owned(), slots)));
    }

    #[test]
    fn windows_line_ends_do_no_harm() {
        assert_eq!(seen("a slots=1\r\nb\r\n"), [("a".to_owned(), Some(1)), ("b".to_owned(), None)]);
    }

    #[test]
    fn the_list_on_the_command_line_is_read() {
        let hosts = read_list("a:2, b:4,c,[fe80::1]:2,::1").unwrap();
        let seen: Vec<_> = hosts.iter().map(|host| (host.address(), host.slots)).collect();
        assert_eq!(seen, [("a", Some(2)), ("b", Some(4)), ("c", None), ("fe80::1", Some(2)), ("::1", None)]);
    }

    #[test]
    fn what_is_no_host_is_named_with_its_line() {
        for bad in ["a slots=x", "a slots=0", "a slots", "a cpus=4", "-oProxyCommand=x", "a b", "a;rm slots=1", "$(id)"]
        {
            let problem = read_file("hostfile", &format!("good\n{bad}\n")).unwrap_err();
            assert_eq!(problem, LaunchProblem::BadHostLine { place: "hostfile:2".into(), text: bad.into() });
        }
        assert!(matches!(read_list("a:b"), Err(LaunchProblem::BadHostLine { .. })));
    }

    #[test]
    fn a_host_that_stands_twice_and_an_empty_list_are_refused() {
        assert_eq!(read_file("h", "a\nroot@a slots=2"), Err(LaunchProblem::HostTwice { host: "root@a".into() }));
        assert_eq!(read_file("h", "# nothing\n"), Err(LaunchProblem::EmptyHostList { place: "h".into() }));
    }
}
