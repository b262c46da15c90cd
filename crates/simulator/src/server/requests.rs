//! What people ask for.

use std::collections::BTreeMap;

use fermi_domain::fleet::Liveness;
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::task::{DistributedConfig, OnDisconnect, Policies, StopIntent, Task, TaskInput, TaskSpec, Work};
use fermi_domain::units::Seconds;

use super::{Server, StoreDown};
use crate::truth::Truth;

impl Server {
    pub fn create(
        &mut self,
        nodes: Vec<EnvironmentId>,
        restarts: u32,
        key: u32,
        now: u64,
    ) -> Result<TaskId, StoreDown> {
        self.write(now)?;
        if let Some(known) = self.database.answers.get(&key) {
            return Ok(known.clone());
        }
        self.database.next_task += 1;
        let id = TaskId::from(format!("task-{}", self.database.next_task).as_str());
        // Every second task ends when it has lost the server for long.
        let on_disconnect = match self.database.next_task % 2 {
            0 => OnDisconnect::StopAfter(OnDisconnect::SHORTEST),
            _ => OnDisconnect::Keep,
        };
        let mut spec = spec(nodes, restarts, on_disconnect);
        // Every fourth goes before the others, and every fifth has a limit.
        spec.priority = i32::from(self.database.next_task.is_multiple_of(4));
        spec.policies.time_limit = self.database.next_task.is_multiple_of(5).then_some(Seconds(40));
        let task = Task::new(id.clone(), spec, self.wall(now));
        self.database.tasks.insert(id.clone(), task);
        self.database.answers.insert(key, id.clone());
        self.is_rung = true;
        Ok(id)
    }

    pub fn stop(&mut self, id: &TaskId, force: bool, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.apply(id, [TaskInput::StopAsked(StopIntent::by_user(force))], now, truth)
    }

    pub fn restart(&mut self, id: &TaskId, key: u32, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        if self.database.answers.insert(key, id.clone()).is_some() {
            return Ok(());
        }
        self.apply_within(id, [TaskInput::RestartAsked], now, truth);
        Ok(())
    }

    pub fn delete(&mut self, id: &TaskId, now: u64) -> Result<(), StoreDown> {
        self.write(now)?;
        let is_over = self.database.tasks.get(id).is_some_and(|task| task.phase.is_final() && task.is_swept());
        let can = is_over && !self.database.trailing.keys().any(|run| run.task == *id);
        if can {
            self.database.tasks.remove(id);
            self.deleted.insert(id.clone());
            self.database.leases.retain(|_, (holder, _)| holder != id);
            self.streams.retain(|(task, ..), _| task != id);
        }
        Ok(())
    }

    pub fn delete_environment(&mut self, id: &EnvironmentId, now: u64) {
        let is_open = |task: &&Task| !task.phase.is_final() && task.spec.distributed.node_ids.contains(id);
        let is_named = self.database.tasks.values().any(|task| is_open(&task));
        let is_leased = self.database.leases.values().any(|(_, environment)| environment == id);
        let is_offline = self.liveness(id, now) == Liveness::Offline;
        if is_offline && !is_leased && !is_named && self.write(now).is_ok() {
            self.database.environments.remove(id);
            self.picture.clear();
            self.give_up(id);
            self.database.duties.remove(id);
            self.sessions.remove(id);
            self.openings += 1;
        }
    }

    pub(super) fn give_up_lost_nodes(&mut self, id: &TaskId, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        let Some(task) = self.database.tasks.get(id) else { return Ok(()) };
        let lost = task.lost_nodes(|environment| self.duty(environment).is_lost());
        let without_lease = task.nodes_without_lease(|environment| self.silent_for(environment, now));
        let inputs: Vec<TaskInput> =
            lost.into_iter().chain(without_lease).map(|node| TaskInput::NodeLost { node }).collect();
        if inputs.is_empty() {
            return Ok(());
        }
        truth.incomplete.insert((id.clone(), task.generation));
        self.apply(id, inputs, now, truth)
    }

    pub fn environment_named(&self, name: &str) -> Option<EnvironmentId> {
        let mut all = self.database.environments.values();
        all.find(|(environment, _)| environment.name == name).map(|(environment, _)| environment.id.clone())
    }
}

fn spec(nodes: Vec<EnvironmentId>, restarts: u32, on_disconnect: OnDisconnect) -> TaskSpec {
    TaskSpec {
        name: String::new(),
        dataset: None,
        model_id: None,
        selection: fermi_domain::task::Selection::Environments,
        work: Work::Builtin { args: Vec::new() },
        source: None,
        distributed: DistributedConfig { enabled: true, node_ids: nodes, ..DistributedConfig::default() },
        options: fermi_domain::task::LaunchOptions::default(),
        policies: Policies { restart: RestartPolicy { max_restarts: restarts }, on_disconnect, ..Policies::default() },
        priority: 0,
        labels: BTreeMap::new(),
    }
}
