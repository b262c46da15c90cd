//! Two nodes with two ranks each: who hangs, and where, is told at the first one, whichever node it is on.

use super::*;

/// A supervisor for each node, all here, with the ranks of `torch_faults.py`.
struct Nodes {
    places: [Place; 2],
    runs: [Run; 2],
}

impl Nodes {
    fn with(kind: &str, rank: &str, options: &[&str]) -> Self {
        let places = [Place::new(), Place::new()];
        let port = free_port();
        let runs = [0, 1].map(|node: usize| {
            let folder = places[node].path().join("told");
            std::fs::create_dir_all(&folder).unwrap();
            let (node_rank, mut command) = (node.to_string(), places[node].run(["--json", "-n", "2", "--nnodes", "2"]));
            command.args(["--node-rank", &node_rank, "--master-addr", "127.0.0.1", "--master-port", &port]);
            command.args(["--shutdown-timeout", "0.1"]).args(options);
            command.env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo").env("OMP_NUM_THREADS", "1");
            command.arg(script("torch_faults.py")).arg(&folder).args([kind, rank]);
            Run::start(&mut command)
        });
        Self { places, runs }
    }

    fn end(self) {
        self.runs[0].signal(libc::SIGTERM);
        self.runs.into_iter().for_each(|run| drop(run.ended()));
        self.places.iter().for_each(Place::assert_empty);
    }
}

/// The line of the script that is marked with this.
fn marked(mark: &str) -> u64 {
    let source = std::fs::read_to_string(script("torch_faults.py")).unwrap();
    let is_it = |line: &str| line.split("# at: ").nth(1).is_some_and(|marks| marks.split(", ").any(|it| it == mark));
    source.lines().position(is_it).unwrap() as u64 + 1
}

#[test]
fn a_rank_of_the_second_node_that_sleeps_is_named_at_the_first_with_its_line() {
    let nodes = Nodes::with("sleep", "2", &[]);
    let told = verdict(&nodes.runs[0], "notEntered", &serde_json::json!([2]));
    assert_eq!(told["place"]["line"], marked("sleep"), "{told}");
    nodes.end();
}

#[test]
fn ranks_of_two_nodes_that_wait_for_each_other_are_named_and_the_attempt_ends_where_that_is_asked_for() {
    let nodes = Nodes::with("circle", "1", &["--on-hang", "restart", "--hang-after", "4", "--max-restarts", "1"]);
    let told = verdict(&nodes.runs[0], "notEntered", &serde_json::json!([1, 2]));
    let said = text(&told);
    assert!(said.contains("of the default group for ") && said.contains("and 2 others wait in it"), "{told}");
    assert!(said.contains("rank 1 itself waits in all_reduce #1 of group "), "{told}");
    let stacks = told["stacks"].as_array().unwrap();
    let at = |rank: u64| stacks.iter().find(|group| group["ranks"].as_array().unwrap().contains(&rank.into()));
    for (rank, line) in [(1, "circle"), (2, "circle"), (3, "collective")] {
        let frames = at(rank).unwrap()["frames"].to_string();
        assert!(frames.contains(&format!("\"line\":{}", marked(line))), "rank {rank}: {told}");
    }
    let kept = std::fs::read_to_string(told["evidence"].as_str().unwrap()).unwrap();
    assert!(kept.contains("== rank 2: on another node, at:"), "{kept}");
    assert!(events(&nodes.runs[1], "hang.verdict").is_empty(), "the second node sees no more than that its ranks wait");
    let failed = nodes.runs[0].event("attempt.failed");
    assert_eq!(failed["verdict"]["diagnosis"]["id"], "hang", "{failed}");
    nodes.end();
}
