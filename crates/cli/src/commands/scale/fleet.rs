//! The environments of `--nodes`: which they are, whether all of them are free, and which of them are one machine.

use fermi_api::client::Client;
use fermi_api::v1::Environment;
use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::language::Text;

use crate::commands::env;
use crate::connection::CommandProblem;
use crate::exit_code;

/// In the order in which they join: a point of k nodes is on the first k.
#[derive(Debug)]
pub struct Fleet {
    pub environments: Vec<Environment>,
}

impl Fleet {
    /// Refuses names that are unknown or given twice, and environments on which nothing can be measured now.
    pub fn find(client: &Client, names: &[String]) -> Result<Self, CommandProblem> {
        let known = env::find::all(client)?;
        let mut environments: Vec<Environment> = Vec::new();
        for name in names {
            let found = env::find::one(&known, name)?;
            if environments.iter().any(|earlier| earlier.id == found.id) {
                return Err(twice(name));
            }
            environments.push(found.clone());
        }
        let fleet = Self { environments };
        fleet.obstacle().map_or(Ok(fleet), Err)
    }

    pub fn names(&self) -> Vec<String> {
        self.environments.iter().map(|environment| environment.name.clone()).collect()
    }

    fn first(&self, nodes: u64) -> &[Environment] {
        &self.environments[..usize::try_from(nodes).unwrap_or(usize::MAX).min(self.environments.len())]
    }

    /// The ranks of a task on the first so many.
    pub fn processes(&self, nodes: u64) -> u64 {
        self.first(nodes).iter().map(|environment| environment.workers.len() as u64).sum()
    }

    /// Whether the first so many are on a machine that has fewer devices than they have processes.
    pub fn shares_devices(&self, nodes: u64, on: Device) -> bool {
        machines(self.first(nodes)).iter().any(|machine| machine.processes() > machine.devices(on))
    }

    /// How many processes all of them have a device for.
    pub fn devices(&self, on: Device) -> u64 {
        machines(&self.environments).iter().map(|machine| machine.devices(on)).sum()
    }

    /// The kind of device on which a training that takes GPUs runs here.
    pub fn device(&self, may_use_gpus: bool) -> Device {
        let has_gpus = may_use_gpus && self.environments.iter().all(|environment| environment.gpu_count > 0);
        if has_gpus { Device::Gpu } else { Device::Core }
    }

    /// What is to be known of machines before anybody reads numbers; `most` is the most nodes that are measured.
    pub fn notes(&self, most: u64, on: Device) -> Vec<Text> {
        machines(self.first(most)).iter().filter_map(|machine| machine.note(on)).collect()
    }

    fn obstacle(&self) -> Option<CommandProblem> {
        let bad: Vec<(Text, Text)> = self.environments.iter().filter_map(obstacle).collect();
        let joined = |pick: fn(&(Text, Text)) -> &Text| {
            let all: Vec<&Text> = bad.iter().map(pick).collect();
            let zh: Vec<&str> = all.iter().map(|text| text.zh.as_ref()).collect();
            let en: Vec<&str> = all.iter().map(|text| text.en.as_ref()).collect();
            (zh.join("；"), en.join("; "))
        };
        let ((zh, en), (what_zh, what_en)) = (joined(|it| &it.0), joined(|it| &it.1));
        (!bad.is_empty()).then(|| CommandProblem::Own {
            message: Text::new(format!("现在无法测量：{zh}"), format!("nothing can be measured now: {en}")),
            hint: Text::new(
                format!("{what_zh}；或从 --nodes 中去掉"),
                format!("{what_en}; or leave it out of --nodes"),
            ),
            code: exit_code::CONFLICT,
        })
    }
}

/// On what processes compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    Core,
    Gpu,
}

/// Environments whose agents are on one machine, as far as the server can tell.
struct Machine<'a>(Vec<&'a Environment>);

/// By where others reach them and what they have: two machines behind one address seldom have the same bytes of memory.
fn machines(environments: &[Environment]) -> Vec<Machine<'_>> {
    let mut machines: Vec<Machine<'_>> = Vec::new();
    for environment in environments {
        match machines.iter_mut().find(|machine| machine.0.iter().all(|known| is_same_machine(known, environment))) {
            Some(machine) => machine.0.push(environment),
            None => machines.push(Machine(vec![environment])),
        }
    }
    machines
}

/// Memory is compared once both have been sampled.
fn is_same_machine(one: &Environment, other: &Environment) -> bool {
    let memory = |environment: &Environment| environment.machine.map(|now| now.memory_total);
    let differs = memory(one).zip(memory(other)).is_some_and(|(one, other)| one != other);
    one.address.is_some() && one.address == other.address && one.cpu_cores == other.cpu_cores && !differs
}

impl Machine<'_> {
    fn processes(&self) -> u64 {
        self.0.iter().map(|environment| environment.workers.len() as u64).sum()
    }

    fn devices(&self, on: Device) -> u64 {
        let of = |environment: &&Environment| match on {
            Device::Core => u64::from(environment.cpu_cores),
            Device::Gpu => u64::from(environment.gpu_count),
        };
        self.0.iter().map(of).max().unwrap_or(0)
    }

    fn note(&self, on: Device) -> Option<Text> {
        let names: Vec<&str> = self.0.iter().map(|environment| environment.name.as_str()).collect();
        let (devices, processes) = (self.devices(on), self.processes());
        let (zh, en) = match on {
            Device::Core => ("个 CPU 核", "CPU cores"),
            Device::Gpu => ("块 GPU", "GPUs"),
        };
        let (who_zh, who_en) = (names.join("、"), names.join(", "));
        match (names.len() > 1, processes > devices) {
            (false, false) => None,
            (false, true) => Some(Text::new(
                format!("{who_zh} 只有 {devices} {zh}，却有 {processes} 个进程：速度列出，但不算扩展性"),
                format!(
                    "{who_en} has {devices} {en} for {processes} processes: their speed is shown, but it is no scaling"
                ),
            )),
            (true, false) => Some(Text::new(
                format!("{who_zh} 在同一台机器上：它们之间没有网络"),
                format!("{who_en} are one machine: there is no network between them"),
            )),
            (true, true) => Some(Text::new(
                format!(
                    "{who_zh} 在同一台机器上，只有 {devices} {zh}，却有 {processes} 个进程：共用时的速度列出，但不算扩展性"
                ),
                format!(
                    "{who_en} are one machine with {devices} {en} for {processes} processes: where they share them their speed is shown, but it is no scaling"
                ),
            )),
        }
    }
}

/// Why nothing can be measured on it, and what to do.
fn obstacle(environment: &Environment) -> Option<(Text, Text)> {
    let name = &environment.name;
    let holder = environment.workers.iter().find_map(|worker| worker.task_id.as_deref());
    if let Some(task) = holder.filter(|_| environment.status.is_reachable()) {
        return Some((
            Text::new(format!("{name} 被 {task} 占用"), format!("{name} is held by {task}")),
            Text::new(
                format!("先等它结束：fermi task wait {task}"),
                format!("wait for it with 'fermi task wait {task}'"),
            ),
        ));
    }
    let what = match environment.status {
        EnvironmentStatus::Running | EnvironmentStatus::Busy if !environment.workers.is_empty() => return None,
        EnvironmentStatus::Running | EnvironmentStatus::Busy => Text::new(
            format!("用 fermi agent --workers 给 {name} 分配 Worker"),
            format!("give {name} workers with 'fermi agent --workers'"),
        ),
        EnvironmentStatus::Drained => {
            Text::new(format!("运行 fermi env resume {name}"), format!("run 'fermi env resume {name}'"))
        }
        EnvironmentStatus::Suspect | EnvironmentStatus::Offline | EnvironmentStatus::Lost => Text::new(
            format!("在 {name} 上启动 fermi agent，fermi env show {name} 显示其状态"),
            format!("start 'fermi agent' on {name}; 'fermi env show {name}' says how it is"),
        ),
    };
    let state = &environment.status_text;
    let said = match environment.workers.is_empty() {
        true => Text::new(format!("{name} 没有 Worker"), format!("{name} has no workers")),
        false => Text::new(format!("{name} {}", state.zh), format!("{name} is {}", state.en.to_lowercase())),
    };
    Some((said, what))
}

fn twice(name: &str) -> CommandProblem {
    CommandProblem::usage(
        Text::new(format!("--nodes 中 {name} 写了两次"), format!("{name} stands twice in --nodes")),
        Text::new("每个开发环境只写一次", "name each environment once"),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fermi_api::v1::Worker;
    use fermi_domain::environment::{EnvironmentKind, Versions};

    use super::*;

    fn environment(name: &str, address: &str, workers: u32) -> Environment {
        let worker = |index| Worker { id: format!("{name}-{index}"), index, gpu: None, task_id: None };
        Environment {
            id: format!("id-{name}"),
            name: name.to_owned(),
            kind: EnvironmentKind::Custom,
            kind_text: EnvironmentKind::Custom.text(),
            status: EnvironmentStatus::Running,
            status_text: EnvironmentStatus::Running.text(),
            zone: None,
            image: None,
            labels: BTreeMap::new(),
            address: Some(address.to_owned()),
            gpus: Vec::new(),
            gpu_count: 0,
            gpu_type: None,
            cpu_cores: 2,
            memory: 8,
            declared: false,
            versions: Versions::default(),
            workers: (0..workers).map(worker).collect(),
            workers_free: workers,
            heartbeat_age_ms: Some(0),
            up_since: Some(0),
            machine: None,
            gpu_samples: Vec::new(),
        }
    }

    #[test]
    fn environments_of_one_machine_share_its_cores() {
        let one = Fleet {
            environments: vec![
                environment("a", "10.0.0.1", 1),
                environment("b", "10.0.0.1", 1),
                environment("c", "10.0.0.1", 1),
            ],
        };
        let shared: Vec<bool> = (1..=3).map(|nodes| one.shares_devices(nodes, Device::Core)).collect();
        assert_eq!((shared, one.devices(Device::Core)), (vec![false, false, true], 2));
        let note = &one.notes(3, Device::Core)[0].en;
        assert!(note.contains("a, b, c are one machine with 2 CPU cores for 3 processes"), "{note}");
        assert!(one.notes(2, Device::Core)[0].en.contains("no network between them"));
        let apart = Fleet { environments: vec![environment("a", "10.0.0.1", 2), environment("b", "10.0.0.2", 2)] };
        assert!(!apart.shares_devices(2, Device::Core) && apart.notes(2, Device::Core).is_empty());
        assert_eq!((apart.processes(1), apart.processes(2), apart.devices(Device::Core)), (2, 4, 4));
    }

    #[test]
    fn all_environments_that_cannot_be_measured_are_named_at_once() {
        let mut fleet = Fleet { environments: vec![environment("a", "h1", 1), environment("b", "h2", 1)] };
        assert!(fleet.obstacle().is_none());
        fleet.environments[0].workers[0].task_id = Some("task-7".to_owned());
        fleet.environments[1].status = EnvironmentStatus::Offline;
        fleet.environments[1].status_text = EnvironmentStatus::Offline.text();
        let Some(CommandProblem::Own { message, hint, code }) = fleet.obstacle() else { panic!("nothing is said") };
        assert_eq!(message.en, "nothing can be measured now: a is held by task-7; b is offline");
        assert!(hint.en.contains("task wait task-7") && hint.en.contains("fermi agent"), "{}", hint.en);
        assert_eq!(code, exit_code::CONFLICT);
    }
}
