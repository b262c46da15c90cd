use super::*;
use crate::failure::{Evidence, diagnose, last_traceback};
use crate::language::FrontEnd;

fn failed(exit: Exit) -> FailedRank {
    FailedRank { rank: Rank(3), node: "gn6".to_owned(), exit }
}

#[test]
fn headlines_name_the_rank_the_node_and_the_end() {
    let missing = |count: u32| {
        (0..count).map(|rank| MissingRank { rank: Rank(rank), node: "gn7".to_owned(), phase: None }).collect()
    };
    let node = "gn7".to_owned();
    let importing = vec![MissingRank { rank: Rank(7), node: node.clone(), phase: Some(Phase::Import) }];
    let reason = Text::new("端口 29500 已被占用", "port 29500 is in use");
    let table = [
        (
            Verdict::rank_failed(failed(Exit::Signal { signal: 9, core_dumped: false }), None),
            "节点 gn6 上的 rank 3 被 SIGKILL 终止",
            "rank 3 on gn6 was killed by SIGKILL",
        ),
        (
            Verdict::rank_failed(failed(Exit::Signal { signal: 11, core_dumped: true }), None),
            "节点 gn6 上的 rank 3 被 SIGSEGV 终止（已转储核心）",
            "rank 3 on gn6 was killed by SIGSEGV (core dumped)",
        ),
        (
            Verdict::rank_failed(failed(Exit::Code { code: 1 }), None),
            "节点 gn6 上的 rank 3 以退出码 1 结束",
            "rank 3 on gn6 ended with exit code 1",
        ),
        (
            Verdict::rank_failed(failed(Exit::NotStarted { error: "no python".to_owned() }), None),
            "节点 gn6 上的 rank 3 未能启动：no python",
            "rank 3 on gn6 could not be started: no python",
        ),
        (
            Verdict::of(VerdictKind::StartTimedOut { missing: missing(2), joined: Vec::new() }),
            "启动超时，未到达：gn7 上的 rank 0, 1",
            "the start timed out waiting for ranks 0, 1 on gn7",
        ),
        (
            Verdict::of(VerdictKind::StartTimedOut { missing: importing, joined: (0..7).map(Rank).collect() }),
            "启动超时，未到达：gn7 上的 rank 7（正在导入）；rank 0–6 已加入",
            "the start timed out waiting for rank 7 on gn7, which is importing; ranks 0–6 have joined",
        ),
        (Verdict::of(VerdictKind::StoppedByUser), "训练已被用户停止", "the training was stopped by its user"),
        (Verdict::of(VerdictKind::NodeLost { node: node.clone() }), "节点 gn7 失去联系", "the node gn7 was lost"),
        (
            Verdict::of(VerdictKind::supervisor_lost(node)),
            "节点 gn7 上的 supervisor 已退出，其全部进程随之结束",
            "the supervisor on gn7 died, and its processes with it",
        ),
        (
            Verdict::of(VerdictKind::refused(reason)),
            "未能启动：端口 29500 已被占用",
            "the launch was refused: port 29500 is in use",
        ),
        (Verdict::of(VerdictKind::Succeeded), "训练完成", "the training finished"),
    ];
    for (verdict, zh, en) in table {
        assert_eq!(verdict.headline(), Text::new(zh, en));
    }
}

#[test]
fn a_verdict_survives_json() {
    let exit = Exit::Code { code: 1 };
    let tail: Vec<String> = [
        "Traceback (most recent call last):",
        "  File \"a.py\", line 1, in f",
        "torch.OutOfMemoryError: CUDA out of memory.",
    ]
    .map(str::to_owned)
    .to_vec();
    let evidence =
        Evidence { exit: &exit, tail: &tail, error_file: None, oom_killed: false, lived_ms: 9, made_progress: false };
    let mut verdict = Verdict::rank_failed(failed(exit.clone()), diagnose(&evidence));
    verdict.traceback = last_traceback(&tail);
    verdict.evidence = tail.clone();
    verdict.others = vec![OtherFailure { failed: failed(exit.clone()), after_ms: 120, role: Some(Role::Victim) }];
    let json = serde_json::to_string(&verdict).unwrap();
    assert!(json.contains("\"afterMs\":120") && json.contains("\"wouldRepeat\""), "{json}");
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);

    let lost = Verdict::of(VerdictKind::NodeLost { node: "gn7".to_owned() });
    assert_eq!(serde_json::from_str::<Verdict>(&serde_json::to_string(&lost).unwrap()).unwrap(), lost);
}

#[test]
fn the_class_is_the_diagnosis_or_the_script() {
    assert_eq!(Verdict::rank_failed(failed(Exit::Code { code: 1 }), None).class, Some(FailureClass::User));
    assert_eq!(Verdict::of(VerdictKind::Succeeded).class, None);
    assert!(Verdict::of(VerdictKind::Succeeded).is_success());
}

#[test]
fn the_others_are_counted_in_one_sentence() {
    let mut verdict = Verdict::rank_failed(failed(Exit::Code { code: 1 }), None);
    assert_eq!(verdict.others_summary(), None);
    let other = |role| OtherFailure { failed: failed(Exit::Code { code: 1 }), after_ms: 5, role };
    verdict.others = vec![other(None)];
    assert_eq!(verdict.others_summary().unwrap().en, "1 more rank failed after it");
    verdict.others.push(other(Some(Role::Victim)));
    assert_eq!(verdict.others_summary().unwrap().en, "2 more ranks failed after it, 1 of them as victims");
}

#[test]
fn advice_names_flags_on_the_command_line_and_nowhere_else() {
    let port = Text::new("端口已被占用", "the port is taken");
    let kinds = [
        VerdictKind::StartTimedOut { missing: Vec::new(), joined: Vec::new() },
        VerdictKind::NodeLost { node: "gn7".to_owned() },
        VerdictKind::LaunchRefused { reason: port, settings: vec![Setting::MasterPort, Setting::NodeRank] },
    ];
    for kind in kinds {
        let advice = Verdict::of(kind).advice().unwrap();
        let typed = advice.spelled(FrontEnd::CommandLine);
        assert!(typed.en.contains("--") && typed.zh.contains("--"), "{typed:?}");
        for front_end in [FrontEnd::Api, FrontEnd::Console] {
            let shown = advice.spelled(front_end);
            assert!(!shown.en.contains("--") && !shown.zh.contains("--"), "{shown:?}");
        }
    }
    let lost = Verdict::of(VerdictKind::NodeLost { node: "gn7".to_owned() }).advice().unwrap();
    assert_eq!(
        lost.spelled(FrontEnd::Api).en,
        "see whether gn7 is down or off the network; policies.nodeLostAfter says how long to bear with it"
    );
}

#[test]
fn a_refusal_stored_without_settings_is_still_read() {
    let stored = r#"{"type":"launchRefused","reason":{"zh-CN":"端口","en":"port"}}"#;
    let kind: VerdictKind = serde_json::from_str(stored).unwrap();
    assert_eq!(kind, VerdictKind::refused(Text::new("端口", "port")));
    assert_eq!(serde_json::to_string(&kind).unwrap(), stored);
}
