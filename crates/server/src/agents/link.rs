//! One agent's link, from its hello to its end.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use fermi_api::link::{AgentMessage, Hello, KnownRun, LINK_VERSION, OLDEST_LINK_VERSION, ServerMessage, Welcome};
use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::{NodeRunState, RunKey, TaskInput};
use fermi_store::environments::{EnvironmentRow, Registration};
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction, WriteError};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Instrument;

use crate::core::Core;
use crate::hub::{AgentConnection, OFFLINE_AFTER};
use crate::lifecycle::{self, Cause, LifecycleError};

/// Who connects has this long to introduce itself.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// Messages are short, and there may be thousands of links.
const SMALL: usize = 4 << 10;
const HEARTBEAT_MS: u64 = 1_000;
/// Messages that wait for a slow agent; beyond this its connection is broken.
const WAITING_MESSAGES: usize = 1_024;
/// The longest name of an environment: its workers' names become file names.
const LONGEST_NAME: usize = 63;

pub async fn answer(
    upgrade: WebSocketUpgrade,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    State(core): State<Core>,
) -> Response {
    let upgrade = upgrade.max_message_size(1 << 20).read_buffer_size(SMALL).write_buffer_size(SMALL);
    upgrade.on_upgrade(move |socket| serve(socket, peer, core))
}

async fn serve(mut socket: WebSocket, peer: SocketAddr, core: Core) {
    let Some(hello) = first_message(&mut socket).await else { return };
    let (outbox, messages) = mpsc::channel(WAITING_MESSAGES);
    match admit(&core, &hello, peer, outbox).await {
        Ok((row, connection)) => {
            let id = row.environment.id.clone();
            let welcome = Welcome {
                environment: id.clone(),
                cluster: core.store().cluster().to_owned(),
                heartbeat_ms: HEARTBEAT_MS,
            };
            let span = tracing::info_span!("agent", environment = %id);
            let session = async {
                tracing::info!(name = %hello.name, %peer, version = hello.version, "an agent has come");
                if send(&mut socket, &ServerMessage::Welcome(welcome)).await {
                    if let Err(error) = compare_runs(&core, &id, &hello.runs, &connection).await {
                        // The agent dials again and says hello anew, so that nothing is compared by halves.
                        tracing::error!(%error, "an agent's runs could not be compared with what is stored");
                    } else {
                        core.ring();
                        exchange(&mut socket, &core, &id, &connection, messages).await;
                    }
                }
                core.hub().leave(&id, connection.number);
                tracing::info!("an agent's link has ended");
            };
            session.instrument(span).await;
        }
        Err((reason, hint)) => {
            tracing::info!(name = %hello.name, %peer, reason = %reason.en, "an agent was refused");
            send(&mut socket, &ServerMessage::Refused { reason, hint }).await;
        }
    }
}

async fn first_message(socket: &mut WebSocket) -> Option<Hello> {
    let message = timeout(HELLO_PATIENCE, socket.recv()).await.ok()??.ok()?;
    match serde_json::from_str(message.to_text().ok()?) {
        Ok(AgentMessage::Hello(hello)) => Some(*hello),
        Ok(_) => None,
        Err(error) => {
            let reason =
                Text::new(format!("无法理解该代理的问候：{error}"), format!("this hello is not understood: {error}"));
            let hint = Text::new("请安装与服务端相同的版本", "install the release that the server has");
            send(socket, &ServerMessage::Refused { reason, hint }).await;
            None
        }
    }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage) -> bool {
    let Ok(text) = serde_json::to_string(message) else { return false };
    socket.send(Message::Text(text.into())).await.is_ok()
}

/// Stores who came and gives it a session; or says why not.
async fn admit(
    core: &Core,
    hello: &Hello,
    peer: SocketAddr,
    messages: mpsc::Sender<ServerMessage>,
) -> Result<(EnvironmentRow, AgentConnection), (Text, Text)> {
    check(hello)?;
    let unavailable = |error: &dyn std::fmt::Display| {
        (
            Text::new(
                format!("服务端暂时无法登记该环境：{error}"),
                format!("the server cannot register this now: {error}"),
            ),
            Text::new("代理会自动重试", "the agent tries again by itself"),
        )
    };
    let name = hello.name.clone();
    let known = core.store().read(move |view| view.environment_by_name(&name)).await;
    let known = known.map_err(|error: StoreError| unavailable(&error))?;
    if known.is_some_and(|row| core.hub().is_taken(&row.environment.id, &hello.instance)) {
        return Err((
            Text::new(
                format!("名为 {} 的环境已由另一个代理连接", hello.name),
                format!("another agent is connected under the name {}", hello.name),
            ),
            Text::new("用 --name 取另一个名字，或停止那个代理", "take another --name, or stop that agent"),
        ));
    }
    let registration = registration(hello, peer);
    let now_ms = core.now_ms();
    let row = core
        .store()
        .write(move |tx| {
            let row = tx.register_environment(&registration, now_ms)?;
            let name = &row.environment.name;
            let id = &row.environment.id;
            let text = Text::new(format!("开发环境 {name} 已连接"), format!("the environment {name} is connected"));
            let agent = Principal::agent_of(id.clone());
            tx.append_event(NewEvent::new(now_ms, "environment.connected", text, agent).about_environment(id))?;
            Ok::<_, StoreError>(row)
        })
        .await
        .map_err(|error| unavailable(&error.flatten()))?;
    let connection = core.hub().connect(&row.environment.id, &hello.instance, messages);
    core.refresh_environments().await.map_err(|error| unavailable(&error))?;
    Ok((row, connection))
}

fn check(hello: &Hello) -> Result<(), (Text, Text)> {
    check_version(hello, &(OLDEST_LINK_VERSION..=LINK_VERSION))?;
    let name = &hello.name;
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let fits = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.chars().all(is_plain)
        && !name.starts_with(['.', '-']);
    if !fits || hello.instance.is_empty() {
        return Err((
            Text::new(
                format!("环境名“{}”无效", name.escape_debug()),
                format!("'{}' is no name for an environment", name.escape_debug()),
            ),
            Text::new(
                "只能用字母、数字、- _ .，至多 63 个字符，且不以 . 或 - 开头",
                "use letters, digits, - _ and ., at most 63, and begin with neither . nor -",
            ),
        ));
    }
    Ok(())
}

/// An agent of an older release is led in messages that it has; a newer one may send what is not understood here.
fn check_version(hello: &Hello, understood: &RangeInclusive<u32>) -> Result<(), (Text, Text)> {
    if understood.contains(&hello.version) {
        return Ok(());
    }
    let (ours, theirs) = (env!("CARGO_PKG_VERSION"), &hello.fermi);
    let hint = if hello.version > *understood.end() {
        Text::new("请先升级服务端，再升级代理", "upgrade the server first, then its agents")
    } else {
        Text::new("请安装与服务端相同的版本", "install the release that the server has")
    };
    Err((
        Text::new(
            format!("版本不一致：服务端是 fermi {ours}，该代理是 fermi {theirs}"),
            format!("versions differ: the server is fermi {ours}, this agent fermi {theirs}"),
        ),
        hint,
    ))
}

fn registration(hello: &Hello, peer: SocketAddr) -> Registration {
    let address = hello.address.clone().unwrap_or_else(|| peer.ip().to_canonical().to_string());
    Registration {
        environment: Environment {
            // The store gives the id by the name.
            id: EnvironmentId::from(""),
            name: hello.name.clone(),
            kind: hello.kind,
            zone: hello.zone.clone(),
            image: hello.image.clone(),
            gpus: hello.gpus.clone(),
            cpu_cores: hello.cpu_cores,
            memory: hello.memory,
            address: Some(address),
            versions: hello.versions.clone(),
            cpu_workers: hello.cpu_workers,
            declared: hello.declared,
            status: EnvironmentStatus::Running,
        },
        instance: Some(hello.instance.clone()),
        labels: hello.labels.clone(),
        boot: Some(hello.boot.clone()),
    }
}

/// What the agent knows against what the server believes: runs that it has lost are gone, runs that no task wants end.
async fn compare_runs(
    core: &Core,
    environment: &EnvironmentId,
    known: &[KnownRun],
    connection: &AgentConnection,
) -> Result<(), StoreError> {
    let tasks = core.store().read(|view| view.live_tasks()).await?;
    let ours: Vec<(RunKey, NodeRunState)> = tasks
        .iter()
        .flat_map(|task| {
            let task = &task.value;
            let here = task.nodes.iter().filter(|node| node.environment == *environment);
            here.map(|node| (task.run_key(node), node.state))
        })
        .collect();
    for (run, state) in &ours {
        let has_it = known.iter().any(|known| known.run == *run);
        if *state == NodeRunState::Alive && !has_it {
            gone(core, environment, run).await;
        }
    }
    for KnownRun { run, alive } in known {
        let is_wanted = ours.iter().any(|(ours, state)| ours == run && *state != NodeRunState::Gone);
        if !is_wanted {
            if *alive {
                connection.send(ServerMessage::Kill { run: run.clone() });
            } else {
                connection.send(ServerMessage::Forget { run: run.clone() });
            }
        }
    }
    Ok(())
}

/// Listens and speaks until either side is gone, or silent for too long.
async fn exchange(
    socket: &mut WebSocket,
    core: &Core,
    environment: &EnvironmentId,
    connection: &AgentConnection,
    mut messages: mpsc::Receiver<ServerMessage>,
) {
    loop {
        tokio::select! {
            heard = timeout(OFFLINE_AFTER, socket.recv()) => {
                let Ok(Some(Ok(message))) = heard else { return };
                match message {
                    Message::Text(text) => match serde_json::from_str::<AgentMessage>(&text) {
                        Ok(message) => receive(core, environment, connection, message).await,
                        // A newer agent may send more than we know.
                        Err(error) => tracing::warn!(%environment, %error, "a message of an agent is not understood"),
                    },
                    Message::Close(_) => return,
                    Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
                }
            }
            message = messages.recv() => {
                // The sender is dropped when the agent has a newer connection.
                let Some(message) = message else { return };
                if !send(socket, &message).await {
                    return;
                }
            }
            () = core.ended() => return,
        }
    }
}

async fn receive(core: &Core, environment: &EnvironmentId, connection: &AgentConnection, message: AgentMessage) {
    match message {
        AgentMessage::Heartbeat(heartbeat) => core.hub().beat(environment, connection.number, *heartbeat),
        AgentMessage::LaunchFailed(failed) => {
            let (node, message) = (failed.run.node_rank, failed.stored());
            apply(core, environment, &failed.run, TaskInput::LaunchFailed { node, message }).await;
            connection.send(ServerMessage::Forget { run: failed.run });
        }
        AgentMessage::Gone { run } => {
            gone(core, environment, &run).await;
            core.hub().forget(environment, &run);
            connection.send(ServerMessage::Forget { run });
        }
        AgentMessage::Hello(_) => {}
    }
}

async fn gone(core: &Core, environment: &EnvironmentId, run: &RunKey) {
    let node = run.node_rank;
    apply(core, environment, run, TaskInput::Gone { node }).await;
}

/// Lets something happen to the task of a run, if the run is of its present launch and belongs to this environment.
async fn apply(core: &Core, environment: &EnvironmentId, run: &RunKey, input: TaskInput) {
    let cause = Cause { principal: Principal::agent_of(environment.clone()), now_ms: core.now_ms() };
    let (key, environment) = (run.clone(), environment.clone());
    let work = move |tx: &mut Transaction<'_>| {
        let task = tx.task(&key.task)?;
        let node = task.as_ref().and_then(|task| task.value.node_of(&key));
        if node.is_none_or(|node| node.environment != environment) {
            return Ok(None);
        }
        lifecycle::apply(tx, &key.task, [input], &cause).map(Some)
    };
    let span = tracing::info_span!("run", task = %run.task, %run);
    let outcome = core.change(work, Option::as_slice).instrument(span).await;
    if let Err(error) = outcome.map_err(WriteError::<LifecycleError>::flatten) {
        tracing::error!(%run, %error, "what happened to a run could not be stored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(version: u32) -> Hello {
        serde_json::from_value(serde_json::json!({
            "version": version, "fermi": "0.1.0", "instance": "a", "name": "gn6", "kind": "custom",
            "cpuWorkers": 1, "cpuCores": 1, "memory": 1, "boot": "b", "saidByANewerRelease": true
        }))
        .unwrap()
    }

    #[test]
    fn agents_of_every_version_in_the_range_are_understood() {
        let range = 2..=3;
        assert!(check_version(&hello(2), &range).is_ok() && check_version(&hello(3), &range).is_ok());
        let (reason, hint) = check_version(&hello(1), &range).unwrap_err();
        assert!(reason.en.starts_with("versions differ") && hint.en.contains("install the release"));
        let (_, hint) = check_version(&hello(4), &range).unwrap_err();
        assert!(hint.en.contains("upgrade the server first"));
        assert!(check(&hello(LINK_VERSION)).is_ok() && check(&hello(OLDEST_LINK_VERSION)).is_ok());
    }
}
