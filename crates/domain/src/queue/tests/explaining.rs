//! What people read while a task waits.

use super::*;

#[test]
fn a_task_on_busy_environments_says_for_whom_it_waits_and_until_when() {
    let mut queue = cluster(&["gn6 1 H100 a", "gn7 1 H100 a"]);
    let bert = Request { name: "bert".into(), ..request("task-1", these(&["gn6-0"])).limited(2) };
    insert(&mut queue, 0, [bert]);
    queue.decide(0);
    let next =
        [request("task-2", these(&["gn6-0", "gn7-0"])).limited(1), request("task-3", these(&["gn7-0"])).limited(3)];
    insert(&mut queue, 1, next);
    insert(&mut queue, 2, [request("task-4", these(&["gn6-0"]))]);
    queue.decide(2);
    assert_eq!(
        english(&mut queue, "task-2", 2),
        "waits for gn6-0, in use by task-1 (bert) (until 1970-01-01 02:00 UTC at the latest); starts at 1970-01-01 02:00 UTC at the latest"
    );
    assert_eq!(
        english(&mut queue, "task-3", 2),
        "waits for gn7-0 (free, but kept for those before it); task-2 is before it; is expected to start by 1970-01-01 03:00 UTC, as the queue is now"
    );
    assert_eq!(
        queue.explain(&"task-4".into(), 2).unwrap().text().zh,
        "等待 gn6-0，正被 task-1 (bert)（最迟 1970-01-01 02:00 UTC 结束） 使用；task-2 排在它前面；按目前的队列，预计 1970-01-01 03:00 UTC 前启动"
    );
    assert_eq!(queue.explain(&"task-1".into(), 2), None, "it does not wait");
}

#[test]
fn who_states_no_limit_is_named() {
    let mut queue = cluster(&["gn6 1 H100 a"]);
    insert(&mut queue, 0, [request("task-1", these(&["gn6-0"]))]);
    queue.decide(0);
    insert(&mut queue, 1, [request("task-2", auto("1x1 H100")), request("task-3", auto("1x1 H100"))]);
    queue.decide(1);
    assert_eq!(
        english(&mut queue, "task-2", 1),
        "waits for 1 H100, in use by task-1; when it starts is not known: no time limit is stated by task-1"
    );
    assert_eq!(
        english(&mut queue, "task-3", 1),
        "waits for 1 H100, in use by task-1; task-2 is before it; when it starts is not known: no time limit is stated by task-1"
    );
}

#[test]
fn other_reasons_say_what_to_do() {
    let rules = Rules { limits: Limits { workers: Some(4), tasks: Some(2) }, ..Rules::default() };
    let mut queue = with_rules(rules, &["gn6 2 H100 a", "gn7 8 A100 a"]);
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("gn8 8 H100 a") });
    insert(&mut queue, 0, [request("running", auto("1x3 A100"))]);
    queue.decide(0);
    let cases = [
        (
            request("x", auto("1x2 A100")),
            "ada may have 4 workers, has 3 and needs 2 more: waits for tasks of ada to end",
        ),
        (request("x", auto("1x8 A100")), "needs 8 workers, and ada may have 4: ask for fewer, or for a higher limit"),
        (
            request("x", auto("2x8 A100")),
            "2 nodes × 8 A100 take 2 environments with 8 or more such workers each, and only 1 is in service; passed over: \
             2 with another GPU (gn6 H100, gn8 H100); it would not fit if all that is registered were in service \
             and free: change what it asks for, or add machines",
        ),
        (
            request("x", auto("1x4 H100")).of("bo"),
            "no environment in service is what it asks for: 4 H100; passed over: \
             1 out of service (gn8 Offline); 1 with another GPU (gn7 A100); it fits once the environments that are out of \
             service now are back",
        ),
        (
            request("x", these(&["gn6-0", "gn8-0"])).of("bo"),
            "waits for environments that are out of service: gn8 (Offline)",
        ),
        (
            request("x", these(&["gn6-0", "gn6-7"])).of("bo"),
            "there are no such workers: gn6-7; it waits until they join, or choose others",
        ),
        (request("x", these(&["gn6-0"])).of("bo"), "its workers are free, it is about to start"),
    ];
    for (request, text) in cases {
        insert(&mut queue, 1, [request.clone()]);
        assert_eq!(english(&mut queue, "x", 1), text);
        assert!(!queue.explain(&"x".into(), 1).unwrap().text().zh.is_empty());
    }
    insert(&mut queue, 1, [request("y", auto("1x1 H100"))]);
    queue.decide(1);
    insert(&mut queue, 2, [request("z", auto("1x1 H100"))]);
    assert_eq!(english(&mut queue, "z", 2), "ada may run 2 tasks at a time and runs 2: waits for one of them to end");
}

#[test]
fn a_bound_counts_what_those_before_may_take() {
    // A task that may take any H100 stands before one that names its worker: nothing can be promised to the latter.
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 a"]);
    insert(&mut queue, 0, [request("r1", these(&["n1-0"])).limited(1), request("r2", these(&["n2-0"])).limited(2)]);
    queue.decide(0);
    insert(
        &mut queue,
        1,
        [request("any-1", auto("1x1 H100")).limited(1), request("any-2", auto("1x1 H100")).limited(1)],
    );
    insert(&mut queue, 2, [request("named", these(&["n2-0"]))]);
    queue.decide(2);
    assert_eq!(queue.explain(&"any-1".into(), 2).unwrap().from, Latest::At(HOUR));
    assert_eq!(queue.explain(&"any-2".into(), 2).unwrap().from, Latest::Unknown);
    let named = queue.explain(&"named".into(), 2).unwrap();
    assert_eq!((named.from, named.before), (Latest::Unknown, 2));
}

/// The example of docs/guides/queue.md.
#[test]
fn the_example_of_the_guide_is_what_happens() {
    let nine = 1_794_819_600_000;
    let mut queue = cluster(&["gn6 8 H100 a", "gn7 8 H100 a"]);
    insert(&mut queue, nine - HOUR, [request("task-1", auto("1x8 H100")).limited(4)]);
    assert_eq!(names(&mut queue, nine - HOUR), ["task-1"]);
    insert(
        &mut queue,
        nine,
        [
            request("task-2", auto("2x8 H100")).limited(6),
            request("task-3", auto("1x4 H100")).limited(2),
            request("task-4", auto("1x4 H100")).limited(4),
            request("task-5", auto("1x4 H100")),
        ],
    );
    assert_eq!(names(&mut queue, nine), ["task-3"]);
    let pages = [
        include_str!("../../../../../docs/guides/queue.md"),
        include_str!("../../../../../docs/guides/queue.zh-CN.md"),
    ];
    for task in ["task-2", "task-4"] {
        assert!(pages[0].contains(&english(&mut queue, task, nine)), "{}", english(&mut queue, task, nine));
    }
    let chinese = queue.explain(&"task-2".into(), nine).unwrap().text().zh;
    assert!(pages[1].contains(&*chinese), "{chinese}");
    let ten = nine + HOUR;
    queue.ended(&"task-1".into(), ten);
    assert_eq!(names(&mut queue, ten), [""; 0]);
    assert!(english(&mut queue, "task-2", ten).ends_with("starts at 2026-11-16 11:00 UTC at the latest"));
}

#[test]
fn what_all_that_is_registered_could_never_hold_is_known_before_it_waits() {
    let offers = ["gn6 2 H100 a", "gn7 8 A100 a"].map(offer);
    let wish = |text: &str| match auto(text) {
        Need::Auto(wish) => wish,
        Need::Workers(_) => unreachable!("auto"),
    };
    assert_eq!(never_fits(&wish("1x2 H100"), &offers), None);
    let never = never_fits(&wish("1x4 H100"), &offers).unwrap();
    assert!(never.en.ends_with("were in service and free: change what it asks for, or add machines"), "{}", never.en);
    let mut resting = offers.to_vec();
    resting.push(Offer { status: EnvironmentStatus::Offline, ..offer("gn8 8 H100 a") });
    let later = never_fits(&wish("1x4 H100"), &resting).unwrap();
    assert!(later.en.ends_with("out of service now are back"), "{}", later.en);
}

#[test]
fn a_holder_whose_machine_is_out_of_reach_is_told_so_and_promises_nothing() {
    let mut queue = cluster(&["gn6 1 H100 a", "gn7 1 H100 a"]);
    insert(&mut queue, 0, [request("task-1", these(&["gn6-0", "gn7-0"])).limited(1)]);
    queue.decide(0);
    insert(&mut queue, 1, [request("task-2", these(&["gn6-0"]))]);
    queue.decide(1);
    assert!(english(&mut queue, "task-2", 1).ends_with("starts at 1970-01-01 01:00 UTC at the latest"));
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("gn7 1 H100 a") });
    queue.decide(2);
    let told = queue.explain(&"task-2".into(), 2).unwrap();
    assert_eq!(told.silent_machine(), Some("gn7"));
    assert_eq!(
        told.text().en,
        "waits for gn6-0, in use by task-1 (whose machine gn7 is out of reach: it does not end before that is back or \
         declared lost); when it starts is not known: gn7 is out of reach"
    );
    assert!(!told.is_promised && told.from == Latest::Unknown);
}

#[test]
fn an_answer_looks_at_so_many_tasks_and_no_more() {
    let most = super::super::explaining::MOST_VISITED;
    let mut queue = cluster(&["gn6 1 H100 a"]);
    let tasks = (0..10_000).map(|number| request(&format!("t{number}"), auto("1x1 H100")).limited(1));
    insert(&mut queue, 0, tasks);
    queue.decide(0);
    let near = queue.explain(&"t9".into(), 1).unwrap();
    assert_eq!((near.before, near.are_more_before), (8, false));
    let told = queue.explain(&"t9999".into(), 1).unwrap();
    // The first in line is looked at twice: for what is kept for it, and in its turn.
    assert_eq!((told.before, told.are_more_before), (most - 1, true));
    assert_eq!((told.from, told.is_promised), (Latest::Unknown, false));
    assert_eq!(
        told.text().en,
        "waits for 1 H100, in use by t0 (until 1970-01-01 01:00 UTC at the latest); t1 and more than 4094 others are before it; \
         when it starts can be said once those before it have started"
    );
    // What does not depend on those before it is known all the same.
    insert(&mut queue, 1, [request("absent", these(&["gn9-0"])), request("huge", auto("9x9 H100"))]);
    assert!(english(&mut queue, "absent", 1).starts_with("there are no such workers: gn9-0"));
    assert!(english(&mut queue, "huge", 1).starts_with("9 nodes × 9 H100 take 9 environments"));
}

#[test]
fn who_waits_in_vain_is_before_nobody() {
    let rules = Rules { limits: Limits { workers: Some(3), tasks: None }, ..Rules::default() };
    let mut queue = with_rules(rules, &["gn6 2 H100 a", "gn7 2 H100 a"]);
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("off 1 H100 a") });
    let running = ["gn6", "gn7"]
        .map(|node| request(node, these(&[&format!("{node}-0"), &format!("{node}-1")])).of(node).limited(2));
    insert(&mut queue, 0, running);
    queue.decide(0);
    let vain = [auto("9x1 H100"), these(&["gn6-0", "gn9-0"]), auto("2x2 H100"), these(&["gn6-0", "off-0"])];
    insert(&mut queue, 1, vain.into_iter().zip(0..).map(|(need, number)| request(&format!("vain-{number}"), need)));
    insert(&mut queue, 2, [request("first", auto("1x2 H100")).limited(1), request("second", auto("1x2 H100"))]);
    queue.decide(2);
    let first = queue.explain(&"first".into(), 2).unwrap();
    assert_eq!((first.before, first.is_promised, first.from), (0, true, Latest::At(2 * HOUR)));
    let second = queue.explain(&"second".into(), 2).unwrap();
    let ahead: Vec<&str> = second.ahead.iter().map(|name| name.task.as_str()).collect();
    assert_eq!((ahead, second.before), (vec!["first"], 1));
    assert!(second.text().en.contains("; first is before it"), "{}", second.text().en);
}

#[test]
fn who_is_ahead_and_what_is_kept_for_whom_is_listed() {
    let mut queue = with_rules(Rules::default(), &["gn6 2 H100 a"]);
    insert(&mut queue, 0, [request("running", these(&["gn6-0", "gn6-1"])).limited(1)]);
    queue.decide(0);
    for name in ["first", "second", "third"] {
        insert(&mut queue, 1, [request(name, auto("1x2 H100")).limited(1)]);
    }
    queue.decide(1);
    let first = queue.explain(&"first".into(), 1).unwrap();
    let kept = first.reserved.clone().unwrap();
    assert_eq!((first.ahead.len(), kept.task.task.as_str(), kept.count), (0, "first", 2));
    assert!(kept.text().en.starts_with("gn6-0, gn6-1 are kept for first"), "{}", kept.text().en);
    let third = queue.explain(&"third".into(), 1).unwrap();
    let ahead: Vec<&str> = third.ahead.iter().map(|name| name.task.as_str()).collect();
    assert_eq!((ahead, third.before), (vec!["first", "second"], 2));
    assert_eq!(third.reserved.map(|kept| kept.task.task), Some("first".into()));
}
