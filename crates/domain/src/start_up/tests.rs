use super::*;
use Standing::{Ended, Joined, NotJoined};

/// The key of a process group that rank 7 sets.
const OF_7: &str = "/default_pg/0//cpu//0/7";
const BARRIER: &str = "/default_pg/0//store_based_barrier_key:1:last_worker";

fn rank(rank: u32, standing: Standing, phase: Option<Phase>, key: Option<&str>) -> RankStanding {
    let node = if rank < 4 { "gn6" } else { "gn7" };
    RankStanding { rank, node: node.to_owned(), standing, phase, waits_for: key.map(str::to_owned) }
}

/// Ranks 0–6 as this one, and rank 7.
fn eight(others: impl Fn(u32) -> RankStanding, last: RankStanding) -> Vec<RankStanding> {
    (0..7).map(others).chain([last]).collect()
}

fn said(ranks: &[RankStanding], hosts_store: bool) -> Option<Text> {
    match view(ranks, hosts_store) {
        StartUp::Waits(wait) => Some(wait.text()),
        StartUp::Quiet | StartUp::Over => None,
    }
}

#[test]
fn who_waits_for_whom() {
    let waits = |key: &'static str| move |of| rank(of, Joined, Some(Phase::Init), Some(key));
    let loads = |of| rank(of, Joined, Some(Phase::Load), Some(BARRIER));
    let bare = |of| rank(of, Joined, None, Some(OF_7));
    let there = |of| rank(of, Joined, None, None);
    let table: Vec<(Vec<RankStanding>, bool, &str, &str)> = vec![
        (
            eight(waits(OF_7), rank(7, NotJoined, Some(Phase::Import), None)),
            true,
            "rank 0–6 正在等待 gn7 上的 rank 7（正在导入）",
            "ranks 0–6 wait for rank 7 on gn7, which is importing",
        ),
        (
            eight(bare, rank(7, NotJoined, None, None)),
            true,
            "rank 0–6 正在等待 gn7 上的 rank 7（尚未加入）",
            "ranks 0–6 wait for rank 7 on gn7, which has not joined",
        ),
        (
            // Fermi does not host the store: who has joined is all that is seen.
            eight(there, rank(7, NotJoined, None, None)),
            false,
            "rank 0–6 正在等待 gn7 上的 rank 7（尚未加入）",
            "ranks 0–6 wait for rank 7 on gn7, which has not joined",
        ),
        (
            // All have joined; the key names the rank.
            eight(waits(OF_7), rank(7, Joined, Some(Phase::Load), None)),
            true,
            "rank 0–6 正在等待 gn7 上的 rank 7（正在加载）",
            "ranks 0–6 wait for rank 7 on gn7, which is loading",
        ),
        (
            // The key names none, but only one does not wait.
            eight(loads, rank(7, Joined, Some(Phase::Load), None)),
            true,
            "rank 0–6 正在等待 gn7 上的 rank 7（正在加载）",
            "ranks 0–6 wait for rank 7 on gn7, which is loading",
        ),
        (
            eight(waits(OF_7), rank(7, Ended, None, None)),
            true,
            "rank 0–6 正在等待 gn7 上的 rank 7（已结束）",
            "ranks 0–6 wait for rank 7 on gn7, which has ended",
        ),
        (
            vec![
                rank(0, Joined, Some(Phase::Init), Some(OF_7)),
                rank(1, NotJoined, Some(Phase::Import), None),
                rank(2, NotJoined, Some(Phase::Import), None),
                rank(3, NotJoined, Some(Phase::Init), None),
                rank(4, NotJoined, Some(Phase::Import), None),
            ],
            true,
            "rank 0 正在等待 gn6 上的 rank 1, 2（正在导入）、gn6 上的 rank 3（正在连接）、gn7 上的 rank 4（正在导入）",
            "rank 0 waits for ranks 1, 2 on gn6, which are importing, rank 3 on gn6, which is connecting, and rank 4 on \
             gn7, which is importing",
        ),
    ];
    for (ranks, hosts_store, zh, en) in table {
        let text = said(&ranks, hosts_store).unwrap_or_else(|| panic!("nobody waits: {ranks:?}"));
        assert_eq!((text.zh.as_ref(), text.en.as_ref()), (zh, en));
    }
}

#[test]
fn what_is_no_start_up_that_waits() {
    let phase = |phase| move |of| rank(of, Joined, Some(phase), None);
    let bare = |of| rank(of, Joined, None, None);
    let table = [
        (
            "nobody has joined: it may be no program that does",
            eight(|of| rank(of, NotJoined, None, None), rank(7, NotJoined, None, None)),
            true,
            StartUp::Quiet,
        ),
        (
            "one has joined and waits for nothing",
            eight(|of| rank(of, NotJoined, None, None), rank(7, Joined, None, None)),
            true,
            StartUp::Quiet,
        ),
        ("all load", eight(phase(Phase::Load), rank(7, Joined, Some(Phase::Init), None)), true, StartUp::Quiet),
        ("all train", eight(phase(Phase::Step), rank(7, Joined, Some(Phase::FirstStep), None)), true, StartUp::Over),
        (
            "all train, and one waits for whatever it likes",
            eight(phase(Phase::Step), rank(7, Joined, Some(Phase::Step), Some("shutdown"))),
            true,
            StartUp::Over,
        ),
        (
            "a few wait for a key of their own",
            eight(phase(Phase::Load), rank(7, Joined, Some(Phase::Load), Some("shutdown"))),
            true,
            StartUp::Quiet,
        ),
        (
            "all wait, so none is awaited",
            eight(
                |of| rank(of, Joined, Some(Phase::Init), Some(OF_7)),
                rank(7, Joined, Some(Phase::Init), Some(BARRIER)),
            ),
            true,
            StartUp::Quiet,
        ),
        ("without the hook nobody waits any more", eight(bare, rank(7, Joined, None, None)), true, StartUp::Over),
        ("without the store all have joined", eight(bare, rank(7, Ended, None, None)), false, StartUp::Over),
    ];
    for (name, ranks, hosts_store, expected) in table {
        assert_eq!(view(&ranks, hosts_store), expected, "{name}");
    }
}

#[test]
fn many_ranks_are_stretches_and_many_groups_are_counted() {
    let awaited = |rank: u32, node: &str| AwaitedRank {
        rank,
        node: node.to_owned(),
        standing: NotJoined,
        phase: Some(Phase::Import),
    };
    let names: Vec<String> = (0..6).map(|node| format!("gn{node}")).collect();
    let late: Vec<AwaitedRank> = (8..48).map(|rank| awaited(rank, &names[(rank / 8 - 1) as usize])).collect();
    let wait = RanksWait { waiting: vec![6, 0, 1, 2, 4], awaited: late };
    assert_eq!(
        wait.text().en,
        "ranks 0–2, 4, 6 wait for ranks 8–15 on gn0, which are importing, ranks 16–23 on gn1, which are importing, \
         ranks 24–31 on gn2, which are importing, and 16 more"
    );
    let note = WaitNote::of(1, 5, RanksWait { waiting: (0..5_000).collect(), awaited: wait.awaited });
    assert_eq!((note.waiting.len(), note.awaited.len()), (64, 40));
    assert!(note.text.en.starts_with("ranks 0–4999 wait for"));
}

#[test]
fn it_is_told_soon_shown_when_it_takes_long_and_not_over_and_over() {
    let wait = |phase| RanksWait {
        waiting: vec![0],
        awaited: vec![AwaitedRank { rank: 1, node: "a".into(), standing: NotJoined, phase: Some(phase) }],
    };
    let told = |looks: &[(u64, Phase)]| {
        let mut telling = Telling::default();
        let due = looks.iter().filter(|(at, phase)| telling.is_due(&wait(*phase), *at)).map(|(at, _)| *at);
        due.collect::<Vec<u64>>()
    };
    let every_second: Vec<(u64, Phase)> = (0..400).map(|second| (second * 1_000, Phase::Import)).collect();
    assert_eq!(told(&every_second), [1_000, 5_000, 60_000, 120_000, 240_000]);
    // Another phase is news, though not within seconds.
    let changes = [
        (1_000, Phase::Import),
        (2_000, Phase::Init),
        (5_000, Phase::Init),
        (7_000, Phase::Load),
        (10_000, Phase::Load),
    ];
    assert_eq!(told(&changes), [1_000, 5_000, 10_000]);
    let mut telling = Telling::default();
    assert!(!telling.pass());
    assert!(telling.is_due(&wait(Phase::Import), 1_000) && telling.pass() && !telling.pass());
}
