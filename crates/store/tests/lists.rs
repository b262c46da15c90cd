//! Lists of tasks and the queue.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use fermi_domain::{
    ids::{EnvironmentId, TaskId},
    phase::TaskPhase,
    task::{NodeRun, NodeRunState},
};
use fermi_store::{
    Page, PageToken, Store,
    tasks::{Activity, LabelFilter, ListError, QueueCursor, TaskFilter, TaskOrder, TaskRow, TaskSort},
};
use support::{change, insert, open, read, spec, write};

fn page(
    store: &Store,
    filter: &TaskFilter,
    order: TaskOrder,
    size: usize,
    token: Option<PageToken>,
) -> Result<Page<TaskRow>, ListError> {
    let filter = filter.clone();
    store.read_blocking(move |view| view.list_tasks(&filter, order, size, token.as_ref()))
}

/// All names of a list, page by page.
fn names(store: &Store, filter: &TaskFilter, order: TaskOrder, size: usize) -> Vec<String> {
    let (mut names, mut token) = (Vec::new(), None);
    loop {
        let page = page(store, filter, order, size, token).unwrap();
        names.extend(page.rows.into_iter().map(|row| row.name));
        token = page.next;
        if token.is_none() {
            return names;
        }
    }
}

fn by(by: TaskSort, descending: bool) -> TaskOrder {
    TaskOrder { by, descending }
}

#[test]
fn every_order_pages_through_all_rows_once() {
    let (_folder, store) = open();
    let phases = [TaskPhase::Running, TaskPhase::Failed, TaskPhase::Queued];
    for number in 0..30_usize {
        let mut spec = spec(&format!("{}{}", if number % 2 == 0 { "Task" } else { "task" }, number % 4));
        spec.priority = number as i32 % 3 - 1;
        let task = insert(&store, spec);
        change(&store, &task.id, 5000 - number as u64 % 7, move |task| task.phase = phases[number % 3]);
    }
    let all = page(&store, &TaskFilter::default(), TaskOrder::default(), 1000, None).unwrap();
    assert_eq!((all.rows.len(), all.total, all.next), (30, Some(30), None));
    for sort in [TaskSort::Created, TaskSort::Updated, TaskSort::Name, TaskSort::Phase, TaskSort::Priority] {
        for phases in [vec![], vec![TaskPhase::Failed], vec![TaskPhase::Failed, TaskPhase::Running]] {
            for environment in [None, Some(EnvironmentId::from("env-001"))] {
                let filter = TaskFilter { phases: phases.clone(), environment, ..Default::default() };
                let ids = |descending, size| {
                    let (mut ids, mut token) = (Vec::new(), None);
                    loop {
                        let page = page(&store, &filter, by(sort, descending), size, token).unwrap();
                        assert!(page.rows.len() <= size);
                        ids.extend(page.rows.into_iter().map(|row| row.id));
                        token = page.next;
                        if token.is_none() {
                            return ids;
                        }
                    }
                };
                let whole = ids(false, 1000);
                let mut backwards = ids(true, 1000);
                backwards.reverse();
                assert_eq!(whole.len(), if phases.is_empty() { 30 } else { phases.len() * 10 });
                assert_eq!(whole, backwards, "{sort:?}");
                for size in [1, 3, 10] {
                    assert_eq!(ids(false, size), whole, "{sort:?} by {size}");
                }
            }
        }
    }
    let sorted = names(&store, &TaskFilter::default(), by(TaskSort::Name, false), 7);
    assert!(sorted.is_sorted_by_key(|name| name.to_lowercase()));
    let rows = page(&store, &TaskFilter::default(), by(TaskSort::Priority, true), 1000, None).unwrap().rows;
    assert!(rows.is_sorted_by_key(|row| -row.priority));
}

#[test]
fn a_page_neither_skips_nor_doubles_while_tasks_come_and_go() {
    let (_folder, store) = open();
    let first: Vec<TaskId> = (0..40).map(|number| insert(&store, spec(&format!("old{number}"))).id).collect();
    let (mut seen, mut token) = (Vec::new(), None);
    for round in 0_usize.. {
        let page = page(&store, &TaskFilter::default(), TaskOrder::default(), 7, token).unwrap();
        seen.extend(page.rows.into_iter().map(|row| row.id));
        insert(&store, spec("new"));
        if let Some(gone) = seen.last().cloned().filter(|_| round < 2) {
            assert!(write(&store, move |tx| tx.delete_task(&gone)));
        }
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    let expected: Vec<TaskId> = first.into_iter().rev().collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_token_of_another_list_is_refused() {
    let (_folder, store) = open();
    for _ in 0..3 {
        insert(&store, spec("a"));
    }
    let next = page(&store, &TaskFilter::default(), TaskOrder::default(), 1, None).unwrap().next;
    for (order, token) in [
        (by(TaskSort::Name, true), next),
        (TaskOrder::default(), Some(PageToken("'; DROP TABLE tasks; --".to_owned()))),
        (TaskOrder::default(), Some(PageToken(String::new()))),
    ] {
        let refused = page(&store, &TaskFilter::default(), order, 1, token);
        assert!(matches!(refused, Err(ListError::BadToken(_))));
    }
}

#[test]
fn strange_names_and_filters_come_back_as_they_went() {
    let (_folder, store) = open();
    let long = "长🦀".repeat(2000);
    let strange = ["'; DROP TABLE tasks; --", "100%_\\", "a\0b", "🦀 Ünïcode", "", "\"quoted\"", &long, "?1 @x :y $z"];
    for name in strange {
        let mut spec = spec(name);
        spec.labels = BTreeMap::from([(name.to_owned(), name.to_owned())]);
        spec.distributed.node_ids = vec![EnvironmentId::from(name)];
        let task = insert(&store, spec);
        let id = task.id.clone();
        assert_eq!(read(&store, move |view| view.task(&id)).unwrap().value, task);
    }
    insert(&store, spec("100xyz"));
    for name in strange.iter().filter(|name| !name.is_empty()) {
        let only = |filter: TaskFilter| names(&store, &filter, TaskOrder::default(), 3);
        let label = |value: Option<&str>| LabelFilter { key: (*name).to_owned(), value: value.map(str::to_owned) };
        assert_eq!(only(TaskFilter { name: Some((*name).to_owned()), ..Default::default() }), [*name]);
        assert_eq!(only(TaskFilter { name: Some(name.to_uppercase()), ..Default::default() }), [*name]);
        assert_eq!(only(TaskFilter { environment: Some(EnvironmentId::from(*name)), ..Default::default() }), [*name]);
        assert_eq!(only(TaskFilter { label: Some(label(None)), ..Default::default() }), [*name]);
        assert_eq!(only(TaskFilter { label: Some(label(Some(name))), ..Default::default() }), [*name]);
        assert!(only(TaskFilter { label: Some(label(Some("other"))), ..Default::default() }).is_empty());
    }
    assert_eq!(
        names(&store, &TaskFilter { name: Some("\0".into()), ..Default::default() }, TaskOrder::default(), 9),
        ["a\0b"]
    );
    let mut all = names(&store, &TaskFilter::default(), by(TaskSort::Name, false), 1);
    all.sort();
    assert_eq!(all.len(), strange.len() + 1);
}

#[test]
fn the_queue_goes_by_priority_and_then_by_arrival() {
    let (_folder, store) = open();
    let ids: Vec<TaskId> = [0, 5, 0, -3, 5, 0]
        .into_iter()
        .map(|priority| {
            let mut spec = spec("q");
            spec.priority = priority;
            insert(&store, spec).id
        })
        .collect();
    change(&store, &ids[2], 1, |task| task.phase = TaskPhase::Queued);
    change(&store, &ids[5], 1, |task| task.phase = TaskPhase::Running);
    let expected: Vec<TaskId> = [1, 4, 0, 2, 3].into_iter().map(|index: usize| ids[index].clone()).collect();
    let (mut queue, mut after) = (Vec::new(), None);
    loop {
        let some = read(&store, move |view| view.queued_tasks(after, 2));
        let Some(last) = some.last() else { break };
        after = QueueCursor::of(&last.value);
        queue.extend(some.into_iter().map(|task| task.value.id));
    }
    assert_eq!(queue, expected);
}

#[test]
fn a_task_lives_from_the_queue_until_it_is_swept() {
    let (_folder, store) = open();
    let id = insert(&store, spec("a")).id;
    let live = || read(&store, |view| view.live_tasks()).len();
    let live_on = |id: &'static str| read(&store, move |view| view.live_tasks_on(&EnvironmentId::from(id))).len();
    let activity = || {
        let id = id.clone();
        read(&store, move |view| view.task_activity(&id))
    };
    assert_eq!((live(), activity()), (0, Activity::Going));
    change(&store, &id, 1, |task| {
        task.phase = TaskPhase::Restarting;
        task.restart_at_ms = Some(500);
        task.nodes = vec![NodeRun {
            environment: EnvironmentId::from("env-007"),
            name: "gn7".into(),
            node_rank: Default::default(),
            incarnation: 1,
            state: NodeRunState::Alive,
            interface: None,
        }];
    });
    assert_eq!((live(), live_on("env-007"), live_on("env-008")), (1, 1, 0));
    let filter = TaskFilter { environment: Some(EnvironmentId::from("env-007")), ..Default::default() };
    assert_eq!(names(&store, &filter, TaskOrder::default(), 10), ["a"]);
    change(&store, &id, 1, |task| {
        task.phase = TaskPhase::Failed;
        task.restart_at_ms = None;
    });
    assert_eq!((live(), activity()), (1, Activity::Ending));
    change(&store, &id, 1, |task| task.nodes[0].state = NodeRunState::Gone);
    assert_eq!((live(), activity()), (0, Activity::Over));
    assert_eq!(read(&store, |view| view.task_activity(&"task-99".into())), Activity::Over);
    let counts = read(&store, |view| view.count_by_phase());
    assert_eq!((counts[&TaskPhase::Failed], counts[&TaskPhase::Running], counts[&TaskPhase::Initializing]), (1, 0, 0));
}
