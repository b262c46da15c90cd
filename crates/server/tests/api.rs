//! The public API on a real store: shapes, words, and what may be done when.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
#[path = "api/logs.rs"]
mod logs;

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use cluster::{CREATE, Cluster};
use fermi_store::StoreError;
use fermi_store::chunks::{StreamKind, StreamName};
use futures_util::StreamExt;
use serde_json::json;

#[tokio::test]
async fn the_request_of_the_specification_gets_its_answer() {
    let cluster = Cluster::start().await;
    let came = cluster.post("/api/v1/training-tasks", CREATE).await;
    assert_eq!(came.status, 200, "{}", came.text());
    insta::assert_json_snapshot!(came.json(), @r#"
    {
      "code": 200,
      "message": "训练任务创建成功",
      "data": {
        "taskId": "task-1",
        "status": "initializing",
        "distributedInfo": {
          "nodeCount": 3,
          "totalGpus": 14,
          "masterNode": "env-001",
          "framework": "deepspeed"
        },
        "description": "分布式训练 · 3个节点 · 总计14个GPU",
        "warnings": [
          {
            "id": "several_nodes",
            "message": "分布式训练将在多个节点上并行执行，确保所有节点网络互通",
            "text": {
              "zh-CN": "分布式训练将在多个节点上并行执行，确保所有节点网络互通",
              "en": "Training will run on several nodes in parallel; make sure that they can all reach each other"
            }
          },
          {
            "id": "cross_zone",
            "message": "跨可用区训练可能会有网络延迟",
            "text": {
              "zh-CN": "跨可用区训练可能会有网络延迟",
              "en": "Training across zones may suffer from network latency"
            },
            "hint": {
              "zh-CN": "优势：更多资源可用、容灾能力强、地理分布式；劣势：网络延迟高（RTT 5-50 ms）、带宽可能受限、成本略高；适用：单一可用区资源不足、任务对延迟不敏感、需要高可用性、异步训练",
              "en": "for it: more machines are available, an outage of one zone does not take all, machines may be far from each other; against it: network latency is high (round trips of 5-50 ms), bandwidth may be limited, it costs a little more; worth it where: one zone has too few machines, the training does not mind latency, it must go on whatever happens, ranks train asynchronously"
            }
          },
          {
            "id": "layout_mismatch",
            "message": "并行策略 2×4×8 = 64，与 14 个 rank 不符",
            "text": {
              "zh-CN": "并行策略 2×4×8 = 64，与 14 个 rank 不符",
              "en": "the strategy 2 x 4 x 8 = 64 does not match the 14 ranks"
            }
          },
          {
            "id": "builtin_trainer",
            "message": "未指定训练脚本：运行的是 Fermi 内置的小型字节模型，不是所选模型的训练",
            "text": {
              "zh-CN": "未指定训练脚本：运行的是 Fermi 内置的小型字节模型，不是所选模型的训练",
              "en": "no script is given: what runs is Fermi's own small byte-level trainer, not a training of the chosen model"
            },
            "hint": {
              "zh-CN": "用 command 指定训练脚本",
              "en": "name your script in command"
            }
          }
        ],
        "notes": [
          "未指定 command 或 recipe，使用内置训练器",
          "跨 3 个可用区：NCCL 不使用 InfiniBand（options.infiniband 可更改）",
          "并行策略需要 64 个 rank，现有 14 个：DeepSpeed 按数据并行启动",
          "未给出批次：每个 rank 4，累积 8",
          "有效批次 448 = 4 × 14 个 rank × 累积 8",
          "各节点 rank 数不同，accelerate launch 无法启动：不写 accelerate_deepspeed.yaml"
        ]
      }
    }
    "#);
}

#[tokio::test]
async fn one_node_has_no_distributed_info_and_names_its_environment() {
    let cluster = Cluster::start().await;
    let body = json!({"taskName": "one", "datasetId": "dataset-001", "datasetVersionId": "version-001",
        "distributedConfig": {"nodeIds": ["env-001"]}});
    let came = cluster.post("/api/v1/training-tasks", &body.to_string()).await.json();
    assert_eq!(came["data"]["distributedInfo"], json!(null));
    assert_eq!(came["data"]["description"], "使用环境: pytorch-dev-env");
}

#[tokio::test]
async fn refusals_speak_the_callers_language() {
    let cluster = Cluster::start().await;
    let came = cluster.post("/api/v1/training-tasks", r#"{"taskName":"x"}"#).await;
    insta::assert_json_snapshot!(came.json(), @r#"
    {
      "code": 422,
      "message": "请选择数据集",
      "data": null,
      "error": {
        "id": "dataset_required",
        "field": "datasetId",
        "hint": "在 datasetId 中填写数据集及其版本"
      }
    }
    "#);
    let request = Request::post("/api/v1/training-tasks")
        .header("content-type", "application/json; charset=utf-8")
        .header("accept-language", "en-GB,en;q=0.9");
    let came = cluster.send(request.body(Body::from(r#"{"taskName":"x"}"#)).unwrap()).await;
    assert_eq!(came.json()["message"], "Please choose a dataset");
    assert_eq!(came.headers["content-language"], "en");
}

#[tokio::test]
async fn what_a_task_names_must_exist() {
    let cluster = Cluster::start().await;
    for (field, value, id) in [
        ("datasetId", "dataset-999", "dataset_unknown"),
        ("datasetVersionId", "version-999", "dataset_version_unknown"),
        ("modelId", "model-999", "model_unknown"),
    ] {
        let mut body: serde_json::Value = serde_json::from_str(CREATE).unwrap();
        body[field] = json!(value);
        for path in ["/api/v1/training-tasks", "/api/v1/training-tasks/preview"] {
            let came = cluster.post(path, &body.to_string()).await;
            assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (422, Some(id)), "{path}");
        }
    }
    let before = cluster.picture().await;
    assert_eq!(before[1], 0);
}

#[tokio::test]
async fn a_preview_shows_the_launch_and_stores_nothing() {
    let cluster = Cluster::start().await;
    let before = cluster.picture().await;
    let came = cluster.post("/api/v1/training-tasks/preview", CREATE).await;
    assert_eq!(came.status, 200, "{}", came.text());
    let data = &came.json()["data"];
    assert_eq!(data["aggregate"]["totalMemory"], 896);
    assert_eq!(data["rankMap"].as_array().unwrap().len(), 14);
    assert_eq!(data["rankMap"][2]["node"], "llm-training-env");
    assert_eq!(data["launch"]["nodes"].as_array().unwrap().len(), 3);
    assert!(!data["launch"]["argv"].as_array().unwrap().is_empty());
    assert_eq!(data["card"][1]["text"]["zh-CN"], "训练节点 3 个");
    assert_eq!(cluster.picture().await, before);
}

#[tokio::test]
async fn a_model_is_planned_without_a_task_and_what_cannot_be_is_refused_by_its_field() {
    let cluster = Cluster::start().await;
    // Nobody knows the numbers of model-001.
    let made = cluster.post("/api/v1/models", r#"{"name":"llama2-7b"}"#).await;
    assert_eq!(made.json()["data"]["id"], "model-002");
    let before = cluster.picture().await;
    let nodes = json!(["env-001", "env-002", "env-002"]);
    let came =
        cluster.post("/api/v1/plans", &json!({"modelId": "model-002", "nodeIds": nodes, "top": 3}).to_string()).await;
    assert_eq!(came.status, 200, "{}", came.text());
    let data = &came.json()["data"];
    assert_eq!(data["layouts"].as_array().unwrap().len(), 3);
    assert_eq!(data["scaling"].as_array().unwrap().len(), 2, "an environment that is named twice is one");
    assert!(data["choice"]["reason"]["zh-CN"].is_string());
    for (body, status, field) in [
        (json!({"modelId": "model-002", "nodeIds": []}), 422, Some("nodeIds")),
        (json!({"modelId": "model-002", "nodeIds": ["env-999"]}), 404, None),
        (json!({"modelId": "model-999", "nodeIds": nodes}), 404, None),
        (json!({"modelId": "model-001", "nodeIds": nodes}), 422, Some("modelId")),
        (json!({"modelId": "model-002", "nodeIds": nodes, "globalBatch": 0}), 422, Some("globalBatch")),
        (json!({"modelId": "model-002", "nodeIds": nodes, "globalBatch": u64::MAX}), 422, Some("globalBatch")),
        (json!({"modelId": "model-002", "nodeIds": nodes, "seqLength": u64::MAX}), 422, Some("seqLength")),
        (json!({"modelId": "model-002", "nodeIds": nodes, "precision": "bf17"}), 422, Some("precision")),
        (json!({"modelId": "model-002", "nodeIds": nodes, "batch": 8}), 422, None),
    ] {
        let came = cluster.post("/api/v1/plans", &body.to_string()).await;
        let error = &came.json()["error"];
        assert_eq!(came.status, status, "{body}: {}", came.text());
        assert_eq!(error["field"].as_str(), field.or(error["field"].as_str()), "{body}");
    }
    assert_eq!(cluster.picture().await, before);
}

#[tokio::test]
async fn lists_are_filtered_sorted_and_paged_without_loss() {
    let cluster = Cluster::start().await;
    for number in 0..7 {
        let body = json!({"taskName": format!("bert-{number}"), "labels": {"team": "nlp"},
            "command": {"argv": ["train.py"]}, "distributedConfig": {"nodeIds": ["env-001"]}});
        let came = cluster.post("/api/v1/training-tasks", &body.to_string()).await;
        assert_eq!(came.status, 200, "{}", came.text());
    }
    let (mut token, mut seen) = (String::new(), Vec::new());
    loop {
        let page = cluster
            .get(&format!("/api/v1/training-tasks?pageSize=3&orderBy=name%20asc&filter=name~BERT%20label.team=nlp&pageToken={token}"))
            .await
            .json();
        let data = &page["data"];
        seen.extend(data["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let Some(next) = data["nextPageToken"].as_str() else { break };
        token = next.to_owned();
    }
    assert_eq!(seen, (0..7).map(|number| format!("bert-{number}")).collect::<Vec<_>>());
    let none = cluster.get("/api/v1/training-tasks?filter=phase=succeeded").await.json();
    assert_eq!(none["data"]["items"], json!([]));
    let row = &cluster.get("/api/v1/training-tasks?pageSize=1").await.json()["data"]["items"][0];
    assert_eq!(row["allowedActions"][0], json!({"action": "stop", "allowed": true, "reason": null}));
}

#[tokio::test]
async fn a_task_is_stopped_restarted_cloned_and_deleted_in_that_order_only() {
    let cluster = Cluster::start().await;
    cluster.post("/api/v1/training-tasks", CREATE).await;
    let task = "/api/v1/training-tasks/task-1";
    assert_eq!(cluster.delete(task).await.status, 409);
    let stopped = cluster.send(Request::post(format!("{task}/stop")).body(Body::empty()).unwrap()).await;
    assert_eq!((stopped.status.as_u16(), &stopped.json()["data"]["status"]), (200, &json!("stopped")));
    assert_eq!(cluster.post(&format!("{task}/stop"), "{}").await.status, 409);
    let shown = cluster.get(task).await.json();
    assert_eq!(shown["data"]["verdict"]["kind"], "stoppedByUser");
    assert_eq!(shown["data"]["spec"]["name"], "gpt3-pretraining");
    assert_eq!(cluster.post(&format!("{task}/restart"), "").await.status, 200);
    assert_eq!(cluster.get(task).await.json()["data"]["status"], "initializing");
    let clone = cluster.post(&format!("{task}/clone"), r#"{"taskName":"again"}"#).await.json();
    assert_eq!(clone["data"]["taskId"], "task-2");
    let bulk = r#"{"action":"stop","ids":["task-1","task-2","task-77","../x"]}"#;
    let bulk = cluster.post("/api/v1/training-tasks/bulk", bulk).await.json();
    let codes: Vec<u64> =
        bulk["data"]["results"].as_array().unwrap().iter().map(|result| result["code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [200, 200, 404, 404]);
    assert_eq!(cluster.delete(task).await.status, 200);
    assert_eq!(cluster.get(task).await.status, 404);
    let explained = cluster.get("/api/v1/training-tasks/task-2/explain").await.json();
    assert_eq!(explained["data"]["summary"]["en"], "the training was stopped by its user");
}

#[tokio::test]
async fn two_open_tasks_in_one_checkpoint_folder_are_warned_of() {
    let cluster = Cluster::start().await;
    let made = async |environment: &str, folder: &str| {
        let body = json!({"taskName": "x", "command": {"argv": ["a"]}, "options": {"checkpointDir": folder},
            "distributedConfig": {"nodeIds": [environment]}});
        let answer = cluster.post("/api/v1/training-tasks", &body.to_string()).await.json();
        answer["data"]["warnings"].to_string().contains("checkpoints_shared")
    };
    assert!(!made("env-001", "/shared/run").await);
    assert!(!made("env-002", "/shared/run").await && !made("env-001", "/shared/other").await);
    assert!(made("env-001", "/shared/run/").await);
    let shown = async |id: &str| cluster.get(&format!("/api/v1/training-tasks/{id}")).await.text();
    assert!(shown("task-1").await.contains("task-4") && !shown("task-3").await.contains("checkpoints_shared"));
    cluster.post("/api/v1/training-tasks/task-4/stop", "{}").await;
    assert!(!shown("task-1").await.contains("checkpoints_shared"));
}

#[tokio::test]
async fn a_task_whose_environment_is_no_more_is_not_restarted() {
    let cluster = Cluster::start().await;
    let body = r#"{"taskName":"x","command":{"argv":["a"]},"distributedConfig":{"nodeIds":["env-002"]}}"#;
    cluster.post("/api/v1/training-tasks", body).await;
    let task = "/api/v1/training-tasks/task-1";
    cluster.post(&format!("{task}/stop"), "{}").await;
    cluster.core.store().write(|tx| tx.delete_environment(&"env-002".into())).await.unwrap();
    let refused = cluster.post(&format!("{task}/restart"), "").await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]["id"]), (422, &json!("environment_unknown")));
    assert_eq!(cluster.get(task).await.json()["data"]["status"], "stopped");
}

#[tokio::test]
async fn the_same_key_makes_one_task() {
    let cluster = Cluster::start().await;
    let send = |body: &'static str| {
        let request = Request::post("/api/v1/training-tasks").header("content-type", "application/json");
        cluster.send(request.header("idempotency-key", "k-1").body(Body::from(body)).unwrap())
    };
    let (first, second) = (send(CREATE).await, send(CREATE).await);
    assert_eq!(first.json(), second.json());
    assert_eq!(cluster.picture().await[1], 1);
    let other = send(r#"{"taskName":"x","command":{"argv":["a"]},"distributedConfig":{"nodeIds":["env-001"]}}"#).await;
    assert_eq!((other.status.as_u16(), other.json()["error"]["id"].as_str()), (422, Some("idempotency_key_reused")));
}

#[tokio::test]
async fn a_sweep_that_is_started_twice_at_the_same_moment_has_one_task_for_each_combination() {
    let cluster = Cluster::start().await;
    let create = async |seed: u32| {
        let body = json!({
            "taskName": format!("bert seed={seed}"),
            "command": { "argv": ["true"] },
            "labels": { "sweep": "bert", "sweep-request": "0123", "sweep.seed": seed.to_string() },
            "distributedConfig": { "framework": "command", "nodeIds": ["env-001"] },
        });
        let answer = cluster.post("/api/v1/training-tasks", &body.to_string()).await.json();
        assert_eq!(answer["code"], 200, "{answer}");
        (answer["data"]["taskId"].as_str().unwrap().to_owned(), answer["data"]["existing"] == true)
    };
    let (mut one, two, another) = tokio::join!(create(1), create(1), create(2));
    assert_eq!(one.0, two.0, "both commands have the same task");
    assert_ne!(one.0, another.0);
    assert!(one.1 ^ two.1, "one of them made it");
    assert_eq!(cluster.picture().await[1], 2);
    // One that was deleted is made anew.
    cluster.post(&format!("/api/v1/training-tasks/{}/stop", one.0), "{}").await;
    assert_eq!(cluster.delete(&format!("/api/v1/training-tasks/{}", one.0)).await.status, 200);
    let again = create(1).await;
    assert!(again.0 != one.0 && !again.1, "{again:?}");
    one = create(1).await;
    assert_eq!(one, (again.0, true));
}

#[tokio::test]
async fn environments_show_what_they_have_and_who_holds_them() {
    let cluster = Cluster::start().await;
    let list = cluster.get("/api/v1/environments?filter=gpu=A100&orderBy=gpuCount%20desc").await.json();
    let first = &list["data"]["items"][0];
    assert_eq!((first["name"].as_str(), first["memory"].as_u64()), (Some("nlp-research-lab"), Some(512)));
    assert_eq!(first["statusText"]["zh-CN"], "运行中");
    assert_eq!(first["kindText"]["zh-CN"], "Jupyter");
    assert_eq!(first["workers"].as_array().unwrap().len(), 8);
    assert!(first["heartbeatAgeMs"].is_u64());
    let names = async |query: &str| {
        let list = cluster.get(&format!("/api/v1/environments?{query}")).await.json();
        let items = list["data"]["items"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("filter=kind=jupyter,ssh").await.len(), 3);
    assert_eq!(names("filter=kind=ssh,vscode").await, Vec::<String>::new());
    let longest = cluster.get("/api/v1/environments?orderBy=uptime%20desc").await.json();
    let since = longest["data"]["items"].as_array().unwrap().iter().map(|item| item["upSince"].as_u64().unwrap());
    assert!(since.clone().count() == 3 && since.is_sorted(), "{longest}");
    assert_eq!(names("filter=image~no-such-image").await, Vec::<String>::new());
    let wrong = cluster.get("/api/v1/environments?filter=kind=notebook").await;
    assert_eq!((wrong.status.as_u16(), wrong.json()["error"]["id"].as_str()), (422, Some("filter_invalid")));
    assert_eq!(cluster.delete("/api/v1/environments/env-001").await.status, 409);
    assert_eq!(cluster.get("/api/v1/environments/env-009").await.status, 404);
    let overview = cluster.get("/api/v1/overview").await.json();
    assert_eq!(overview["data"]["gpus"], json!({"total": 14, "busy": 0, "free": 14}));
    assert_eq!(overview["data"]["environments"]["total"], 3);
}

#[tokio::test]
async fn names_of_datasets_and_models_are_their_own() {
    let cluster = Cluster::start().await;
    assert_eq!(cluster.post("/api/v1/datasets", r#"{"name":" wiki "}"#).await.status, 409);
    assert_eq!(cluster.post("/api/v1/models", r#"{"name":"gpt"}"#).await.status, 409);
    let versioned = cluster.post("/api/v1/datasets", r#"{"name":"a@b"}"#).await;
    assert_eq!((versioned.status.as_u16(), &versioned.json()["error"]["id"]), (422, &json!("name_invalid")));
    let version = r#"{"version":"v1","path":"/x"}"#;
    assert_eq!(cluster.post("/api/v1/datasets/dataset-001/versions", version).await.status, 409);
    assert_eq!(cluster.post("/api/v1/datasets/dataset-077/versions", version).await.status, 404);
    let shown = cluster.get("/api/v1/datasets/dataset-001").await.json();
    assert_eq!(shown["data"]["versions"][0]["id"], "version-001");
    cluster.post("/api/v1/training-tasks", CREATE).await;
    assert_eq!(cluster.delete("/api/v1/datasets/dataset-001").await.status, 409);
    assert_eq!(cluster.delete("/api/v1/models/model-001").await.status, 409);
}

#[tokio::test]
async fn a_snapshot_is_kept_by_its_digest() {
    use sha2::{Digest, Sha256};
    let cluster = Cluster::start().await;
    let bytes = [0x1f, 0x8b, 1, 2, 3];
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let send = |digest: String, bytes: Vec<u8>| {
        let request = Request::post("/api/v1/snapshots").header("content-type", "application/gzip");
        cluster.send(request.header("x-fermi-digest", digest).body(Body::from(bytes)).unwrap())
    };
    let wrong = send(format!("sha256:{}", "0".repeat(64)), bytes.to_vec()).await;
    assert_eq!((wrong.status.as_u16(), wrong.json()["error"]["id"].as_str()), (422, Some("digest_mismatch")));
    let kept = send(format!("sha256:{digest}"), bytes.to_vec()).await;
    assert_eq!(kept.json()["data"], json!({"digest": format!("sha256:{digest}"), "size": 5}));
    let head = Request::head(format!("/api/v1/snapshots/sha256:{digest}")).body(Body::empty()).unwrap();
    assert_eq!(cluster.send(head).await.status, 200);
    assert_eq!(cluster.get(&format!("/api/v1/snapshots/{digest}")).await.bytes, bytes);
    assert_eq!(cluster.get("/api/v1/snapshots/..%2f..%2ffermi.db").await.status, 404);

    // Who sends it again is about to name it: it counts as sent now.
    let sent_ms = async || {
        let read: Result<_, StoreError> = cluster.core.store().read(|view| view.snapshots()).await;
        read.unwrap()[0].created_ms
    };
    let first_ms = sent_ms().await;
    while cluster.core.now_ms() == first_ms {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(send(digest.clone(), bytes.to_vec()).await.status, 200);
    assert!(sent_ms().await > first_ms);

    for (named, expected) in [(digest, 200), ("ab".repeat(32), 422)] {
        let body = json!({
            "taskName": "x", "command": {"argv": ["a"]}, "distributedConfig": {"nodeIds": ["env-001"]},
            "source": {"snapshot": format!("sha256:{named}")},
        });
        let came = cluster.post("/api/v1/training-tasks", &body.to_string()).await;
        assert_eq!(came.status, expected, "{}", came.text());
        let is_refused = came.json()["error"]["id"] == "snapshot_unknown";
        assert_eq!(is_refused, expected == 422, "{}", came.text());
    }
}

#[tokio::test]
async fn events_are_followed_from_a_cursor_without_gap_or_double() {
    let cluster = Cluster::start().await;
    cluster.post("/api/v1/training-tasks", CREATE).await;
    let listed = cluster.get("/api/v1/training-tasks/task-1/events").await.json();
    assert_eq!(listed["data"]["items"][0]["kind"], "task.created");
    let cursor = listed["data"]["items"][0]["cursor"].as_str().unwrap().to_owned();
    let headers = [("accept", "text/event-stream"), ("last-event-id", cursor.as_str())];
    let mut live = cluster.stream("/api/v1/training-tasks/task-1/events", &headers).await;
    let mut all = cluster.stream("/api/v1/events", &[("accept", "application/x-ndjson")]).await;
    cluster.post("/api/v1/training-tasks/task-1/stop", "{}").await;
    let mut heard = String::new();
    while !heard.contains("task.stopped") {
        let piece = tokio::time::timeout(Duration::from_secs(10), live.next()).await.expect("nothing came");
        heard += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
    }
    assert!(!heard.contains("task.created"), "{heard}");
    assert_eq!(heard.matches("\"kind\":\"task.stopped\"").count(), 1);
    assert!(heard.contains("\nid: ") || heard.starts_with("id: "));
    let mut heard = String::new();
    while !heard.contains("task.stopped") {
        let piece = tokio::time::timeout(Duration::from_secs(10), all.next()).await.expect("nothing came");
        heard += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
    }
    cluster.core.shut_down();
    let end = tokio::time::timeout(Duration::from_secs(10), async { while live.next().await.is_some() {} }).await;
    assert!(end.is_ok(), "streams must end with the server");
}

#[tokio::test]
async fn health_numbers_documents_and_pages_are_served() {
    let cluster = Cluster::start().await;
    for path in ["/livez", "/readyz", "/version", "/api/v1/frameworks", "/api/openapi.json", "/api/docs"] {
        assert_eq!(cluster.get(path).await.status, 200, "{path}");
    }
    for unknown in ["/training/task-1/x", "/nowhere", "/assets/nothing.js", "/assets/.gitkeep", "/index.html"] {
        assert_eq!(cluster.get(unknown).await.status, 404, "{unknown}");
    }
    let metrics = cluster.get("/metrics").await;
    let described: serde_json::Value = serde_json::from_str(fermi_server::openapi::json()).unwrap();
    let declared = described["paths"]["/metrics"]["get"]["responses"]["200"]["content"].as_object().unwrap();
    let came = metrics.headers["content-type"].to_str().unwrap().split(';').next().unwrap();
    assert_eq!(declared.keys().collect::<Vec<_>>(), [came]);
    let metrics = metrics.text();
    for line in [
        "fermi_tasks{phase=\"running\"} 0",
        "fermi_environments{status=\"running\"} 3",
        "fermi_http_requests_total{route=\"/livez\",status=\"2xx\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let cards = cluster.get("/api/v1/frameworks").await.json();
    assert_eq!(cards["data"]["items"][0]["kind"], json!({"zh-CN": "数据并行", "en": "Data parallel"}));
    let head = Request::head("/api/v1/training-tasks").body(Body::empty()).unwrap();
    let head = cluster.send(head).await;
    assert_eq!((head.status.as_u16(), head.bytes.len()), (200, 0));
    let wrong = cluster.send(Request::put("/api/v1/models").body(Body::empty()).unwrap()).await;
    assert_eq!((wrong.status.as_u16(), wrong.json()["error"]["id"].as_str()), (405, Some("method_not_allowed")));
    assert!(wrong.headers["allow"].to_str().unwrap().contains("POST"));
}

/// A binary that was compiled without a built console says so at each of its addresses.
#[tokio::test]
async fn the_console_is_served_at_each_of_its_addresses() {
    let cluster = Cluster::start().await;
    let page = cluster.get("/").await;
    if page.status == 503 {
        assert_eq!(page.json()["error"]["id"], "console_not_built");
        assert_eq!(cluster.get("/training/task-1").await.status, 503);
        return;
    }
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'self'"));
    assert_eq!(page.headers["cache-control"], "no-cache");
    let again = Request::get("/").header("if-none-match", page.headers["etag"].to_str().unwrap());
    assert_eq!(cluster.send(again.body(Body::empty()).unwrap()).await.status, 304);
    for path in ["/training", "/training/create", "/training/task-1", "/environments", "/groups", "/settings"] {
        assert_eq!(cluster.get(path).await.status, 200, "{path}");
    }
    let html = page.text();
    let script = html.split("src=\"./").find(|rest| rest.starts_with("assets/")).unwrap();
    let script = format!("/{}", script.split('"').next().unwrap());
    let deeper = cluster.get("/training/task-1").await.text();
    assert!(deeper.contains(&format!("src=\"./..{script}")), "{deeper}");
    for (accepted, encoding) in [("br, gzip", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
        let request = Request::get(&script).header("accept-encoding", accepted).body(Body::empty()).unwrap();
        let file = cluster.send(request).await;
        let came = file.headers.get("content-encoding").map(|value| value.to_str().unwrap());
        assert_eq!((file.status.as_u16(), came), (200, encoding), "{accepted}");
        assert!(file.headers["cache-control"].to_str().unwrap().contains("immutable"));
    }
}
