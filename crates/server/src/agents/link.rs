//! One agent's link, from its hello to its end.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use fermi_api::link::{
    ABILITY_STARTS, ABILITY_STREAMS_FOLLOW, AgentMessage, Hello, LINK_VERSION, OLDEST_LINK_VERSION, ServerMessage,
    Welcome,
};
use fermi_domain::access::Peer;
use fermi_domain::environment::is_name;
use fermi_domain::fleet::{self, Conclusion, OFFLINE_AFTER};
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::language::{Explained, FrontEnd};
use fermi_domain::principal::Principal;
use fermi_domain::task::{RunKey, TaskInput};
use fermi_store::{StoreError, Transaction, UpdateError, WriteError};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Instrument;

use super::admission::AdmissionRefusal;
use super::registration::{Arrival, Entry, Registered, register};
use super::{bounds, dataset, identity, owner};
use crate::caller::Shower;
use crate::core::Core;
use crate::http::Newcomer;
use crate::hub::AgentConnection;
use crate::lifecycle::{self, Cause, LifecycleError};
use crate::restored::{self, Comparison, Told};

/// Who connects has this long to introduce itself.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// Messages are short, and there may be thousands of links.
const SMALL: usize = 4 << 10;
const HEARTBEAT_MS: u64 = 1_000;
/// Messages that wait for a slow agent; beyond this its connection is broken.
const WAITING_MESSAGES: usize = 1_024;

pub async fn answer(
    upgrade: WebSocketUpgrade,
    Extension(peer): Extension<Peer>,
    newcomer: Option<Extension<Newcomer>>,
    Shower(caller): Shower,
    State(core): State<Core>,
) -> Response {
    let upgrade = upgrade.max_message_size(1 << 20).read_buffer_size(SMALL).write_buffer_size(SMALL);
    let newcomer = newcomer.map(|Extension(newcomer)| newcomer).unwrap_or_default();
    upgrade.on_upgrade(move |socket| serve(socket, peer.address, Entry::of(caller), newcomer, core))
}

async fn serve(mut socket: WebSocket, peer: IpAddr, entry: Entry, newcomer: Newcomer, core: Core) {
    let Some(hello) = first_message(&mut socket).await else { return };
    let (outbox, messages) = mpsc::channel(WAITING_MESSAGES);
    match admit(&core, &hello, peer, entry, outbox).await {
        Ok(admitted) => {
            newcomer.is_admitted();
            let id = &admitted.environment;
            let welcome = Welcome {
                environment: id.clone(),
                cluster: core.store().cluster().to_owned(),
                epoch: core.restored().history.epoch,
                heartbeat_ms: HEARTBEAT_MS,
                credential: admitted.credential.clone(),
                abilities: [ABILITY_STARTS, ABILITY_STREAMS_FOLLOW].map(str::to_owned).into(),
            };
            let span = tracing::info_span!("agent", environment = %id);
            let session = async {
                tracing::info!(name = %hello.name, %peer, version = hello.version, "an agent has come");
                if send(&mut socket, &ServerMessage::Welcome(welcome)).await {
                    match compare_runs(&core, &admitted, &hello).await {
                        // The agent dials again and says hello anew, so that nothing is compared by halves.
                        Err(error) => {
                            tracing::error!(%error, "an agent's runs could not be compared with what is stored");
                        }
                        // Sent before anything that others say: none of it may be lost, however much there is.
                        Ok((_, messages)) if !send_all(&mut socket, &messages).await => {}
                        Ok((tasks, _)) => {
                            core.bells().placement.notify_one();
                            // A node of which no task wants anything needs no look at all tasks.
                            if tasks == TasksThere::Some {
                                core.bells().nodes.notify_one();
                            }
                            exchange(&mut socket, &core, &admitted, messages).await;
                        }
                    }
                }
                core.hub().leave(id, admitted.connection.number);
                tracing::info!("an agent's link has ended");
            };
            session.instrument(span).await;
        }
        Err(refusal) => {
            tracing::info!(name = %hello.name, %peer, reason = %refusal.text().en, "an agent was refused");
            send(&mut socket, &refused(&refusal, Some(core.store().cluster()))).await;
        }
    }
}

async fn first_message(socket: &mut WebSocket) -> Option<Hello> {
    let message = timeout(HELLO_PATIENCE, socket.recv()).await.ok()??.ok()?;
    match serde_json::from_str(message.to_text().ok()?) {
        Ok(AgentMessage::Hello(hello)) => Some(*hello),
        Ok(_) => None,
        Err(error) => {
            send(socket, &refused(&AdmissionRefusal::NotUnderstood { error: error.to_string() }, None)).await;
            None
        }
    }
}

/// An agent shows it in a terminal.
fn refused(refusal: &AdmissionRefusal, cluster: Option<&str>) -> ServerMessage {
    let reason = refusal.text();
    let hint = refusal.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
    let cluster = cluster.map(str::to_owned);
    let end = match refusal {
        AdmissionRefusal::Replaced { end, .. } => end.clone(),
        _ => Vec::new(),
    };
    ServerMessage::Refused { hint: hint.unwrap_or_else(|| reason.clone()), reason, cluster, end }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage) -> bool {
    let Ok(text) = serde_json::to_string(message) else { return false };
    socket.send(Message::Text(text.into())).await.is_ok()
}

async fn send_all(socket: &mut WebSocket, messages: &[ServerMessage]) -> bool {
    for message in messages {
        if !send(socket, message).await {
            return false;
        }
    }
    true
}

/// Whom the server has admitted.
struct Admitted {
    environment: EnvironmentId,
    /// On whose behalf everything happens that comes over this link.
    principal: Principal,
    connection: AgentConnection,
    /// Issued at this hello.
    credential: Option<String>,
    /// The machine has been started anew since the last hello, so that no process of before can live.
    is_new_boot: bool,
}

/// Stores who came and gives it a session; or says why not.
async fn admit(
    core: &Core,
    hello: &Hello,
    peer: IpAddr,
    entry: Entry,
    messages: mpsc::Sender<ServerMessage>,
) -> Result<Admitted, AdmissionRefusal> {
    check(hello)?;
    let unavailable = |error: StoreError| AdmissionRefusal::Unavailable { error: error.to_string() };
    let issued = identity::draw().map_err(|error| AdmissionRefusal::Unavailable { error: error.to_string() })?;
    let turn = core.admission_turn(&hello.name).await;
    let arrival = Arrival::of(core, hello, peer, entry);
    let registered = core.store().write(move |tx| register(tx, &arrival, issued));
    let outcome = registered.await.map_err(|error| unavailable(error.flatten()))?;
    let Registered { environment, credential, is_new_boot, has_used_token } = outcome?;
    let connection = core.hub().connect(&environment, hello.process.as_deref(), &hello.abilities, messages);
    // From here on the hub says that it answers.
    drop(turn);
    core.refresh_environments().await.map_err(unavailable)?;
    if has_used_token {
        core.refresh_accounts().await.map_err(unavailable)?;
    }
    let principal = Principal::agent_of(environment.clone());
    Ok(Admitted { environment, principal, connection, credential, is_new_boot })
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

/// Whether tasks have a part on a node, as far as the server believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TasksThere {
    None,
    Some,
}

/// What the agent knows against what the server believes: runs that it has lost are gone, runs that no task wants end, and
/// those that the database has never launched are set aside. Gives what the agent is to be told.
async fn compare_runs(
    core: &Core,
    agent: &Admitted,
    hello: &Hello,
) -> Result<(TasksThere, Vec<ServerMessage>), StoreError> {
    let Admitted { environment, .. } = agent;
    // It speaks of another server's runs, and says hello again once it has looked for those of this one.
    if hello.cluster.as_deref().is_some_and(|cluster| cluster != core.store().cluster()) {
        return Ok((TasksThere::None, Vec::new()));
    }
    // Nothing of before a start of the machine can live on it.
    let seen = if agent.is_new_boot { Some(Vec::new()) } else { hello.seen.clone() };
    let (at, runs) = (environment.clone(), hello.runs.clone());
    let compared = core.store().read(move |view| restored::compare(view, &at, &runs, seen.as_deref()));
    let (mut strays, mut messages) = (Vec::new(), Vec::new());
    let Comparison { conclusions, last_task, has_tasks, settled } = compared.await?;
    let is_later = |task: &TaskId| fleet::number(task).is_some_and(|number| number > last_task);
    let later_task = hello.newest_task.clone().filter(is_later);
    let there = if has_tasks { TasksThere::Some } else { TasksThere::None };
    let stray = |conclusion: &Conclusion| match conclusion {
        Conclusion::SetAside(known) => Some(known.clone()),
        _ => None,
    };
    strays.extend(conclusions.iter().filter_map(stray));
    let mut told = Told { strays, later_task, names_cluster: hello.cluster.is_some(), is_compared: true };
    if told.is_ahead_of(last_task) {
        told.is_compared = false;
        // The database is older than it knew. Once that is noted all say hello anew: until then nothing is concluded of what it
        // believes to run.
        restored::note_hello(core, environment, told).await?;
        return Ok((there, Vec::new()));
    }
    for conclusion in conclusions {
        match conclusion {
            Conclusion::Gone(run) => apply(core, agent, &run, vec![TaskInput::gone(run.node_rank)]).await?,
            Conclusion::Forgotten(run) => {
                apply(core, agent, &run, vec![TaskInput::Forgotten { node: run.node_rank }]).await?;
            }
            Conclusion::Unproven(run) => {
                tracing::warn!(task = %run.task, %run, "an agent does not know a run that may live; it counts as alive");
            }
            Conclusion::Kill(run) => messages.push(ServerMessage::Kill { run }),
            Conclusion::Forget(run) => messages.push(ServerMessage::Forget { run }),
            Conclusion::MovedOn(run) => take_up(core, agent, run).await?,
            // Told below.
            Conclusion::SetAside(_) => {}
        }
    }
    for stray in &core.restored().strays {
        if stray.environment == *environment && stray.ending {
            messages.push(ServerMessage::Kill { run: stray.run.clone() });
        }
    }
    if !settled.is_empty() {
        let at = environment.clone();
        let removed =
            core.store().write(move |tx| settled.iter().try_for_each(|run| tx.remove_trailing(run, &at).map(drop)));
        removed.await.map_err(WriteError::<StoreError>::flatten)?;
    }
    restored::note_hello(core, environment, told).await?;
    Ok((there, messages))
}

/// A launch of a task runs that the database does not know: the task goes on with it.
async fn take_up(core: &Core, agent: &Admitted, run: RunKey) -> Result<(), StoreError> {
    let cause = Cause { principal: agent.principal.clone(), now_ms: core.now_ms() };
    let work = move |tx: &mut Transaction<'_>| {
        let task = run.task.clone();
        lifecycle::apply(tx, &task, [TaskInput::MovedOn { run }], &cause)
    };
    let changed = core.change(work, std::slice::from_ref).await;
    let nodes = changed.as_ref().map(|changed| changed.task.nodes.clone()).unwrap_or_default();
    stored(changed.map(|_| ()))?;
    // What the other nodes have said was about the launch before: they say hello again.
    for node in nodes.iter().filter(|node| node.environment != agent.environment) {
        core.hub().hang_up(&node.environment);
    }
    Ok(())
}

/// Listens and speaks until either side is gone, or silent for too long.
async fn exchange(socket: &mut WebSocket, core: &Core, agent: &Admitted, mut messages: mpsc::Receiver<ServerMessage>) {
    let ended = core.ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            heard = timeout(OFFLINE_AFTER, socket.recv()) => {
                let Ok(Some(Ok(message))) = heard else { return };
                // The agent has a newer connection, or was declared lost: what comes over this one does not count.
                if !core.hub().heard_of(&agent.environment, agent.connection.number) {
                    return;
                }
                match message {
                    Message::Text(text) => match serde_json::from_str::<AgentMessage>(&text) {
                        Ok(message) => match receive(core, agent, message).await {
                            Ok(None) => {}
                            Ok(Some(answer)) => {
                                if !send(socket, &answer).await {
                                    return;
                                }
                            }
                            Err(error) => {
                                // What is not stored is not acknowledged: the agent dials again and says it once more.
                                tracing::error!(%error, "what an agent said could not be stored");
                                return;
                            }
                        },
                        // A newer agent may send more than we know.
                        Err(error) => tracing::warn!(%error, "a message of an agent is not understood"),
                    },
                    Message::Close(_) => return,
                    Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
                }
            }
            message = messages.recv() => {
                let Some(message) = message else { return };
                if !send(socket, &message).await {
                    return;
                }
            }
            () = &mut ended => return,
        }
    }
}

/// Takes in what an agent says, and gives the answer, if there is one.
async fn receive(core: &Core, agent: &Admitted, message: AgentMessage) -> Result<Option<ServerMessage>, StoreError> {
    let Admitted { environment, connection, .. } = agent;
    let (run, inputs, streams) = match message {
        AgentMessage::Heartbeat(heartbeat) => {
            core.hub().beat(environment, connection.number, bounds::within(*heartbeat));
            return Ok(None);
        }
        AgentMessage::LaunchFailed(failed) => {
            let (node, message) = (failed.run.node_rank, failed.stored());
            (failed.run, vec![TaskInput::LaunchFailed { node, message }], Streams::Settled)
        }
        AgentMessage::Gone { run, streams_follow, ended, lease, in_order, not_started } => {
            let node = run.node_rank;
            let ended = ended.map(|event| TaskInput::Ended { node, event });
            let ended = not_started.map(|why| TaskInput::NotStarted { node, why }).or(ended);
            let streams = if streams_follow { Streams::Follow } else { Streams::Settled };
            (run, ended.into_iter().chain([TaskInput::Gone { node, lease, in_order }]).collect(), streams)
        }
        AgentMessage::Probed { number, found } => {
            core.hub().probed(environment, number, found);
            return Ok(None);
        }
        AgentMessage::DatasetLooked { run, version, seen } => {
            return dataset::looked(core, (environment, &agent.principal), run, version, seen).await.map(|()| None);
        }
        AgentMessage::Preflight { number, news } => {
            core.hub().preflight_said(environment, number, news);
            return Ok(None);
        }
        AgentMessage::Hello(_) => return Ok(None),
    };
    let key = run.clone();
    apply_with(core, agent, &run, inputs, move |tx, at| note_streams(tx, at, &key, streams)).await?;
    core.hub().forget(environment, &run);
    if streams == Streams::Follow {
        return Ok(None);
    }
    if let Some(stray) = core.restored().stray(&run) {
        if !stray.ending {
            return Ok(None);
        }
        let (at, key) = (environment.clone(), run.clone());
        let removed = core.store().write(move |tx| tx.remove_strays(&at, Some(&key))).await;
        removed.map_err(WriteError::<StoreError>::flatten)?;
        core.refresh_environments().await?;
        core.ring();
    }
    // The agent deletes what it has of the run: only what is stored is acknowledged.
    Ok(Some(ServerMessage::Forget { run }))
}

/// What is to come of what the ranks of a run wrote that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Follow,
    Settled,
}

fn note_streams(
    tx: &mut Transaction<'_>,
    environment: &EnvironmentId,
    run: &RunKey,
    streams: Streams,
) -> Result<(), StoreError> {
    match streams {
        Streams::Settled => tx.remove_trailing(run, environment).map(drop),
        // Of a task that was deleted, or of another machine's run, nothing is taken.
        Streams::Follow if owner::environment_of(tx, run)?.as_ref() != Some(environment) => Ok(()),
        Streams::Follow => tx.put_trailing(run, environment),
    }
}

/// Lets something happen to the task of a run, if the run is of its present launch and belongs to this environment.
async fn apply(core: &Core, agent: &Admitted, run: &RunKey, inputs: Vec<TaskInput>) -> Result<(), StoreError> {
    apply_with(core, agent, run, inputs, |_, _| Ok(())).await
}

/// The same, with what is noted in the same transaction, whatever has become of the task.
async fn apply_with(
    core: &Core,
    agent: &Admitted,
    run: &RunKey,
    inputs: Vec<TaskInput>,
    note: impl FnOnce(&mut Transaction<'_>, &EnvironmentId) -> Result<(), StoreError> + Send + 'static,
) -> Result<(), StoreError> {
    let environment = agent.environment.clone();
    let cause = Cause { principal: agent.principal.clone(), now_ms: core.now_ms() };
    let key = run.clone();
    let work = move |tx: &mut Transaction<'_>| {
        note(tx, &environment)?;
        let task = tx.task(&key.task)?;
        let node = task.as_ref().and_then(|task| task.value.node_of(&key));
        if node.is_none_or(|node| !cause.principal.is_agent_of(&node.environment)) {
            return Ok(None);
        }
        lifecycle::apply(tx, &key.task, inputs, &cause).map(Some)
    };
    let span = tracing::info_span!("run", task = %run.task, %run);
    stored(core.change(work, Option::as_slice).instrument(span).await.map(|_| ()))
}

/// Whether a change is kept, or was none.
fn stored(outcome: Result<(), WriteError<LifecycleError>>) -> Result<(), StoreError> {
    match outcome.map_err(WriteError::<LifecycleError>::flatten) {
        Ok(()) => Ok(()),
        Err(LifecycleError::Store(error) | LifecycleError::Update(UpdateError::Store(error))) => Err(error),
        // It was deleted or changed at the same time, which cannot be inside one transaction; the next hello compares.
        Err(error @ (LifecycleError::NotFound(_) | LifecycleError::Update(_))) => {
            tracing::warn!(%error, "what happened to a run was not stored");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use fermi_store::Store;
    use fermi_store::chunks::LocalChunks;

    use super::*;
    use crate::access::Vault;
    use crate::core::CoreSettings;

    fn hello(version: u32) -> Hello {
        serde_json::from_value(serde_json::json!({
            "version": version, "fermi": "0.1.0", "instance": "a", "name": "gn6", "kind": "custom",
            "cpuWorkers": 1, "cpuCores": 1, "memory": 1, "boot": "b", "saidByANewerRelease": true
        }))
        .unwrap()
    }

    /// After a restart of the server all come in one moment, and some names twice.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_all_who_come_at_once_one_of_each_name_is_admitted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let chunks = LocalChunks::open(&folder.path().join("streams")).unwrap();
        let (secret, vault) = ("secret".to_owned(), Vault::new("key"));
        let core = Core::new(store, chunks, secret, vault, folder.path().to_owned(), CoreSettings::default());
        let coming = (0..60).map(|number: u32| {
            let (core, mut hello) = (core.clone(), hello(LINK_VERSION));
            hello.name = format!("gn{}", number % 20);
            hello.instance = format!("instance-{number}");
            hello.process = Some(format!("process-{number}"));
            tokio::spawn(async move {
                let (outbox, messages) = mpsc::channel(1);
                let admitted = admit(&core, &hello, [127, 0, 0, 1].into(), Entry::Token(None), outbox).await;
                (admitted.map(|admitted| admitted.environment).map_err(|refusal| refusal.id()), messages)
            })
        });
        let came = futures_util::future::join_all(coming).await;
        let (admitted, refused): (Vec<_>, Vec<_>) =
            came.into_iter().map(|came| came.unwrap().0).partition(Result::is_ok);
        let environments: HashSet<EnvironmentId> = admitted.into_iter().flatten().collect();
        assert_eq!((environments.len(), refused.len()), (20, 40));
        assert!(refused.iter().all(|refused| *refused == Err("name_taken")), "{refused:?}");
        let known = core.known_environments();
        assert!(environments.iter().all(|id| known.iter().any(|known| known.id == *id)), "all are known at once");
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
