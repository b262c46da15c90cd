//! Datasets and models against a server with real agents: what is stated is proven on each node before ranks start.

use std::fs;

use crate::support::{Ended, Fleet, Run};
use serde_json::{Value, json};

fn fermi(fleet: &Fleet, words: &[&str]) -> Ended {
    let mut command = fleet.place.fermi(words);
    let server = format!("http://{}", fleet.address());
    Run::whole(command.env("FERMI_SERVER", server).env("FERMI_LANG", "en"))
}

fn done(fleet: &Fleet, words: &[&str]) -> String {
    let ended = fermi(fleet, words);
    assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.err());
    ended.out()
}

/// A task on all nodes that trains this version; ranks say where their data is.
fn train(fleet: &Fleet, dataset: &str, version: &str, script: &str) -> String {
    fleet.create(json!({
        "taskName": version,
        "datasetId": dataset,
        "datasetVersionId": version,
        "command": { "argv": ["/bin/sh", "-c", script] },
        "distributedConfig": { "framework": "command" },
    }))
}

fn versions(fleet: &Fleet) -> Vec<Value> {
    fleet.get("/datasets/dataset-001")["versions"].as_array().unwrap().clone()
}

fn seen_on(version: &Value) -> Vec<String> {
    let all = version["visibleOn"].as_array().unwrap().iter();
    let mut names: Vec<String> = all.map(|it| it["environmentName"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_dataset_is_proven_on_every_node_before_ranks_start() {
    let fleet = Fleet::of(&[("gn1", 1), ("gn2", 1)]);
    let path = fleet.place.file("corpus.jsonl", "{\"text\": \"hello\"}\n");
    let path = path.to_str().unwrap();

    // What is measured here is what nodes see there.
    done(&fleet, &["dataset", "create", "corpus", "--path", path, "--measure"]);
    let first = train(&fleet, "dataset-001", "version-001", "echo reads $FERMI_DATASET_PATH");
    fleet.task_is(&first, "succeeded");
    fleet.says(&first, 1, 1, path);
    let measured = versions(&fleet).remove(0);
    assert_eq!((&measured["size"], &measured["format"]), (&json!(18), &json!("jsonl")), "{measured:#}");
    assert_eq!(seen_on(&measured), ["gn1", "gn2"]);
    let sight = &measured["visibleOn"][0];
    assert_eq!((&sight["size"], &sight["checksum"]), (&json!(18), &json!("matches")), "{sight:#}");
    let shown = done(&fleet, &["dataset", "show", "corpus"]);
    assert!(shown.contains("seen on 2 environments") && shown.contains("gn2"), "{shown}");
    let events = fleet.get(&format!("/training-tasks/{first}/events")).to_string();
    assert!(events.contains("gn1 sees the dataset corpus@v1: 1 file, 18 B"), "{events}");

    // What is not as stated stops the start with a sentence, and no rank has run.
    let more = ["dataset", "add-version", "corpus", "--version"];
    done(&fleet, &[&more[..], &["v2", "--path", path, "--size", "19"]].concat());
    let second = train(&fleet, "dataset-001", "version-002", "echo never");
    let failed = fleet.task_is(&second, "failed");
    let why = failed["verdict"]["headline"]["en"].as_str().unwrap();
    for word in ["gn1: the dataset corpus@v2", "19 bytes", "18 bytes", "register it as a new version"] {
        assert!(why.contains(word), "{word} is missing in {why}");
    }
    assert!(failed["attempts"].as_array().unwrap().is_empty(), "{failed:#}");
    assert_eq!(versions(&fleet)[0]["visibility"]["en"], "not proven yet: each node looks when a task starts");

    // A path that is gone is no longer visible there.
    fs::remove_file(path).unwrap();
    let third = train(&fleet, "dataset-001", "version-001", "echo never");
    let failed = fleet.task_is(&third, "failed");
    let why = failed["verdict"]["headline"]["en"].as_str().unwrap();
    assert!(why.contains("there is no such path on this node"), "{why}");
    assert_eq!(seen_on(&versions(&fleet)[1]), ["gn2"]);

    // A URI is the training's own to read, and says so; without a version the newest is meant.
    done(&fleet, &[&more[..], &["v3", "--path", "s3://bucket/corpus"]].concat());
    let words = ["task", "create", "--name", "uri", "--env", "gn1", "--framework", "command", "--dataset", "corpus"];
    done(&fleet, &[&words[..], &["--", "sh", "-c", "echo reads $FERMI_DATASET_PATH; sleep 1000"]].concat());
    fleet.says("task-4", 1, 0, "reads s3://bucket/corpus");
    assert_eq!(versions(&fleet)[0]["visibility"]["en"], "not proven: a URI is read by the training itself");

    // It is not deleted under those who use it, all of whom are named.
    let fifth = train(&fleet, "dataset-001", "version-003", "sleep 1000");
    let (status, refused) = fleet.delete("/datasets/dataset-001");
    assert_eq!((status, &refused["error"]["id"]), (409, &json!("in_use")), "{refused}");
    let refused = fermi(&fleet, &["dataset", "delete", "corpus"]);
    assert!(refused.err().contains(&format!("2 tasks use it: task-4, {fifth}")), "{}", refused.err());
    for id in [fifth.as_str(), "task-4"] {
        assert_eq!(fleet.post(&format!("/training-tasks/{id}/stop"), &json!({})).0, 200);
        fleet.task_is(id, "stopped");
    }
    done(&fleet, &["dataset", "delete", "corpus"]);
}

#[test]
fn a_registered_model_has_numbers_that_plans_are_made_with() {
    let fleet = Fleet::server();
    let config = r#"{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
        "intermediate_size": 1376, "vocab_size": 32000}"#;
    let folder = fleet.place.file("tiny/config.json", config);
    let folder = folder.parent().unwrap().to_str().unwrap();
    done(&fleet, &["model", "create", "ours", "--path", folder]);
    let shown = done(&fleet, &["model", "show", "ours"]);
    assert!(shown.contains("4 layers, hidden 512, 8 heads (8 kv), ffn 1376, vocab 32000 (llama)"), "{shown}");
    assert!(shown.contains("config.json in its folder"), "{shown}");
    let by_hand = ["--layers", "12", "--hidden", "768", "--heads", "12"];
    done(&fleet, &[&["model", "create", "by-hand"], &by_hand[..]].concat());
    for name in ["ours", "by-hand"] {
        let plan = done(&fleet, &["plan", "--model", name, "--gpus", "8xA100-80G"]);
        assert!(plan.contains(name), "{plan}");
    }
    let unknown = fermi(&fleet, &["plan", "--model", "nobodys"]);
    assert_eq!(unknown.code(), Some(2), "{}", unknown.err());
    done(&fleet, &["model", "create", "blank"]);
    let blank = fermi(&fleet, &["plan", "--model", "blank"]);
    assert!(blank.code() == Some(2) && blank.err().contains("does not know its numbers"), "{}", blank.err());
}
