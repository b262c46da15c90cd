//! One agent's link, from its hello to its end.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use fermi_api::link::{AgentMessage, Hello, KnownRun, LINK_VERSION, OLDEST_LINK_VERSION, ServerMessage, Welcome};
use fermi_domain::environment::{Environment, EnvironmentStatus, is_name};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::{Explained, FrontEnd, Text};
use fermi_domain::principal::Principal;
use fermi_domain::task::{NodeRunState, RunKey, TaskInput};
use fermi_store::environments::Registration;
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction, WriteError};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Instrument;

use super::admission::AdmissionRefusal;
use super::bounds;
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
        Ok(admitted) => {
            let id = &admitted.environment;
            let welcome = Welcome {
                environment: id.clone(),
                cluster: core.store().cluster().to_owned(),
                heartbeat_ms: HEARTBEAT_MS,
            };
            let span = tracing::info_span!("agent", environment = %id);
            let session = async {
                tracing::info!(name = %hello.name, %peer, version = hello.version, "an agent has come");
                if send(&mut socket, &ServerMessage::Welcome(welcome)).await {
                    if let Err(error) = compare_runs(&core, &admitted, &hello.runs).await {
                        // The agent dials again and says hello anew, so that nothing is compared by halves.
                        tracing::error!(%error, "an agent's runs could not be compared with what is stored");
                    } else {
                        core.ring();
                        exchange(&mut socket, &core, &admitted, messages).await;
                    }
                }
                core.hub().leave(id, admitted.connection.number);
                tracing::info!("an agent's link has ended");
            };
            session.instrument(span).await;
        }
        Err(refusal) => {
            tracing::info!(name = %hello.name, %peer, reason = %refusal.text().en, "an agent was refused");
            send(&mut socket, &refused(&refusal)).await;
        }
    }
}

async fn first_message(socket: &mut WebSocket) -> Option<Hello> {
    let message = timeout(HELLO_PATIENCE, socket.recv()).await.ok()??.ok()?;
    match serde_json::from_str(message.to_text().ok()?) {
        Ok(AgentMessage::Hello(hello)) => Some(*hello),
        Ok(_) => None,
        Err(error) => {
            send(socket, &refused(&AdmissionRefusal::NotUnderstood { error: error.to_string() })).await;
            None
        }
    }
}

/// An agent shows it in a terminal.
fn refused(refusal: &AdmissionRefusal) -> ServerMessage {
    let reason = refusal.text();
    let hint = refusal.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
    ServerMessage::Refused { hint: hint.unwrap_or_else(|| reason.clone()), reason }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage) -> bool {
    let Ok(text) = serde_json::to_string(message) else { return false };
    socket.send(Message::Text(text.into())).await.is_ok()
}

/// Whom the server has admitted.
struct Admitted {
    environment: EnvironmentId,
    /// On whose behalf everything happens that comes over this link.
    principal: Principal,
    connection: AgentConnection,
}

/// Stores who came and gives it a session; or says why not.
async fn admit(
    core: &Core,
    hello: &Hello,
    peer: SocketAddr,
    messages: mpsc::Sender<ServerMessage>,
) -> Result<Admitted, AdmissionRefusal> {
    check(hello)?;
    let unavailable = |error: StoreError| AdmissionRefusal::Unavailable { error: error.to_string() };
    let name = hello.name.clone();
    let known = core.store().read(move |view| view.environment_by_name(&name)).await.map_err(unavailable)?;
    if known.is_some_and(|row| core.hub().is_taken(&row.environment.id, &hello.instance)) {
        return Err(AdmissionRefusal::NameTaken { name: hello.name.clone() });
    }
    let registration = registration(hello, peer);
    let now_ms = core.now_ms();
    let registered = core.store().write(move |tx| {
        let row = tx.register_environment(&registration, now_ms)?;
        let name = &row.environment.name;
        let id = row.environment.id.clone();
        let text = Text::new(format!("开发环境 {name} 已连接"), format!("the environment {name} is connected"));
        let principal = Principal::agent_of(id.clone());
        let connected = NewEvent::new(now_ms, "environment.connected", text, principal.clone());
        tx.append_event(connected.about_environment(&id))?;
        Ok::<_, StoreError>((id, principal))
    });
    let (environment, principal) = registered.await.map_err(|error| unavailable(error.flatten()))?;
    let connection = core.hub().connect(&environment, &hello.instance, messages);
    core.refresh_environments().await.map_err(unavailable)?;
    Ok(Admitted { environment, principal, connection })
}

fn check(hello: &Hello) -> Result<(), AdmissionRefusal> {
    check_version(hello, &(OLDEST_LINK_VERSION..=LINK_VERSION))?;
    if !is_name(&hello.name) || hello.instance.is_empty() {
        return Err(AdmissionRefusal::NoName { name: hello.name.clone() });
    }
    bounds::check(hello)
}

/// An agent of an older release is led in messages that it has; a newer one may send what is not understood here.
fn check_version(hello: &Hello, understood: &RangeInclusive<u32>) -> Result<(), AdmissionRefusal> {
    if understood.contains(&hello.version) {
        return Ok(());
    }
    Err(AdmissionRefusal::OtherVersion { theirs: hello.fermi.clone(), is_newer: hello.version > *understood.end() })
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
async fn compare_runs(core: &Core, agent: &Admitted, known: &[KnownRun]) -> Result<(), StoreError> {
    let Admitted { environment, connection, .. } = agent;
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
            gone(core, agent, run).await;
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
async fn exchange(socket: &mut WebSocket, core: &Core, agent: &Admitted, mut messages: mpsc::Receiver<ServerMessage>) {
    loop {
        tokio::select! {
            heard = timeout(OFFLINE_AFTER, socket.recv()) => {
                let Ok(Some(Ok(message))) = heard else { return };
                match message {
                    Message::Text(text) => match serde_json::from_str::<AgentMessage>(&text) {
                        Ok(message) => receive(core, agent, message).await,
                        // A newer agent may send more than we know.
                        Err(error) => tracing::warn!(%error, "a message of an agent is not understood"),
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

async fn receive(core: &Core, agent: &Admitted, message: AgentMessage) {
    let Admitted { environment, connection, .. } = agent;
    match message {
        AgentMessage::Heartbeat(heartbeat) => {
            core.hub().beat(environment, connection.number, bounds::within(*heartbeat))
        }
        AgentMessage::LaunchFailed(failed) => {
            let (node, message) = (failed.run.node_rank, failed.stored());
            apply(core, agent, &failed.run, TaskInput::LaunchFailed { node, message }).await;
            connection.send(ServerMessage::Forget { run: failed.run });
        }
        AgentMessage::Gone { run } => {
            gone(core, agent, &run).await;
            core.hub().forget(environment, &run);
            connection.send(ServerMessage::Forget { run });
        }
        AgentMessage::Hello(_) => {}
    }
}

async fn gone(core: &Core, agent: &Admitted, run: &RunKey) {
    let node = run.node_rank;
    apply(core, agent, run, TaskInput::Gone { node }).await;
}

/// Lets something happen to the task of a run, if the run is of its present launch and belongs to this environment.
async fn apply(core: &Core, agent: &Admitted, run: &RunKey, input: TaskInput) {
    let cause = Cause { principal: agent.principal.clone(), now_ms: core.now_ms() };
    let key = run.clone();
    let work = move |tx: &mut Transaction<'_>| {
        let task = tx.task(&key.task)?;
        let node = task.as_ref().and_then(|task| task.value.node_of(&key));
        if node.is_none_or(|node| !cause.principal.is_agent_of(&node.environment)) {
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
        let told = |version| {
            let refusal = check_version(&hello(version), &range).unwrap_err();
            (refusal.text().en, refusal.hint().unwrap().spelled(FrontEnd::CommandLine).en)
        };
        let (reason, hint) = told(1);
        assert!(reason.starts_with("versions differ") && hint.contains("install the release"));
        assert!(told(4).1.contains("upgrade the server first"));
        assert!(check(&hello(LINK_VERSION)).is_ok() && check(&hello(OLDEST_LINK_VERSION)).is_ok());
    }
}
