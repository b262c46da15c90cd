//! The network between an agent and its server breaks in every way that networks do: the training goes on, nothing of it
//! runs twice, and its log is whole in the end.

use std::time::Duration;

use serde_json::json;

use crate::support::relay::Relay;
use crate::support::{Elsewhere, Fleet, Hosts, Place, Trail, eventually};

const SERVER: &str = "10.77.0.1";
const AGENT: &str = "10.77.0.2";
const RANKS: usize = 2;

/// What happens between the two.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// The cable is out.
    Cut,
    ServerHearsNothing,
    AgentHearsNothing,
    /// Every fifth packet is lost on both sides: by count and not by lot.
    Loss,
    /// 16 kbit in a second.
    Slow,
    /// The server is another process that has never heard of the connections that the agent still has.
    HalfOpen,
    /// A proxy answers with this status.
    Answers(u16),
    /// A proxy takes everything and passes nothing on.
    Stalls,
}

const ALL: [Trouble; 9] = [
    Trouble::Cut,
    Trouble::ServerHearsNothing,
    Trouble::AgentHearsNothing,
    Trouble::Loss,
    Trouble::Slow,
    Trouble::HalfOpen,
    Trouble::Answers(404),
    Trouble::Answers(502),
    Trouble::Stalls,
];

/// A server on one host, and an agent on another that finds it through a proxy.
struct Network {
    // Its processes end before the namespaces go.
    fleet: Fleet,
    proxy: Relay,
    hosts: Hosts,
}

impl Network {
    /// None where namespaces are left out.
    fn new() -> Option<Self> {
        let hosts = Hosts::new(2)?;
        hosts.enter(1);
        let mut fleet = Fleet::server_at(&format!("{SERVER}:0"), Place::new(), None, &[]);
        let port = fleet.address().rsplit(':').next().unwrap().parse().unwrap();
        let proxy = Relay::to(port);
        let server = format!("{SERVER}:{}", proxy.port());
        fleet.add_elsewhere("far", 2, Elsewhere { words: hosts.words(2), server });
        Some(Self { fleet, proxy, hosts })
    }

    fn begin(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Cut => self.hosts.cut(2),
            Trouble::ServerHearsNothing => self.hosts.deafen(1, AGENT),
            Trouble::AgentHearsNothing => self.hosts.deafen(2, SERVER),
            Trouble::Loss => [1, 2].iter().for_each(|host| self.hosts.lose_every(*host, 5)),
            Trouble::Slow => [1, 2].iter().for_each(|host| self.hosts.limit_rate(*host, "16kbit")),
            Trouble::HalfOpen => {
                self.hosts.deafen(2, SERVER);
                self.hosts.deafen(1, AGENT);
                self.fleet.kill_server();
                self.fleet.start_server();
            }
            Trouble::Answers(status) => self.proxy.answer(status),
            Trouble::Stalls => self.proxy.stall(true),
        }
    }

    fn end(&self) {
        self.hosts.mend(2);
        [1, 2].iter().for_each(|host| self.hosts.clear(*host));
        self.proxy.answer(0);
        self.proxy.stall(false);
    }

    fn start(&self, trail: &Trail) -> String {
        let id = self.fleet.create(json!({
            "taskName": "a test",
            "command": { "argv": ["/bin/sh", "-c", trail.script()] },
            "policies": { "restart": { "maxRestarts": 3 }, "nodeLostAfter": 5 },
            "distributedConfig": { "framework": "command" },
        }));
        trail.has_begun();
        id
    }

    /// It has succeeded in its first attempt, and all is as its ranks wrote it.
    fn ends_well(&self, trail: &Trail, id: &str) {
        let task = self.fleet.task_is(id, "succeeded");
        trail.agrees_with(&self.fleet, id, &task);
        assert_eq!(trail.attempts().len(), 1, "{task:#}");
        self.fleet.assert_idle();
    }
}

/// Each for a moment, one after the other, under one training.
#[test]
fn a_training_outlives_everything_that_a_network_does() {
    let Some(mut network) = Network::new() else { return };
    let trail = Trail::new(network.fleet.place.path(), "all", RANKS);
    let id = network.start(&trail);
    for trouble in ALL {
        eprintln!("trouble: {trouble:?}");
        network.begin(trouble);
        // Not a wait for something: the trouble lasts.
        std::thread::sleep(Duration::from_millis(800));
        network.end();
    }
    trail.open_gate();
    network.ends_well(&trail, &id);
}

/// A proxy answers 502 to all that ranks write: their workers are free as soon as the server knows how they ended, and not a
/// byte is lost, whoever is started anew meanwhile.
#[test]
fn workers_are_free_while_the_log_is_still_to_come() {
    let mut fleet = Fleet::server();
    let proxy = Relay::to(fleet.address().rsplit(':').next().unwrap().parse().unwrap());
    let server = format!("127.0.0.1:{}", proxy.port());
    fleet.add_elsewhere("far", 1, Elsewhere { words: vec!["env".to_owned()], server });
    proxy.withhold(Some("/streams/"));
    let count = "i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo line $i; done";
    let [first, second, third] = [0; 3].map(|_| fleet.run_script(count, 0));
    for task in [&first, &second, &third] {
        fleet.task_is(task, "succeeded");
    }
    fleet.environment_is("far", "running");
    let waits = |fleet: &Fleet| {
        let shown = fleet.task(&first);
        assert_eq!(shown["reason"]["en"], "the rest of its logs is still to come from far", "{shown:#}");
        let (status, answer) = fleet.delete(&format!("/training-tasks/{first}"));
        assert_eq!((status, answer["error"]["id"].as_str()), (409, Some("logs_follow")), "{answer}");
        assert_eq!(fleet.log(&first, 1, 0), "");
    };
    eventually("the last run to be told as gone", || (!fleet.task(&third)["reason"].is_null()).then_some(()));
    waits(&fleet);
    fleet.kill_agent(0);
    waits(&fleet);
    fleet.kill_server();
    fleet.start_server();
    fleet.start_agent(0);
    fleet.environment_is("far", "running");
    waits(&fleet);
    // Without its log, as an operator may want it.
    let (status, answer) = fleet.delete(&format!("/training-tasks/{third}?force=true"));
    assert_eq!(status, 200, "{answer}");

    proxy.withhold(None);
    let whole: String = (1..=500).map(|line| format!("line {line}\n")).collect();
    for task in [&first, &second] {
        eventually("the whole log", || (fleet.log(task, 1, 0) == whole).then_some(()));
        eventually("nothing to be left to come", || fleet.task(task)["reason"].is_null().then_some(()));
        let (status, answer) = fleet.delete(&format!("/training-tasks/{task}"));
        assert_eq!(status, 200, "{answer}");
    }
    let runs_left = || {
        let clusters = std::fs::read_dir(fleet.agent_data(0)).unwrap().flatten();
        clusters.filter_map(|it| std::fs::read_dir(it.path().join("runs")).ok()).flatten().count()
    };
    eventually("the agent to forget its runs", || (runs_left() == 0).then_some(()));
    fleet.assert_idle();
}

/// Two agents on hosts of their own, on which one task trains; the first one's node is the master.
struct Pair {
    fleet: Fleet,
    hosts: Hosts,
}

/// On which hosts they are, and where.
const NEAR: (usize, &str) = (2, "10.77.0.2");
const FAR: (usize, &str) = (3, "10.77.0.3");

impl Pair {
    /// None where namespaces are left out.
    fn new() -> Option<Self> {
        let hosts = Hosts::new(3)?;
        hosts.enter(1);
        let mut fleet = Fleet::server_at(&format!("{SERVER}:0"), Place::new(), None, &[]);
        for (name, (host, _)) in [("near", NEAR), ("far", FAR)] {
            let server = fleet.address().to_owned();
            fleet.add_elsewhere(name, 1, Elsewhere { words: hosts.words(host), server });
        }
        Some(Self { fleet, hosts })
    }

    fn start(&self, trail: &Trail) -> String {
        let id = self.fleet.run_script(&trail.script(), 3);
        trail.has_begun();
        id
    }

    fn mend(&self) {
        [NEAR, FAR].iter().for_each(|(host, _)| self.hosts.mend(*host));
        [1, NEAR.0, FAR.0].iter().for_each(|host| self.hosts.clear(*host));
    }

    /// It has succeeded in so many attempts, no two of which lived at once, and all is as its ranks wrote it.
    fn ends_well(&self, trail: &Trail, id: &str, attempts: usize) {
        let task = self.fleet.task_is(id, "succeeded");
        trail.agrees_with(&self.fleet, id, &task);
        assert_eq!(trail.attempts().len(), attempts, "{task:#}");
        self.fleet.assert_idle();
    }
}

/// One agent is cut off from the server, from the other node, or from both, for less than anyone's patience.
#[test]
fn one_of_two_nodes_that_is_cut_off_for_a_moment_costs_no_attempt() {
    let Some(pair) = Pair::new() else { return };
    let trail = Trail::new(pair.fleet.place.path(), "moment", 2);
    let id = pair.start(&trail);
    let cuts: [(&str, &dyn Fn()); 5] = [
        ("the far one from all", &|| pair.hosts.cut(FAR.0)),
        ("the master from all", &|| pair.hosts.cut(NEAR.0)),
        ("the server hears the far one no more", &|| pair.hosts.deafen(1, FAR.1)),
        ("the far one hears the master no more", &|| pair.hosts.deafen(FAR.0, NEAR.1)),
        ("the master hears the far one no more", &|| pair.hosts.deafen(NEAR.0, FAR.1)),
    ];
    for (name, cut) in cuts {
        eprintln!("trouble: {name}");
        cut();
        // Not a wait for something: the trouble lasts.
        std::thread::sleep(Duration::from_millis(800));
        pair.mend();
    }
    trail.open_gate();
    pair.ends_well(&trail, &id, 1);
}

/// Beyond every patience of server and agent, for `make test-long`.
mod long {
    use super::*;

    /// The nodes give each other up, and the server the one that is cut off; it is started again once that one is known to have
    /// ended, and not before.
    #[test]
    fn one_of_two_nodes_that_is_cut_off_for_long_has_ended_before_the_next_attempt_begins() {
        for (name, (host, _)) in [("far", FAR), ("near", NEAR)] {
            let Some(pair) = Pair::new() else { return };
            eprintln!("cut off: {name}");
            let trail = Trail::new(pair.fleet.place.path(), "long", 2);
            let id = pair.start(&trail);
            pair.hosts.cut(host);
            pair.fleet.environment_is(name, "offline");
            pair.mend();
            eventually("the second attempt", || (trail.attempts().len() == 2).then_some(()));
            trail.has_begun();
            trail.open_gate();
            pair.ends_well(&trail, &id, 2);
        }
    }

    /// The server hears nothing of one node, while the two hear each other: the training goes on, and ends meanwhile.
    #[test]
    fn a_training_ends_well_while_the_server_has_given_one_of_its_two_nodes_up() {
        for (name, (_, address)) in [("far", FAR), ("near", NEAR)] {
            let Some(pair) = Pair::new() else { return };
            eprintln!("unheard: {name}");
            let trail = Trail::new(pair.fleet.place.path(), "unheard", 2);
            let id = pair.start(&trail);
            pair.hosts.deafen(1, address);
            pair.fleet.environment_is(name, "offline");
            trail.open_gate();
            eventually("the ranks to end", || trail.has_ended().then_some(()));
            pair.mend();
            pair.ends_well(&trail, &id, 1);
        }
    }

    /// The trouble lasts until the server has given the agent up, and the ranks end meanwhile.
    #[test]
    fn a_training_that_ends_while_its_agent_is_given_up_has_ended_well() {
        for trouble in ALL {
            let Some(mut network) = Network::new() else { return };
            eprintln!("trouble: {trouble:?}");
            let trail = Trail::new(network.fleet.place.path(), "long", RANKS);
            let id = network.start(&trail);
            network.begin(trouble);
            if !matches!(trouble, Trouble::Loss | Trouble::Slow) {
                network.fleet.environment_is("far", "offline");
            }
            trail.open_gate();
            eventually("the ranks to end", || trail.has_ended().then_some(()));
            network.end();
            network.ends_well(&trail, &id);
        }
    }

    /// An agent that starts anew behind a cut cannot be told from one that is gone until it is heard again.
    #[test]
    fn an_agent_that_is_killed_behind_a_cut_comes_back_to_its_run() {
        let Some(mut network) = Network::new() else { return };
        let trail = Trail::new(network.fleet.place.path(), "killed", RANKS);
        let id = network.start(&trail);
        network.begin(Trouble::Cut);
        network.fleet.kill_agent(0);
        network.fleet.environment_is("far", "offline");
        network.fleet.start_agent(0);
        network.end();
        trail.open_gate();
        network.ends_well(&trail, &id);
    }

    /// A lease of the server ends behind a cut: the ranks have ended before the next attempt begins.
    #[test]
    fn a_training_whose_lease_ends_behind_a_cut_is_started_again_once() {
        let Some(mut network) = Network::new() else { return };
        let trail = Trail::new(network.fleet.place.path(), "lease", RANKS);
        let id = network.fleet.create(json!({
            "taskName": "a test",
            "command": { "argv": ["/bin/sh", "-c", trail.script()] },
            "policies": { "restart": { "maxRestarts": 1 }, "onDisconnect": { "stopAfter": 20 } },
            "distributedConfig": { "framework": "command" },
        }));
        trail.has_begun();
        network.begin(Trouble::AgentHearsNothing);
        eventually("the keepers to end", || network.fleet.keepers(0).is_none().then_some(()));
        network.end();
        eventually("the second attempt", || (trail.attempts().len() == 2).then_some(()));
        trail.has_begun();
        trail.open_gate();
        let task = network.fleet.task_is(&id, "succeeded");
        trail.agrees_with(&network.fleet, &id, &task);
        network.fleet.assert_idle();
    }
}
