//! Real `torch.distributed` jobs over gloo run unchanged, fail with the right words and go on after a restart.
//!
//! They need an interpreter with torch: FERMI_TEST_PYTHON names one, else the one that `make venv` made is used. A
//! machine without it fails these tests, because passing them unseen would promise what nobody has checked.

use std::path::Path;
use std::process::Command;

use crate::support::{Ended, Place, Run, host_name, script, torch_python};

fn job(place: &Place, options: &[&str], name: &str, arguments: &[&str]) -> Command {
    let mut command = place.run(options);
    command.env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo").arg(script(name)).args(arguments);
    command
}

/// The last line of every rank.
fn finals(place: &Place, ranks: u32) -> Vec<String> {
    (0..ranks)
        .map(|rank| {
            let text = place.rank_text(0, rank, "stdout.log");
            let line = text.lines().find(|line| line.starts_with(&format!("final rank {rank} of {ranks} ")));
            line.unwrap_or_else(|| panic!("rank {rank} wrote no last line: {text}")).to_owned()
        })
        .collect()
}

/// `loss L weights S`, without the rank.
fn result_of(line: &str) -> &str {
    &line[line.find("loss").unwrap()..]
}

fn all_ranks_agree(place: &Place, ranks: u32) -> String {
    let finals = finals(place, ranks);
    for line in &finals {
        assert_eq!(result_of(line), result_of(&finals[0]), "{finals:?}");
    }
    result_of(&finals[0]).to_owned()
}

fn trained(ended: Ended) {
    let ended = ended.expect(0);
    assert!(!ended.err().contains("EADDRINUSE") && !ended.err().contains("ddress already in use"), "{}", ended.err());
}

#[test]
fn two_ranks_train_unchanged_and_end_where_torchrun_ends() {
    let place = Place::new();
    trained(Run::whole(&mut job(&place, &["-n", "2"], "torch_ddp.py", &[])));
    let ours = all_ranks_agree(&place, 2);

    // The same script, by the launcher that it was written for; on one stream its ranks would write into each other's
    // lines, so each has a file.
    let logs = place.path().join("torchrun");
    let torchrun = torch_python().with_file_name("torchrun");
    let mut command = place.program(torchrun);
    command
        .env_remove("PYTHON_EXEC")
        .env("GLOO_SOCKET_IFNAME", "lo")
        .args(["--standalone", "--nproc-per-node", "2", "--redirects", "3", "--log-dir"])
        .arg(&logs)
        .arg(script("torch_ddp.py"));
    Run::whole(&mut command).expect(0);
    let theirs: Vec<String> = (0..2).map(|rank| final_line_of_torchrun(&logs, rank)).collect();
    assert_eq!(theirs, [ours.as_str(), ours.as_str()]);
}

/// The end of a rank's own log, in the one run that torchrun has made a folder for.
fn final_line_of_torchrun(logs: &Path, rank: u32) -> String {
    let run = std::fs::read_dir(logs).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(run.join(format!("attempt_0/{rank}/stdout.log"))).unwrap();
    let line = text.lines().find(|line| line.starts_with("final")).unwrap();
    result_of(line).to_owned()
}

#[test]
fn four_ranks_train_unchanged_on_a_port_that_was_named() {
    let place = Place::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    trained(Run::whole(&mut job(&place, &["-n", "4", "--master-port", &free], "torch_ddp.py", &["--steps", "5"])));
    all_ranks_agree(&place, 4);
    assert!(place.rank_text(0, 0, "stdout.log").contains(&format!("store at 127.0.0.1:{free}, restart 0")));
}

#[test]
fn a_rank_that_raises_is_named_with_its_traceback_though_its_peers_lose_their_connections() {
    let place = Place::new();
    let ended = Run::whole(&mut job(&place, &["-n", "2"], "torch_ddp.py", &["--fail", "1:3"])).expect(1);
    let host = host_name();
    ended.says(&[
        &format!("rank 1 on {host} ended with exit code 1"),
        "RuntimeError: asked to fail on rank 1 at step 3",
        "fail_if_asked(args.fail, rank, step)",
    ]);
    place.assert_empty();
}

#[test]
fn after_kill_9_of_a_rank_the_next_attempt_goes_on_at_the_checkpoint() {
    let place = Place::new();
    let ended =
        Run::whole(&mut job(&place, &["-n", "2", "--max-restarts", "1"], "torch_resume.py", &["12", "1:7"])).expect(0);
    ended.says(&["was killed by SIGKILL", "restarting: attempt 2, restart 1 of 1"]);
    let steps = |attempt| -> Vec<u32> {
        let text = place.rank_text(attempt, 0, "stdout.log");
        text.lines().filter_map(|line| line.strip_prefix("step ")?.parse().ok()).collect()
    };
    assert_eq!(steps(0), (1..=6).collect::<Vec<_>>());
    assert_eq!(steps(1), (7..=12).collect::<Vec<_>>());
    // Twelve steps in which the ranks add 1 and 2, none lost and none done twice.
    for rank in 0..2 {
        let text = place.rank_text(1, rank, "stdout.log");
        assert!(text.contains(&format!("rank {rank} done at step 12 value 36.0")), "{text}");
    }
}

#[test]
fn the_message_of_torchs_error_file_reaches_the_report() {
    let place = Place::new();
    let ended = Run::whole(&mut job(&place, &["-n", "2"], "torch_record.py", &[])).expect(1);
    let file: serde_json::Value = serde_json::from_str(&place.rank_text(0, 1, "error.json")).unwrap();
    assert_eq!(file["message"]["message"], "ValueError: the ninth sample is empty");
    ended
        .says(&[&format!("rank 1 on {} ended with exit code 1", host_name()), "ValueError: the ninth sample is empty"]);
}
