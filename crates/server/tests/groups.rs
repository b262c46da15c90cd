//! Groups through the API: what is refused, with which words, and what a task on a group is.
#![allow(clippy::unwrap_used)]

mod cluster;

use cluster::Cluster;
use serde_json::{Value, json};

const WORKERS: [&str; 3] = ["nlp-research-lab-0", "nlp-research-lab-1", "pytorch-dev-env-0"];

async fn made(cluster: &Cluster) -> Value {
    let body = json!({"name": "llm", "config": {"masterAddr": "nlp-research-lab"}, "workers": WORKERS});
    let came = cluster.post("/api/v1/groups", &body.to_string()).await;
    assert_eq!(came.status, 200, "{}", came.text());
    came.json()["data"].clone()
}

async fn refused(cluster: &Cluster, method: &str, path: &str, body: Value) -> (u16, String, String) {
    let came = match method {
        "POST" => cluster.post(path, &body.to_string()).await,
        "PATCH" => cluster.patch(path, &body.to_string()).await,
        _ => cluster.delete(path).await,
    };
    let told = came.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (came.status.as_u16(), text(&told["error"]["id"]), text(&told["message"]))
}

#[tokio::test]
async fn a_group_has_the_defaults_of_the_specification_and_is_listed_with_the_others() {
    let cluster = Cluster::start().await;
    let group = made(&cluster).await;
    assert_eq!((&group["id"], &group["version"]), (&json!("group-001"), &json!(2)));
    let expected =
        json!({"masterAddr": "nlp-research-lab", "worldSize": null, "masterPort": 29_500, "backend": "nccl"});
    assert_eq!((&group["config"], &group["worldSize"]), (&expected, &json!(3)));
    let listed = cluster.get("/api/v1/groups").await.json();
    let names: Vec<&str> =
        listed["data"]["items"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["llm", "未分组"]);
    assert_eq!(listed["data"]["items"][1]["workers"].as_array().unwrap().len(), 14 - 3);
    let ranks = cluster.get("/api/v1/groups/group-001/ranks").await.json();
    let rows: Vec<(&str, u64, u64, u64)> = ranks["data"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let number = |field: &str| row[field].as_u64().unwrap();
            (row["worker"].as_str().unwrap(), number("rank"), number("localRank"), number("nodeRank"))
        })
        .collect();
    assert_eq!(rows, [(WORKERS[0], 0, 0, 0), (WORKERS[1], 1, 1, 0), (WORKERS[2], 2, 0, 1)]);
    let workers = cluster.get("/api/v1/workers?pageSize=1000&filter=group=llm").await.json();
    assert_eq!(workers["data"]["total"], 3);
    assert_eq!(workers["data"]["items"][0]["gpuType"], "A100");
}

#[tokio::test]
async fn what_does_not_add_up_is_refused_with_a_sentence() {
    let cluster = Cluster::start().await;
    made(&cluster).await;
    let start = json!({"command": {"argv": ["a"]}});
    let table = [
        ("POST", "/api/v1/groups", json!({"name": "llm"}), (409, "name_taken", "分组“llm”已存在")),
        ("POST", "/api/v1/groups", json!({"name": "group-7"}), (422, "name_reserved", "分组不能命名为 “group-7”")),
        ("POST", "/api/v1/groups", json!({"name": ""}), (422, "name_required", "请填写 name")),
        (
            "POST",
            "/api/v1/groups/group-001/workers",
            json!({"workers": []}),
            (422, "workers_required", "请至少选择一个 Worker"),
        ),
        (
            "POST",
            "/api/v1/groups/group-001/workers",
            json!({"workers": ["gn6"]}),
            (422, "worker_invalid", "“gn6”不是 Worker 名称"),
        ),
        (
            "POST",
            "/api/v1/groups/group-001/workers",
            json!({"workers": ["pytorch-dev-env-1", "pytorch-dev-env-2"]}),
            (422, "worker_unknown", "Worker pytorch-dev-env-2 不存在"),
        ),
        (
            "POST",
            "/api/v1/groups/group-001/workers",
            json!({"workers": ["pytorch-dev-env-1"], "version": 1}),
            (409, "group_changed", "分组 llm 已被他人修改：您看到的是版本 1，现在是版本 2"),
        ),
        (
            "PATCH",
            "/api/v1/groups/group-001",
            json!({"config": {"masterPort": 0}}),
            (422, "master_port_invalid", "Master 端口无效"),
        ),
        (
            "PATCH",
            "/api/v1/groups/group-001",
            json!({"config": {"worldSize": 0}}),
            (422, "world_size_invalid", "World Size 至少为 1"),
        ),
        (
            "PATCH",
            "/api/v1/groups/unassigned",
            json!({"name": "x"}),
            (422, "group_unassigned", "未分组的 Worker 不构成可修改的分组"),
        ),
        (
            "DELETE",
            "/api/v1/groups/unassigned",
            json!({}),
            (422, "group_unassigned", "未分组的 Worker 不构成可修改的分组"),
        ),
        ("DELETE", "/api/v1/groups/group-002", json!({}), (404, "not_found", "分组 group-002 不存在")),
        ("POST", "/api/v1/groups/group-002/start", start.clone(), (404, "not_found", "分组 group-002 不存在")),
    ];
    for (method, path, body, (status, id, message)) in table {
        let told = refused(&cluster, method, path, body).await;
        assert_eq!((told.0, told.1.as_str(), told.2.as_str()), (status, id, message), "{method} {path}");
    }
    // World Size above the number of workers is saved, shown as failed, and refused at the start.
    let saved = cluster.patch("/api/v1/groups/group-001", r#"{"config": {"worldSize": 4}}"#).await.json();
    let checks = saved["data"]["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["id"] == "world_size" && check["state"] == "failed"), "{checks:?}");
    let told = refused(&cluster, "POST", "/api/v1/groups/group-001/start", start).await;
    assert_eq!(told, (422, "world_size_too_large".to_owned(), "World Size 4 大于 Worker 数量 3".to_owned()));
    let kept = cluster.get("/api/v1/groups/group-001").await.json();
    assert_eq!(kept["data"]["workers"], json!(WORKERS));
}

#[tokio::test]
async fn a_task_on_a_group_is_named_by_name_or_id_and_has_its_ranks() {
    let cluster = Cluster::start().await;
    made(&cluster).await;
    cluster.patch("/api/v1/groups/group-001", r#"{"config": {"worldSize": 2, "masterPort": 29600}}"#).await;
    let body = json!({"taskName": "t", "launchMode": {"group": "llm"}, "command": {"argv": ["a"]}});
    let preview = cluster.post("/api/v1/training-tasks/preview", &body.to_string()).await.json();
    assert_eq!(preview["data"]["rankMap"].as_array().unwrap().len(), 2, "{preview}");
    let came = cluster.post("/api/v1/training-tasks", &body.to_string()).await;
    assert_eq!(came.status, 200, "{}", came.text());
    let task = cluster.get("/api/v1/training-tasks/task-1").await.json();
    let spec = &task["data"]["spec"];
    assert_eq!(spec["launchMode"], json!({"group": "group-001"}));
    assert_eq!(spec["distributed"]["workers"], json!({"env-003": [0, 1]}));
    assert_eq!((&spec["options"]["masterPort"], &spec["options"]["backend"]), (&json!(29_600), &json!("nccl")));
    let started = cluster.post("/api/v1/groups/group-001/start", r#"{"command": {"argv": ["a"]}}"#).await.json();
    assert_eq!((&started["data"]["taskId"], &started["data"]["ranks"]["worldSize"]), (&json!("task-2"), &json!(2)));
    assert!(started["data"]["checks"].as_array().unwrap().len() >= 8, "{started}");
    let clone = cluster.post("/api/v1/training-tasks/task-2/clone", "{}").await;
    assert_eq!(clone.status, 200, "{}", clone.text());
    let group = cluster.get("/api/v1/groups/group-001").await.json();
    assert_eq!(group["data"]["tasks"].as_array().unwrap().len(), 3);
    let stopped = cluster.post("/api/v1/groups/group-001/stop", "{}").await.json();
    assert_eq!(stopped["data"]["succeeded"], 3, "{stopped}");
    let both = json!({"taskName": "t", "launchMode": {"group": "llm"}, "command": {"argv": ["a"]},
        "distributedConfig": {"nodeIds": ["env-001"]}});
    let told = refused(&cluster, "POST", "/api/v1/training-tasks", both).await;
    assert_eq!((told.0, told.1.as_str()), (422, "group_with_environments"));
}
