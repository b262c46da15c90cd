//! The kill matrix of the control plane with faults at system calls: whoever is killed, whenever, and whichever call fails on
//! the way back, a task ends right or says why not, no rank runs twice, and nothing is left.
//!
//! One case again: `FERMI_FAULT_CASE='MemberAgent Middle: agent open /pass.json$ 1 EIO' cargo nextest run -E
//! 'test(/^syscalls::one_case_again/)'`; `Nobody Start` is a run in which nobody is killed.

mod plan;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fleet_kills::{Moment, Victim, matrix, strike_at};
use crate::support::{Fault, Faults, Fleet, Place, Trail, eventually};

const RANKS: usize = 3;
/// For so long a fault that stays is left to work before it is taken back.
const STAYS: Duration = Duration::from_secs(4);

/// A fleet of two nodes and the plan that its processes obey, for one case after the other.
struct Stage {
    fleet: Fleet,
    faults: Faults,
    cases: u32,
}

impl Stage {
    fn new() -> Self {
        let mut place = Place::new();
        let faults = Faults::of(&mut place);
        let mut fleet = Fleet::server_in(place, None, &[]);
        fleet.add("first", 1, &[]);
        fleet.add("second", 2, &[]);
        Self { fleet, faults, cases: 0 }
    }

    /// Plays one case and fails the test where it does not end as it must. The answer is how often the fault has struck.
    fn play(&mut self, victim: Option<Victim>, moment: Moment, fault: &Fault) -> u32 {
        let who = victim.map_or("Nobody".to_owned(), |victim| format!("{victim:?}"));
        eprintln!("case: {who} {moment:?}: {fault}");
        self.cases += 1;
        let trail = Trail::new(self.fleet.place.path(), &self.cases.to_string(), RANKS);
        if victim.is_none() {
            self.faults.arm(fault);
        }
        let id = self.create(&trail.script());
        if let Some(victim) = victim {
            match moment {
                Moment::Start => {
                    eventually("keepers on both nodes", || self.fleet.keepers(0).and(self.fleet.keepers(1)))
                }
                Moment::Middle => eventually("ranks", || (trail.begun() == RANKS).then_some((0, 0))),
                Moment::End => {
                    trail.has_begun();
                    trail.open_gate();
                    (0, 0)
                }
            };
            self.strike(victim, &id, fault);
        }
        self.go_on(&trail, &id, fault);
        trail.open_gate();
        let task = self.end_of(&id, fault);
        self.faults.rest();
        self.revive();
        trail.agrees_with(&self.fleet, &id, &task);
        if !fault.stays() {
            fails_only_before_ranks_ran(&task);
        }
        if victim.is_some_and(|victim| !victim.ends_attempt()) && moment != Moment::Start {
            assert_eq!(trail.attempts().len(), 1, "the death of a daemon stops no rank: {task:#}");
        }
        self.is_clean();
        self.faults.struck()
    }

    /// A create that the server refuses because of the fault is tried again without it.
    fn create(&mut self, script: &str) -> String {
        let request = serde_json::json!({
            "taskName": "a test",
            "command": { "argv": ["/bin/sh", "-c", script] },
            "policies": { "restart": { "maxRestarts": 2 }, "nodeLostAfter": 5 },
            "distributedConfig": { "framework": "command" },
        });
        eventually("the task to be created", || match self.fleet.try_create(request.clone()) {
            Ok(id) => Some(id),
            Err((status, answer)) => {
                assert!(status >= 500, "{status} {answer}");
                self.faults.rest();
                None
            }
        })
    }

    fn strike(&mut self, victim: Victim, id: &str, fault: &Fault) {
        let faults = &self.faults;
        match victim {
            Victim::Server => {
                self.fleet.kill_server();
                faults.arm(fault);
                if !self.fleet.try_start_server() {
                    self.revive();
                }
            }
            _ => strike_at(victim, &mut self.fleet, id, || faults.arm(fault)),
        }
    }

    /// Waits until ranks run, or until it is clear that they will not while the fault holds.
    fn go_on(&mut self, trail: &Trail, id: &str, fault: &Fault) {
        let patience = Instant::now() + STAYS;
        while trail.begun() < RANKS && !self.is_over(id) && Instant::now() < patience {
            self.revive();
            std::thread::sleep(Duration::from_millis(10));
        }
        if fault.stays() && trail.begun() < RANKS {
            self.faults.rest();
        }
        self.revive();
    }

    fn is_over(&self, id: &str) -> bool {
        let status =
            self.fleet.try_get(&format!("/training-tasks/{id}")).map(|(_, mut task)| task["data"]["status"].take());
        status.is_some_and(|status| ["succeeded", "failed", "stopped"].iter().any(|over| status == *over))
    }

    fn end_of(&mut self, id: &str, fault: &Fault) -> Value {
        let until = Instant::now() + STAYS;
        eventually(&format!("{id} to be over"), || {
            if fault.stays() && Instant::now() > until {
                self.faults.rest();
            }
            self.revive();
            self.is_over(id).then_some(())
        });
        self.fleet.task(id)
    }

    /// A daemon may end because of a fault; then it says why, and comes back.
    fn revive(&mut self) {
        if self.fleet.server_is_over() {
            self.faults.rest();
            said(&self.fleet.server_log());
            self.fleet.start_server();
        }
        for agent in 0..2 {
            if self.fleet.agent_is_over(agent) {
                self.faults.rest();
                said(&self.fleet.agent_log(agent));
                self.fleet.start_agent(agent);
            }
        }
    }

    /// Nothing is left, every worker is free, and no program has lost its head.
    fn is_clean(&self) {
        self.fleet.assert_idle();
        for log in [self.fleet.server_log(), self.fleet.agent_log(0), self.fleet.agent_log(1)] {
            assert!(!log.contains("panicked"), "{log}");
        }
        for agent in 0..2 {
            let live = self.fleet.agent_data(agent).join("live");
            let notes = || std::fs::read_dir(&live).into_iter().flatten().flatten().count();
            eventually("no note of a run that lives", || (notes() == 0).then_some(()));
        }
    }
}

/// A call that fails once is survived; but a node that cannot begin its part says so, and is not asked again.
fn fails_only_before_ranks_ran(task: &Value) {
    let said = task["verdict"]["headline"]["en"].as_str().unwrap_or_default();
    let has_not_begun = said.starts_with("the launch was refused") || said.contains("could not be started");
    assert!(task["status"] == "succeeded" || has_not_begun, "{task:#}");
}

fn said(log: &str) {
    let last = log.rsplit("error: ").next().unwrap_or_default();
    assert!(log.contains("error: ") && last.contains("hint: "), "it ended without a reason: {log}");
}

/// Plays them one after the other in one fleet, and in a new one after a case that did not end as it must; all of these are told
/// at the end. The answer is those that found nothing to strike: a call that another release does not make, or one that the
/// kill has come before.
fn play_all(victim: Option<Victim>, moment: Moment, faults: &[Fault]) -> Vec<String> {
    let mut stage = Stage::new();
    let (mut idle, mut failed) = (Vec::new(), Vec::new());
    for fault in faults {
        match catch_unwind(AssertUnwindSafe(|| stage.play(victim, moment, fault))) {
            Ok(0) => idle.push(fault.to_string()),
            Ok(_) => {}
            Err(_) => {
                failed.push(fault.to_string());
                stage = Stage::new();
            }
        }
    }
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:#?}", failed.len(), faults.len());
    idle
}

#[test]
fn a_call_that_fails_while_a_task_runs_is_survived_or_said() {
    assert_eq!(play_all(None, Moment::Start, &plan::few_of_a_run()), [""; 0]);
}

#[test]
fn a_call_that_fails_while_an_agent_comes_back_costs_no_run() {
    assert_eq!(play_all(Some(Victim::MemberAgent), Moment::Middle, &plan::few_of_a_return()), [""; 0]);
}

/// Plays the case that FERMI_FAULT_CASE names.
#[test]
fn one_case_again() {
    let Ok(case) = std::env::var("FERMI_FAULT_CASE") else { return };
    let (when, fault) = case.split_once(": ").expect("<victim> <moment>: <fault>");
    let (who, moment) = when.split_once(' ').expect("<victim> <moment>: <fault>");
    let moment = Moment::ALL.into_iter().find(|known| format!("{known:?}") == moment).expect("a moment");
    let victim = Victim::ALL.into_iter().find(|known| format!("{known:?}") == who);
    assert!(victim.is_some() || who == "Nobody", "there is no victim {who}");
    let idle = play_all(victim, moment, &[fault.parse().unwrap()]);
    eprintln!("not struck: {idle:?}");
}

/// The whole plan, for `make test-long`.
mod whole {
    use super::*;

    #[test]
    fn nobody_is_killed() {
        assert_eq!(play_all(None, Moment::Start, &plan::of_a_run()), [""; 0]);
    }

    fn play(victim: Victim, moment: Moment) {
        let faults = match victim {
            Victim::MemberAgent | Victim::FirstAgent => plan::of_a_returning_agent(),
            Victim::Server => plan::of_a_returning_server(),
            Victim::MemberEnvironment | Victim::FirstEnvironment => {
                [plan::of_a_returning_agent(), plan::of_a_restart()].concat()
            }
            _ => plan::of_a_restart(),
        };
        let idle = play_all(Some(victim), moment, &faults);
        assert!(idle.len() * 2 < faults.len(), "half of the plan strikes nothing: {idle:?}");
    }

    matrix! {
        rank_start: Rank, Start;
        rank_middle: Rank, Middle;
        rank_end: Rank, End;
        member_supervisor_start: MemberSupervisor, Start;
        member_supervisor_middle: MemberSupervisor, Middle;
        member_supervisor_end: MemberSupervisor, End;
        first_supervisor_start: FirstSupervisor, Start;
        first_supervisor_middle: FirstSupervisor, Middle;
        first_supervisor_end: FirstSupervisor, End;
        member_warden_start: MemberWarden, Start;
        member_warden_middle: MemberWarden, Middle;
        member_warden_end: MemberWarden, End;
        first_warden_start: FirstWarden, Start;
        first_warden_middle: FirstWarden, Middle;
        first_warden_end: FirstWarden, End;
        member_agent_start: MemberAgent, Start;
        member_agent_middle: MemberAgent, Middle;
        member_agent_end: MemberAgent, End;
        first_agent_start: FirstAgent, Start;
        first_agent_middle: FirstAgent, Middle;
        first_agent_end: FirstAgent, End;
        server_start: Server, Start;
        server_middle: Server, Middle;
        server_end: Server, End;
        member_machine_start: MemberEnvironment, Start;
        member_machine_middle: MemberEnvironment, Middle;
        member_machine_end: MemberEnvironment, End;
        first_machine_start: FirstEnvironment, Start;
        first_machine_middle: FirstEnvironment, Middle;
        first_machine_end: FirstEnvironment, End;
    }
}
