//! `fermi top` on a pseudo-terminal, and names that a real bash completes, both against a real server.

use crate::support::{Ended, Fleet, Run, Terminal, eventually, signal};
use serde_json::json;

fn server(fleet: &Fleet) -> String {
    format!("http://{}", fleet.address())
}

fn top(fleet: &Fleet, rows: u16, columns: u16) -> Terminal {
    let mut command = fleet.place.fermi(["top", "--interval", "300ms"]);
    command.env("FERMI_SERVER", server(fleet)).env("FERMI_LANG", "en").env("TERM", "xterm-256color");
    Terminal::start(&mut command, rows, columns)
}

/// A task whose two ranks say something and go on until they are stopped. Only cells that change are drawn, so what they
/// say has no letter in common, column by column.
fn endless(fleet: &Fleet, name: &str) -> String {
    let id = fleet.create(json!({
        "taskName": name,
        "command": { "argv": ["/bin/sh", "-c", "case $RANK in 0) echo alpha;; *) printf 'OMEGA\\033]0;a-title\\007\\n';; esac; exec sleep 1000"] },
        "distributedConfig": { "framework": "command" },
    }));
    fleet.task_is(&id, "running");
    id
}

const LEFT: &str = "\u{1b}[?1049l";

#[test]
fn a_running_task_is_watched_through_a_restart_of_the_server_and_stopped() {
    let mut fleet = Fleet::of(&[("gn6", 2)]);
    let id = endless(&fleet, "watched");
    let mut terminal = top(&fleet, 24, 80);
    terminal.shows("watched");
    terminal.types("\r");
    terminal.shows("alpha");
    terminal.types("l1\r");
    terminal.shows("OMEGA");
    assert!(!terminal.screen().contains("a-title"), "{}", terminal.screen());
    fleet.kill_server();
    terminal.shows("away;");
    let drawn = terminal.screen().len();
    terminal.resize(10, 40);
    eventually("the screen in its new size", || (terminal.screen().len() > drawn).then_some(()));
    fleet.start_server();
    terminal.types("sy");
    fleet.task_is(&id, "stopped");
    terminal.types("q");
    assert!(terminal.ended().success());
    terminal.shows(LEFT);
    assert!(terminal.is_as_a_shell_leaves_it());

    let mut terminal = top(&fleet, 24, 80);
    terminal.shows("watched");
    signal(terminal.pid(), libc::SIGTERM);
    assert_eq!(terminal.ended().code(), Some(128 + libc::SIGTERM));
    terminal.shows(LEFT);
    assert!(terminal.is_as_a_shell_leaves_it());

    let mut piped = fleet.place.fermi(["top"]);
    let piped = Run::whole(piped.env("FERMI_SERVER", server(&fleet)).env("FERMI_LANG", "en"));
    assert!(piped.code() == Some(2) && piped.err().contains("fermi task list --watch"), "{}", piped.err());
    fleet.assert_idle();
}

/// What bash would offer for the last of these words.
fn completed(fleet: &Fleet, words: &str) -> Ended {
    let script = format!(
        "source <(\"$FERMI\" completions bash); COMP_WORDS=(\"$FERMI\" {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _fermi_names \"$FERMI\" \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let mut bash = fleet.place.program("bash");
    bash.args(["-c", &script]).env("FERMI", env!("CARGO_BIN_EXE_fermi")).env("FERMI_SERVER", server(fleet));
    Run::whole(&mut bash)
}

#[test]
fn bash_completes_names_and_ids_and_says_nothing_of_a_server_that_is_gone() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    for words in [["model", "create", "bert-large"], ["model", "create", "bert base"]] {
        let mut create = fleet.place.fermi(words);
        assert_eq!(Run::whole(create.env("FERMI_SERVER", server(&fleet))).code(), Some(0));
    }
    for (words, offered) in [
        // A name that a shell would read otherwise is completed by its id.
        ("model delete bert", "bert-large\nmodel-002\n"),
        ("model delete '\"bert'", "bert-large\nmodel-002\n"),
        ("model show model", "model-001\nmodel-002\n"),
        ("task create --env g", "gn6\n"),
        ("task create --env = g", "gn6\n"),
        ("env sho", "show\n"),
    ] {
        // A busy machine may take longer than a person would wait; then nothing is offered, and Tab is pressed again.
        eventually(&format!("{words} to be completed"), || {
            let ended = completed(&fleet, words);
            assert!(ended.err().is_empty(), "{words}: {}", ended.err());
            let mut lines: Vec<String> = ended.out().lines().map(|line| format!("{line}\n")).collect();
            lines.sort_unstable();
            (lines.concat() == offered).then_some(())
        });
    }
    fleet.kill_server();
    let mut ask = fleet.place.fermi(["complete", "--", "fermi", "model", "delete", "b"]);
    let asked = Run::whole(ask.env("FERMI_SERVER", server(&fleet)));
    assert_eq!((asked.code(), asked.out().as_str(), asked.err().as_str()), (Some(0), "", ""));
}
