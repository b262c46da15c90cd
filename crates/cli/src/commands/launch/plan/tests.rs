use clap::{Args, FromArgMatches};

use super::*;

fn here(hostfile: Option<&str>) -> Here {
    Here {
        folder: "/data/my run".into(),
        variables: vec![("NCCL_DEBUG".into(), "INFO".into()), ("HOME".into(), "/home/me".into())],
        environment_files: Vec::new(),
        hostfile: hostfile.map(|text| ("hostfile".to_owned(), text.to_owned())),
        secret: "s3cret".into(),
        language: "en",
        are_same: |one, other| (one, other) == ("gn6", "10.0.0.6"),
        is_here: |name| name == "localhost",
    }
}

fn planned(hostfile: Option<&str>, line: &str) -> Result<Plan, LaunchProblem> {
    let command = LaunchFlags::augment_args(clap::Command::new("launch"));
    let words = ["launch"].into_iter().chain(line.split(' '));
    let flags = LaunchFlags::from_arg_matches(&command.get_matches_from(words)).unwrap();
    plan(&flags, &here(hostfile))
}

/// Host, ranks and where it is started, in order.
fn seats(hostfile: &str, line: &str) -> Result<Vec<String>, LaunchProblem> {
    let plan = planned(Some(hostfile), line)?;
    Ok(plan.nodes.iter().map(|node| format!("{} {}", node.host.name, node.ranks)).collect())
}

const LIST: &str = "gn40 slots=4\ngn6 slots=2\ngn7\n";

#[test]
fn the_master_is_first_and_the_others_keep_their_order() {
    assert_eq!(seats(LIST, "gn6 auto auto t.py").unwrap(), ["gn6 2", "gn40 4", "gn7 auto"]);
    assert_eq!(seats(LIST, "auto 2 auto t.py").unwrap(), ["gn40 4", "gn6 2"]);
    assert_eq!(seats(LIST, "10.0.0.6 2 4 t.py").unwrap(), ["gn6 2", "gn40 4"]);
}

#[test]
fn a_host_with_fewer_slots_gets_fewer_ranks() {
    assert_eq!(seats(LIST, "gn40 3 3 t.py").unwrap(), ["gn40 3", "gn6 2", "gn7 3"]);
}

#[test]
fn a_master_that_is_not_listed_is_put_first_where_there_is_room() {
    assert_eq!(seats("b\nc", "a 3 1 t.py").unwrap(), ["a 1", "b 1", "c 1"]);
    assert_eq!(seats("b\nc", "a 2 1 t.py"), Err(LaunchProblem::MasterNotListed { master: "a".into() }));
    assert_eq!(seats("b\nc", "b 3 1 t.py"), Err(LaunchProblem::TooFewHosts { wanted: 3, found: 2 }));
}

#[test]
fn one_host_needs_no_list() {
    let plan = planned(None, "localhost 1 4 t.py").unwrap();
    assert!(plan.nodes[0].is_here);
    assert_eq!(planned(None, "localhost 2 4 t.py").unwrap_err(), LaunchProblem::NoHosts);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |line: &str| planned(Some(LIST), line).unwrap_err();
    assert_eq!(refused("gn6 two 4 t.py"), LaunchProblem::BadCount { what: "NODES", value: "two".into() });
    assert_eq!(refused("gn6 2 0 t.py"), LaunchProblem::BadCount { what: "GPUS", value: "0".into() });
    assert_eq!(refused("gn6 2 4"), LaunchProblem::NoScript);
    assert_eq!(refused("a;b 2 4 t.py"), LaunchProblem::BadHostName { host: "a;b".into() });
    assert_eq!(
        refused("--run-option=--nnodes=3 gn6 2 4 t.py"),
        LaunchProblem::SetByLaunch { option: "--nnodes".into() }
    );
    let loopback = LaunchProblem::MasterIsLoopback { master: "localhost".into(), other: "gn40".into() };
    assert_eq!(refused("localhost 4 1 t.py"), loopback);
    assert!(planned(Some(LIST), "--master-addr=10.0.0.1 localhost 4 1 t.py").is_ok());
}

#[test]
fn the_command_of_each_host() {
    let line =
        "--include=gn6@gn40:1,3 --run-option=--max-restarts=3 --run-option=--rdzv-secret=word gn6 2 2 train.py --lr 1";
    let plan = planned(Some(LIST), line).unwrap();
    let lines: Vec<String> = plan
        .nodes
        .iter()
        .map(|node| node.words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "run --nnodes=2 --node-rank=0 --master-addr=gn6 --master-port=29500 --nproc-per-node=2 --max-restarts=3 --json --stop-on-stdin-eof train.py --lr 1",
            "run --nnodes=2 --node-rank=1 --master-addr=gn6 --master-port=29500 --nproc-per-node=2 --include=1,3 --max-restarts=3 --json --stop-on-stdin-eof train.py --lr 1",
        ]
    );
    let names: Vec<_> = plan.variables.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(names, [("NCCL_DEBUG", "INFO"), ("FERMI_RDZV_SECRET", "word"), ("FERMI_LANG", "en")]);
}
