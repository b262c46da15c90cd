//! Several hosts on one machine: network namespaces on a bridge of their own, made and taken away by the test.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Place, delay};

/// A few hosts with the addresses 10.77.0.1, 10.77.0.2 …, numbered from 1.
pub struct Hosts {
    name: String,
    places: Vec<Place>,
}

impl Hosts {
    /// None when FERMI_LEAVE_OUT names `netns`; a machine on which they cannot be made fails the test otherwise.
    pub fn new(count: usize) -> Option<Self> {
        if super::is_left_out("netns") {
            return None;
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("ft{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let hosts = Self { name, places: (0..count).map(|_| Place::new()).collect() };
        let switch = hosts.switch();
        ip(&["netns", "add", &switch]);
        ip(&["-n", &switch, "link", "add", "br0", "type", "bridge"]);
        ip(&["-n", &switch, "link", "set", "br0", "up"]);
        for host in 1..=count {
            let (space, port) = (hosts.space(host), format!("p{host}"));
            ip(&["netns", "add", &space]);
            ip(&["-n", &space, "link", "set", "lo", "up"]);
            ip(&["link", "add", "eth0", "netns", &space, "type", "veth", "peer", "name", &port, "netns", &switch]);
            ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"]);
            ip(&["-n", &space, "addr", "add", &format!("10.77.0.{host}/24"), "dev", "eth0"]);
            ip(&["-n", &space, "link", "set", "eth0", "up"]);
        }
        Some(hosts)
    }

    /// A second network beside the first: each host is 10.78.0.<number> on an interface of this name there.
    pub fn second_network(&self, interfaces: &[&str]) {
        let switch = self.switch();
        ip(&["-n", &switch, "link", "add", "br1", "type", "bridge"]);
        ip(&["-n", &switch, "link", "set", "br1", "up"]);
        for (host, interface) in (1..).zip(interfaces) {
            let (space, port) = (self.space(host), format!("q{host}"));
            ip(&["link", "add", interface, "netns", &space, "type", "veth", "peer", "name", &port, "netns", &switch]);
            ip(&["-n", &switch, "link", "set", &port, "master", "br1", "up"]);
            ip(&["-n", &space, "addr", "add", &format!("10.78.0.{host}/24"), "dev", interface]);
            ip(&["-n", &space, "link", "set", interface, "up"]);
        }
    }

    fn space(&self, host: usize) -> String {
        format!("{}h{host}", self.name)
    }

    fn switch(&self) -> String {
        format!("{}sw", self.name)
    }

    pub fn place(&self, host: usize) -> &Place {
        &self.places[host - 1]
    }

    /// A program on a host, which is called `gn<number>` there.
    pub fn program(&self, host: usize, program: &str) -> Command {
        let mut command = self.place(host).program("ip");
        command.args(["netns", "exec", &self.space(host), program]);
        command.env("FERMI_NODE_NAME", format!("gn{host}")).env("GLOO_SOCKET_IFNAME", "eth0");
        command
    }

    /// `fermi run …` on a host.
    pub fn run(&self, host: usize, options: &[&str]) -> Command {
        let mut command = self.program(host, env!("CARGO_BIN_EXE_fermi"));
        command.arg("run").args(options);
        command
    }

    /// Takes a host off the network.
    pub fn cut(&self, host: usize) {
        ip(&["-n", &self.space(host), "link", "set", "eth0", "down"]);
    }

    pub fn mend(&self, host: usize) {
        ip(&["-n", &self.space(host), "link", "set", "eth0", "up"]);
    }

    /// Loses every n-th packet that reaches a host: by count and not by lot, so that every run is the same.
    pub fn lose_every(&self, host: usize, nth: u32) {
        self.filter(host, "loss", &format!("numgen inc mod {nth} == 0 drop"));
    }

    /// Swallows what comes to a port, as a firewall does.
    pub fn drop_port(&self, host: usize, port: u16) {
        self.filter(host, "door", &format!("tcp dport {port} drop"));
    }

    /// Swallows larger packets that come to a host, as on the way where an MTU is wrong.
    pub fn swallow_above(&self, host: usize, bytes: u32) {
        self.filter(host, "large", &format!("meta length > {bytes} drop"));
    }

    /// Swallows what comes to a host, but for what this address sends.
    pub fn hear_only(&self, host: usize, address: &str) {
        self.filter(host, "alone", &format!("ip saddr != {address} drop"));
    }

    /// Swallows what this address sends to a host: one way of a connection is cut.
    pub fn deafen(&self, host: usize, to: &str) {
        self.filter(host, "deaf", &format!("ip saddr {to} drop"));
    }

    /// Answers what a host sends to this address with a reset, as a firewall of that host does: its connections end there, and the
    /// other side hears nothing of it.
    pub fn reset_to(&self, host: usize, address: &str) {
        let rule = format!("oifname \"eth0\" ip daddr {address} meta l4proto tcp reject with tcp reset");
        self.rule(host, "refuse", "output", &rule);
    }

    /// Takes all rules of a host away.
    pub fn clear(&self, host: usize) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(host), "nft", "flush", "ruleset"]);
        assert!(command.status().is_ok_and(|status| status.success()), "nft is needed: apt-get install nftables");
        // There may be no limit of its rate.
        let _ = Command::new("tc").args(["-n", &self.space(host), "qdisc", "del", "dev", "eth0", "root"]).output();
    }

    /// The words by which a program is started on a host.
    pub fn words(&self, host: usize) -> Vec<String> {
        ["ip", "netns", "exec", &self.space(host)].map(str::to_owned).to_vec()
    }

    /// This thread, and what it starts from now on, is on a host.
    pub fn enter(&self, host: usize) {
        enter(&self.space(host));
    }

    /// One rule over the packets that reach a host.
    fn filter(&self, host: usize, table: &str, rule: &str) {
        self.rule(host, table, "input", &format!("iifname \"eth0\" {rule}"));
    }

    fn rule(&self, host: usize, table: &str, hook: &str, rule: &str) {
        let rules = format!(
            "table inet {table} {{\n chain {hook} {{\n type filter hook {hook} priority 0;\n {rule}\n }}\n}}\n"
        );
        let file = self.place(host).file(&format!("{table}.nft"), rules);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(host), "nft", "-f"]).arg(file);
        assert!(command.status().is_ok_and(|status| status.success()), "nft is needed: apt-get install nftables");
    }
}

impl Hosts {
    /// Lets a host send no faster than this, such as `10mbit`.
    pub fn limit_rate(&self, host: usize, rate: &str) {
        let limit = ["rate", rate, "burst", "32kbit", "latency", "50ms"];
        let mut command = Command::new("tc");
        command.args(["-n", &self.space(host), "qdisc", "add", "dev", "eth0", "root", "tbf"]).args(limit);
        assert!(command.status().is_ok_and(|status| status.success()), "tc is needed: apt-get install iproute2");
    }

    /// Keeps all that a host sends for so long before it is on its way.
    pub fn delay(&self, host: usize, by: Duration) {
        let (space, switch, port) = (self.space(host), self.switch(), format!("p{host}"));
        ip(&["-n", &space, "link", "del", "eth0"]);
        let tap = |space: &str, name: &str| {
            let make = || {
                enter(space);
                delay::tap(name)
            };
            std::thread::scope(|scope| scope.spawn(make).join().unwrap())
        };
        let (own, outer) = (tap(&space, "eth0"), tap(&switch, &port));
        ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"]);
        ip(&["-n", &space, "addr", "add", &format!("10.77.0.{host}/24"), "dev", "eth0"]);
        ip(&["-n", &space, "link", "set", "eth0", "up"]);
        delay::pass(own.try_clone().unwrap(), outer.try_clone().unwrap(), by);
        delay::pass(outer, own, Duration::ZERO);
    }

    pub fn set_mtu(&self, host: usize, mtu: u32) {
        ip(&["-n", &self.space(host), "link", "set", "eth0", "mtu", &mtu.to_string()]);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // Processes first: a namespace lives as long as they do.
        let count = self.places.len();
        self.places.clear();
        for space in (1..=count).map(|host| self.space(host)).chain([self.switch()]) {
            let _ = Command::new("ip").args(["netns", "del", &space]).status();
        }
    }
}

/// This thread, and what it starts from now on, is in a network namespace.
fn enter(space: &str) {
    let space = std::fs::File::open(format!("/run/netns/{space}")).unwrap();
    nix::sched::setns(space, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).output().expect("iproute2 is needed: apt-get install iproute2");
    assert!(
        done.status.success(),
        "network namespaces cannot be made here (ip {}: {}); run as root, or set FERMI_LEAVE_OUT=netns to leave these \
         tests out",
        words.join(" "),
        String::from_utf8_lossy(&done.stderr).trim()
    );
}
