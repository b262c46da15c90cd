//! A task of a trace, and how it is written down.

use std::collections::BTreeMap;
use std::fmt;

use fermi_domain::ids::WorkerId;
use fermi_domain::queue::{Kind, Need, Request, Size, Standing, Wish};
use fermi_domain::units::Seconds;

use super::cluster::GPUS;

pub const HOUR: u64 = 3_600_000;
pub const DAY: u64 = 24 * HOUR;

/// The first line of a file.
const HEAD: &str = "submitted_s,owner,nodes,workers,gpu,machines,priority,takes_s,limit_s";

/// A task, and how long it really takes: never longer than its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub request: Request,
    pub takes_ms: u64,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    pub text: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the trace cannot be read: {}\nits fields are {HEAD}", self.line, self.text)
    }
}

impl std::error::Error for TraceError {}

/// Workers with any GPU.
pub fn any(nodes: u32, workers: u32) -> Need {
    let size = Size { nodes, workers };
    Need::Auto(Wish { size, kind: Kind::AnyGpu, zone: None, labels: BTreeMap::new() })
}

/// All GPUs of these machines.
pub fn whole(machines: impl IntoIterator<Item = u64>) -> Need {
    let workers = machines.into_iter().flat_map(|machine| (0..GPUS).map(move |index| (machine, index)));
    Need::Workers(workers.map(|(machine, index)| WorkerId::new(format!("n{machine}"), index)).collect())
}

impl Job {
    /// The tasks of a file in the order in which they came; lines that begin with # are left out.
    pub fn read_all(text: &str) -> Result<Vec<Self>, TraceError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && *line != HEAD);
        let mut jobs = Vec::new();
        for (at, line) in lines {
            let unreadable = || TraceError { line: at + 1, text: line.to_owned() };
            jobs.push(Self::read(line, jobs.len()).ok_or_else(unreadable)?);
        }
        jobs.sort_by_key(|job| job.request.submitted_ms);
        Ok(jobs)
    }

    fn read(line: &str, number: usize) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [submitted, owner, nodes, workers, gpu, machines, priority, takes, limit] = fields[..] else { return None };
        let (nodes, workers): (u32, u32) = (nodes.parse().ok()?, workers.parse().ok()?);
        let kind = if gpu == "any" { Kind::AnyGpu } else { Kind::Gpu(gpu.to_owned()) };
        let need = if machines.is_empty() {
            let size = Size { nodes, workers };
            Need::Auto(Wish { size, kind, zone: None, labels: BTreeMap::new() })
        } else {
            whole(machines.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?)
        };
        let takes_s: u64 = takes.parse().ok()?;
        let time_limit = match limit {
            "" => None,
            seconds => Some(Seconds(seconds.parse().ok()?)),
        };
        let request = Request {
            task: format!("task-{number}").as_str().into(),
            name: String::new(),
            owner: owner.to_owned(),
            priority: priority.parse().ok()?,
            submitted_ms: submitted.parse::<u64>().ok()?.checked_mul(1_000)?,
            waits_since_ms: 0,
            is_first: false,
            time_limit,
            preemptible: false,
            standing: Standing::New,
            need,
        };
        Some(Self { request, takes_ms: takes_s.checked_mul(1_000)? })
    }

    /// A trace as a file.
    pub fn write_all(jobs: &[Self]) -> String {
        let lines = jobs.iter().map(Self::line);
        std::iter::once(HEAD.to_owned()).chain(lines).map(|line| line + "\n").collect()
    }

    fn line(&self) -> String {
        let Request { owner, priority, submitted_ms, time_limit, need, .. } = &self.request;
        let (nodes, workers, gpu, machines) = match need {
            Need::Auto(Wish { size, kind, .. }) => {
                let gpu = match kind {
                    Kind::Gpu(model) => model.as_str(),
                    Kind::Any | Kind::AnyGpu => "any",
                };
                (size.nodes, size.workers, gpu, String::new())
            }
            Need::Workers(workers) => {
                let first = workers.iter().filter(|worker| worker.index() == 0);
                let machines: Vec<&str> = first.map(|worker| worker.node().trim_start_matches('n')).collect();
                (machines.len() as u32, GPUS, "any", machines.join(" "))
            }
        };
        let limit = time_limit.map_or_else(String::new, |limit| limit.0.to_string());
        let (submitted, takes) = (submitted_ms / 1_000, self.takes_ms / 1_000);
        format!("{submitted},{owner},{nodes},{workers},{gpu},{machines},{priority},{takes},{limit}")
    }
}
