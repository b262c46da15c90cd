//! How an agent starts a run: everything for it is fetched in a thread of its own, then its keepers are started.

use std::ffi::OsString;
use std::thread;

use fermi_api::link::{AgentMessage, Assignment, LaunchFailed};
use fermi_domain::access::RunAs;
use fermi_domain::task::RunKey;
use fermi_process::lease::{self, ServerLease};

use super::{Agent, Event, Owned};
use crate::data_folder::{ClusterFolder, StreamPlan};
use crate::dataset;
use crate::keepers;
use crate::link::Outbox;
use crate::options::AgentNews;
use crate::prepare::{self, PrepareRefusal};
use crate::run_as;
use crate::run_registry::AgentInput;

impl<T: Fn(AgentNews)> Agent<T> {
    /// In a thread: code may have to come from the server first.
    pub(super) fn prepare(&mut self, assignment: Box<Assignment>, cluster: ClusterFolder) {
        let run = assignment.run.clone();
        self.assignments.insert(run.clone(), assignment.clone());
        let events = self.events.clone();
        let client = self.client.clone();
        let rule = self.run_as.clone();
        let owned = Owned { cluster: cluster.name.clone(), run };
        let failed = owned.clone();
        let (span, outbox) = (tracing::Span::current(), self.outbox.clone());
        let started = thread::Builder::new().name("prepare".into()).stack_size(1 << 20).spawn(move || {
            let _span = span.entered();
            let made = see_dataset(&assignment, &rule, &outbox)
                .and_then(|()| prepare::prepare(&assignment, &cluster, &rule, |digest| client.snapshot(digest)));
            let _ = events.send(Event::Ready(owned, made.map(Box::new)));
        });
        if let Err(error) = started {
            let _ = self.events.send(Event::Ready(failed, Err(PrepareRefusal::keepers(&error))));
        }
    }

    /// Starts the keepers of a run for which everything is there.
    pub(super) fn start(&mut self, run: &RunKey, cluster: &ClusterFolder) {
        let (Some(mut bundle), Some(assignment)) = (self.ready.remove(run), self.assignments.remove(run)) else {
            return;
        };
        match self.lease_of(&assignment) {
            Ok(lease) => bundle.server_lease = lease,
            Err(refusal) => return self.failed(refusal.for_run(run.clone())),
        }
        let of_agent = run_as::OF_THE_AGENT.iter().filter(|_| bundle.account.is_some()).map(OsString::from);
        let hidden: Vec<OsString> = self.hidden.iter().cloned().chain(of_agent).collect();
        let started = cluster
            .write_assignment(&assignment)
            .map_err(|error| PrepareRefusal::folder(&cluster.run(run), &error))
            .and_then(|()| {
                keepers::start(*bundle, &cluster.keepers_lock(run), &hidden)
                    .map_err(|error| PrepareRefusal::keepers(&error))
            });
        if let Err(refusal) = started {
            self.failed(refusal.for_run(run.clone()));
            return;
        }
        self.upload(run, StreamPlan::of(&assignment), cluster, true);
        self.watch(run, cluster);
        self.tell(AgentNews::Launched { run: run.clone() });
    }

    /// Tells the server that a run could not be started, and why.
    pub(super) fn failed(&mut self, failed: LaunchFailed) {
        let LaunchFailed { run, reason, hint, .. } = failed.clone();
        self.tell(AgentNews::LaunchFailed { run, reason, hint });
        self.apply(AgentInput::Failed(failed));
    }

    /// What a run holds from the server when it is started; none for one that goes on without it.
    fn lease_of(&self, assignment: &Assignment) -> Result<Option<ServerLease>, PrepareRefusal> {
        let Some(length_ms) = assignment.policy.server_lease_ms else { return Ok(None) };
        let until_ms = self.shared.heard.asked_ms().saturating_add(length_ms);
        if until_ms <= lease::boot_ms() {
            return Err(PrepareRefusal::ServerLost);
        }
        Ok(Some(ServerLease { length_ms, until_ms }))
    }
}

/// Looks at the dataset that came with an assignment as its ranks would, and tells the server what is there.
fn see_dataset(assignment: &Assignment, rule: &RunAs, outbox: &Outbox) -> Result<(), PrepareRefusal> {
    let Some(expected) = &assignment.dataset else { return Ok(()) };
    let account = run_as::account_for(rule, assignment.owner.as_deref()).map_err(PrepareRefusal::RunAs)?;
    let looked = dataset::check(expected, account);
    outbox.send(AgentMessage::DatasetLooked {
        run: assignment.run.clone(),
        version: expected.version_id.clone(),
        seen: looked.as_ref().ok().cloned(),
    });
    looked.map(|_| ()).map_err(PrepareRefusal::Dataset)
}
