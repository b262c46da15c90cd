//! The kill matrix of the control plane: whoever is killed, whenever, the outcome is as promised, nothing is left behind,
//! and no byte of a log is lost or doubled.

use std::fs;
use std::path::PathBuf;

use crate::support::{Fleet, eventually, signal};
use serde_json::Value;

/// Numbered lines at a steady pace, the last three of them once the blow has fallen; from the second attempt on the same
/// again.
fn count(fleet: &Fleet) -> String {
    let struck = struck(fleet);
    let gate = format!("[ $i -ne {} ] || until [ -e {} ]; do sleep 0.01; done", LINES - 3, struck.display());
    let line = "echo \"line $i of rank $RANK\"; sleep 0.02";
    format!("i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); {line}; {gate}; done; echo done")
}

/// A file that says that the blow has fallen.
fn struck(fleet: &Fleet) -> PathBuf {
    fleet.place.path().join("struck")
}

const LINES: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    Rank,
    MemberSupervisor,
    FirstSupervisor,
    MemberWarden,
    FirstWarden,
    MemberAgent,
    FirstAgent,
    Server,
    MemberEnvironment,
    FirstEnvironment,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    Start,
    Middle,
    End,
}

impl Moment {
    pub const ALL: [Self; 3] = [Self::Start, Self::Middle, Self::End];
}

fn fleet() -> Fleet {
    Fleet::of(&[("first", 1), ("second", 2)])
}

fn wait_for(moment: Moment, fleet: &Fleet, id: &str) {
    match moment {
        Moment::Start => {
            eventually("keepers on both nodes", || fleet.keepers(0).and(fleet.keepers(1)));
        }
        Moment::Middle => fleet.says(id, 1, 1, "line 20 "),
        Moment::End => fleet.says(id, 1, 1, &format!("line {} ", LINES - 6)),
    }
}

fn strike(victim: Victim, fleet: &mut Fleet, id: &str) {
    strike_at(victim, fleet, id, || {});
}

/// Strikes; does something else when the victim is dead and not back yet.
pub fn strike_at(victim: Victim, fleet: &mut Fleet, id: &str, meanwhile: impl Fn()) {
    let keepers = |fleet: &Fleet, agent: usize| eventually("keepers", || fleet.keepers(agent));
    match victim {
        Victim::Rank => {
            let pid = eventually("rank 2 to have a number", || {
                let ranks = fleet.get(&format!("/training-tasks/{id}/ranks"));
                ranks["items"].as_array()?.iter().find(|rank| rank["rank"] == 2)?["pid"].as_i64()
            });
            signal(pid as i32, libc::SIGKILL);
            meanwhile();
        }
        Victim::MemberSupervisor => {
            signal(keepers(fleet, 1).1, libc::SIGKILL);
            meanwhile();
        }
        Victim::FirstSupervisor => {
            signal(keepers(fleet, 0).1, libc::SIGKILL);
            meanwhile();
        }
        Victim::MemberWarden => {
            signal(keepers(fleet, 1).0, libc::SIGKILL);
            meanwhile();
        }
        Victim::FirstWarden => {
            signal(keepers(fleet, 0).0, libc::SIGKILL);
            meanwhile();
        }
        Victim::MemberAgent => {
            fleet.kill_agent(1);
            meanwhile();
            fleet.start_agent(1);
        }
        Victim::FirstAgent => {
            fleet.kill_agent(0);
            meanwhile();
            fleet.start_agent(0);
        }
        Victim::Server => {
            fleet.kill_server();
            meanwhile();
            fleet.start_server();
        }
        Victim::MemberEnvironment => {
            fleet.kill_environment(1);
            meanwhile();
            fleet.start_agent(1);
        }
        Victim::FirstEnvironment => {
            fleet.kill_environment(0);
            meanwhile();
            fleet.start_agent(0);
        }
    }
}

impl Victim {
    pub const ALL: [Self; 10] = [
        Self::Rank,
        Self::MemberSupervisor,
        Self::FirstSupervisor,
        Self::MemberWarden,
        Self::FirstWarden,
        Self::MemberAgent,
        Self::FirstAgent,
        Self::Server,
        Self::MemberEnvironment,
        Self::FirstEnvironment,
    ];

    /// Whether its death ends an attempt; that of a daemon does not.
    pub fn ends_attempt(self) -> bool {
        !matches!(self, Self::MemberAgent | Self::FirstAgent | Self::Server)
    }

    /// The node that the verdict names.
    fn node(self) -> &'static str {
        match self {
            Self::FirstSupervisor | Self::FirstWarden | Self::FirstEnvironment => "first",
            _ => "second",
        }
    }
}

/// Every line once and in order; all of them if the rank came to its end.
fn check_log(fleet: &Fleet, id: &str, attempt: u32, rank: u32, is_whole: bool) {
    let text = if is_whole {
        eventually("the whole log", || {
            let text = fleet.log(id, attempt, rank);
            text.ends_with("done\n").then_some(text)
        })
    } else {
        fleet.log(id, attempt, rank)
    };
    let lines: Vec<&str> = text.lines().filter(|line| *line != "done").collect();
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(*line, format!("line {} of rank {rank}", number + 1), "attempt {attempt}");
    }
    if is_whole {
        assert_eq!(lines.len() as u32, LINES);
    }
}

fn play(victim: Victim, moment: Moment) {
    let mut fleet = fleet();
    let id = fleet.run_script(&count(&fleet), 2);
    wait_for(moment, &fleet, &id);
    strike(victim, &mut fleet, &id);
    fs::write(struck(&fleet), "").unwrap();
    let task = fleet.task_is(&id, "succeeded");
    let attempts = task["attempts"].as_array().unwrap().clone();
    let last = attempts.last().unwrap()["number"].as_u64().unwrap() as u32;
    if victim.ends_attempt() {
        // A launch that was struck before its first rank started needs no second attempt.
        assert!(last == 2 || (moment == Moment::Start && last == 1), "{victim:?} {moment:?}: {attempts:#?}");
        if last == 2 {
            check_verdict(victim, &attempts[0]["verdict"]);
        }
    } else {
        assert_eq!(last, 1, "{victim:?} {moment:?}: the death of a daemon stops no rank: {attempts:#?}");
    }
    for rank in 0..3 {
        for attempt in 1..=last {
            check_log(&fleet, &id, attempt, rank, attempt == last);
        }
    }
    fleet.assert_idle();
}

fn check_verdict(victim: Victim, verdict: &Value) {
    let headline = verdict["headline"]["en"].as_str().unwrap_or_default().to_owned();
    match victim {
        Victim::Rank => assert_eq!(headline, "rank 2 on second was killed by SIGKILL", "{verdict:#}"),
        _ => assert!(headline.contains(victim.node()), "{victim:?}: {verdict:#}"),
    }
}

/// A test for each victim and moment: `play` of the file that names them.
macro_rules! matrix {
    ($($name:ident: $victim:ident, $moment:ident;)*) => {$(
        #[test]
        fn $name() {
            play(Victim::$victim, Moment::$moment);
        }
    )*};
}

pub(crate) use matrix;

matrix! {
    a_rank_killed_at_the_start: Rank, Start;
    a_rank_killed_in_the_middle: Rank, Middle;
    a_rank_killed_near_the_end: Rank, End;
    a_members_supervisor_killed_at_the_start: MemberSupervisor, Start;
    a_members_supervisor_killed_in_the_middle: MemberSupervisor, Middle;
    a_members_supervisor_killed_near_the_end: MemberSupervisor, End;
    the_first_supervisor_killed_at_the_start: FirstSupervisor, Start;
    the_first_supervisor_killed_in_the_middle: FirstSupervisor, Middle;
    the_first_supervisor_killed_near_the_end: FirstSupervisor, End;
    a_members_warden_killed_at_the_start: MemberWarden, Start;
    a_members_warden_killed_in_the_middle: MemberWarden, Middle;
    a_members_warden_killed_near_the_end: MemberWarden, End;
    the_first_warden_killed_at_the_start: FirstWarden, Start;
    the_first_warden_killed_in_the_middle: FirstWarden, Middle;
    the_first_warden_killed_near_the_end: FirstWarden, End;
    a_members_agent_killed_at_the_start: MemberAgent, Start;
    a_members_agent_killed_in_the_middle: MemberAgent, Middle;
    a_members_agent_killed_near_the_end: MemberAgent, End;
    the_first_agent_killed_at_the_start: FirstAgent, Start;
    the_first_agent_killed_in_the_middle: FirstAgent, Middle;
    the_first_agent_killed_near_the_end: FirstAgent, End;
    the_server_killed_at_the_start: Server, Start;
    the_server_killed_in_the_middle: Server, Middle;
    the_server_killed_near_the_end: Server, End;
    a_members_machine_switched_off_at_the_start: MemberEnvironment, Start;
    a_members_machine_switched_off_in_the_middle: MemberEnvironment, Middle;
    a_members_machine_switched_off_near_the_end: MemberEnvironment, End;
    the_first_machine_switched_off_at_the_start: FirstEnvironment, Start;
    the_first_machine_switched_off_in_the_middle: FirstEnvironment, Middle;
    the_first_machine_switched_off_near_the_end: FirstEnvironment, End;
}

#[test]
fn a_warden_that_is_stopped_does_not_keep_the_workers_of_a_dead_run() {
    let fleet = Fleet::of(&[("node-a", 1)]);
    let id = fleet.run_script("echo up; sleep 600", 0);
    fleet.says(&id, 1, 0, "up");
    let (warden, supervisor) = eventually("keepers", || fleet.keepers(0));
    signal(warden, libc::SIGSTOP);
    signal(supervisor, libc::SIGKILL);
    fleet.task_is(&id, "failed");
    fleet.assert_idle();
}

#[test]
fn without_restarts_the_death_of_any_supervisor_fails_the_task_and_names_the_node() {
    for (agent, node) in [(0, "first"), (1, "second")] {
        let fleet = fleet();
        let id = fleet.run_script(&count(&fleet), 0);
        fleet.says(&id, 1, 1, "line 5 ");
        signal(eventually("keepers", || fleet.keepers(agent)).1, libc::SIGKILL);
        fs::write(struck(&fleet), "").unwrap();
        let task = fleet.task_is(&id, "failed");
        let headline = task["verdict"]["headline"]["en"].as_str().unwrap();
        assert_eq!(headline, format!("the supervisor on {node} died, and its processes with it"));
        fleet.assert_idle();
    }
}

#[test]
fn a_server_that_is_away_for_a_while_finds_the_training_done() {
    let mut fleet = fleet();
    let id = fleet.run_script(&count(&fleet), 0);
    fleet.says(&id, 1, 1, "line 5 ");
    fleet.kill_server();
    fs::write(struck(&fleet), "").unwrap();
    eventually("the training to end without the server", || {
        fleet.keepers(0).is_none().then_some(()).and(fleet.keepers(1).is_none().then_some(()))
    });
    fleet.start_server();
    let task = fleet.task_is(&id, "succeeded");
    assert_eq!(task["attempts"].as_array().unwrap().len(), 1);
    for rank in 0..3 {
        check_log(&fleet, &id, 1, rank, true);
    }
    fleet.assert_idle();
}
