//! What is kept for the first in line, and who may use it meanwhile.

use super::*;

/// `running` has the whole of n1 for so many hours (0: no limit); n2 is free, `head` needs both; may `late` run on n2?
fn may_fill_in(running_hours: u64, late: Request) -> bool {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a"]);
    let running = request("running", these(&["n1-0"]));
    insert(&mut queue, 0, [if running_hours == 0 { running } else { running.limited(running_hours) }]);
    queue.decide(0);
    insert(&mut queue, HOUR, [request("head", auto("2x1 H100")), late]);
    let started = starts(&mut queue, HOUR);
    let Some(start) = started.first() else { return false };
    assert_eq!(start.before.as_ref().unwrap().task, "head".into());
    assert!(start.text().unwrap().en.contains("kept for head"));
    true
}

#[test]
fn a_task_fills_in_only_with_a_limit_that_ends_before_the_head_starts() {
    let late = |need: Need| request("late", need);
    for need in [auto("1x1 H100"), these(&["n2-0"])] {
        assert!(may_fill_in(3, late(need.clone()).limited(2)), "ends at the very time");
        assert!(!may_fill_in(3, late(need.clone()).limited(3)), "ends too late");
        assert!(!may_fill_in(3, late(need.clone())), "states no limit");
        assert!(!may_fill_in(0, late(need).limited(1)), "the head has no bound");
    }
}

#[test]
fn workers_that_the_head_does_not_need_are_free_for_all() {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a", "n3 1 H100 a", "n4 1 A100 a"]);
    insert(&mut queue, 0, [request("running", these(&["n1-0"])), request("also", these(&["n2-0"]))]);
    queue.decide(0);
    insert(
        &mut queue,
        1,
        [
            request("head", these(&["n1-0", "n2-0"])),
            request("beside", auto("1x1 H100")),
            request("elsewhere", auto("1x1 A100")),
        ],
    );
    assert_eq!(names(&mut queue, 1), ["beside", "elsewhere"]);
}

#[test]
fn each_pool_has_a_first_in_line_of_its_own() {
    let mut queue = cluster(&["n1 2 H100 a", "n2 2 A100 a"]);
    insert(&mut queue, 0, [request("h", these(&["n1-0"])), request("a", these(&["n2-0"]))]);
    queue.decide(0);
    let small = |task: &str, need: &str| request(task, auto(need));
    insert(
        &mut queue,
        1,
        [
            small("head-h", "1x2 H100"),
            small("head-a", "1x2 A100"),
            small("late-h", "1x1 H100"),
            small("late-a", "1x1 A100"),
        ],
    );
    assert_eq!(names(&mut queue, 1), [""; 0]);
    let mut kept: Vec<String> = queue.reservations().map(|kept| kept.task.to_string()).collect();
    kept.sort();
    assert_eq!(kept, ["head-a", "head-h"]);
    queue.ended(&"a".into(), 2);
    assert_eq!(names(&mut queue, 2), ["head-a"]);
}

#[test]
fn no_task_overtakes_onto_a_named_worker_that_one_before_it_waits_for() {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a", "n3 1 H100 a"]);
    insert(&mut queue, 0, [request("running", these(&["n1-0"]))]);
    queue.decide(0);
    insert(
        &mut queue,
        1,
        [
            request("first", these(&["n1-0", "n2-0"])),
            request("second", these(&["n2-0", "n3-0"])),
            request("third", these(&["n3-0"])),
        ],
    );
    assert_eq!(names(&mut queue, 1), [""; 0]);
    queue.ended(&"running".into(), 2);
    assert_eq!(names(&mut queue, 2), ["first"]);
    queue.ended(&"first".into(), 3);
    assert_eq!(names(&mut queue, 3), ["second"]);
}

#[test]
fn a_task_that_waits_for_a_missing_machine_holds_up_no_other() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    queue.set_environment(Offer { status: EnvironmentStatus::Suspect, ..offer("n2 1 H100 a") });
    let absent = [request("absent", these(&["n1-0", "n2-0"])), request("unknown", these(&["n1-0", "n9-0"]))];
    insert(&mut queue, 0, absent);
    insert(&mut queue, 0, [request("huge", auto("9x1 H100")), request("small", auto("1x1 H100"))]);
    assert_eq!(names(&mut queue, 0), ["small"]);
    assert_eq!(queue.reservations().count(), 0);
}

#[test]
fn the_head_keeps_its_place_when_its_user_falls_behind_and_yields_to_a_higher_priority() {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a"]);
    insert(&mut queue, 0, [request("running", these(&["n1-0"])).limited(4)]);
    queue.decide(0);
    insert(&mut queue, HOUR, [request("head", auto("2x1 H100"))]);
    queue.decide(HOUR);
    // `ada` has used much by now, `bo` nothing at all.
    insert(&mut queue, 2 * HOUR, [request("bo", auto("2x1 H100")).of("bo")]);
    queue.decide(2 * HOUR);
    assert_eq!(queue.reservations().next().unwrap().task, "head".into());
    insert(&mut queue, 2 * HOUR, [request("urgent", auto("1x1 H100")).of("bo").at(1)]);
    assert_eq!(names(&mut queue, 2 * HOUR), ["urgent"]);
}

#[test]
fn the_head_keeps_its_place_in_a_queue_that_is_made_anew() {
    let head = |is_first: bool| {
        let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a"]);
        let running = request("running", these(&["n1-0"])).limited(4);
        let workers = vec!["n1-0".parse().unwrap()];
        queue.set_running(Running { request: running, workers, started_ms: 0, stopping: Stopping::No }, 3 * HOUR);
        queue.charge(&request("ended", auto("1x1 H100")), 8, 0, HOUR, 3 * HOUR);
        let head = Request { is_first, ..request("head", auto("2x1 H100")) };
        insert(&mut queue, HOUR, [head, request("bo", auto("2x1 H100")).of("bo")]);
        assert_eq!(names(&mut queue, 3 * HOUR), [""; 0]);
        let kept: Vec<String> = queue.reservations().map(|kept| format!("{} {:?}", kept.task, kept.from)).collect();
        queue.ended(&"running".into(), 4 * HOUR);
        let started = names(&mut queue, 4 * HOUR);
        (kept, started)
    };
    let expected = |task: &str| (vec![format!("{task} {:?}", Latest::At(4 * HOUR))], vec![task.to_owned()]);
    assert_eq!(head(true), expected("head"));
    assert_eq!(head(false), expected("bo"), "ada has used more");
}

#[test]
fn without_a_bound_the_head_stays_with_the_workers_that_it_waits_for() {
    let mut queue = cluster(&["n1 2 H100 a", "n2 2 H100 a"]);
    let tasks = ["n1-0", "n1-1", "n2-0", "n2-1"].map(|worker| request(worker, these(&[worker])));
    insert(&mut queue, 0, tasks);
    queue.decide(0);
    insert(&mut queue, 1, [request("head", auto("1x2 H100")), request("late", auto("1x1 H100"))]);
    queue.decide(1);
    queue.ended(&"n2-0".into(), 2);
    // The head waits for n1: n2 is open to others.
    assert_eq!(names(&mut queue, 2), ["late"]);
    queue.ended(&"n1-0".into(), 3);
    assert_eq!(names(&mut queue, 3), [""; 0]);
    let kept: Vec<String> = queue.reservations().flat_map(|kept| &kept.workers).map(ToString::to_string).collect();
    assert_eq!(kept, ["n1-0", "n1-1"]);
    queue.ended(&"n1-1".into(), 4);
    assert_eq!(names(&mut queue, 4), ["head"]);
}

#[test]
fn a_bound_is_better_than_none() {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a"]);
    insert(&mut queue, 0, [request("x", these(&["n1-0"])), request("y", these(&["n2-0"])).limited(5)]);
    queue.decide(0);
    insert(&mut queue, 1, [request("head", auto("1x1 H100"))]);
    queue.decide(1);
    let kept = queue.reservations().next().unwrap();
    assert_eq!((kept.workers[0].to_string().as_str(), kept.from), ("n2-0", Latest::At(5 * HOUR)));
}
