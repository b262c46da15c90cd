//! What the token of an agent speaks for.

use super::*;

/// How somebody comes to a route of agents.
struct Shows<'a> {
    who: &'a str,
    token: Option<&'a str>,
    credential: Option<&'a str>,
    /// For which environment it says that it speaks.
    speaks_for: Option<&'a str>,
}

/// What is of a run is taken from its environment's own agent and told to it, and to nobody else: every route of agents that
/// names a run × everything that somebody else could show.
#[tokio::test]
async fn a_run_is_spoken_for_by_its_own_agent_alone() {
    let mut cluster = closed().await;
    let (own, other) = (cluster.join_with("gn6", "own").await, cluster.join_with("gn7", "other").await);
    fermi_server::start_reconcilers(&cluster.core);
    let machine = token_of(&cluster, ROOT, json!({"name": "gn6", "scope": "agent"})).await;
    add_user(&cluster, "ann", "administrator").await;
    let ann = log_in(&cluster, "ann").await;
    let body = json!({
        "taskName": "of gn6",
        "command": {"argv": ["/bin/true"]},
        "distributedConfig": {"nodeIds": [own.as_str()]},
    });
    let task = data(&cluster, ROOT, "POST", "/api/v1/training-tasks", Some(&body)).await["taskId"].clone();
    let read = format!("/api/v1/training-tasks/{}", task.as_str().unwrap());
    let run = cluster
        .wait("the task is launched", async |cluster: &mut Cluster| match cluster.heard(own.as_str()) {
            Some(ServerMessage::Launch(assignment)) => Some(assignment.run.to_string()),
            _ => None,
        })
        .await;

    let shown = |who, token, credential, speaks_for| Shows { who, token, credential, speaks_for };
    let (own, other) = (own.as_str(), other.as_str());
    let cases = [
        shown("nobody", None, None, None),
        shown("nobody, as it", None, None, Some(own)),
        shown("a credential that was guessed", None, Some("guessed"), Some(own)),
        shown("another's agent", None, Some("other"), Some(other)),
        shown("another's agent, as it", None, Some("other"), Some(own)),
        shown("another's agent with a token, as it", Some(&machine), Some("other"), Some(own)),
        shown("a token for machines", Some(&machine), None, None),
        shown("a token for machines, as it", Some(&machine), None, Some(own)),
        shown("a token for machines, as another", Some(&machine), None, Some(other)),
        shown("an administrator, as it", Some(&ann), None, Some(own)),
        shown("the server's token, as it", Some(ROOT), None, Some(own)),
        shown("its own agent", None, Some("own"), Some(own)),
        shown("its own agent with a token", Some(&machine), Some("own"), Some(own)),
    ];
    let before = data(&cluster, ROOT, "GET", &read, None).await;
    let mut routes = OF_AGENTS.iter().filter(|(_, route)| route.contains("{run}")).collect::<Vec<_>>();
    assert_eq!(routes.len(), 4, "a route of agents is new");
    // What is told first, so that what its own agent sends changes no answer.
    routes.sort();
    for (method, route) in routes {
        let path =
            route.replace("{run}", &run).replace("{attempt}", "1").replace("{rank}", "0").replace("{kind}", "stdout");
        let path = format!("{path}?offset=0");
        for Shows { who, token, credential, speaks_for } in &cases {
            let mut request = Request::builder().method(*method).uri(&path);
            for (name, value) in [
                ("authorization", token.map(|token| format!("Bearer {token}"))),
                (fermi_api::link::CREDENTIAL_HEADER, credential.map(str::to_owned)),
                (fermi_api::link::ENVIRONMENT_HEADER, speaks_for.map(str::to_owned)),
            ] {
                request = value.into_iter().fold(request, |request, value| request.header(name, value));
            }
            let came = cluster.send(request.body(Body::from("x")).unwrap()).await;
            let is_own = who.starts_with("its own");
            let status = came.status.as_u16();
            assert_eq!(!matches!(status, 401 | 403), is_own, "{method} {route}, {who}: {status} {}", came.text());
            // Of an attempt that its journal has not told of, its own agent is to send the output again.
            assert!(status < 500 || (is_own && status == 503), "{method} {route}, {who}: {status} {}", came.text());
        }
    }
    let after = data(&cluster, ROOT, "GET", &read, None).await;
    assert_eq!(before["status"], after["status"]);
}

#[tokio::test]
async fn an_agents_token_does_not_speak_for_another_environment() {
    let cluster = closed().await;
    let machine = token_of(&cluster, ROOT, json!({"name": "gn6", "scope": "agent"})).await;
    let task = thing(&cluster, ROOT, "training-tasks", 1).await;
    let path = format!("/api/agent/v1/runs/{task}-g1-n0-i1/journal?offset=0");
    let request = Request::post(path).header("authorization", format!("Bearer {machine}"));
    let came = cluster.send(request.header("x-fermi-environment", "env-002").body(Body::from("{}\n")).unwrap()).await;
    assert!(came.status.is_client_error() && came.status != 401, "{}: {}", came.status, came.text());
}
