//! What becomes of a run when one of its agents is stopped, killed or cut off, as the table of the guide promises it: agents of
//! one machine and of several, met by their endpoint alone, over IPv4 and IPv6, in a fixed and in an elastic run.

use std::process::Command;

use crate::support::{Hosts, Place, Run, eventually, is_long, sshd::free_port};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Fixed,
    /// From one agent up, with restarts.
    Elastic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stopped,
    Killed,
    CutOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

/// Which agent it is that something happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    First,
    Last,
}

/// How an agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Code(i32),
    Signal(i32),
    /// It tries to come back until somebody stops it.
    ComesBack,
}

/// What the guide promises: the end of the agent that it happens to, and of all others.
fn promised(size: Size, victim: Victim, fate: Fate) -> (End, End) {
    use End::{Code, ComesBack, Signal};
    match (fate, size, victim) {
        (Fate::Stopped, Size::Elastic, Victim::Last) => (Code(143), Code(0)),
        (Fate::Stopped, ..) => (Code(143), Code(143)),
        (Fate::Killed, Size::Elastic, Victim::Last) => (Signal(libc::SIGKILL), Code(0)),
        (Fate::Killed, ..) => (Signal(libc::SIGKILL), Code(1)),
        (Fate::CutOff, Size::Fixed, _) => (Code(1), Code(1)),
        (Fate::CutOff, Size::Elastic, Victim::Last) => (ComesBack, Code(0)),
        // The first goes on alone; the others look for it.
        (Fate::CutOff, Size::Elastic, Victim::First) => (Code(0), ComesBack),
    }
}

/// Ranks that train for ever, and end well in a world that has shrunk.
const TRAINS: &str = "echo up; [ $WORLD_SIZE = $0 ] && exec sleep 1000; echo went on with $WORLD_SIZE";

fn agent(mut command: Command, agents: usize, endpoint: &str, size: Size) -> Run {
    let nodes = match size {
        Size::Fixed => agents.to_string(),
        Size::Elastic => format!("1:{agents}"),
    };
    command.args(["--nnodes", &nodes, "--rdzv-endpoint", endpoint, "--rdzv-id", "job", "--node-lost-after", "6"]);
    if size == Size::Elastic {
        command.args(["--rdzv-conf", "last_call_timeout=60", "--max-restarts", "3"]);
    }
    command.args(["-n", "1", "--tee", "1", "--no-python", "sh", "-c", TRAINS, &agents.to_string()]);
    Run::start(&mut command)
}

/// Lets it happen to one of the agents, of which the first hosts, and compares how all end with what is promised.
fn play(runs: Vec<Run>, size: Size, victim: Victim, fate: Fate, cut: impl Fn(usize)) {
    let case = format!("{} agents, {size:?}, the {victim:?} is {fate:?}", runs.len());
    for run in &runs {
        run.says("up");
    }
    let at = if victim == Victim::First { 0 } else { runs.len() - 1 };
    match fate {
        Fate::Stopped => runs[at].signal(libc::SIGTERM),
        Fate::Killed => runs[at].signal(libc::SIGKILL),
        Fate::CutOff => cut(at),
    }
    let (of_victim, of_others) = promised(size, victim, fate);
    for (number, run) in runs.into_iter().enumerate() {
        let expected = if number == at { of_victim } else { of_others };
        if expected == End::ComesBack {
            run.says("this node's ranks were ended, connecting again");
            run.signal(libc::SIGTERM);
        }
        let ended = run.ended();
        let found = (ended.code(), ended.signal());
        let right = match expected {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(signal)),
            End::ComesBack => (Some(143), None),
        };
        assert_eq!(found, right, "agent {number} of {case}:\n{}\n{}", ended.out(), ended.err());
        if expected == End::Code(0) {
            assert!(ended.out().contains("went on with"), "agent {number} of {case}: {}", ended.out());
        }
    }
}

/// What keeps a killed launcher's ranks ends them after it, and itself last.
fn nothing_is_left(place: &Place, fate: Fate) {
    if fate == Fate::Killed {
        eventually("nothing is left", || place.alive().is_empty().then_some(()));
    }
    place.assert_empty();
}

fn on_one_machine(agents: usize, family: Family, size: Size, victim: Victim, fate: Fate) {
    let place = Place::new();
    let host = if family == Family::V6 { "[::1]" } else { "localhost" };
    let endpoint = format!("{host}:{}", free_port());
    let first = agent(place.run([""; 0]), agents, &endpoint, size);
    // Who comes first hosts.
    first.says("waiting for");
    let rest = (1..agents).map(|_| agent(place.run([""; 0]), agents, &endpoint, size));
    let runs = [first].into_iter().chain(rest).collect();
    play(runs, size, victim, fate, |_| unreachable!("a machine is not cut off from itself"));
    nothing_is_left(&place, fate);
}

fn in_namespaces(agents: usize, family: Family, size: Size, victim: Victim, fate: Fate) {
    let Some(hosts) = Hosts::new(agents) else { return };
    let endpoint = match family {
        Family::V4 => "10.77.0.1:29555",
        Family::V6 => "[fd77::1]:29555",
    };
    if family == Family::V6 {
        for host in 1..=agents {
            let mut shell = hosts.program(host, "sh");
            shell.args(["-c", &format!("ip addr flush dev eth0 && ip addr add fd77::{host}/64 dev eth0 nodad")]);
            Run::whole(&mut shell).expect(0);
        }
    }
    // The last one comes first: nobody is there whom it could reach.
    let mut runs: Vec<Run> =
        (1..=agents).rev().map(|host| agent(hosts.run(host, &[]), agents, endpoint, size)).collect();
    runs.reverse();
    play(runs, size, victim, fate, |at| hosts.cut(at + 1));
    (1..=agents).for_each(|host| nothing_is_left(hosts.place(host), fate));
}

#[test]
fn three_agents_of_one_machine_end_as_promised() {
    for (size, victim, fate) in [
        (Size::Fixed, Victim::Last, Fate::Stopped),
        (Size::Fixed, Victim::First, Fate::Killed),
        (Size::Elastic, Victim::Last, Fate::Killed),
        (Size::Elastic, Victim::First, Fate::Stopped),
    ] {
        on_one_machine(3, Family::V6, size, victim, fate);
    }
}

/// The cells that three agents leave out; the whole table is in `make test-long`.
#[test]
fn two_agents_of_one_machine_end_as_promised() {
    for (size, victim, fate) in [
        (Size::Fixed, Victim::First, Fate::Stopped),
        (Size::Fixed, Victim::Last, Fate::Killed),
        (Size::Elastic, Victim::Last, Fate::Stopped),
        (Size::Elastic, Victim::First, Fate::Killed),
    ] {
        on_one_machine(2, Family::V4, size, victim, fate);
    }
}

#[test]
fn every_cell_of_the_table_holds() {
    if !is_long() {
        eprintln!("left out: every cell of the table of outcomes (make test-long)");
        return;
    }
    for agents in [2, 3, 5] {
        for family in [Family::V4, Family::V6] {
            for size in [Size::Fixed, Size::Elastic] {
                for victim in [Victim::First, Victim::Last] {
                    for fate in [Fate::Stopped, Fate::Killed] {
                        on_one_machine(agents, family, size, victim, fate);
                        in_namespaces(agents, family, size, victim, fate);
                    }
                    in_namespaces(agents, family, size, victim, Fate::CutOff);
                }
            }
        }
    }
}
