//! What operators say of environments.

use fermi_domain::environment::Duty;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::task::TaskInput;

use super::{Server, StoreDown};
use crate::truth::Truth;

impl Server {
    pub(super) fn duty(&self, id: &EnvironmentId) -> Duty {
        self.database.duties.get(id).copied().unwrap_or_default()
    }

    fn set_duty(&mut self, id: &EnvironmentId, duty: Duty) {
        match duty {
            Duty::Serves => self.database.duties.remove(id),
            duty => self.database.duties.insert(id.clone(), duty),
        };
        self.openings += 1;
        self.is_rung = true;
    }

    /// Its agent is welcomed: it is not lost any more, and what was said of its service holds.
    pub(super) fn comes_back(&mut self, id: &EnvironmentId) {
        match self.duty(id) {
            Duty::Lost => self.set_duty(id, Duty::Serves),
            Duty::LostAndDrained => self.set_duty(id, Duty::Drained),
            Duty::Serves | Duty::Drained => {}
        }
    }

    /// What runs goes on, and nothing new starts.
    pub fn drain(&mut self, id: &EnvironmentId, now: u64) -> Result<(), StoreDown> {
        self.write(now)?;
        self.set_duty(id, self.duty(id).drained());
        Ok(())
    }

    pub fn resume(&mut self, id: &EnvironmentId, now: u64) -> Result<(), StoreDown> {
        self.write(now)?;
        self.set_duty(id, Duty::Serves);
        Ok(())
    }

    /// An operator says that the machine behind an environment is off.
    pub fn declare_lost(&mut self, id: &EnvironmentId, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        self.lose(id, now, truth);
        Ok(())
    }

    /// The same, and another machine may take its name.
    pub fn replace(&mut self, id: &EnvironmentId, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        self.lose(id, now, truth);
        if let Some((_, identity)) = self.database.environments.get_mut(id) {
            *identity = std::mem::take(identity).replaced();
        }
        Ok(())
    }

    fn lose(&mut self, id: &EnvironmentId, now: u64, truth: &mut Truth) {
        self.set_duty(id, self.duty(id).lost());
        let lost: Vec<(TaskId, Vec<TaskInput>)> = self
            .live_tasks()
            .map(|task| {
                let nodes = task.lost_nodes(|environment| environment == id).into_iter();
                (task.id.clone(), nodes.map(|node| TaskInput::NodeLost { node }).collect())
            })
            .collect();
        for (task, inputs) in lost.into_iter().filter(|(_, inputs)| !inputs.is_empty()) {
            if let Some(generation) = self.database.tasks.get(&task).map(|task| task.generation) {
                truth.incomplete.insert((task.clone(), generation));
            }
            self.apply_within(&task, inputs, now, truth);
        }
        self.give_up(id);
    }
}
