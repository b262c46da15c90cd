//! How an agent takes over the runs of a cluster that are on this machine: adopts, watches and uploads them.

use std::collections::HashMap;

use fermi_domain::fleet::Life;
use fermi_domain::task::RunKey;

use super::{Agent, Event, Owned};
use crate::adoption::{self, Traces};
use crate::data_folder::{ClusterFolder, RunOnDisk, StreamPlan};
use crate::error::AgentError;
use crate::keepers;
use crate::options::AgentNews;
use crate::run_registry::RunRegistry;
use crate::upload::UploadOrder;

/// Takes in the runs that an earlier agent left in the folder of a cluster. What was never started goes.
pub(super) fn adopt(folder: &ClusterFolder, registry: &mut RunRegistry) -> Result<Vec<RunOnDisk>, AgentError> {
    let found = folder.runs()?;
    for RunOnDisk { run, is_refused, has_journal, .. } in &found {
        let life = keepers::life(&folder.run_id(run), &folder.keepers_lock(run), &folder.live);
        if life == Life::Unknown {
            tracing::warn!(%run, "whether a run lives cannot be told; it is taken for alive");
        }
        match adoption::adopt(Traces { life, is_refused: *is_refused, has_journal: *has_journal }) {
            Some(state) => registry.found(run.clone(), state),
            None => folder.delete_run(run),
        }
    }
    Ok(found)
}

impl<T: Fn(AgentNews)> Agent<T> {
    /// Takes in the runs of a server's cluster as a new agent would. Another server's runs are strangers: they go on, and are
    /// nothing to this one.
    pub(super) fn move_to(&mut self, name: &str) -> Result<(), AgentError> {
        let before = std::mem::take(&mut self.registry);
        for known in before.known() {
            for uploader in [&self.journals, &self.streams] {
                uploader.order(UploadOrder::Drop(known.run.clone()));
            }
        }
        self.shared.live.clear();
        self.assignments.clear();
        self.unwatched.clear();
        let folder = self.data.cluster(name);
        let found = adopt(&folder, &mut self.registry)?;
        if self.cluster.as_ref().is_some_and(|cluster| cluster.name == name) {
            self.registry.keep_unstarted(before);
        }
        self.cluster = Some(folder);
        // Without it the next hello names no runs, and the welcome finds them all the same.
        let _ = self.data.remember_cluster(name);
        self.take_over(found);
        Ok(())
    }

    /// Watches and uploads what an earlier agent left.
    pub(super) fn take_over(&mut self, found: Vec<RunOnDisk>) {
        let Some(cluster) = self.cluster.clone() else { return };
        let alive: HashMap<RunKey, bool> =
            self.registry.known().into_iter().map(|known| (known.run, known.alive)).collect();
        for found in found {
            let Some(alive) = alive.get(&found.run).filter(|_| !found.is_refused) else { continue };
            self.upload(&found.run, found.plan, &cluster, false);
            if *alive {
                self.watch(&found.run, &cluster);
                self.tell(AgentNews::Adopted { run: found.run });
            } else {
                for uploader in [&self.journals, &self.streams] {
                    uploader.order(UploadOrder::Rest(found.run.clone()));
                }
            }
        }
        self.note_known();
    }

    pub(super) fn watch(&mut self, run: &RunKey, cluster: &ClusterFolder) {
        self.shared.live.add(run.clone(), cluster.run(run));
        let events = self.events.clone();
        let owned = Owned { cluster: cluster.name.clone(), run: run.clone() };
        let gone = move |ended| drop(events.send(Event::KeepersGone(owned, ended)));
        if keepers::watch(cluster.run_id(run), cluster.keepers_lock(run), cluster.live.clone(), gone).is_err() {
            // No thread to be had for now.
            self.unwatched.push(run.clone());
        }
    }

    /// Watches the runs for which there was no thread.
    pub(super) fn watch_again(&mut self) {
        let Some(cluster) = self.cluster.clone().filter(|_| !self.unwatched.is_empty()) else { return };
        for run in std::mem::take(&mut self.unwatched) {
            self.watch(&run, &cluster);
        }
    }

    pub(super) fn upload(&self, run: &RunKey, plan: StreamPlan, cluster: &ClusterFolder, is_fresh: bool) {
        for uploader in [&self.journals, &self.streams] {
            uploader.order(UploadOrder::Add {
                run: run.clone(),
                folder: cluster.run(run),
                ranks: plan.ranks.clone(),
                first_attempt: plan.first_attempt,
                is_fresh,
            });
        }
    }
}
