//! Whose turn it is: priority, shares, limits, age.

use super::*;

/// Lets all waiting tasks through one worker, one after the other.
fn one_by_one(queue: &mut Queue, from_ms: u64, step_ms: u64) -> Vec<String> {
    let mut order = Vec::new();
    let mut now = from_ms;
    while queue.waiting() > 0 {
        let started = names(queue, now);
        let [task] = &started[..] else { panic!("{started:?}") };
        order.push(task.clone());
        now += step_ms;
        queue.ended(&TaskId::from(task.as_str()), now).unwrap();
    }
    order
}

#[test]
fn priority_goes_first_and_equals_in_the_order_in_which_they_came() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    let one = || auto("1x1 H100");
    let tasks =
        [request("a", one()), request("b", one()), request("urgent", one()).at(5), request("low", one()).at(-1)];
    insert(&mut queue, 0, tasks);
    assert_eq!(one_by_one(&mut queue, 0, 1), ["urgent", "a", "b", "low"]);
}

#[test]
fn users_take_turns_by_their_shares() {
    let mut rules = Rules::default();
    rules.users.insert("bo".into(), UserRules { share: 2, limits: None });
    let mut queue = with_rules(rules, &["n1 1 H100 a"]);
    for number in 0..4 {
        insert(&mut queue, 0, [request(&format!("a{number}"), auto("1x1 H100"))]);
    }
    for number in 0..8 {
        insert(&mut queue, 0, [request(&format!("b{number}"), auto("1x1 H100")).of("bo")]);
    }
    let order = one_by_one(&mut queue, 0, HOUR);
    for part in order[..12].chunks(3) {
        assert_eq!(part.iter().filter(|task| task.starts_with('a')).count(), 1, "{order:?}");
    }
}

#[test]
fn one_decision_alternates_between_users() {
    let mut queue = cluster(&["n1 4 H100 a"]);
    for number in 0..4 {
        insert(&mut queue, 0, [request(&format!("a{number}"), auto("1x1 H100"))]);
    }
    for number in 0..4 {
        insert(&mut queue, 1, [request(&format!("b{number}"), auto("1x1 H100")).of("bo")]);
    }
    assert_eq!(names(&mut queue, 1), ["a0", "b0", "a1", "b1"]);
}

#[test]
fn a_user_who_used_much_comes_later_also_after_a_restart() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    queue.charge(&request("before", auto("1x1 H100")), 8, 0, 10 * HOUR, 11 * HOUR);
    insert(&mut queue, 11 * HOUR, [request("a", auto("1x1 H100")), request("b", auto("1x1 H100")).of("bo")]);
    assert_eq!(one_by_one(&mut queue, 11 * HOUR, 1), ["b", "a"]);
}

#[test]
fn limits_hold_back_a_user_and_no_other() {
    let limits = |workers, tasks| Limits { workers, tasks };
    // Limits, the tasks of ada, and which of them start; bo's always does.
    let cases: &[(Limits, &[&str], &[&str])] = &[
        (limits(Some(4), None), &["1x4 H100", "1x1 H100"], &["0"]),
        (limits(Some(4), None), &["1x8 H100", "1x1 H100"], &["1"]),
        (limits(None, Some(1)), &["1x1 H100", "1x1 H100"], &["0"]),
        (limits(Some(2), Some(2)), &["1x1 H100", "1x2 H100", "1x1 H100"], &["0", "2"]),
    ];
    for (limits, needs, expected) in cases {
        let mut queue = with_rules(Rules { limits: *limits, ..Rules::default() }, &["n1 8 H100 a", "n2 8 H100 a"]);
        let tasks = needs.iter().zip(0..).map(|(need, number)| request(&number.to_string(), auto(need)));
        insert(&mut queue, 0, tasks);
        insert(&mut queue, 1, [request("bo", auto("1x1 H100")).of("bo")]);
        let mut started = names(&mut queue, 1);
        started.retain(|task| task != "bo");
        assert_eq!(started, *expected, "{limits:?} {needs:?}");
        assert!(queue.running().any(|running| running.request.task == "bo".into()));
    }
}

#[test]
fn what_a_user_gives_back_counts_no_more() {
    let rules = Rules { limits: Limits { workers: Some(2), tasks: None }, ..Rules::default() };
    let mut queue = with_rules(rules, &["n1 8 H100 a"]);
    insert(&mut queue, 0, [request("a", auto("1x2 H100")), request("b", auto("1x2 H100"))]);
    assert_eq!(names(&mut queue, 0), ["a"]);
    queue.ended(&"a".into(), 1);
    assert_eq!(names(&mut queue, 1), ["b"]);
}

#[test]
fn nothing_waits_for_ever_behind_a_stream_of_higher_priority() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    insert(&mut queue, 0, [request("low", auto("1x1 H100"))]);
    let mut now = 0;
    for number in 0.. {
        insert(
            &mut queue,
            now,
            [request(&format!("high-{number}"), auto("1x1 H100")).at(2).of(&format!("user-{number}"))],
        );
        let started = names(&mut queue, now);
        if started == ["low"] {
            break;
        }
        now += HOUR;
        queue.ended(&started[0].as_str().into(), now);
        assert!(now <= 100 * HOUR, "low never starts");
    }
    // It rises by one a day: beside priority 2 after two days, before it after three.
    assert!((48..=73).contains(&(now / HOUR)), "{}", now / HOUR);
}

#[test]
fn age_counts_over_a_restart_from_the_last_start_of_the_same_user_and_priority() {
    let aged = |started_hours: u64| {
        let mut queue = cluster(&["n1 1 H100 a"]);
        let ended = request("ended", auto("1x1 H100"));
        queue.charge(&ended, 0, started_hours * HOUR, started_hours * HOUR, 72 * HOUR);
        let low = Request { waits_since_ms: 0, ..request("low", auto("1x1 H100")) };
        queue.insert(low);
        insert(&mut queue, 72 * HOUR, [request("high", auto("1x1 H100")).at(2).of("bo")]);
        names(&mut queue, 72 * HOUR)
    };
    assert_eq!(aged(0), ["low"], "three days the first of its lane");
    assert_eq!(aged(71), ["high"], "an hour the first of its lane");
}

/// What nobody can place: no machines, a machine that is off, workers that do not exist, more than its user may have.
fn never_placed() -> [Need; 4] {
    [auto("9x1 H100"), these(&["off-0"]), these(&["n1-0", "n9-0"]), auto("2x2 H100")]
}

#[test]
fn a_task_behind_one_that_cannot_be_placed_ages_becomes_first_in_line_and_starts() {
    for head in never_placed() {
        let rules = Rules { limits: Limits { workers: Some(3), tasks: None }, ..Rules::default() };
        let mut queue = with_rules(rules, &["n1 2 H100 a", "n2 2 H100 a"]);
        queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("off 1 H100 a") });
        insert(&mut queue, 0, [request("head", head.clone()), request("behind", auto("1x2 H100"))]);
        let mut now = 0;
        let mut running: Vec<String> = Vec::new();
        // A stream of higher priority, whose tasks take all of a machine by turns.
        for number in 0.. {
            let stream = |half: u32| {
                let name = format!("high-{number}-{half}");
                request(&name, auto("1x2 H100")).at(2).of(&name).limited(1)
            };
            insert(&mut queue, now, [stream(0), stream(1)]);
            running.extend(names(&mut queue, now));
            if running.contains(&"behind".to_owned()) {
                break;
            }
            assert!(now <= 100 * HOUR, "it never starts behind {head:?}");
            now += HOUR;
            running.drain(..).for_each(|task| drop(queue.ended(&task.as_str().into(), now)));
        }
        assert!((48..=73).contains(&(now / HOUR)), "{head:?}: {}", now / HOUR);
        assert!(queue.waits(&"head".into()));
    }
}

#[test]
fn a_task_whose_machine_is_back_is_the_first_of_its_lane_again() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    let off = offer("off 1 A100 a");
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..off.clone() });
    insert(&mut queue, 0, [request("head", these(&["n1-0", "off-0"])), request("behind", auto("1x1 H100"))]);
    queue.set_environment(off);
    insert(&mut queue, 72 * HOUR, [request("high", auto("1x1 H100")).at(2).of("bo")]);
    assert_eq!(names(&mut queue, 72 * HOUR), ["head"]);
    queue.ended(&"head".into(), 73 * HOUR);
    assert_eq!(names(&mut queue, 73 * HOUR), ["high"], "the next has been the first for an hour");
}

#[test]
fn age_does_not_let_a_flood_of_one_user_overtake_others() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    for number in 0..200 {
        insert(&mut queue, 0, [request(&format!("flood-{number}"), auto("1x1 H100"))]);
    }
    let mut now = 0;
    // Four days of the flood alone.
    while now < 96 * HOUR {
        let started = names(&mut queue, now);
        now += HOUR;
        queue.ended(&started[0].as_str().into(), now);
    }
    insert(&mut queue, now, [request("bo", auto("1x1 H100")).of("bo")]);
    // One of the flood is first in line already, and stays so.
    assert_eq!(names(&mut queue, now), ["flood-96"]);
    queue.ended(&"flood-96".into(), now + HOUR);
    assert_eq!(names(&mut queue, now + HOUR), ["bo"]);
}

#[test]
fn a_start_that_could_not_be_carried_out_keeps_its_place() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    insert(&mut queue, 0, [request("a", auto("1x1 H100")), request("b", auto("1x1 H100"))]);
    assert_eq!(names(&mut queue, 0), ["a"]);
    queue.not_started(&"a".into(), 1);
    assert_eq!(names(&mut queue, 1), ["a"]);
    assert!(queue.remove(&"b".into()).is_some());
    assert!(queue.remove(&"b".into()).is_none());
    queue.ended(&"a".into(), 3);
    assert_eq!(names(&mut queue, 3), [""; 0]);
}

#[test]
fn workers_given_back_one_by_one_can_be_used_at_once() {
    let mut queue = cluster(&["n1 2 H100 a"]);
    insert(&mut queue, 0, [request("a", auto("1x2 H100")), request("b", auto("1x1 H100"))]);
    assert_eq!(names(&mut queue, 0), ["a"]);
    queue.freed(&"a".into(), &["n1-1".parse().unwrap()], 1);
    assert_eq!(starts(&mut queue, 1).iter().map(workers).collect::<Vec<_>>(), ["n1-1"]);
    queue.freed(&"a".into(), &["n1-0".parse().unwrap()], 2);
    assert_eq!(queue.running().count(), 1);
}
