//! What a server lets go of by age and by size, what it keeps and why, and that it says so: driven by small bounds.

use std::fs;

use crate::support::{Ended, Fleet, Place, eventually};
use serde_json::Value;

/// The row of a kind in what the server says that it keeps.
fn kept(fleet: &Fleet, kind: &str) -> Value {
    let status = fleet.get("/server/status");
    status["kept"].as_array().unwrap().iter().find(|row| row["kind"] == kind).cloned().unwrap_or_default()
}

/// A task that prints so many lines of a hundred bytes, and has ended.
fn printed(fleet: &Fleet, lines: u32) -> String {
    let id = fleet.run_script_on("one", &format!("python3 -c 'print((\"x\" * 99 + \"\\n\") * {lines}, end=\"\")'"), 0);
    fleet.task_is(&id, "succeeded");
    eventually("all of its log", || (fleet.log(&id, 1, 0).len() == lines as usize * 100).then_some(()));
    eventually("nothing of it to be left to come", || fleet.task(&id)["reason"].is_null().then_some(()));
    id
}

fn create_with_code(fleet: &Fleet, name: &str, code: &str) -> Ended {
    let folder = fleet.place.path().join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("train.sh"), code).unwrap();
    let folder = folder.to_str().unwrap();
    let words = ["task", "create", "--name", name, "--env", "one", "--framework", "command", "--source", folder];
    fleet.typed("owner", &[&words[..], &["--", "sh", "train.sh"]].concat()).expect(0)
}

#[test]
fn what_is_too_old_or_too_much_goes_and_what_is_needed_stays_and_the_server_says_which() {
    let place = Place::new();
    let settle = |place: &Place, text: &str| place.file("server.yaml", text);
    let config = settle(&place, "retention: {}\n");
    let mut fleet = Fleet::server_in(place, None, &["--config", config.to_str().unwrap()]);
    fleet.add("one", 1, &[]);
    fleet.add("two", 1, &[]);

    // Code that a task needs, and code of one that was deleted.
    create_with_code(&fleet, "used", "echo fine > $FERMI_OUTPUT_DIR/result");
    fleet.task_is("task-1", "succeeded");
    create_with_code(&fleet, "unused", "echo gone");
    fleet.task_is("task-2", "succeeded");
    eventually("the second task to be deleted", || (fleet.delete("/training-tasks/task-2").0 == 200).then_some(()));
    // Logs of tasks that are over, the first one's the largest, and of one that lives.
    let (first, second) = (printed(&fleet, 6_000), printed(&fleet, 3_000));
    let gate = fleet.place.path().join("gate");
    let flood = "python3 -c 'print((\"x\" * 99 + \"\\n\") * 1000, end=\"\")'";
    let wait = format!("{flood}; while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let living = fleet.run_script_on("two", &wait, 0);
    eventually("its log", || (fleet.log(&living, 1, 0).len() == 100_000).then_some(()));
    assert!(kept(&fleet, "logs")["rule"]["en"].as_str().unwrap().starts_with("90 days after the end of their task"));

    // A million bytes are above nine tenths of the budget: the oldest goes, which is enough.
    settle(&fleet.place, "log_budget: 1MB\nretention: {grace: 0, code: 0, most_events: 20}\n");
    fleet.kill_server();
    fleet.start_server();
    let logs = eventually("logs to be let go of", || Some(kept(&fleet, "logs")).filter(|logs| logs["removed"] == 2));
    // Those of the task with code ended first, and hold little more than what its rank was started with.
    let around = |field: &str, bytes: u64| (bytes..bytes + 30_000).contains(&logs[field].as_u64().unwrap());
    assert!(logs["count"] == 2 && around("removedBytes", 600_000) && around("bytes", 400_000), "{logs}");
    let lengths = |fleet: &Fleet| [&first, &second, &living].map(|id| fleet.log(id, 1, 0).len());
    assert_eq!(lengths(&fleet), [0, 300_000, 100_000]);
    assert!(logs["rule"]["en"].as_str().unwrap().contains("at most 8.0 GB of each and 1.0 MB in all"), "{logs}");
    let code =
        eventually("the code to be let go of", || Some(kept(&fleet, "snapshots")).filter(|code| code["removed"] == 1));
    assert_eq!(code["count"], 1, "what a task refers to stays: {code}");
    let events = kept(&fleet, "events");
    assert!(events["removed"].as_u64() > Some(0) && events["rule"]["en"] == "90 days, at most 20", "{events}");

    // By age all that is over goes.
    settle(&fleet.place, "retention: {logs: 0}\n");
    fleet.kill_server();
    fleet.start_server();
    eventually("the logs of all that is over to go", || (lengths(&fleet) == [0, 0, 100_000]).then_some(()));
    let logs = kept(&fleet, "logs");
    assert!(logs["removed"] == 1 && logs["count"] == 1, "{logs}");
    fs::write(&gate, "").unwrap();
    fleet.task_is(&living, "succeeded");

    // Agents count what they keep when they start, and now and then.
    fleet.kill_agent(0);
    fleet.start_agent(0);
    let there = eventually("the agent to tell what it keeps", || {
        Some(kept(&fleet, "outputs")).filter(|outputs| outputs["bytes"].as_u64() > Some(0))
    });
    assert!(there["rule"]["en"].as_str().unwrap().contains("Fermi never removes them"), "{there}");
    let sources = kept(&fleet, "sources");
    assert!(sources["count"] == 2 && sources["bytes"].as_u64() > Some(0), "{sources}");
    let said = fleet.typed("owner", &["server", "status"]).expect(0).out();
    for words in [
        "logs ",
        "0 s after the end",
        "code ",
        "code on machines",
        "outputs on machines",
        "events",
        "samples",
        "leftovers",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
