//! Lists stay quick however many tasks there are.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use fermi_domain::principal::Principal;
use std::time::{Duration, Instant};

use fermi_domain::{ids::EnvironmentId, phase::TaskPhase};
use fermi_store::{
    Store,
    tasks::{TaskFilter, TaskOrder, TaskSort},
};
use support::{change, spec, write};
use tempfile::tempdir;

#[test]
fn fifty_of_a_hundred_thousand_tasks_are_listed_within_two_milliseconds() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for batch in 0..10_u32 {
        write(&store, move |tx| {
            for number in 0..10_000_u32 {
                let mut spec = spec(&format!("task {batch} {number}"));
                spec.distributed.node_ids = vec![EnvironmentId(format!("env-{:03}", number % 50))];
                spec.priority = (number % 5) as i32;
                let mut task = tx.insert_task(spec, &Principal::System, 1)?;
                task.phase = if number % 3 == 0 { TaskPhase::Failed } else { TaskPhase::Succeeded };
                tx.update_task(&task, 1, u64::from(number)).expect("nobody else writes");
            }
            Ok(())
        });
    }
    change(&store, &fermi_store::tasks::task_id(1), 1, |task| task.phase = TaskPhase::Queued);
    let phases = |phases: &[TaskPhase]| TaskFilter { phases: phases.to_vec(), ..Default::default() };
    let environment = TaskFilter { environment: Some(EnvironmentId::from("env-007")), ..Default::default() };
    let sorted = |by| TaskOrder { by, descending: true };
    let cases = [
        ("newest", TaskFilter::default(), TaskOrder::default()),
        ("failed", phases(&[TaskPhase::Failed]), TaskOrder::default()),
        ("over", phases(&[TaskPhase::Failed, TaskPhase::Succeeded, TaskPhase::Stopped]), TaskOrder::default()),
        ("rare", phases(&[TaskPhase::Queued]), TaskOrder::default()),
        ("environment", environment, TaskOrder::default()),
        ("updated", TaskFilter::default(), sorted(TaskSort::Updated)),
        ("name", TaskFilter::default(), sorted(TaskSort::Name)),
        ("phase", TaskFilter::default(), sorted(TaskSort::Phase)),
        ("priority", TaskFilter::default(), sorted(TaskSort::Priority)),
    ];
    for (what, filter, order) in cases {
        // The best of many: what else the machine does is not the list's fault.
        let best = (0..20).map(|_| time(&store, &filter, order)).min().unwrap();
        println!("{what}: {best:?}");
        assert!(best < Duration::from_millis(2), "{what} took {best:?}");
    }
    let begin = Instant::now();
    let queue = store.read_blocking(|view| view.queued_tasks(None, 10)).unwrap();
    assert_eq!((queue.len(), begin.elapsed() < Duration::from_millis(50)), (1, true));
}

/// How long the first and the second page take.
fn time(store: &Store, filter: &TaskFilter, order: TaskOrder) -> Duration {
    let filter = filter.clone();
    store
        .read_blocking(move |view| {
            let begin = Instant::now();
            let first = view.list_tasks(&filter, order, 50, None)?;
            let mut longest = begin.elapsed();
            if let Some(token) = first.next {
                let begin = Instant::now();
                assert_eq!(view.list_tasks(&filter, order, 50, Some(&token))?.rows.len(), 50);
                longest = longest.max(begin.elapsed());
            }
            Ok::<_, fermi_store::tasks::ListError>(longest)
        })
        .unwrap()
}
