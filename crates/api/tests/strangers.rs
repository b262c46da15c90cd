//! What comes over the link, changed in every way: none of it makes the other side panic or grow.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fermi_api::link::{AgentMessage, Assignment, ServerMessage};
use fermi_mutator::try_all;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Numbers that are too large for an `f32`.
const BEYOND: &[u8] =
    br#"{"type":"heartbeat","data":{"timeMs":1,"machine":{"cpu":1e40},"gpus":[{"temperature":-1e40,"powerWatts":1e99}],
    "ranks":[{"task":"task-1","attempt":1,"rank":0,"cpus":1e308,"memory":1}]}}"#;

/// What was understood is written as it is understood again.
fn understood<T: Serialize + DeserializeOwned>(case: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<T>(case) {
        let written = serde_json::to_string(&message).unwrap();
        assert!(serde_json::from_str::<T>(&written).is_ok(), "{written}");
    }
}

const HELLO: &[u8] =
    br#"{"type":"hello","data":{"version":1,"fermi":"0.1.0","instance":"a","machine":"m","process":"p",
    "credential":"c","seal":"s","nextSeal":"t","name":"gn6","kind":"custom","zone":"z","image":null,"labels":{"a":"b"},
    "cpuWorkers":2,"gpus":[{"model":"A100","memory":85899345920,"count":8}],"cpuCores":96,"memory":1099511627776,
    "declared":false,"address":"10.0.0.6","versions":{"agent":"0.1.0"},"boot":"b","cluster":"k",
    "runs":[{"run":"task-1-g1-n0-i1","alive":true}],"seen":["task-2-g1-n0-i1"]}}"#;
const BEAT: &[u8] = br#"{"type":"heartbeat","data":{"timeMs":1794720166472,"machine":{"cpu":0.5,"memoryUsed":1,"memoryTotal":2,
    "received":3,"sent":4},"gpus":[{"index":0,"useShare":0.9,"memoryUsed":1,"memoryTotal":2,"temperature":60.5,"powerWatts":null}],
    "ranks":[{"task":"task-1","attempt":1,"rank":0,"cpus":1.5,"memory":4096}]}}"#;
const GONE: &[u8] = br#"{"type":"gone","data":{"run":"task-1-g1-n0-i1"}}"#;
const FAILED: &[u8] =
    br#"{"type":"launchFailed","data":{"run":"task-1-g1-n0-i1","reason":{"zh-CN":"x","en":"x"},"hint":{"zh-CN":"x",
    "en":"x"}}}"#;

const WELCOME: &[u8] = br#"{"type":"welcome","data":{"environment":"env-1","cluster":"k","heartbeatMs":1000,"epoch":0,
    "abilities":["starts"]}}"#;
const STOP: &[u8] = br#"{"type":"stop","data":{"run":"task-1-g1-n0-i1"}}"#;
const PROBE: &[u8] =
    br#"{"type":"probe","data":{"number":1,"name":"gn6","address":"10.0.0.6","port":29500,"isMaster":false}}"#;
const ASSIGNMENT: &[u8] = br#"{"run":"task-1-g2-n1-i1","taskName":"x","nodeName":"gn6","nodeCount":2,"worldSize":3,
    "ranks":[{"rank":2,"worker":"gn6-5","gpu":5,"env":[["A",[{"place":"masterPort"}]]]}],
    "argv":[[{"place":"python"}],"-u","train.py"],"directory":"/work","interpreter":"/venv","source":{"path":"/src"},
    "files":[{"path":"ds.json","text":"{}"}],"env":[["B","1"]],"serves":"nothing","masterAddress":"10.0.0.6",
    "masterPort":29511,"secret":"s","restarts":{"maxRestarts":2},
    "ladder":{"checkpoint":null,"plannedGraceMs":30000,"failureGraceMs":50},"nodeLostAfterMs":15000,
    "joinTimeoutMs":600000,"startTimeoutMs":null,"attemptsBefore":3,"resume":true,"owner":"user:member:ann"}"#;

#[test]
fn messages_of_agents() {
    serde_json::from_slice::<AgentMessage>(HELLO).unwrap();
    serde_json::from_slice::<AgentMessage>(BEAT).unwrap();
    serde_json::from_slice::<AgentMessage>(BEYOND).unwrap();
    understood::<AgentMessage>(BEYOND);
    try_all(&[HELLO, BEAT, BEYOND, GONE, FAILED], 3_000, understood::<AgentMessage>);
}

#[test]
fn messages_of_servers() {
    serde_json::from_slice::<ServerMessage>(PROBE).unwrap();
    let launch = [br#"{"type":"launch","data":"#, ASSIGNMENT, b"}"].concat();
    try_all(&[WELCOME, STOP, PROBE, &launch], 3_000, understood::<ServerMessage>);
}

#[test]
fn assignments() {
    serde_json::from_slice::<Assignment>(ASSIGNMENT).unwrap();
    try_all(&[ASSIGNMENT], 3_000, |case| {
        understood::<Assignment>(case);
        if let Ok(assignment) = serde_json::from_slice::<Assignment>(case) {
            let _ = (format!("{assignment:?}"), assignment.masked());
        }
    });
}
