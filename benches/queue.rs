//! How long the queue takes to decide, in time on a processor: what else the machine does is left out. Prints a table, then
//! JSON.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::hint::black_box;

use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::queue::{
    Kind, Need, Offer, Queue, Request, Rules, Running, Size, Standing, Stopping, Wish, WorkerRun,
};
use fermi_domain::units::Seconds;

const MACHINES: u64 = 1_250;
const GPUS: u32 = 8;
const LIMIT_MS: f64 = 20.0;
const ROUNDS: u64 = 30;

fn main() {
    let mut rows: Vec<(&str, f64, f64)> = Vec::new();
    type Needs = fn(u64) -> Need;
    let crowds: [(&str, Needs); 4] = [
        ("a worker is freed, 100,000 wait for it", |_| machine(7)),
        ("a worker is freed, 100,000 wait for any", |number| auto(1 + number % 4, 1 + number % 8)),
        ("a worker is freed, 100,000 wait for pairs of machines", |number| {
            pair(number * 7 % MACHINES, number * 13 % (MACHINES - 1))
        }),
        ("a worker is freed, 100,000 mixed", |number| match number % 3 {
            0 => auto(1 + number % 16, 8),
            1 => machine(number * 31 % MACHINES),
            _ => auto(1, 1 + number % 8),
        }),
    ];
    for (name, need) in crowds {
        let (median, most) = freed(100_000, need);
        rows.push((name, median, most));
    }
    let (median, most) = freed(1_000, |number| auto(1 + number % 16, 1 + number % 8));
    rows.push(("10,000 workers in use, one freed, 1,000 wait", median, most));
    let (median, most) = fill(1, |number| auto(1, 1 + number % 8));
    rows.push(("10,000 workers free, 1,000 start at once", median, most));
    let (median, most) = fill(2, |number| auto(1 + number % 16, 8));
    rows.push(("5,000 of 10,000 workers free in every machine, 1,000 gangs wait", median, most));

    println!("| decision | median | longest | limit |\n|---|---|---|---|");
    for (name, median, most) in &rows {
        println!("| {name} | {median:.2} ms | {most:.2} ms | {LIMIT_MS} ms |");
    }
    let json: serde_json::Map<String, serde_json::Value> = rows
        .iter()
        .map(|(name, median, most)| ((*name).to_owned(), serde_json::json!({ "medianMs": median, "maxMs": most })))
        .collect();
    println!("{}", serde_json::Value::Object(json));
    if rows.iter().any(|(_, median, _)| *median > LIMIT_MS) {
        std::process::exit(1);
    }
}

/// All workers are in use by tasks on one machine each; one task ends, and the queue decides.
fn freed(waiting: u64, need: impl Fn(u64) -> Need) -> (f64, f64) {
    let mut queue = cluster();
    for number in 0..MACHINES {
        occupy(&mut queue, number, 0..GPUS);
    }
    wait(&mut queue, waiting, need);
    queue.decide(1_000);
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let now = 2_000 + round;
        // The machine that many wait for by name comes first.
        let task = TaskId(format!("on-{}", (7 + round * 41) % MACHINES));
        let start = on_processor_ms();
        queue.ended(&task, now);
        black_box(queue.decide(now));
        taken.push(on_processor_ms() - start);
    }
    of(taken)
}

/// One part in so many of each machine is free, and a thousand tasks wait.
fn fill(part: u32, need: impl Fn(u64) -> Need + Copy) -> (f64, f64) {
    let taken = (0..ROUNDS).map(|_| {
        let mut queue = cluster();
        for number in 0..MACHINES {
            occupy(&mut queue, number, GPUS / part..GPUS);
        }
        wait(&mut queue, 1_000, need);
        // The environments are counted before.
        queue.explain(&"none".into(), 0);
        let start = on_processor_ms();
        black_box(queue.decide(1_000));
        on_processor_ms() - start
    });
    of(taken.collect())
}

/// How long this thread has run.
fn on_processor_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e6
}

fn of(mut taken: Vec<f64>) -> (f64, f64) {
    taken.sort_by(f64::total_cmp);
    (taken[taken.len() / 2], taken[taken.len() - 1])
}

fn cluster() -> Queue {
    let mut queue = Queue::new(Rules::default());
    for number in 0..MACHINES {
        let name = format!("n{number}");
        let model = if number % 2 == 0 { "H100" } else { "A100" };
        queue.set_environment(Offer {
            environment: name.as_str().into(),
            name,
            zone: Some(format!("zone-{}", number % 5)),
            labels: BTreeMap::new(),
            status: EnvironmentStatus::Running,
            runs: vec![WorkerRun { model: Some(model.to_owned()), count: GPUS }],
        });
    }
    queue
}

fn occupy(queue: &mut Queue, machine: u64, gpus: std::ops::Range<u32>) {
    let workers: Vec<WorkerId> = gpus.map(|gpu| WorkerId::new(format!("n{machine}"), gpu)).collect();
    if !workers.is_empty() {
        let request = request(format!("on-{machine}"), machine, Need::Workers(workers.clone()));
        queue.set_running(Running { request, workers, started_ms: 0, stopping: Stopping::No }, 0);
    }
}

fn wait(queue: &mut Queue, count: u64, need: impl Fn(u64) -> Need) {
    for number in 0..count {
        queue.insert(request(format!("task-{number}"), number, need(number)));
    }
}

/// Two hundred users, three priorities, half of the tasks with one of many limits.
fn request(task: String, number: u64, need: Need) -> Request {
    Request {
        task: TaskId(task),
        name: format!("name-{number}"),
        owner: format!("user-{}", number % 200),
        priority: (number % 3) as i32,
        submitted_ms: number % 1_000,
        waits_since_ms: number % 1_000,
        is_first: false,
        time_limit: number.is_multiple_of(2).then_some(Seconds(600 + number * 37 % 86_400)),
        preemptible: false,
        standing: Standing::New,
        need,
    }
}

fn machine(number: u64) -> Need {
    Need::Workers((0..GPUS).map(|gpu| WorkerId::new(format!("n{number}"), gpu)).collect())
}

fn pair(first: u64, second: u64) -> Need {
    let second = if second >= first { second + 1 } else { second };
    let workers = [first, second].into_iter().flat_map(|machine| (0..GPUS).map(move |gpu| (machine, gpu)));
    Need::Workers(workers.map(|(machine, gpu)| WorkerId::new(format!("n{machine}"), gpu)).collect())
}

fn auto(nodes: u64, workers: u64) -> Need {
    let size = Size { nodes: nodes as u32, workers: workers as u32 };
    let kind = if nodes.is_multiple_of(2) { Kind::AnyGpu } else { Kind::Gpu("H100".into()) };
    Need::Auto(Wish { size, kind, zone: None, labels: BTreeMap::new() })
}
