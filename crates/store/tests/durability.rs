//! What was acknowledged is there: group commit, refused and panicking writes, reopening, a killed server.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use fermi_domain::principal::Principal;
use std::{
    collections::HashSet,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::Arc,
};

use fermi_domain::ids::TaskId;
use fermi_domain::language::Explained;
use fermi_store::{OpenError, Store, StoreError, UpdateError, WriteError, events::EventFilter, tasks::task_seq};
use support::{event, insert, read, spec, write};
use tempfile::tempdir;

const CHILD: &str = "FERMI_STORE_TEST_CHILD_FOLDER";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_wait_together_share_a_commit() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let tasks: Vec<_> = (0..2000)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                store.write(move |tx| tx.insert_task(spec(&format!("t{number}")), &Principal::System, 1)).await.unwrap()
            })
        })
        .collect();
    let mut ids = HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap().id);
    }
    assert_eq!(ids.len(), 2000);
    let metrics = store.metrics();
    assert_eq!(metrics.writes, 2000);
    assert!(metrics.syncs < 500, "{metrics:?}");
    assert_eq!(metrics.syncs, metrics.batches);
}

/// Holds the writer in a closure until everything else is queued behind it, so that the rest is one batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_errs_or_panics_leaves_the_others_of_its_batch() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut heard = store.subscribe();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (entered, inside) = tokio::sync::oneshot::channel();
    let holder = {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .write(move |_| {
                    let _ = entered.send(());
                    let _ = gate.recv();
                    Ok::<_, StoreError>(())
                })
                .await
        })
    };
    inside.await.unwrap();
    let good = |name: &'static str| {
        let store = store.clone();
        async move {
            store
                .write(move |tx| {
                    tx.append_event(event(name, None))?;
                    tx.insert_task(spec(name), &Principal::System, 1)
                })
                .await
        }
    };
    let erring = store.write(|tx| {
        tx.append_event(event("erring", None)).unwrap();
        tx.insert_task(spec("erring"), &Principal::System, 1).unwrap();
        Err::<(), &str>("no")
    });
    let panicking = store.write(|tx| -> Result<(), StoreError> {
        tx.append_event(event("panicking", None)).unwrap();
        tx.insert_task(spec("panicking"), &Principal::System, 1)?;
        panic!("as the test wants it")
    });
    let all = async { tokio::join!(biased; good("first"), erring, panicking, good("last")) };
    // Polled once, the four are in the queue; only then does the gate open.
    let opening = async {
        tokio::task::yield_now().await;
        open.send(()).unwrap();
    };
    let ((first, erring, panicking, last), ()) = tokio::join!(biased; all, opening);
    holder.await.unwrap().unwrap();
    assert!(matches!(erring, Err(WriteError::Refused("no"))));
    assert!(matches!(panicking, Err(WriteError::Failed(StoreError::Panicked))));
    let (first, last) = (first.unwrap(), last.unwrap());
    assert_eq!(store.metrics().last_batch, 4, "{:?}", store.metrics());
    assert_eq!((task_seq(&first.id), task_seq(&last.id)), (Some(1), Some(2)), "refused ones spend no number");
    let told = [heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    assert_eq!(told.map(|event| event.event.kind.clone()), ["first", "last"]);
    assert!(heard.try_recv().is_err());
    assert!(store.write(|tx| tx.insert_task(spec("alive"), &Principal::System, 1)).await.is_ok());
}

#[test]
fn a_revision_that_is_too_old_changes_nothing() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let task = insert(&store, spec("a"));
    let mut mine = task.clone();
    mine.resume = true;
    let first = mine.clone();
    store.write_blocking(move |tx| tx.update_task(&first, 1, 2000)).unwrap();
    let mut late = task.clone();
    late.restarts_used = 9;
    let refused = store.write_blocking(move |tx| tx.update_task(&late, 1, 3000)).unwrap_err();
    assert!(matches!(refused, WriteError::Refused(UpdateError::Conflict { expected: 1, found: 2 })), "{refused:?}");
    let id = task.id.clone();
    let kept = read(&store, move |view| view.task(&id)).unwrap();
    assert_eq!((kept.revision, kept.value), (2, mine));
    let mut nobody = task;
    nobody.id = TaskId::from("task-99");
    let refused = store.write_blocking(move |tx| tx.update_task(&nobody, 1, 1)).unwrap_err();
    assert!(matches!(refused, WriteError::Refused(UpdateError::Missing)));
}

#[test]
fn reopening_finds_everything_and_the_same_cluster() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let cluster = store.cluster().to_owned();
    assert!(cluster.len() == 4 && cluster.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
    let task = insert(&store, spec("kept"));
    let id = task.id.clone();
    let cursor = write(&store, move |tx| tx.append_event(event("task.created", Some(&id))));
    store.close();
    let refused = store.write_blocking(|tx| tx.insert_task(spec("late"), &Principal::System, 1)).unwrap_err();
    assert!(matches!(refused, WriteError::Failed(StoreError::Closed)));
    assert!(matches!(store.read_blocking(|view| view.last_cursor()), Err(StoreError::Closed)));

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.cluster(), cluster);
    let id = task.id.clone();
    assert_eq!(read(&store, move |view| view.task(&id)).unwrap().value, task);
    let events = read(&store, |view| view.events(0, &EventFilter::default(), 10));
    assert_eq!(events.iter().map(|event| event.cursor).collect::<Vec<_>>(), [cursor]);
    assert_eq!(events[0].event, event("task.created", Some(&task.id)));
}

#[test]
fn closing_finishes_what_is_queued() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let writers: Vec<_> = (0..50)
        .map(|_| {
            let store = store.clone();
            std::thread::spawn(move || {
                store.write_blocking(|tx| tx.insert_task(spec("x"), &Principal::System, 1)).is_ok()
            })
        })
        .collect();
    store.close();
    let kept = writers.into_iter().map(|writer| writer.join().unwrap()).filter(|kept| *kept).count() as u64;
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(read(&store, |view| view.count_by_phase()).values().sum::<u64>(), kept);
}

#[test]
fn a_second_server_is_refused_by_the_first_ones_number() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::Held { pid: Some(pid), .. } if pid == std::process::id()), "{refused}");
    assert!(refused.to_string().contains(&format!("(process {})", std::process::id())));
    assert!(refused.text().zh.contains(&std::process::id().to_string()));
    drop(store);
    Store::open(folder.path()).unwrap();
}

#[tokio::test]
async fn a_read_sees_one_moment_and_a_panic_in_it_harms_nobody() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let writer = store.clone();
    let (before, after) = store
        .read(move |view| {
            let before = view.last_cursor()?;
            writer.write_blocking(|tx| tx.append_event(event("x", None))).map_err(WriteError::flatten)?;
            Ok::<_, StoreError>((before, view.last_cursor()?))
        })
        .await
        .unwrap();
    assert_eq!((before, after), (0, 0));
    for _ in 0..5 {
        let panicked = store.read(|_| -> Result<(), StoreError> { panic!("as the test wants it") }).await;
        assert!(matches!(panicked, Err(StoreError::Panicked)));
    }
    assert_eq!(store.read(|view| view.last_cursor()).await.unwrap(), 1);
}

/// The child: writes as fast as it can from several threads and says each id once it is acknowledged.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let store = Arc::new(Store::open(folder.as_ref()).unwrap());
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = store.clone();
            std::thread::spawn(move || {
                for number in 0.. {
                    let task = insert(&store, spec(&format!("w{writer}-{number}")));
                    let id = task.id.clone();
                    write(&store, move |tx| tx.append_event(event("task.created", Some(&id))));
                    println!("\nacknowledged {} {}", task.id, task.spec.name);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn a_server_killed_at_any_moment_keeps_every_acknowledged_task_exactly_once() {
    let folder = tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard = 0;
        for line in lines.map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["acknowledged", id, name] = words.as_slice() {
                acknowledged.push((TaskId::from(*id), (*name).to_owned()));
                heard += 1;
            }
            if heard == 100 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(heard >= 100 * round, "the child said only {heard}");
    }
    let store = Store::open(folder.path()).unwrap();
    let distinct: HashSet<_> = acknowledged.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(distinct.len(), acknowledged.len());
    for (id, name) in acknowledged {
        let (task, events) = read(&store, {
            let id = id.clone();
            move |view| {
                let filter = EventFilter { task: Some(id.clone()), ..Default::default() };
                Ok((view.task(&id)?, view.events(0, &filter, 10)?))
            }
        });
        assert_eq!(task.unwrap().value.spec.name, name, "{id}");
        assert_eq!(events.len(), 1, "{id}");
    }
}
