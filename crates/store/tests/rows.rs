//! The other nouns: events, environments, leases, runs, datasets, models, answers, snapshots.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use fermi_domain::{
    dataset::{ChecksumProof, DatasetSighting},
    environment::Duty,
    fleet::Identity,
    ids::{EnvironmentId, Generation, TaskId, WorkerId},
    model::{ModelNumbers, ShapeSource},
    phase::TaskPhase,
    principal::Principal,
    retention::LogOwner,
    task::RunKey,
};
use fermi_store::{
    Store, WriteError,
    datasets::{CreateError, NewDataset, NewVersion},
    environments::{DeleteEnvironmentError, EnvironmentRow},
    events::EventFilter,
    groups::GroupError,
    idempotency::Remembered,
    leases::LeaseError,
    models::{KnownShape, NewModel},
    runs::JournalError,
    snapshots::Snapshot,
    tasks::Activity,
    trailing::TrailingRun,
};
use support::{change, event, insert, open, read, registration, spec, write};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_told_in_the_order_of_their_cursors_and_read_by_filter() {
    let (_folder, store) = open();
    let task = store.write(|tx| tx.insert_task(spec("a"), &Principal::System, 1)).await.unwrap().id;
    let mut heard = store.subscribe();
    let mut changes = store.changes();
    changes.mark_unchanged();
    let writers: Vec<_> = (0..200)
        .map(|number| {
            let (store, task) = (store.clone(), task.clone());
            tokio::spawn(async move {
                let kind = if number % 2 == 0 { "task.even" } else { "node.odd" };
                let task = (number % 4 < 2).then_some(&task).cloned();
                store.write(move |tx| tx.append_event(event(kind, task.as_ref()))).await.unwrap()
            })
        })
        .collect();
    let mut cursors = HashSet::new();
    for writer in writers {
        cursors.insert(writer.await.unwrap());
    }
    assert_eq!(cursors.len(), 200);
    assert!(changes.has_changed().unwrap());
    for cursor in 1..=200 {
        assert_eq!(heard.recv().await.unwrap().cursor, cursor);
    }
    let found = |after, filter: EventFilter, limit| read_events(&store, after, filter, limit);
    assert_eq!(found(0, EventFilter::default(), 1000).await, (1..=200).collect::<Vec<u64>>());
    assert_eq!(found(190, EventFilter::default(), 3).await, [191, 192, 193]);
    assert_eq!(found(0, EventFilter { kind: Some("task.".into()), ..Default::default() }, 1000).await.len(), 100);
    let both = EventFilter { task: Some(task.clone()), kind: Some("node".into()), ..Default::default() };
    assert_eq!(found(0, both, 1000).await.len(), 50);
    let newest = read_newest(&store, EventFilter { task: Some(task.clone()), ..Default::default() }, 3).await;
    let all = found(0, EventFilter { task: Some(task.clone()), ..Default::default() }, 1000).await;
    assert_eq!(newest, all[all.len() - 3..], "the last ones, oldest first");
    let nobody = EventFilter { task: Some(TaskId::from("nonsense")), ..Default::default() };
    assert!(found(0, nobody, 10).await.is_empty());
}

async fn read_events(store: &Store, after: u64, filter: EventFilter, limit: usize) -> Vec<u64> {
    let events = store.read(move |view| view.events(after, &filter, limit)).await.unwrap();
    events.into_iter().map(|event| event.cursor).collect()
}

async fn read_newest(store: &Store, filter: EventFilter, limit: usize) -> Vec<u64> {
    let events = store.read(move |view| view.newest_events(&filter, limit)).await.unwrap();
    events.into_iter().map(|event| event.cursor).collect()
}

#[test]
fn an_event_is_read_back_with_its_detail_and_on_whose_behalf_it_happened() {
    let (_folder, store) = open();
    let kept = event("task.starting", None);
    let new = kept.clone();
    write(&store, move |tx| tx.append_event(new));
    let found = read(&store, |view| view.events(0, &EventFilter::default(), 1));
    assert_eq!(found[0].event, kept);
}

#[test]
fn old_events_are_forgotten_and_their_cursors_never_come_again() {
    let (_folder, store) = open();
    for time_ms in 1..=10 {
        write(&store, move |tx| {
            let mut event = event("x", None);
            event.time_ms = time_ms;
            tx.append_event(event)
        });
    }
    let ends = || read(&store, |view| Ok((view.first_cursor()?, view.last_cursor()?)));
    assert_eq!(ends(), (1, 10));
    assert_eq!(write(&store, |tx| tx.prune_events(4, 1000)), 3);
    assert_eq!(ends(), (4, 10));
    assert_eq!(write(&store, |tx| tx.prune_events(0, 2)), 5);
    assert_eq!(ends(), (9, 10));
    assert_eq!(write(&store, |tx| tx.prune_events(1000, 1000)), 2);
    assert_eq!(ends(), (11, 10));
    assert_eq!(write(&store, |tx| tx.append_event(event("x", None))), 11);
}

#[test]
fn an_environment_keeps_its_id_under_its_name() {
    let (_folder, store) = open();
    let first = write(&store, |tx| tx.register_environment(&registration("gn6"), 100));
    let second = write(&store, |tx| tx.register_environment(&registration("gn7"), 100));
    assert_eq!((first.environment.id.as_str(), second.environment.id.as_str()), ("env-001", "env-002"));
    let mut again = registration("gn6");
    again.environment.cpu_cores = 64;
    again.identity = Some(Identity { instance: "other".into(), seal: Some("s".into()), ..Identity::default() });
    let again = write(&store, move |tx| tx.register_environment(&again, 200));
    assert_eq!((again.environment.id.as_str(), again.revision), ("env-001", 2));
    assert_eq!((again.first_seen_ms, again.registered_ms, again.environment.cpu_cores), (100, 200, 64));
    assert_eq!(read(&store, |view| view.environments()), [again.clone(), second]);
    assert_eq!(read(&store, |view| view.environment_by_name("gn6")), Some(again.clone()));
    assert_eq!(read(&store, |view| view.environment_by_name("GN6")), None);
    let kept = read(&store, |view| view.environment(&EnvironmentId::from("env-001")));
    assert_eq!(kept, Some(again));
}

#[test]
fn what_operators_say_stays_but_a_lost_environment_serves_when_it_is_back() {
    let (_folder, store) = open();
    let id = write(&store, |tx| tx.register_environment(&registration("gn6"), 100)).environment.id;
    let duty_after = |duty: Duty| {
        let wanted = id.clone();
        assert!(write(&store, move |tx| tx.set_duty(&wanted, duty)));
        let (wanted, before) = (id.clone(), read(&store, |view| view.environment_by_name("gn6")).unwrap().duty);
        assert_eq!(before, duty);
        write(&store, move |tx| tx.revoke_identity(&wanted));
        assert_eq!(read(&store, |view| view.environment_by_name("gn6")).unwrap().identity, None);
        write(&store, |tx| tx.register_environment(&registration("gn6"), 200)).duty
    };
    assert_eq!(duty_after(Duty::Drained), Duty::Drained);
    assert_eq!(duty_after(Duty::Lost), Duty::Serves);
    assert_eq!(duty_after(Duty::LostAndDrained), Duty::Drained);
    assert_eq!(duty_after(Duty::Serves), Duty::Serves);
    assert!(!write(&store, |tx| tx.set_duty(&EnvironmentId::from("env-009"), Duty::Lost)));
}

fn worker(name: &str) -> (WorkerId, EnvironmentId) {
    let worker: WorkerId = name.parse().unwrap();
    let environment = EnvironmentId::from(if worker.node() == "gn6" { "env-001" } else { "env-002" });
    (worker, environment)
}

fn lease(store: &Store, task: &TaskId, workers: &[&str]) -> Result<(), LeaseError> {
    let (task, workers) = (task.clone(), workers.iter().map(|name| worker(name)).collect::<Vec<_>>());
    let leased = store.write_blocking(move |tx| {
        tx.lease(workers.iter().map(|(worker, environment)| (worker, environment)), &task, Generation(1))
    });
    leased.map_err(WriteError::flatten)
}

#[test]
fn a_worker_is_leased_to_one_task_and_all_or_none_are() {
    let (_folder, store) = open();
    write(&store, |tx| tx.register_environment(&registration("gn6"), 1));
    let (one, two) = (insert(&store, spec("1")).id, insert(&store, spec("2")).id);
    lease(&store, &one, &["gn6-0", "gn7-0"]).unwrap();
    lease(&store, &one, &["gn6-0", "gn7-0"]).unwrap();
    let refused = lease(&store, &two, &["gn6-1", "gn7-0"]).unwrap_err();
    assert!(matches!(&refused, LeaseError::Held { worker, by } if worker.to_string() == "gn7-0" && *by == one));
    assert_eq!(read(&store, |view| view.leases()).len(), 2, "gn6-1 was not leased");
    assert!(matches!(lease(&store, &TaskId::from("task-99"), &["gn9-0"]), Err(LeaseError::NoTask)));
    let refused = store.write_blocking(|tx| tx.delete_environment(&EnvironmentId::from("env-001"))).unwrap_err();
    assert!(matches!(refused, WriteError::Refused(DeleteEnvironmentError::Leased { by }) if by == one));

    let id = one.clone();
    assert_eq!(write(&store, move |tx| tx.release_environment(&id, &EnvironmentId::from("env-002"))), 1);
    lease(&store, &two, &["gn7-0"]).unwrap();
    let id = one.clone();
    assert_eq!(write(&store, move |tx| tx.release(&id)), 1);
    let refused = store.write_blocking(|tx| tx.delete_environment(&EnvironmentId::from("env-001"))).unwrap_err();
    assert!(matches!(refused, WriteError::Refused(DeleteEnvironmentError::Named { by }) if by == one));
    for task in [one.clone(), two.clone()] {
        let mut over = read(&store, move |view| view.task(&task)).unwrap();
        over.value.phase = TaskPhase::Stopped;
        store.write_blocking(move |tx| tx.update_task(&over.value, over.revision, 7)).unwrap();
    }
    store.write_blocking(|tx| tx.delete_environment(&EnvironmentId::from("env-001"))).unwrap();
    let leases = read(&store, |view| view.leases());
    assert_eq!(leases, [("gn7-0".parse().unwrap(), two)].into());
}

#[test]
fn a_piece_of_a_journal_counts_once_together_with_what_it_changed() {
    let (_folder, store) = open();
    let task = insert(&store, spec("a")).id;
    let key: RunKey = format!("{task}-g1-n0-i1").parse().unwrap();
    let environment = EnvironmentId::from("env-001");
    let (k, e) = (key.clone(), environment.clone());
    store.write_blocking(move |tx| tx.put_run(&k, &e)).unwrap();
    let take = |from: u64, to: u64, tail: &'static [u8]| {
        let key = key.clone();
        let taken = store.write_blocking(move |tx| {
            // Even when the piece is refused only afterwards, its effect goes with it.
            tx.append_event(event("journal", Some(&key.task)))?;
            tx.advance_journal(&key, from, to, tail)
        });
        taken.map_err(WriteError::flatten)
    };
    take(0, 100, b"{\"half").unwrap();
    for (from, to) in [(0, 100), (99, 200), (101, 150)] {
        assert!(matches!(take(from, to, b""), Err(JournalError::Offset { have: 100 })));
    }
    take(100, 130, b"").unwrap();
    assert_eq!(read(&store, |view| view.events(0, &EventFilter::default(), 10)).len(), 2);
    let (k, e) = (key.clone(), environment.clone());
    let kept = store.write_blocking(move |tx| tx.put_run(&k, &e)).unwrap();
    assert_eq!((kept.journal_length, kept.tail.len()), (130, 0), "putting it again forgets nothing");
    let k = key.clone();
    assert_eq!(read(&store, move |view| view.environment_of_run(&k)), Some(environment));
    let unknown: RunKey = "task-77-g1-n0-i1".parse().unwrap();
    let refused = store.write_blocking(move |tx| tx.advance_journal(&unknown, 0, 1, b""));
    assert!(matches!(refused, Err(WriteError::Refused(JournalError::NoRun))));

    lease(&store, &task, &["gn6-0"]).unwrap();
    let id = task.clone();
    assert!(write(&store, move |tx| tx.delete_task(&id)));
    assert!(read(&store, move |view| view.run(&key)).is_none());
    assert!(read(&store, |view| view.leases()).is_empty());
    assert!(read(&store, |view| view.events(0, &EventFilter::default(), 10)).is_empty());
    assert!(!write(&store, move |tx| tx.delete_task(&task)));
}

#[test]
fn a_task_is_not_over_while_bytes_of_a_run_are_to_come() {
    let (_folder, store) = open();
    let tasks = [insert(&store, spec("a")).id, insert(&store, spec("b")).id];
    for id in &tasks {
        change(&store, id, 1, |task| task.phase = TaskPhase::Succeeded);
    }
    let run: RunKey = format!("{}-g1-n0-i1", tasks[0]).parse().unwrap();
    let environment = EnvironmentId::from("env-001");
    let (key, at) = (run.clone(), environment.clone());
    write(&store, move |tx| (0..2).try_for_each(|_| tx.put_trailing(&key, &at)));
    let activity = |id: &TaskId| {
        let id = id.clone();
        read(&store, move |view| view.task_activity(&id))
    };
    assert_eq!((activity(&tasks[0]), activity(&tasks[1])), (Activity::Ending, Activity::Over));
    let owners = read(&store, |view| view.log_owners());
    assert!(owners[&tasks[0]] == LogOwner::Live && owners[&tasks[1]] != LogOwner::Live);
    for (id, owner) in &owners {
        let id = id.clone();
        assert_eq!(read(&store, move |view| view.log_owner(&id)), Some(*owner), "asked alone");
    }
    assert_eq!(read(&store, |view| view.log_owner(&TaskId::from("task-99"))), None);
    assert_eq!(
        read(&store, |view| view.trailing()),
        [TrailingRun { run: run.clone(), environment: environment.clone() }]
    );
    let key = run.clone();
    assert!(!write(&store, move |tx| tx.remove_trailing(&key, &EnvironmentId::from("env-002"))), "another's");
    let (key, at) = (run.clone(), environment.clone());
    assert!(write(&store, move |tx| tx.remove_trailing(&key, &at)));
    assert_eq!(activity(&tasks[0]), Activity::Over);
    write(&store, move |tx| tx.put_trailing(&run, &environment));
    let id = tasks[0].clone();
    assert!(write(&store, move |tx| tx.delete_task(&id)));
    assert_eq!(read(&store, |view| view.trailing()), []);
}

#[test]
fn datasets_models_and_versions_have_names_of_their_own() {
    let (_folder, store) = open();
    let new = |name: &str| NewDataset { name: name.into(), description: Some("d".into()), ..Default::default() };
    let first = store.write_blocking(move |tx| tx.create_dataset(&new("C4"), 5)).unwrap();
    let second = store.write_blocking(move |tx| tx.create_dataset(&new("c4"), 5)).unwrap();
    assert_eq!((first.id.as_str(), second.id.as_str()), ("dataset-001", "dataset-002"));
    let refused = store.write_blocking(move |tx| tx.create_dataset(&new("C4"), 5));
    assert!(matches!(refused, Err(WriteError::Refused(CreateError::NameTaken))));
    let version = |dataset: &'static str, name: &'static str| {
        let made = store.write_blocking(move |tx| {
            tx.create_version(
                dataset,
                &NewVersion { version: name.into(), path: "/data".into(), size: Some(7), ..NewVersion::default() },
                6,
            )
        });
        made.map_err(WriteError::flatten)
    };
    assert_eq!(version("dataset-001", "v1").unwrap().id, "version-001");
    assert_eq!(version("dataset-002", "v1").unwrap().id, "version-002");
    assert!(matches!(version("dataset-001", "v1"), Err(CreateError::NameTaken)));
    assert!(matches!(version("dataset-009", "v1"), Err(CreateError::Missing)));
    let page = store.read_blocking(|view| view.list_datasets(Some("C"), 1, None)).unwrap();
    assert_eq!((page.rows[0].id.as_str(), page.total), ("dataset-002", None));
    let next = page.next;
    let page = store.read_blocking(move |view| view.list_datasets(None, 1, next.as_ref())).unwrap();
    assert_eq!((page.rows[0].clone(), page.next, page.total), (first, None, Some(2)));

    let mut trains = spec("t");
    trains.dataset = Some(fermi_domain::task::DatasetChoice {
        dataset_id: "dataset-001".into(),
        dataset_version_id: "version-001".into(),
    });
    trains.model_id = Some("model-001".into());
    let id = insert(&store, trains).id;
    let users = || {
        read(&store, |view| {
            let found = [view.open_tasks_with_dataset("dataset-001")?, view.open_tasks_with_model("model-001")?];
            Ok(found.map(|tasks| tasks.len()))
        })
    };
    assert_eq!(users(), [1, 1]);
    change(&store, &id, 1, |task| task.phase = TaskPhase::Succeeded);
    assert_eq!(users(), [0, 0]);

    assert!(write(&store, |tx| tx.delete_dataset("dataset-001")));
    assert_eq!(read(&store, |view| view.version("version-001")), None);
    assert_eq!(read(&store, |view| view.versions_of("dataset-002")).len(), 1);
    let model = NewModel { name: "Qwen".into(), ..Default::default() };
    let model = store.write_blocking(move |tx| tx.create_model(&model, 7)).unwrap();
    assert_eq!(read(&store, |view| view.model("model-001")), Some(model));
    assert_eq!(read(&store, |view| view.model_shape("model-001")), None);
    let numbers = ModelNumbers { layers: Some(2), hidden: Some(64), heads: Some(4), ..ModelNumbers::default() };
    let shape = KnownShape { source: ShapeSource::Given, shape: numbers.shape().unwrap() };
    let given = shape.clone();
    write(&store, move |tx| tx.set_model_shape("model-001", &given));
    assert_eq!(read(&store, |view| view.model_shape("model-001")), Some(shape));
    assert!(write(&store, |tx| tx.delete_model("model-001")));
    assert_eq!(store.read_blocking(|view| view.list_models(None, 10, None)).unwrap().total, Some(0));
}

#[test]
fn an_answer_is_remembered_once_and_a_snapshot_kept_by_its_digest() {
    let (_folder, store) = open();
    let answer = |digest: &str| Remembered { digest: digest.into(), status: 200, body: b"{}\0".to_vec() };
    assert_eq!(write(&store, move |tx| tx.remember("tasks", "k", &answer("a"), 10)), None);
    assert_eq!(write(&store, move |tx| tx.remember("tasks", "k", &answer("b"), 11)), Some(answer("a")));
    assert_eq!(read(&store, |view| view.recall("models", "k")), None);
    assert_eq!(write(&store, |tx| tx.forget_older_than(10)), 0);
    assert_eq!(write(&store, |tx| tx.forget_older_than(11)), 1);
    assert_eq!(read(&store, |view| view.recall("tasks", "k")), None);

    let snapshot = Snapshot { digest: "sha".into(), name: "code".into(), bytes: 9, created_ms: 1 };
    let kept = snapshot.clone();
    write(&store, move |tx| {
        tx.put_snapshot(&Snapshot { created_ms: 1, ..kept.clone() }).and_then(|()| tx.put_snapshot(&kept))
    });
    assert_eq!(read(&store, |view| view.snapshot("sha")), Some(snapshot.clone()));
    assert_eq!(read(&store, |view| view.snapshots()), [snapshot]);
}

#[test]
fn a_worker_is_in_one_group_and_every_change_counts() {
    let (_folder, store) = open();
    let launch = fermi_domain::group::LaunchConfig::default();
    let made = |name: &'static str| {
        let launch = launch.clone();
        store.write_blocking(move |tx| tx.create_group(name, &launch, 1)).unwrap()
    };
    let (one, two) = (made("one"), made("two"));
    let again = store.write_blocking({
        let launch = launch.clone();
        move |tx| tx.create_group("one", &launch, 2)
    });
    assert!(matches!(again, Err(WriteError::Refused(GroupError::NameTaken))));
    let move_to = |workers: &[&str], to: Option<&fermi_domain::ids::GroupId>| {
        let workers: Vec<WorkerId> = workers.iter().map(|worker| worker.parse().unwrap()).collect();
        let to = to.cloned();
        store.write_blocking(move |tx| tx.move_workers(&workers, to.as_ref(), 3))
    };
    assert_eq!(move_to(&["gn6-10", "gn6-2"], Some(&one)).unwrap(), 2);
    assert_eq!(move_to(&["gn6-2", "gn7-0"], Some(&two)).unwrap(), 2);
    assert_eq!(move_to(&["gn6-2", "gn7-0"], Some(&two)).unwrap(), 0, "they are there");
    let missing = move_to(&["gn6-10"], Some(&"group-009".into()));
    assert!(matches!(missing, Err(WriteError::Refused(GroupError::Missing))));
    let groups = read(&store, |view| view.groups());
    let shown: Vec<(Vec<String>, u64)> = groups
        .iter()
        .map(|row| (row.group.workers.iter().map(ToString::to_string).collect(), row.group.version))
        .collect();
    assert_eq!(shown, [(vec!["gn6-10".into()], 3), (vec!["gn6-2".into(), "gn7-0".into()], 2)]);
    assert_eq!(move_to(&["gn7-0"], None).unwrap(), 1);
    let changed = store.write_blocking({
        let (two, launch) = (two.clone(), launch.clone());
        move |tx| tx.update_group(&two, "one", &launch, 4)
    });
    assert!(matches!(changed, Err(WriteError::Refused(GroupError::NameTaken))));
    let gone = two.clone();
    assert!(write(&store, move |tx| tx.delete_group(&gone)));
    let worker: WorkerId = "gn6-2".parse().unwrap();
    assert!(read(&store, move |view| view.groups_of([&worker])).is_empty(), "its workers are in none then");
    assert!(read(&store, move |view| view.group_by_name("two")).is_none());
}

#[test]
fn open_tasks_are_found_by_their_group() {
    let (_folder, store) = open();
    let mut on_group = spec("a");
    on_group.selection = fermi_domain::task::Selection::Group("group-001".into());
    let task = insert(&store, on_group);
    insert(&store, spec("b"));
    let open_on = |group: &'static str| {
        let found = read(&store, move |view| view.open_tasks_on_group(&group.into()));
        found.into_iter().map(|task| task.value.id).collect::<Vec<_>>()
    };
    assert_eq!(open_on("group-001"), std::slice::from_ref(&task.id));
    assert!(open_on("group-002").is_empty());
    change(&store, &task.id, 5, |task| task.phase = TaskPhase::Stopped);
    assert!(open_on("group-001").is_empty());
}

#[test]
fn what_environments_have_seen_of_a_version_goes_with_it() {
    let (_folder, store) = open();
    let new = NewDataset { name: "C4".into(), ..Default::default() };
    store.write_blocking(move |tx| tx.create_dataset(&new, 5)).unwrap();
    let version = NewVersion {
        version: "v1".into(),
        path: "/data".into(),
        checksum: Some("sampled:0".into()),
        format: Some("jsonl".into()),
        ..NewVersion::default()
    };
    let made = store.write_blocking(move |tx| tx.create_version("dataset-001", &version, 6)).unwrap();
    assert_eq!(read(&store, |view| view.version("version-001")), Some(made));
    let seen = |bytes| DatasetSighting {
        bytes,
        files: 1,
        is_whole: true,
        format: Some("jsonl".into()),
        checksum: ChecksumProof::Matches,
    };
    for (environment, bytes, now) in [("env-001", 1, 7), ("env-002", 2, 8), ("env-001", 3, 9)] {
        write(&store, move |tx| tx.note_sighting("version-001", &environment.into(), Some(&seen(bytes)), now));
    }
    let found = read(&store, |view| view.sightings_of("version-001", 10));
    let found: Vec<(&str, u64, u64)> =
        found.iter().map(|it| (it.environment.as_str(), it.seen.bytes, it.proven_ms)).collect();
    assert_eq!(found, [("env-001", 3, 9), ("env-002", 2, 8)]);
    assert_eq!(read(&store, |view| view.sightings_of("version-001", 1)).len(), 1);
    assert_eq!(read(&store, |view| view.count_sightings("version-001")), 2);
    write(&store, |tx| tx.note_sighting("version-001", &"env-002".into(), None, 10));
    assert_eq!(read(&store, |view| view.sighting("version-001", &"env-002".into())), None);
    assert_eq!(read(&store, |view| view.sighting("version-001", &"env-001".into())), Some(seen(3)));
    write(&store, move |tx| tx.note_sighting("version-009", &"env-001".into(), Some(&seen(1)), 11));
    assert!(write(&store, |tx| tx.delete_dataset("dataset-001")));
    assert_eq!(read(&store, |view| view.count_sightings("version-001")), 0);
}

/// What is known is not read again, so that every change must show in the revision.
#[test]
fn environments_that_have_changed_are_read_anew_and_only_those() {
    let (_folder, store) = open();
    for name in ["gn6", "gn7"] {
        write(&store, move |tx| tx.register_environment(&registration(name), 1));
    }
    type Known = HashMap<EnvironmentId, Arc<EnvironmentRow>>;
    let look = |known: &Known| {
        let known = known.clone();
        let rows = read(&store, move |view| view.environments_beyond(&known));
        rows.into_iter().map(|row| (row.environment.id.clone(), row)).collect::<Known>()
    };
    let (first, second) = (EnvironmentId::from("env-001"), EnvironmentId::from("env-002"));
    let changes: Vec<Box<dyn Fn(EnvironmentId)>> = vec![
        Box::new(|id| assert!(write(&store, move |tx| tx.set_duty(&id, Duty::Drained)))),
        Box::new(|id| write(&store, move |tx| tx.set_identity(&id, &Identity::default()))),
        Box::new(|id| write(&store, move |tx| tx.revoke_identity(&id))),
        Box::new(|_| drop(write(&store, |tx| tx.register_environment(&registration("gn6"), 9)))),
    ];
    let mut known = look(&Known::new());
    for (number, change) in changes.iter().enumerate() {
        change(first.clone());
        let now = look(&known);
        let whole: Vec<EnvironmentRow> = read(&store, |view| view.environments());
        assert!(whole.iter().all(|row| *now[&row.environment.id] == *row), "change {number}");
        assert!(now[&first] != known[&first], "change {number}");
        assert!(Arc::ptr_eq(&now[&second], &known[&second]), "change {number}");
        known = now;
    }
}
