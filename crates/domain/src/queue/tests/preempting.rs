//! Preemption: who gives way, and what becomes of them.

use super::*;

fn on() -> Rules {
    Rules { preemption: Preemption::After(Seconds(600)), ..Rules::default() }
}

fn victims(queue: &mut Queue, now_ms: u64) -> Vec<String> {
    let decisions = queue.decide(now_ms).into_iter();
    let victims = decisions.filter_map(|decision| match decision {
        Decision::Preempt(preempt) => Some(preempt.victim.to_string()),
        Decision::Start(_) => None,
    });
    victims.collect()
}

/// Tasks on one worker each, in the order in which they start.
fn filled(rules: Rules, tasks: &[(&str, &str, i32, bool)]) -> Queue {
    let mut queue = with_rules(rules, &["n1 2 H100 a", "n2 2 H100 a"]);
    for ((task, need, priority, preemptible), now) in tasks.iter().zip(0..) {
        let need = if need.contains('x') { auto(need) } else { these(&[need]) };
        let request = Request { preemptible: *preemptible, ..request(task, need).at(*priority) };
        insert(&mut queue, now, [request]);
        assert_eq!(names(&mut queue, now), [*task]);
    }
    queue
}

/// Its name, what it needs, its priority, and whether it gives way.
type RunningTask = (&'static str, &'static str, i32, bool);

#[test]
fn the_lowest_priority_gives_way_first_then_the_youngest_and_no_more_than_needed() {
    let four = |priorities: [i32; 4]| {
        let workers = ["n1-0", "n1-1", "n2-0", "n2-1"];
        let names = ["a", "b", "c", "d"];
        std::array::from_fn::<_, 4, _>(|at| (names[at], workers[at], priorities[at], true))
    };
    let cases: &[(&[RunningTask], &str, &[&str])] = &[
        (&four([0, 0, 0, 0]), "1x1 H100", &["d"]),
        (&four([0, -1, 0, 0]), "1x1 H100", &["b"]),
        (&four([0, 0, 0, 0]), "1x2 H100", &["d", "c"]),
        // The lowest is of no use where its neighbour does not give way.
        (
            &[("a", "n1-0", -5, true), ("b", "n1-1", 0, false), ("c", "n2-0", 0, true), ("d", "n2-1", 0, true)],
            "1x2 H100",
            &["d", "c"],
        ),
        // Nothing happens where it would not be enough.
        (
            &[("a", "n1-0", 0, true), ("b", "n1-1", 0, false), ("c", "n2-0", 5, true), ("d", "n2-1", 0, true)],
            "1x2 H100",
            &[],
        ),
        // A gang goes whole.
        (&[("a", "2x1 H100", 0, true), ("b", "n1-1", 0, false), ("c", "n2-1", 0, false)], "1x1 H100", &["a"]),
    ];
    for (tasks, need, expected) in cases {
        let mut queue = filled(on(), tasks);
        insert(&mut queue, HOUR, [request("urgent", auto(need)).at(3).of("bo")]);
        assert_eq!(victims(&mut queue, HOUR), *expected, "{tasks:?} {need}");
    }
}

#[test]
fn it_is_off_unless_it_is_switched_on() {
    let mut queue = filled(Rules::default(), &[("a", "2x2 H100", 0, true)]);
    insert(&mut queue, HOUR, [request("urgent", auto("1x1 H100")).at(3)]);
    assert_eq!(victims(&mut queue, HOUR), [""; 0]);
}

#[test]
fn a_victim_is_asked_once_and_comes_back_at_the_head_of_its_priority() {
    let mut queue = filled(on(), &[("victim", "2x2 H100", 0, true)]);
    insert(&mut queue, HOUR, [request("waiting", auto("1x2 H100"))]);
    insert(&mut queue, HOUR, [request("urgent", auto("2x2 H100")).at(1).of("bo").limited(1)]);
    let decisions = queue.decide(HOUR);
    let [Decision::Preempt(preempt)] = &decisions[..] else { panic!("{decisions:?}") };
    assert_eq!((preempt.victim.as_str(), preempt.by_ms), ("victim", HOUR + 600_000));
    assert!(preempt.text().en.contains("gives its workers to urgent"));
    assert!(
        english(&mut queue, "urgent", HOUR).contains("victim (giving way, ends at 1970-01-01 01:10 UTC at the latest)")
    );
    assert_eq!(victims(&mut queue, HOUR + 1), [""; 0], "asked once");
    give_back(&mut queue, &"victim".into(), HOUR + 2);
    assert_eq!(names(&mut queue, HOUR + 2), ["urgent"]);
    queue.ended(&"urgent".into(), HOUR + 3);
    assert_eq!(names(&mut queue, HOUR + 3), ["victim"], "before one of its priority that came first");
}

#[test]
fn named_workers_are_cleared_only_if_all_of_them_can_be() {
    let tasks = [("a", "n1-0", 0, true), ("b", "n1-1", 0, false)];
    for (workers, expected) in [(&["n1-0"][..], &["a"][..]), (&["n1-0", "n1-1"], &[]), (&["n1-0", "n2-0"], &["a"])] {
        let mut queue = filled(on(), &tasks);
        insert(&mut queue, HOUR, [request("urgent", these(workers)).at(1)]);
        assert_eq!(victims(&mut queue, HOUR), *expected, "{workers:?}");
    }
}

#[test]
fn nothing_gives_way_for_a_task_that_starts_as_soon_without() {
    let mut queue = with_rules(on(), &["n1 1 H100 a", "n2 1 H100 a"]);
    insert(&mut queue, 0, [request("a", these(&["n1-0"])).preemptible(), request("b", these(&["n2-0"])).limited(1)]);
    queue.decide(0);
    insert(&mut queue, HOUR - 1, [request("urgent", auto("1x1 H100")).at(1)]);
    assert_eq!(victims(&mut queue, HOUR - 1), [""; 0]);
}

#[test]
fn no_more_give_way_than_are_needed_while_those_that_do_come_back() {
    let rules = Rules { preemption: Preemption::After(Seconds(5)), ..Rules::default() };
    let mut queue = with_rules(rules, &["a1 4 - z1", "a2 4 - z1", "b1 2 - z2", "c1 2 - z3"]);
    let held = Request { preemptible: false, ..request("held", these(&["a1-0", "a1-1", "a1-2", "a1-3"])) };
    insert(&mut queue, 0, [held]);
    let small = (0..30).map(|number| Request {
        time_limit: Some(Seconds(70)),
        preemptible: true,
        ..request(&format!("s{number}"), auto("1x1 *"))
    });
    insert(&mut queue, 1, small.collect::<Vec<_>>());
    assert_eq!(names(&mut queue, 1).len(), 9);
    insert(&mut queue, 2, [request("h", auto("2x2 *")).at(5)]);
    let mut asked = victims(&mut queue, 2);
    assert_eq!(asked.len(), 4, "{asked:?}");
    let mut now = 2;
    while let Some(victim) = asked.pop() {
        now += 100;
        give_back(&mut queue, &victim.as_str().into(), now);
        for decision in queue.decide(now) {
            match decision {
                Decision::Start(start) => assert_eq!((start.task.as_str(), asked.len()), ("h", 0), "at {now}"),
                Decision::Preempt(more) => panic!("{} as well", more.victim),
            }
        }
    }
    assert!(!queue.waits(&"h".into()));
}
