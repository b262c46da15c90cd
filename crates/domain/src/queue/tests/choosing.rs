//! Launch mode `auto`: what is chosen, and what is said about it.

use super::*;

/// Lets one task choose in a cluster where some workers are taken by a task without a time limit.
fn choose(offers: &[&str], taken: &[&str], need: Need) -> Option<Start> {
    let mut queue = cluster(offers);
    if !taken.is_empty() {
        insert(&mut queue, 0, [request("other", these(taken))]);
        assert_eq!(names(&mut queue, 0), ["other"]);
    }
    insert(&mut queue, 0, [request("asked", need)]);
    starts(&mut queue, 0).pop()
}

#[test]
fn one_zone_and_one_model_come_first_then_few_nodes_then_the_closest_fit() {
    let cases: &[(&[&str], &[&str], &str, &str)] = &[
        // The closest fit, so that the large gap stays whole.
        (&["n1 8 H100 a", "n2 4 H100 a"], &[], "1x4 H100", "n2-0 n2-1 n2-2 n2-3"),
        (&["n1 2 H100 a", "n2 2 H100 a"], &["n1-0"], "1x1 H100", "n1-1"),
        // One zone before two.
        (&["n1 1 H100 a", "n2 1 H100 b", "n3 1 H100 b"], &[], "2x1 H100", "n2-0 n3-0"),
        // One model before two.
        (&["n1 1 A100 a", "n2 1 H100 a", "n3 1 H100 a"], &[], "2x1 -", "n2-0 n3-0"),
        // Several zones where no zone has room now.
        (&["n1 1 H100 a", "n2 1 H100 b", "n3 1 H100 b"], &["n3-0"], "2x1 H100", "n1-0 n2-0"),
        // Several models only where no model has enough.
        (&["n1 1 A100 a", "n2 1 H100 a"], &[], "2x1 -", "n1-0 n2-0"),
        (&["n1 1 A100 a", "n2 1 H100 a", "n3 1 H100 a"], &["n3-0"], "2x1 -", ""),
        // GPUs of one model that do not follow each other are one node's.
        (&["n1 2 A100 1 T4 1 A100 a", "n2 8 A100 a"], &[], "2x1 A100", "n1-0 n2-0"),
        (&["n1 2 A100 1 T4 1 A100 a"], &[], "1x3 A100", "n1-0 n1-1 n1-3"),
        (&["n1 2 A100 1 T4 1 A100 a"], &[], "1x1 T4", "n1-2"),
        (&["n1 2 A100 1 T4 1 A100 a"], &["n1-0"], "1x2 A100", "n1-1 n1-3"),
        // Node names are ordered as people do.
        (&["n10 1 H100 a", "n9 1 H100 a"], &[], "1x1 H100", "n9-0"),
        // Machines without GPUs serve those who ask for workers, and no others.
        (&["n1 2 - a"], &[], "1x2 *", "n1-0 n1-1"),
        (&["n1 2 - a"], &[], "1x2 -", ""),
        // All or nothing.
        (&["n1 4 H100 a", "n2 4 H100 a"], &["n1-0"], "2x4 H100", ""),
        (&["n1 4 H100 a"], &[], "0x4 H100", ""),
    ];
    for (offers, taken, need, chosen) in cases {
        let start = choose(offers, taken, auto(need));
        assert_eq!(start.as_ref().map(workers).unwrap_or_default(), *chosen, "{offers:?} without {taken:?}: {need}");
    }
}

#[test]
fn two_models_in_one_machine_are_told_apart() {
    let mut queue = cluster(&["n2 1 A100 a"]);
    let mut mixed = offer("n1 2 A100 a");
    mixed.runs.push(WorkerRun { model: Some("H100".into()), count: 2 });
    queue.set_environment(mixed);
    insert(&mut queue, 0, [request("h", auto("1x2 H100")), request("both", auto("2x1 A100"))]);
    let started = starts(&mut queue, 0);
    assert_eq!(started.iter().map(workers).collect::<Vec<_>>(), ["n1-2 n1-3", "n1-0 n2-0"]);
}

#[test]
fn zone_and_labels_must_be_met() {
    let mut queue = cluster(&["n1 1 H100 a", "n2 1 H100 b"]);
    queue.set_environment(Offer { labels: [("disk".into(), "nvme".into())].into(), ..offer("n3 1 H100 b") });
    let Need::Auto(wish) = auto("1x1 H100") else { unreachable!() };
    let labels: BTreeMap<String, String> = [("disk".to_owned(), "nvme".to_owned())].into();
    let zone = Some("b".to_owned());
    insert(
        &mut queue,
        0,
        [
            request("label", Need::Auto(Wish { labels: labels.clone(), ..wish.clone() })),
            request("zone", Need::Auto(Wish { zone: zone.clone(), ..wish.clone() })),
            request("neither", Need::Auto(Wish { labels, zone: Some("a".into()), ..wish })),
        ],
    );
    let started = starts(&mut queue, 0);
    assert_eq!(started.iter().map(workers).collect::<Vec<_>>(), ["n3-0", "n2-0"]);
}

#[test]
fn a_choice_says_why_and_what_it_passed_over() {
    let mut queue = cluster(&["gn6 8 H100 a", "gn7 8 H100 a", "gn8 8 H100 a", "gn9 8 A100 a", "gn10 2 H100 a"]);
    queue.set_environment(Offer { status: EnvironmentStatus::Drained, ..offer("gn11 8 H100 a") });
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("gn12 8 H100 a") });
    insert(&mut queue, 0, [request("other", these(&["gn7-0"])).limited(2)]);
    insert(&mut queue, 0, [request("asked", auto("1x8 H100"))]);
    let start = starts(&mut queue, 0).pop().unwrap();
    let text = start.text().unwrap();
    assert_eq!(
        text.en,
        "takes gn6 (8): one zone (a), one GPU model (H100); passed over: \
         1 busy (gn7 until 1970-01-01 02:00 UTC at the latest); 1 free, but a less close fit (gn8); \
         1 with too few workers (gn10 2); 2 out of service (gn11 Drained, gn12 Offline); 1 with another GPU (gn9 A100)"
    );
    assert_eq!(
        text.zh,
        "选择 gn6 (8)：同一可用区 (a)，同一 GPU 型号 (H100)；未选：1 个使用中（gn7 最迟 1970-01-01 02:00 UTC 空出）；\
         1 个空闲，但不如所选的合适（gn8）；1 个Worker 太少（gn10 2）；2 个不可用（gn11 已停用、gn12 离线）；\
         1 个GPU 型号不符（gn9 A100）"
    );
}

#[test]
fn environments_that_come_and_go_are_taken_into_account() {
    let mut queue = cluster(&["n1 1 H100 a"]);
    insert(&mut queue, 0, [request("first", auto("1x1 H100")), request("second", auto("1x1 H100"))]);
    assert_eq!(names(&mut queue, 0), ["first"]);
    queue.set_environment(Offer { status: EnvironmentStatus::Offline, ..offer("n2 1 H100 a") });
    assert_eq!(names(&mut queue, 1), [""; 0]);
    queue.set_environment(offer("n2 1 H100 a"));
    assert_eq!(names(&mut queue, 2), ["second"]);
    // Numbers of workers move with a new environment; who holds them stays.
    queue.set_environment(offer("n0 3 H100 a"));
    insert(&mut queue, 3, [request("named", these(&["n1-0"])), request("third", auto("1x3 H100"))]);
    assert_eq!(names(&mut queue, 3), ["third"]);
    queue.remove_environment(&"n2".into());
    assert_eq!(queue.ended(&"first".into(), 4).unwrap().task, "first".into());
    assert_eq!(names(&mut queue, 4), ["named"]);
    assert_eq!(
        queue.ended(&"second".into(), 4).unwrap().task,
        "second".into(),
        "its machine is gone, its account is not"
    );
}
