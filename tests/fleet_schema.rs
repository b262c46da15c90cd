//! The OpenAPI document against the server that serves it: schemathesis makes requests of every kind from the document
//! and looks at the answers.

use std::process::Command;

use crate::support::{Fleet, is_long, torch_python};
use serde_json::json;

#[test]
fn schemathesis_finds_no_server_error() {
    let fleet = Fleet::of(&[("only", 1)]);
    // Something is there to be found: a task that is over, a dataset, a model.
    let task = fleet.run_script("echo hello", 0);
    fleet.task_is(&task, "succeeded");
    assert_eq!(fleet.post("/datasets", &json!({ "name": "corpus" })).0, 200);
    assert_eq!(fleet.post("/models", &json!({ "name": "bert" })).0, 200);
    let schema = format!("http://{}/api/openapi.json", fleet.address());
    // Every operation gets its examples and its borders either way; these are the made-up requests beside them.
    let made_up = if is_long() { "20" } else { "4" };
    let out = Command::new(torch_python().with_file_name("schemathesis"))
        .args(["run", &schema, "--phases", "examples,coverage,fuzzing", "--max-examples", made_up, "--seed", "7"])
        .args(["--checks", "not_a_server_error", "--generation-deterministic", "--no-color", "--warnings", "off"])
        // It makes no archives; those have tests of their own. And it makes up no receivers: they would be called.
        .args(["--exclude-path", "/api/v1/webhooks", "--exclude-path", "/api/v1/webhooks/{id}/test"])
        .args(["--header", &format!("Authorization: {}", fleet.bearer())])
        .args(["--exclude-path", "/api/v1/snapshots", "--request-timeout", "20", "--workers", "2"])
        .current_dir(fleet.place.work())
        .env("HOME", fleet.place.home())
        .output()
        .expect("these tests need schemathesis; `make venv` installs it");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    // It may well have deleted the task and revoked the environment's credential; the server answers as before.
    assert!(fleet.get("/environments")["items"].is_array());
}
