//! What a task asks the queue for.

use std::collections::BTreeMap;

use crate::{
    ids::{TaskId, WorkerId},
    language::Text,
    principal::Principal,
    task::{AutoSelection, Task},
    units::Seconds,
};

/// A task that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub task: TaskId,
    /// The name that people gave it.
    pub name: String,
    /// The user whose share it counts against.
    pub owner: String,
    /// Higher goes first.
    pub priority: i32,
    pub submitted_ms: u64,
    /// Since when it waits.
    pub waits_since_ms: u64,
    /// It was the first in line before this queue was made, and stays it.
    pub is_first: bool,
    /// After this long it has ended; without it nothing is known of its end, and it is never backfilled.
    pub time_limit: Option<Seconds>,
    /// Whether a task of higher priority may take its place where preemption is on.
    pub preemptible: bool,
    pub standing: Standing,
    pub need: Need,
}

/// How a task came into the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It had workers and gave them to a task of higher priority: first among those of its priority.
    Returned,
    #[default]
    New,
}

/// The workers that a task needs, all at once or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// These: of the environments that the user ticked, or of a group.
    Workers(Vec<WorkerId>),
    /// Any that are like this.
    Auto(Wish),
}

/// What launch mode `auto` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    pub size: Size,
    pub kind: Kind,
    pub zone: Option<String>,
    /// Labels that an environment must have, with these values.
    pub labels: BTreeMap<String, String>,
}

/// As many workers on each of so many environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    pub nodes: u32,
    pub workers: u32,
}

/// Which workers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// With a GPU or without.
    Any,
    AnyGpu,
    /// With a GPU of this model, by its short name.
    Gpu(String),
}

impl Request {
    /// What a task asks for that needs this.
    pub fn from_task(task: &Task, need: Need) -> Self {
        // At its limit a task is stopped by its ladder, which takes a while.
        let ladder = Seconds(task.spec.policies.stop.planned_ms().div_ceil(1_000));
        let limit = task.spec.policies.time_limit.map(|limit| Seconds(limit.0.saturating_add(ladder.0)));
        let owner = match &task.created_by {
            Some(Principal::User { name, .. }) => name.clone(),
            Some(Principal::System | Principal::Agent { .. }) | None => String::new(),
        };
        Self {
            task: task.id.clone(),
            name: task.spec.name.clone(),
            owner,
            priority: task.spec.priority,
            submitted_ms: task.created_ms,
            waits_since_ms: task.phase_since_ms.unwrap_or(task.created_ms),
            is_first: task.first_in_line,
            time_limit: limit,
            preemptible: task.spec.policies.preemptible,
            standing: if task.gave_way { Standing::Returned } else { Standing::New },
            need,
        }
    }

    /// Of a task that cannot be read: it is nobody's, and stays for as long as it likes.
    pub fn unknown(task: TaskId, need: Need) -> Self {
        Self {
            task,
            name: String::new(),
            owner: String::new(),
            priority: i32::MAX,
            submitted_ms: 0,
            waits_since_ms: 0,
            is_first: false,
            time_limit: None,
            preemptible: false,
            standing: Standing::New,
            need,
        }
    }

    pub fn limit_ms(&self) -> Option<u64> {
        self.time_limit.map(Seconds::as_millis)
    }
}

impl Need {
    /// How many workers it takes.
    pub fn workers(&self) -> u64 {
        match self {
            Self::Workers(workers) => workers.len() as u64,
            Self::Auto(wish) => wish.size.total(),
        }
    }
}

impl Size {
    /// All together.
    pub fn total(self) -> u64 {
        u64::from(self.nodes) * u64::from(self.workers)
    }
}

impl Kind {
    /// Whether workers with such a GPU, or with none, will do.
    pub fn takes(&self, model: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::AnyGpu => model.is_some(),
            Self::Gpu(wanted) => model.is_some_and(|model| model.eq_ignore_ascii_case(wanted)),
        }
    }

    fn unit(&self, count: u32) -> Text {
        let one = count == 1;
        match self {
            Self::Any => Text::new("个 Worker", if one { "worker" } else { "workers" }),
            Self::AnyGpu => Text::new("个 GPU", if one { "GPU" } else { "GPUs" }),
            Self::Gpu(model) => Text::new(format!("个 {model}"), model.clone()),
        }
    }
}

impl Wish {
    pub fn of(auto: &AutoSelection) -> Self {
        let given =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = match given(&auto.gpu_type) {
            Some(model) => Kind::Gpu(model),
            None if auto.needs_gpus() => Kind::AnyGpu,
            None => Kind::Any,
        };
        Self {
            size: Size { nodes: auto.nodes, workers: auto.per_node() },
            kind,
            zone: given(&auto.zone),
            labels: auto.labels.clone(),
        }
    }

    /// Such as `2 × 8 H100 in 北京可用区A`.
    pub fn text(&self) -> Text {
        let unit = self.kind.unit(self.size.workers);
        let mut text = match self.size {
            Size { nodes: 1, workers } => Text::new(format!("{workers} {}", unit.zh), format!("{workers} {}", unit.en)),
            Size { nodes, workers } => Text::new(
                format!("{nodes} 个节点 × {workers} {}", unit.zh),
                format!("{nodes} nodes × {workers} {}", unit.en),
            ),
        };
        if let Some(zone) = &self.zone {
            text = Text::new(format!("{zone} 的 {}", text.zh), format!("{} in {zone}", text.en));
        }
        if !self.labels.is_empty() {
            let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let labels = labels.join(", ");
            text = Text::new(format!("{}（标签 {labels}）", text.zh), format!("{} (labels {labels})", text.en));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_says_itself() {
        let mut wish = Wish {
            size: Size { nodes: 2, workers: 8 },
            kind: Kind::Gpu("H100".into()),
            zone: None,
            labels: BTreeMap::new(),
        };
        assert_eq!(wish.text().en, "2 nodes × 8 H100");
        wish.kind = Kind::Any;
        wish.size.workers = 1;
        assert_eq!(wish.text().en, "2 nodes × 1 worker");
        wish.kind = Kind::Gpu("H100".into());
        wish.size = Size { nodes: 1, workers: 4 };
        wish.zone = Some("a".into());
        wish.labels.insert("disk".into(), "nvme".into());
        assert_eq!(wish.text().en, "4 H100 in a (labels disk=nvme)");
        assert_eq!(wish.text().zh, "a 的 4 个 H100（标签 disk=nvme）");
    }

    #[test]
    fn a_kind_takes_what_it_names_however_it_is_spelled() {
        let cases = [
            (Kind::Any, [true, true, true]),
            (Kind::AnyGpu, [false, true, true]),
            (Kind::Gpu("h100".into()), [false, false, true]),
        ];
        for (kind, taken) in cases {
            assert_eq!([None, Some("A100"), Some("H100")].map(|model| kind.takes(model)), taken, "{kind:?}");
        }
    }
}
