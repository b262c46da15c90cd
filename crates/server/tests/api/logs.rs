//! What ranks wrote, as it is read, searched and followed.

use super::*;

#[tokio::test]
async fn logs_are_read_searched_and_followed() {
    let cluster = Cluster::start().await;
    let body = r#"{"taskName":"x","command":{"argv":["a"]},"distributedConfig":{"nodeIds":["env-001"]},
        "policies":{"restart":{"maxRestarts":1}}}"#;
    cluster.post("/api/v1/training-tasks", body).await;
    let task = "/api/v1/training-tasks/task-1";
    let name = |rank, kind| StreamName { task: "task-1".into(), attempt: 1, rank, kind };
    let chunks = cluster.core.chunks();
    chunks.append(&name(0, StreamKind::Stdout), 0, "一\nloss 2\n".as_bytes()).unwrap();
    chunks.append(&name(1, StreamKind::Stderr), 0, b"bad \xff byte\nLOSS 3\n").unwrap();
    chunks.append(&name(0, StreamKind::Progress), 0, b"{\"time\":1,\"step\":1,\"loss\":2}\n").unwrap();

    let logs = cluster.get(&format!("{task}/logs?tail=1")).await.json();
    assert_eq!(logs["data"]["chunks"].as_array().unwrap().len(), 2);
    assert_eq!(logs["data"]["chunks"][0]["text"], "loss 2\n");
    let plain = Request::get(format!("{task}/logs?rank=1&stream=stderr")).header("accept", "text/plain");
    assert_eq!(cluster.send(plain.body(Body::empty()).unwrap()).await.bytes, b"bad \xff byte\nLOSS 3\n");
    let from = cluster.get(&format!("{task}/logs?rank=0&stream=stdout&offset=4&limitBytes=4")).await.json();
    assert_eq!(
        (&from["data"]["chunks"][0]["text"], &from["data"]["chunks"][0]["nextOffset"]),
        (&json!("loss"), &json!(8))
    );
    let found = cluster.get(&format!("{task}/logs/search?query=loss&ignoreCase=true&attempt=1")).await.json();
    let ranks: Vec<u64> =
        found["data"]["items"].as_array().unwrap().iter().map(|item| item["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [0, 1]);
    // What ranks were started with is no log of theirs, and makes no attempt the newest.
    let missing = cluster.get(&format!("{task}/start")).await;
    assert_eq!((missing.status.as_u16(), missing.json()["error"]["id"].as_str()), (404, Some("start_not_kept")));
    let started = json!({"version": 1, "fermi": "0.1.0", "attempt": 2, "node": "gn6", "argv": ["loss"], "env": {"A": "b"},
        "ranks": [{"rank": 0, "pid": 7, "startedMs": 5, "env": {"RANK": "0"}},
            {"rank": 1, "localRank": 1, "pid": 8, "startedMs": 6, "env": {"RANK": "1"}, "cpus": [3]}]});
    let of_start = StreamName { attempt: 2, ..name(0, StreamKind::Start) };
    chunks.append(&of_start, 0, started.to_string().as_bytes()).unwrap();
    let start = cluster.get(&format!("{task}/start?rank=1")).await.json();
    insta::assert_json_snapshot!(start["data"], @r#"
    {
      "attempt": 2,
      "rank": 1,
      "localRank": 1,
      "node": "gn6",
      "account": null,
      "pid": 8,
      "startedAt": 6,
      "fermi": "0.1.0",
      "argv": [
        "loss"
      ],
      "directory": null,
      "env": {
        "A": "b",
        "RANK": "1"
      },
      "cpus": [
        3
      ],
      "isReleased": false,
      "isCut": false,
      "attempts": [
        2
      ]
    }
    "#);
    for (query, status) in [("attempt=1", 404), ("rank=2", 404), ("rank=-1", 422), ("attempt=0", 422), ("ranks=1", 422)]
    {
        assert_eq!(cluster.get(&format!("{task}/start?{query}")).await.status, status, "{query}");
    }
    for path in [
        "start?attempt=99",
        "ranks?attempt=99",
        "metrics?attempt=99",
        "logs?attempt=99&follow=true",
        "logs/search?query=loss&attempt=99",
    ] {
        let missing = cluster.get(&format!("{task}/{path}")).await;
        assert_eq!(
            (missing.status.as_u16(), missing.json()["error"]["field"].as_str()),
            (404, Some("attempt")),
            "{path}"
        );
    }
    assert_eq!(cluster.get("/api/v1/training-tasks/task-9/start").await.status, 404);
    let found = cluster.get(&format!("{task}/logs/search?query=loss&attempt=2")).await.json();
    assert_eq!(found["data"]["items"], json!([]));
    assert_eq!(cluster.get(&format!("{task}/logs?tail=1")).await.json()["data"]["attempt"], 1);
    let metrics = cluster.get(&format!("{task}/metrics?series=loss&attempt=1")).await.json();
    assert_eq!(metrics["data"]["series"][0]["points"][0]["value"], 2.0);

    let mut live =
        cluster.stream(&format!("{task}/logs?rank=0&follow=true"), &[("accept", "application/x-ndjson")]).await;
    let mut heard = String::new();
    chunks.append(&name(0, StreamKind::Stdout), 11, "尾".as_bytes()).unwrap();
    cluster.core.tell_logs_grown(&"task-1".into());
    while !heard.contains('尾') {
        let piece = tokio::time::timeout(Duration::from_secs(10), live.next()).await.expect("nothing came");
        heard += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
    }
    assert!(heard.contains("loss 2"));
    cluster.post(&format!("{task}/stop"), "{}").await;
    let end = tokio::time::timeout(Duration::from_secs(10), async { while live.next().await.is_some() {} }).await;
    assert!(end.is_ok(), "the stream did not end with its task");
}

/// They come one after the other while ranks write, and share what they see from then on; letters come in halves.
#[tokio::test]
async fn every_follower_of_many_hears_every_byte_once() {
    let cluster = Cluster::start().await;
    let body = r#"{"taskName":"x","command":{"argv":["a"]},"distributedConfig":{"nodeIds":["env-001"]}}"#;
    cluster.post("/api/v1/training-tasks", body).await;
    let task = "/api/v1/training-tasks/task-1";
    let name = |rank| StreamName { task: "task-1".into(), attempt: 1, rank, kind: StreamKind::Stdout };
    let texts: Vec<String> = (0..3).map(|rank| format!("第{rank}个 rank 的损失\n").repeat(40)).collect();
    let mut followers = Vec::new();
    for step in 0..48 {
        for (rank, text) in texts.iter().enumerate() {
            let (from, to) = (text.len() * step / 48, text.len() * (step + 1) / 48);
            cluster.core.chunks().append(&name(rank as u32), from as u64, &text.as_bytes()[from..to]).unwrap();
        }
        cluster.core.tell_logs_grown(&"task-1".into());
        if step % 4 == 0 {
            let path = format!("{task}/logs?follow=true&attempt=1");
            let mut live = cluster.stream(&path, &[("accept", "application/x-ndjson")]).await;
            followers.push(tokio::spawn(async move {
                let mut heard = Vec::new();
                while let Some(piece) = live.next().await {
                    heard.extend_from_slice(&piece.unwrap());
                }
                String::from_utf8(heard).unwrap()
            }));
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    cluster.post(&format!("{task}/stop"), "{}").await;
    for follower in followers {
        let heard = tokio::time::timeout(Duration::from_secs(20), follower).await.expect("it does not end").unwrap();
        let mut said = vec![String::new(); texts.len()];
        for line in heard.lines().filter(|line| !line.is_empty()) {
            let piece: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = &mut said[piece["rank"].as_u64().unwrap() as usize];
            assert_eq!(piece["offset"].as_u64(), Some(text.len() as u64), "{line}");
            text.push_str(piece["text"].as_str().unwrap());
        }
        assert_eq!(said, texts);
    }
}

#[tokio::test]
async fn a_stream_of_logs_speaks_before_there_are_any() {
    let cluster = Cluster::start().await;
    cluster.post("/api/v1/training-tasks", CREATE).await;
    for kind in ["text/event-stream", "application/x-ndjson"] {
        let path = "/api/v1/training-tasks/task-1/logs?follow=true";
        let mut live = cluster.stream(path, &[("accept", kind)]).await;
        let piece = tokio::time::timeout(Duration::from_secs(10), live.next()).await.expect("nothing came");
        assert!(piece.unwrap().unwrap().ends_with(b"\n"), "{kind}");
    }
}
