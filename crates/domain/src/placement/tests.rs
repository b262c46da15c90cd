//! Courses of a scheduler, played without a server.

use super::*;
use crate::environment::tests::environment;
use crate::task::TaskInput;

fn known() -> Vec<Environment> {
    ["a", "b", "c"].map(|id| environment(id, &format!("gn-{id}"), 2, "A100", "z")).to_vec()
}

fn task(id: &str, spec: serde_json::Value) -> Task {
    let mut whole = serde_json::json!({"name": id, "work": {"kind": "builtin"}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    Task::new(id.into(), serde_json::from_value(whole).unwrap(), 1)
}

fn on(id: &str, nodes: &[&str]) -> Task {
    task(id, serde_json::json!({"distributed": {"enabled": true, "nodeIds": nodes, "masterNode": nodes[0]}}))
}

fn scheduler(known: Vec<Environment>) -> Scheduler {
    let mut scheduler = Scheduler::new(Rules::default());
    scheduler.set_environments(&known, |_| None, 1);
    scheduler
}

fn starts(scheduler: &mut Scheduler) -> Vec<Start> {
    let starts = scheduler.decide(2).into_iter().filter_map(|decision| match decision {
        Decision::Start(start) => Some(start),
        Decision::Preempt(_) => None,
    });
    starts.collect()
}

fn ranks(scheduler: &Scheduler, task: &Task, start: &Start) -> Vec<String> {
    let map = ranks_on(&task.spec, &start.workers, &scheduler.environments).unwrap();
    map.slots().iter().map(|slot| slot.worker.to_string()).collect()
}

#[test]
fn a_question_is_answered_as_things_were_while_the_queue_goes_on() {
    let mut scheduler = scheduler(known());
    let (first, second) = (on("task-1", &["a"]), on("task-2", &["a"]));
    scheduler.add(first.clone(), None, 1);
    scheduler.add(second.clone(), None, 1);
    starts(&mut scheduler);
    let question = scheduler.question(&second.id);
    scheduler.forget(&first.id, 2);
    assert_eq!(starts(&mut scheduler).len(), 1, "it has its workers now");
    assert!(question.answer(2).unwrap().text().en.contains("task-1"), "{:?}", question.answer(2));
    assert!(scheduler.explain(&second.id, 2).is_none());
}

#[test]
fn machines_that_hold_workers_are_waited_for_unless_they_are_given_up() {
    let mut known = known();
    let held = known[1].workers()[0].id.clone();
    let is_held = |worker: &WorkerId| *worker == held;
    assert!(!are_holders_back(&known, is_held, |id| id.as_str() == "a"));
    assert!(are_holders_back(&known, is_held, |id| id.as_str() == "b"), "of the others nothing is held");
    known[1].status = EnvironmentStatus::Lost;
    assert!(are_holders_back(&known, is_held, |_| false));
}

#[test]
fn a_task_on_named_environments_starts_in_its_own_order_and_the_next_waits_for_it() {
    let mut scheduler = scheduler(known());
    let (first, second) = (on("task-1", &["b", "a"]), on("task-2", &["a", "c"]));
    scheduler.add(first.clone(), None, 1);
    scheduler.add(second.clone(), None, 1);
    let started = starts(&mut scheduler);
    assert_eq!(started.len(), 1);
    assert_eq!(ranks(&scheduler, &first, &started[0]), ["gn-b-0", "gn-b-1", "gn-a-0", "gn-a-1"]);
    let why = scheduler.explain(&second.id, 2).unwrap().text();
    assert!(why.en.starts_with("waits for gn-a-0, gn-a-1, in use by task-1"), "{why:?}");
    // Its workers are given back as the leases in the store go.
    assert!(scheduler.set_leases(&HashMap::new(), 3).is_empty());
    assert_eq!(starts(&mut scheduler)[0].task, second.id);
}

#[test]
fn what_is_picked_has_the_first_environment_as_its_master() {
    let mut scheduler = scheduler(known());
    let picked = task(
        "task-1",
        serde_json::json!({"launchMode": {"auto": {"nodes": 2, "gpusPerNode": 2}},
        "distributed": {"enabled": true, "nodeIds": [], "masterNode": null, "framework": null, "strategy": null}}),
    );
    scheduler.add(picked.clone(), None, 1);
    let started = starts(&mut scheduler);
    assert_eq!(ranks(&scheduler, &picked, &started[0]), ["gn-a-0", "gn-a-1", "gn-b-0", "gn-b-1"]);
    assert!(started[0].text().is_some(), "it says why these");
}

#[test]
fn leases_that_the_queue_did_not_give_are_asked_about_and_block_others() {
    let mut scheduler = scheduler(known());
    let holder = on("task-1", &["a"]);
    let leases: HashMap<WorkerId, TaskId> =
        ["gn-a-0", "gn-a-1"].iter().map(|worker| (worker.parse().unwrap(), holder.id.clone())).collect();
    let mut unknown = scheduler.set_leases(&leases, 1);
    scheduler.set_running(&holder, unknown.remove(&holder.id).unwrap(), 1);
    assert!(unknown.is_empty() && scheduler.set_leases(&leases, 1).is_empty());
    scheduler.add(on("task-2", &["a"]), None, 1);
    assert!(starts(&mut scheduler).is_empty());
    // One of two is given back: the other still blocks.
    let half = leases.into_iter().filter(|(worker, _)| worker.index() == 0).collect();
    scheduler.set_leases(&half, 2);
    assert!(starts(&mut scheduler).is_empty());
    scheduler.set_leases(&HashMap::new(), 2);
    assert_eq!(starts(&mut scheduler).len(), 1);
}

#[test]
fn one_that_is_held_back_or_names_what_is_gone_stands_aside_until_that_changes() {
    let mut scheduler = scheduler(known());
    let held = on("task-1", &["a"]);
    scheduler.add(held.clone(), Some(Text::new("等", "held back")), 1);
    scheduler.add(on("task-2", &["d"]), None, 1);
    scheduler.add(on("task-3", &["a"]), None, 1);
    assert_eq!(starts(&mut scheduler).len(), 1, "it takes no workers meanwhile");
    assert_eq!(scheduler.explain(&held.id, 2).unwrap().text().en, "held back");
    assert!(scheduler.explain(&"task-2".into(), 2).is_some() && scheduler.waits(&"task-2".into()));
    scheduler.set_leases(&HashMap::new(), 2);
    let mut more = known();
    more.push(environment("d", "gn-d", 1, "A100", "z"));
    scheduler.set_environments(&more, |_| None, 2);
    let mut started: Vec<TaskId> = starts(&mut scheduler).into_iter().map(|start| start.task).collect();
    started.sort();
    assert_eq!(started, [held.id, "task-2".into()]);
}

#[test]
fn those_that_stand_by_take_the_place_of_a_machine_that_is_lost_while_the_task_waits() {
    let mut scheduler = scheduler(known());
    let group = task(
        "task-1",
        serde_json::json!({"launchMode": {"group": "group-001"}, "policies": {"standby": "replace"},
        "distributed": {"enabled": true, "nodeIds": ["a", "b"], "masterNode": "a",
            "workers": {"a": [0], "b": [0]}, "standby": ["gn-c-0"]}}),
    );
    let mut without = known();
    without[1].status = EnvironmentStatus::Suspect;
    scheduler.set_environments(&without, |_| None, 1);
    scheduler.add(group.clone(), None, 1);
    assert!(starts(&mut scheduler).is_empty(), "it may be back");
    without[1].status = EnvironmentStatus::Lost;
    scheduler.set_environments(&without, |_| None, 2);
    let started = starts(&mut scheduler);
    assert_eq!(ranks(&scheduler, &group, &started[0]), ["gn-a-0", "gn-c-0"]);
}

#[test]
fn who_has_named_a_machine_that_serves_no_longer_or_again_is_told_anew() {
    let mut known = known();
    let mut scheduler = scheduler(known.clone());
    for id in ["task-1", "task-2"] {
        scheduler.add(on(id, &["a"]), None, 1);
    }
    scheduler.add(on("task-3", &["b", "c"]), None, 1);
    assert_eq!(starts(&mut scheduler).len(), 2);
    assert_eq!(scheduler.reasons_to_tell(false, 2), [], "nothing has changed");
    let mut told = |scheduler: &mut Scheduler, status: EnvironmentStatus| {
        known[0].status = status;
        scheduler.set_environments(&known, |_| None, 3);
        let told = scheduler.reasons_to_tell(false, 3);
        assert_eq!(scheduler.reasons_to_tell(false, 3), [], "each once");
        told.into_iter().map(|(task, text)| format!("{task}: {}", text.en)).collect::<Vec<_>>()
    };
    let off = told(&mut scheduler, EnvironmentStatus::Drained);
    assert_eq!(off, ["task-2: waits for environments that are out of service: gn-a (Drained)"]);
    let back = told(&mut scheduler, EnvironmentStatus::Running);
    assert!(back.len() == 1 && back[0].starts_with("task-2: waits for gn-a-0, gn-a-1, in use by task-1"), "{back:?}");
    assert_eq!(told(&mut scheduler, EnvironmentStatus::Busy), [""; 0], "it serves all the same");
}

#[test]
fn a_task_that_waits_for_a_machine_that_is_gone_holds_up_no_other() {
    let mut known = known();
    known[0].status = EnvironmentStatus::Offline;
    let mut scheduler = scheduler(known);
    for (id, nodes) in [("task-1", &["a", "c"] as &[&str]), ("task-2", &["a", "b"]), ("task-3", &["a", "b"])] {
        scheduler.add(on(id, nodes), None, 1);
        assert!(starts(&mut scheduler).is_empty(), "{id}");
    }
    scheduler.add(on("task-4", &["b"]), None, 1);
    assert_eq!(starts(&mut scheduler).len(), 1);
}

#[test]
fn a_task_that_has_given_way_comes_back_before_others_of_its_priority() {
    let mut task = on("task-2", &["a"]);
    let mut scheduler = scheduler(known());
    scheduler.add(on("task-1", &["a"]), None, 1);
    task.apply(TaskInput::MustWait { reason: Text::new("等", "wait") }, 1);
    task.gave_way = true;
    scheduler.add(task, None, 1);
    assert_eq!(starts(&mut scheduler)[0].task.as_str(), "task-2");
}
