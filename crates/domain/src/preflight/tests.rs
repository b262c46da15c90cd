//! Preflights as nodes would play them.

use super::*;
use crate::finding::{Finding, FindingState, FindingTopic};
use crate::language::Text;

fn node(name: &str, readiness: NodeReadiness) -> PreflightNode {
    let environment = EnvironmentId(format!("env-{name}"));
    let address = Some(format!("10.0.0.{}", name.len()));
    PreflightNode { environment, name: name.to_owned(), zone: None, address, readiness }
}

fn ready(count: usize) -> Vec<PreflightNode> {
    (0..count).map(|number| node(&"a".repeat(number + 1), NodeReadiness::Ready)).collect()
}

fn said(text: &'static str) -> Text {
    Text::new(text, text)
}

fn failed(reason: &'static str) -> PreflightNews {
    PreflightNews::Failed { reason: said(reason), hint: said("hint") }
}

fn report(missing: &[usize], findings: Vec<Finding>) -> PreflightNews {
    PreflightNews::Report(Box::new(PreflightReport {
        findings,
        missing: missing.to_vec(),
        ..PreflightReport::default()
    }))
}

fn not_come(rank: usize) -> Finding {
    Finding::error("nodes.presence", FindingTopic::Nodes, said("did not come")).of(rank)
}

fn asked(effects: &[CourseEffect]) -> Vec<(usize, usize, Option<u16>)> {
    let parts = effects.iter().filter_map(|effect| match effect {
        CourseEffect::Ask { node, part } => Some((*node, part.node_rank, part.master_port)),
        CourseEffect::End { .. } => None,
    });
    parts.collect()
}

fn ended(effects: &[CourseEffect]) -> Vec<usize> {
    let ends = effects.iter().filter_map(|effect| match effect {
        CourseEffect::End { node } => Some(*node),
        CourseEffect::Ask { .. } => None,
    });
    ends.collect()
}

fn bad(course: &PreflightCourse) -> Vec<(String, Vec<usize>)> {
    let errors = course.findings().iter().filter(|finding| finding.state >= FindingState::Warning);
    errors.map(|finding| (finding.check.to_string(), finding.nodes.clone())).collect()
}

/// All begin and meet at the first.
fn together(nodes: Vec<PreflightNode>) -> PreflightCourse {
    let (mut course, effects) = PreflightCourse::begin(nodes, PreflightWish::default(), 0);
    let first = asked(&effects)[0].0;
    course.heard(first, PreflightNews::Started, 10);
    for (node, ..) in asked(&course.heard(first, PreflightNews::Meeting { port: 29_500 }, 20)) {
        course.heard(node, PreflightNews::Started, 30);
    }
    course
}

#[test]
fn the_first_is_asked_first_and_the_others_come_to_its_port() {
    let (mut course, effects) = PreflightCourse::begin(ready(3), PreflightWish::default(), 0);
    assert_eq!(asked(&effects), [(0, 0, None)]);
    assert_eq!(course.progress().waits_for, ["a"]);
    let effects = course.heard(0, PreflightNews::Meeting { port: 29_501 }, 100);
    assert_eq!(asked(&effects), [(1, 1, Some(29_501)), (2, 2, Some(29_501))]);
    assert_eq!(course.heard(0, PreflightNews::Meeting { port: 1 }, 100), [], "said twice");
    course.heard(0, PreflightNews::Step { step: PreflightStep::Bandwidth, done: 1, of: 2 }, 200);
    let share = course.progress().share;
    assert!(share > 0.7 && share < 0.8, "{share}");
    course.heard(0, PreflightNews::Step { step: PreflightStep::Looking, done: 0, of: 0 }, 210);
    assert_eq!(course.progress().step, PreflightStep::Bandwidth, "nothing goes back");
    course.heard(0, report(&[], Vec::new()), 300);
    assert_eq!((course.ended_ms(), bad(&course)), (Some(300), Vec::new()));
    assert_eq!(course.heard(1, failed("late"), 400), []);
}

#[test]
fn who_cannot_be_asked_is_named_and_the_others_go_on() {
    let mut nodes = ready(4);
    nodes[0].readiness = NodeReadiness::Offline;
    nodes[2].readiness = NodeReadiness::CannotBeAsked;
    let mut course = together(nodes);
    course.heard(1, report(&[], vec![Finding::warning("wire.delay", FindingTopic::Wire, said("far")).of(1)]), 300);
    let expected =
        [("nodes.offline".into(), vec![0]), ("nodes.release".into(), vec![2]), ("wire.delay".into(), vec![3])];
    assert_eq!(bad(&course), expected, "ranks are told as places of the list");
    let (course, effects) =
        PreflightCourse::begin(vec![node("a", NodeReadiness::Offline)], PreflightWish::default(), 5);
    assert_eq!((effects, course.ended_ms()), (Vec::new(), Some(5)));
    assert_eq!(bad(&course), [("nodes.offline".into(), vec![0])]);
}

#[test]
fn who_did_not_come_says_itself_why() {
    let mut course = together(ready(4));
    course.heard(0, report(&[2, 3], vec![not_come(2), not_come(3)]), 12_000);
    assert_eq!(course.ended_ms(), None, "they may still say why");
    course.heard(2, failed("a firewall"), 12_100);
    assert_eq!(ended(&course.tick(15_000)), [1, 3], "those that have not said that they are done");
    assert_eq!(bad(&course), [("nodes.joined".into(), vec![2]), ("nodes.presence".into(), vec![3])]);
    assert!(course.findings()[0].text.en.contains("aaa could not take part: a firewall"));
}

#[test]
fn a_first_node_that_nobody_reaches_is_tried_as_another() {
    let mut course = together(ready(3));
    course.heard(1, failed("port dropped"), 9_000);
    course.heard(2, failed("port dropped"), 9_000);
    let effects = course.heard(0, report(&[1, 2], vec![not_come(1), not_come(2)]), 12_000);
    assert_eq!(asked(&effects), [(1, 0, None)], "the next one is the first");
    let effects = course.heard(1, PreflightNews::Meeting { port: 29_500 }, 12_100);
    assert_eq!(asked(&effects), [(2, 1, Some(29_500)), (0, 2, Some(29_500))]);
    let mut named = course.clone();
    let port = Finding::error("wire.port", FindingTopic::Wire, said("drops")).of(2);
    named.heard(1, report(&[], vec![port]), 20_000);
    assert_eq!(bad(&named), [("wire.port".into(), vec![0])], "it is named once");
    course.heard(1, report(&[], Vec::new()), 20_000);
    assert_eq!(bad(&course), [("nodes.meeting".into(), vec![0])], "nothing else explains it");
    assert_eq!(course.findings()[0].evidence, Some(said("port dropped")));
}

#[test]
fn a_node_that_dies_in_the_middle_is_named() {
    let mut course = together(ready(3));
    course.heard(0, PreflightNews::Step { step: PreflightStep::Latency, done: 0, of: 0 }, 200);
    course.left(2, 300);
    course.heard(0, report(&[], vec![Finding::error("nodes.lost", FindingTopic::Nodes, said("lost")).of(2)]), 900);
    assert_eq!(bad(&course), [("nodes.left".into(), vec![2]), ("nodes.lost".into(), vec![2])]);
    assert!(course.findings()[0].text.en.contains("measuring latency"), "{:?}", course.findings()[0]);
    let mut headless = together(ready(3));
    let effects = headless.left(0, 300);
    assert_eq!((ended(&effects), asked(&effects)), (vec![1, 2], vec![(1, 0, None)]), "they meet without it");
    headless.heard(1, PreflightNews::Meeting { port: 1 }, 400);
    headless.left(1, 500);
    assert_eq!(bad(&headless), [("nodes.left".into(), vec![0]), ("nodes.left".into(), vec![1])]);
}

#[test]
fn no_wait_is_without_an_end() {
    let (mut silent, _) = PreflightCourse::begin(ready(2), PreflightWish::default(), 0);
    assert_eq!(asked(&silent.tick(8_000)), [(1, 0, None)]);
    silent.tick(16_000);
    assert_eq!(bad(&silent), [("nodes.silent".into(), vec![0]), ("nodes.silent".into(), vec![1])]);
    let mut stuck = together(ready(2));
    stuck.heard(0, PreflightNews::Step { step: PreflightStep::AllReduce, done: 0, of: 0 }, 200);
    assert_eq!(stuck.tick(WHOLE_MS - 1), []);
    assert_eq!(ended(&stuck.tick(WHOLE_MS)), [0, 1]);
    assert_eq!(bad(&stuck), [("preflight.late".into(), vec![])]);
    assert!(stuck.findings()[0].text.en.contains("all nodes are adding"), "{:?}", stuck.findings()[0]);
}

#[test]
fn a_node_known_by_its_loopback_alone_is_not_where_others_meet() {
    let mut nodes = ready(2);
    nodes[0].address = Some("127.0.0.1".to_owned());
    let (_, effects) = PreflightCourse::begin(nodes, PreflightWish::default(), 0);
    assert_eq!(asked(&effects), [(1, 0, None)]);
}

#[test]
fn zones_are_compared_by_their_shortest_trips() {
    let mut nodes = ready(3);
    for (node, zone) in nodes.iter_mut().zip(["east", "east", "west"]) {
        node.zone = Some(zone.to_owned());
    }
    let trips = |far: u64| PreflightReport {
        round_trips_us: vec![
            vec![None, Some(90), Some(far)],
            vec![Some(80), None, Some(far + 900)],
            vec![Some(far), None, None],
        ],
        ..PreflightReport::default()
    };
    let near = zones::check(&nodes, &trips(1_200)).unwrap();
    assert_eq!(
        (near.state, near.text.en.as_ref()),
        (FindingState::Ok, "round trips between zones: east – west 1.20 ms")
    );
    assert_eq!(zones::check(&nodes, &trips(30_000)).unwrap().state, FindingState::Warning);
    assert_eq!(zones::check(&ready(3), &trips(30_000)), None, "no zones are known");
}

#[test]
fn only_what_is_required_keeps_ranks_from_starting() {
    let error = |node| Finding::error("wire.port", FindingTopic::Wire, said("a firewall")).of(node);
    let warning = Finding::warning("wire.delay", FindingTopic::Wire, said("far")).of(1);
    let found = [warning.clone(), error(2), error(3)];
    assert_eq!(PreflightPolicy::Warn.refusal(&found), None);
    assert_eq!(PreflightPolicy::Require.refusal(&[warning]), None);
    let refusal = PreflightPolicy::Require.refusal(&found).unwrap();
    assert_eq!(refusal.node, 2);
    assert_eq!(refusal.text.en, "the preflight found 2 errors, so nothing was started: a firewall; a firewall");
}

#[test]
fn one_that_nobody_waits_for_any_more_is_over_and_says_nothing_of_the_nodes() {
    let mut course = together(ready(2));
    course.call_off(500);
    assert_eq!((course.ended_ms(), course.is_called_off(), bad(&course)), (Some(500), true, Vec::new()));
    assert_eq!(course.findings().len(), 1);
    assert_eq!(course.heard(0, report(&[1], vec![not_come(1)]), 600), [], "what comes late changes nothing");
    assert_eq!((course.tick(700), course.ended_ms()), (Vec::new(), Some(500)));
    let mut over = together(ready(2));
    over.heard(0, report(&[], Vec::new()), 100);
    over.call_off(200);
    assert!(!over.is_called_off(), "it was over before");
}

#[test]
fn ranks_of_a_report_become_places_of_the_list() {
    let interface = |name: &str| Some(name.to_owned());
    let report = PreflightReport {
        untried: vec![(0, 1), (1, 7)],
        interfaces: vec![interface("eth1"), None, interface("no name of a kernel"), interface("eth9")],
        ..PreflightReport::default()
    };
    let found = report.renumbered(&[2, 0, 1], 4);
    assert_eq!(found.untried, [(2, 0)]);
    assert_eq!(found.interfaces, [None, None, interface("eth1"), None]);
}
