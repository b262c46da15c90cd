use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fermi_domain::checkpoint::ResumePlan;
use fermi_domain::contract::{Inherited, SIGNALS_TO_HANDLE};
use fermi_domain::ids::{Rank, WorkerId};
use fermi_domain::launch::RankLaunch;

use super::super::site::{Devices, Folders};
use super::*;
use crate::bundle::MasterPort;

fn launch() -> NodeLaunch {
    let ranks = [(7, 5), (8, 3)].map(|(rank, slot)| RankLaunch {
        rank: Rank(rank),
        worker: WorkerId::new("gn6", slot),
        gpu: Some(slot),
        env: Vec::new(),
    });
    NodeLaunch {
        node_name: "gn 6'\"训".into(),
        node_count: 3,
        world_size: 9,
        ranks: ranks.to_vec(),
        ..NodeLaunch::default()
    }
}

fn site() -> Site {
    Site {
        folders: Folders {
            live: "/d/live".into(),
            run: Some("/d/run".into()),
            launch: "/d/launch".into(),
            output: "/d/out".into(),
            checkpoint: "/d/out/checkpoints".into(),
            source: "/src 目录".into(),
        },
        fermi: "/bin/fermi".into(),
        python: Some("/usr/bin/python3".into()),
        search_path: None,
        interface: Some("eth0".into()),
        inherited: Inherited::default(),
        tuned: BTreeSet::new(),
        devices: Devices::OfRanks { visible: None },
        signals: SIGNALS_TO_HANDLE.to_owned(),
    }
}

fn meeting() -> Meeting {
    Meeting {
        gathering: Gathering { nodes: 3, node_rank: Some(2), coordinates: false, ..Gathering::alone() },
        address: "10.0.0.6".into(),
        port: MasterPort::Elsewhere(29_511),
        numbering: RankNumbering::Known,
    }
}

fn identity() -> RunIdentity {
    RunIdentity {
        run_id: "c-run".into(),
        task_id: "task-1".into(),
        torch_run_id: "task-1".into(),
        generation: 4,
        owner: "c/task-1".into(),
    }
}

fn made_with(launch: &NodeLaunch, site: &Site, policy: &RunPolicy) -> NodeBundle {
    let ranks = unseen_ranks(launch, 2, Some(Path::new("/work")));
    prepare(launch, site, policy, identity(), meeting(), ranks).unwrap().bundle
}

fn made(launch: &NodeLaunch) -> NodeBundle {
    made_with(launch, &site(), &RunPolicy::default())
}

fn command(bundle: &NodeBundle, local: usize) -> (Vec<String>, BTreeMap<String, String>) {
    let start = bundle.start(bundle.attempts_before + 1, ResumePlan::FRESH, 29_511, bundle.own_position());
    let command = bundle.command(&bundle.ranks[local], &bundle.facts(&start));
    let words = command.argv.iter().map(|word| word.to_str().unwrap().to_owned());
    (words.collect(), command.env.into_iter().collect())
}

#[test]
fn ranks_know_who_they_are_and_which_worker_they_have() {
    let bundle = made(&launch());
    let (_, variables) = command(&bundle, 1);
    let expected = [
        ("RANK", "8"),
        ("LOCAL_RANK", "1"),
        ("WORLD_SIZE", "9"),
        ("NODE_RANK", "2"),
        ("FERMI_TASK_ID", "task-1"),
        ("FERMI_GENERATION", "4"),
        ("FERMI_WORKER_ID", "gn6-3"),
        ("FERMI_NODE_NAME", "gn 6'\"训"),
        ("CUDA_VISIBLE_DEVICES", "5,3"),
        ("OMP_NUM_THREADS", "1"),
        ("TORCHELASTIC_SIGNALS_TO_HANDLE", SIGNALS_TO_HANDLE),
        ("MASTER_PORT", "29511"),
        ("FERMI_RUN_MARK", "c-run"),
    ];
    for (name, value) in expected {
        assert_eq!(variables.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!((bundle.master_port, bundle.made_for), (MasterPort::Elsewhere(29_511), None));
}

#[test]
fn a_later_launch_goes_on_counting() {
    let policy = RunPolicy { attempts_before: 3, join_timeout_ms: 7, ..RunPolicy::default() };
    let bundle = made_with(&launch(), &site(), &policy);
    assert_eq!(command(&bundle, 0).1["FERMI_ATTEMPT"], "4");
    assert_eq!(bundle.rank_folder(&bundle.ranks[0], 4).unwrap().path, PathBuf::from("/d/run/attempt_3/0"));
    assert_eq!(bundle.gathering.join_timeout_ms, 7);
}

#[test]
fn strange_texts_stay_as_they_are_and_places_are_filled_in() {
    let mut launch = launch();
    let strange = "训练 'a' \"b\" $HOME `x` {masterPort} <launchFolder> \\";
    launch.argv = vec![
        Template::placeholder(Placeholder::Python),
        strange.into(),
        Template::placeholder(Placeholder::SourceFolder).then("/a b.py"),
        Template::text("--url=")
            .then_placeholder(Placeholder::MasterAddress)
            .then(":")
            .then_placeholder(Placeholder::MasterPort),
    ];
    launch.env = vec![
        ("NAME".into(), strange.into()),
        ("SHARED".into(), "all".into()),
        ("CUDA_VISIBLE_DEVICES".into(), "9".into()),
        ("PORT".into(), Template::placeholder(Placeholder::MasterPort)),
    ];
    launch.ranks[1].env = vec![("SHARED".into(), Template::placeholder(Placeholder::Interface))];
    let bundle = made(&launch);
    let ((argv, zero), (_, one)) = (command(&bundle, 0), command(&bundle, 1));
    assert_eq!(argv, ["/usr/bin/python3", strange, "/src 目录/a b.py", "--url=10.0.0.6:29511"]);
    assert_eq!((zero["NAME"].as_str(), zero["CUDA_VISIBLE_DEVICES"].as_str()), (strange, "9"));
    assert_eq!((zero["SHARED"].as_str(), one["SHARED"].as_str()), ("all", "eth0"));
    assert_eq!(zero["PORT"], "29511");
}

#[test]
fn words_and_variables_of_the_door_come_first_and_win() {
    let mut launch = launch();
    launch.argv = vec!["--port".into(), Template::placeholder(Placeholder::MasterPort)];
    launch.env =
        vec![("NCCL_DEBUG".into(), "INFO".into()), ("A".into(), Template::placeholder(Placeholder::MasterPort))];
    launch.ranks[0].env = vec![("B".into(), "launch".into())];
    let mut ranks = unseen_ranks(&launch, 2, None);
    ranks[0].command.argv = vec!["sh".into(), "x".into()];
    ranks[0].command.env = vec![("A".into(), "own".into()), ("OMP_NUM_THREADS".into(), "6".into())];
    let site = Site { tuned: ["NCCL_DEBUG".into(), "B".into()].into(), ..site() };
    let bundle = prepare(&launch, &site, &RunPolicy::default(), identity(), meeting(), ranks).unwrap().bundle;
    let (argv, variables) = command(&bundle, 0);
    assert_eq!(argv, ["sh", "x", "--port", "29511"]);
    assert_eq!((variables["A"].as_str(), variables["OMP_NUM_THREADS"].as_str()), ("own", "6"));
    assert_eq!(variables.get("NCCL_DEBUG"), None, "the user has tuned it, and ranks inherit that");
    assert_eq!(variables["B"], "launch", "what is one rank's own is never inherited");
}

#[test]
fn devices_are_those_of_the_site_by_their_names() {
    let visible = Some((0..8).map(|gpu| format!("GPU-{gpu}")).collect());
    let named = Site { devices: Devices::OfRanks { visible }, ..site() };
    let devices = |launch: &NodeLaunch, site: &Site| {
        command(&made_with(launch, site, &RunPolicy::default()), 0).1.get("CUDA_VISIBLE_DEVICES").cloned()
    };
    assert_eq!(devices(&launch(), &named).as_deref(), Some("GPU-5,GPU-3"));
    assert_eq!(devices(&launch(), &Site { devices: Devices::Inherited, ..site() }), None);
    let mut without = launch();
    without.ranks.iter_mut().for_each(|rank| rank.gpu = None);
    assert_eq!(devices(&without, &site()), None);
}

#[test]
fn a_variable_with_an_interface_that_nobody_knows_is_left_out() {
    let mut launch = launch();
    launch.env = vec![("GLOO_SOCKET_IFNAME".into(), Template::placeholder(Placeholder::Interface))];
    assert_eq!(command(&made(&launch), 0).1["GLOO_SOCKET_IFNAME"], "eth0");
    let bundle = made_with(&launch, &Site { interface: None, ..site() }, &RunPolicy::default());
    assert_eq!(command(&bundle, 0).1.get("GLOO_SOCKET_IFNAME"), None);
}

#[test]
fn a_launch_that_knows_its_ranks_holds_for_one_place_where_places_are_given_later() {
    let launch = launch();
    let meeting = Meeting { numbering: RankNumbering::Assigned, ..meeting() };
    let prepared = |launch: &NodeLaunch, ranks| {
        prepare(launch, &site(), &RunPolicy::default(), identity(), meeting.clone(), ranks).unwrap().bundle.made_for
    };
    let expected = NodePosition { first_rank: 7, world_size: 9, node_rank: 2, node_count: 3 };
    assert_eq!(prepared(&launch, unseen_ranks(&launch, 2, None)), Some(expected));
    assert_eq!(prepared(&NodeLaunch::default(), unseen_ranks(&launch, 2, None)), None, "no framework, no place");
}

#[test]
fn files_that_leave_the_launch_folder_are_refused() {
    for path in ["../evil", "/etc/evil", "a/../../b", ""] {
        let mut launch = launch();
        launch.files = vec![LaunchFile { path: path.into(), text: "x".into() }];
        let refused = prepare(&launch, &site(), &RunPolicy::default(), identity(), meeting(), Vec::new());
        assert_eq!(refused.unwrap_err().path, path);
    }
}
