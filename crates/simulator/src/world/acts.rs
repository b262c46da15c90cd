//! What a plan does to the world: faults, and people.

use fermi_domain::exit::Exit;
use fermi_domain::ids::TaskId;

use super::{Event, World};
use crate::plan::{Action, MACHINES, Way};
use crate::server::Death;
use crate::supervisor::Keepers;

impl World {
    pub(super) fn act(&mut self, action: Action) {
        self.tell(|_| format!("{action:?}"));
        match action {
            Action::Pause { machine, .. } | Action::Cut { machine, .. } => {
                self.harm_machine(usize::from(machine) % MACHINES);
            }
            _ => {}
        }
        let index = |number: u8, count: usize| usize::from(number) % count.max(1);
        let seconds = |count: u8| u64::from(count) * 1_000;
        match action {
            Action::Create { nodes, restarts, again } => self.create(nodes, restarts, again),
            Action::Stop { task, force } => {
                if let Some(id) = self.task(task).filter(|_| self.server.is_up) {
                    let _ = self.server.stop(&id, force, self.now, &mut self.truth);
                    self.ring_server();
                }
            }
            Action::Restart { task, again } => {
                if let Some(id) = self.task(task).filter(|_| self.server.is_up) {
                    self.next_key += 1;
                    let key = self.next_key;
                    let is_done = self.server.restart(&id, key, self.now, &mut self.truth).is_ok();
                    if again && is_done {
                        let before = self.server.database.tasks.get(&id).cloned();
                        let _ = self.server.restart(&id, key, self.now, &mut self.truth);
                        if self.server.database.tasks.get(&id) != before.as_ref() {
                            let what = format!("a restart of {id} that was sent twice is done twice");
                            self.truth.broken(self.now, "a request that is repeated is done once", what);
                        }
                    }
                    self.ring_server();
                }
            }
            Action::Delete { task } => {
                if let Some(id) = self.task(task).filter(|_| self.server.is_up) {
                    let _ = self.server.delete(&id, self.now);
                    // What runs under the name of a task that is deleted is ended with it.
                    if !self.server.database.tasks.contains_key(&id) {
                        self.truth.unknown.retain(|run| run.task != id);
                    }
                }
            }
            Action::DeleteEnvironment { machine } => {
                let name = self.agents[index(machine, MACHINES)].name.clone();
                if let Some(id) = self.server.environment_named(&name).filter(|_| self.server.is_up) {
                    self.server.delete_environment(&id, self.now);
                }
            }
            Action::DeclareLost { machine } => {
                // An operator says so only of a machine that is off.
                let machine = index(machine, MACHINES);
                if !self.machines[machine].is_up {
                    let _ = self.declare_lost(machine);
                }
            }
            Action::KillAgent { machine, back_after_ms } => {
                let agent = index(machine, MACHINES);
                self.kill_agent(agent, "is killed");
                self.at(self.now + u64::from(back_after_ms), Event::AgentBack { agent });
            }
            Action::KillAgentWhenItStarts { machine } => {
                self.agents[index(machine, MACHINES)].dies_when_it_starts = true;
            }
            Action::KillSupervisor { run } => {
                if let Some(keepers) = self.living(run) {
                    self.truth.harmed(&self.keepers[keepers].run.task);
                    self.keepers_exit(keepers);
                }
            }
            Action::KillBothKeepers { run } => {
                if let Some(keepers) = self.living(run) {
                    self.truth.harmed(&self.keepers[keepers].run.task);
                    self.kill_both_keepers(keepers);
                }
            }
            Action::KillRank { run } => {
                if let Some(keepers) = self.living(run)
                    && let Some((rank, attempt)) = self.keepers[keepers].alive.first_key_value()
                {
                    let (rank, attempt) = (*rank, *attempt);
                    let exit = Exit::Signal { signal: libc::SIGKILL, core_dumped: false };
                    self.rank_ends(keepers, rank, attempt, exit);
                }
            }
            Action::Reboot { machine, back_after_ms } => {
                let machine = index(machine, MACHINES);
                if self.machines[machine].is_up {
                    self.stop_machine(machine);
                    self.at(self.now + u64::from(back_after_ms), Event::MachineBack { machine });
                }
            }
            Action::Vanish { machine } => {
                let machine = index(machine, MACHINES);
                if self.machines[machine].is_up {
                    self.machines[machine].has_vanished = true;
                    let here = self.keepers.iter().filter(|keepers| keepers.machine == machine);
                    let lost: Vec<_> = here.map(|keepers| (keepers.run.task.clone(), keepers.run.generation)).collect();
                    self.truth.incomplete.extend(lost);
                    self.stop_machine(machine);
                }
            }
            Action::Pause { machine, for_s } => {
                // Never shorter than before: what waits for its end arrives in the order in which it was sent.
                let until = self.now + seconds(for_s);
                let machine = &mut self.machines[index(machine, MACHINES)];
                machine.paused_until = machine.paused_until.max(until);
            }
            Action::Cut { machine, way, for_s } => {
                let until = self.now + seconds(for_s);
                let machine = &mut self.machines[index(machine, MACHINES)];
                if matches!(way, Way::Both | Way::ToServer) {
                    machine.cut_to_server_until = until;
                }
                if matches!(way, Way::Both | Way::ToAgent) {
                    machine.cut_to_agent_until = until;
                }
                if matches!(way, Way::Both | Way::Peers) {
                    machine.cut_from_peers_until = until;
                }
            }
            Action::Proxy { machine, answer, for_s } => {
                self.machines[index(machine, MACHINES)].proxy = Some((answer, self.now + seconds(for_s)));
            }
            Action::LatePieces { machine, for_s } => {
                self.machines[index(machine, MACHINES)].late_until = self.now + seconds(for_s);
            }
            Action::LoseLock { run } => {
                if let Some(files) = self.living(run).and_then(|keepers| self.files_of(keepers)) {
                    files.has_lock = false;
                }
            }
            Action::SecondAgent { machine } => self.second_agent(index(machine, MACHINES)),
            Action::CopyFolder { machine, to } => self.copy_folder(index(machine, MACHINES), index(to, MACHINES)),
            Action::KillServer { back_after_ms } => {
                if self.server.is_up {
                    self.kill_server();
                    self.at(self.now + u64::from(back_after_ms), Event::ServerBack);
                }
            }
            Action::Backup if self.server.is_up => self.server.back_up(),
            Action::Backup => {}
            Action::Restore { back_after_ms } => self.restore(u64::from(back_after_ms)),
            Action::EndStrays => self.end_strays(),
            Action::StoreFails { for_s } => self.server.disk.fails_until_ms = self.now + seconds(for_s),
            Action::FailWrites { after, count } => self.server.disk.fail(after, count),
            Action::DieInWrite { after, is_kept, back_after_ms } => {
                self.server.disk.die(Death { after, is_kept, back_after_ms: u64::from(back_after_ms) });
            }
            Action::FillDisk { machine, for_s, has_reserve } => {
                let until = self.now + seconds(for_s);
                let machine = &mut self.machines[index(machine, MACHINES)];
                (machine.full_until, machine.has_reserve) = (until, has_reserve);
            }
            Action::Drain { machine } => self.drain(index(machine, MACHINES)),
            Action::Resume { machine } => self.resume(index(machine, MACHINES)),
            Action::Replace { machine } => self.replace(index(machine, MACHINES)),
            Action::ClockJump { seconds } => self.server.clock_skew_ms += i64::from(seconds) * 1_000,
        }
    }

    fn task(&self, number: u8) -> Option<TaskId> {
        let tasks = &self.server.database.tasks;
        tasks.keys().nth(usize::from(number) % tasks.len().max(1)).cloned()
    }

    fn living(&self, number: u8) -> Option<usize> {
        let living = || (0..self.keepers.len()).filter(|keepers| self.keepers[*keepers].is_up);
        living().nth(usize::from(number) % living().count().max(1))
    }

    fn files_of(&mut self, keepers: usize) -> Option<&mut crate::agent::RunFiles> {
        let Keepers { agent, run, .. } = &self.keepers[keepers];
        self.agents[*agent].folder.runs.get_mut(run)
    }

    /// Faults have ended: all that can come back does.
    pub(super) fn repair(&mut self) {
        self.tell(|_| "faults end".to_owned());
        self.server.disk.mend();
        self.start_server();
        for machine in 0..self.machines.len() {
            let now = self.now;
            let entry = &mut self.machines[machine];
            (entry.cut_to_server_until, entry.cut_to_agent_until, entry.cut_from_peers_until) = (now, now, now);
            (entry.proxy, entry.late_until, entry.full_until) = (None, now, now);
            self.start_machine(machine);
        }
        for agent in 0..self.agents.len() {
            self.agents[agent].dies_when_it_starts = false;
            self.start_agent(agent);
        }
    }
}
