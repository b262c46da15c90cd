//! What the suites share: specifications, events, environments, and writes that must succeed.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use fermi_domain::{
    environment::{Environment, EnvironmentKind, EnvironmentStatus, Versions},
    fleet::Identity,
    ids::{EnvironmentId, TaskId},
    language::Text,
    phase::TaskPhase,
    principal::Principal,
    task::{DistributedConfig, EventDetail, LaunchOptions, PhaseChange, Policies, Selection, Task, TaskSpec, Work},
    units::Bytes,
};
use fermi_store::{Store, StoreError, Transaction, View, WriteError, environments::Registration, events::NewEvent};
use tempfile::{TempDir, tempdir};

pub fn open() -> (TempDir, Store) {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

pub fn spec(name: &str) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        dataset: None,
        model_id: None,
        selection: Selection::Environments,
        work: Work::Builtin { args: Vec::new() },
        source: None,
        distributed: DistributedConfig { node_ids: vec![EnvironmentId::from("env-001")], ..Default::default() },
        options: LaunchOptions::default(),
        policies: Policies::default(),
        priority: 0,
        labels: [("team".to_owned(), "vision".to_owned())].into(),
    }
}

pub fn event(kind: &str, task: Option<&TaskId>) -> NewEvent {
    NewEvent {
        time_ms: 7,
        task: task.cloned(),
        environment: None,
        kind: kind.to_owned(),
        attempt: Some(1),
        rank: None,
        text: Text::new("中文", "English"),
        detail: Some(EventDetail {
            phase: Some(PhaseChange { from: TaskPhase::Queued, to: TaskPhase::Starting }),
            ..EventDetail::default()
        }),
        principal: Some(Principal::agent_of("env-001".into())),
    }
}

pub fn registration(name: &str) -> Registration {
    let environment = Environment {
        id: EnvironmentId::from(""),
        name: name.to_owned(),
        kind: EnvironmentKind::Custom,
        zone: None,
        image: None,
        gpus: Vec::new(),
        cpu_cores: 8,
        memory: Bytes::from_gib(64),
        address: None,
        versions: Versions::default(),
        cpu_workers: 4,
        labels: Default::default(),
        declared: false,
        status: EnvironmentStatus::Running,
    };
    let identity = Identity { instance: "a".into(), boot: "b".into(), ..Identity::default() };
    Registration { environment, identity: Some(identity), labels: Default::default() }
}

/// A write that must succeed.
pub fn write<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.write_blocking(work).map_err(WriteError::flatten).unwrap()
}

/// A read that must succeed.
pub fn read<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&View<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.read_blocking(work).unwrap()
}

pub fn insert(store: &Store, spec: TaskSpec) -> Task {
    write(store, move |tx| tx.insert_task(spec, &Principal::System, 1000))
}

/// Changes a task as it is now.
pub fn change(store: &Store, id: &TaskId, now_ms: u64, how: impl FnOnce(&mut Task) + Send + 'static) {
    let id = id.clone();
    write(store, move |tx| {
        let mut task = tx.task(&id)?.expect("the task is there");
        how(&mut task.value);
        tx.update_task(&task.value, task.revision, now_ms).expect("nobody else writes");
        Ok(())
    });
}
