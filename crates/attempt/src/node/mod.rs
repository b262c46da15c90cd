//! The supervisor of one node.
//!
//! [`run`] is the whole life of the process: an [`event_loop`] over everything that can happen. What the node itself does
//! (start, signal, sweep) is done by the [`executor`], with the [`rank_processes`] of the attempt, whoever decides: the
//! coordinator in this very process ([`coordinator_driver`], with the other nodes as its [`peers`]), or one on another node
//! ([`follower`]). The [`event_sink`] records what happens.

mod coordinator_driver;
mod event_loop;
mod event_sink;
mod executor;
mod follower;
mod peers;
mod rank_processes;

use fermi_domain::event::RunEvent;

use crate::bundle::NodeBundle;
use crate::word::{NodeCommand, NodeReport};

pub use event_loop::run;

/// This node: what acts, and what records.
#[derive(Debug)]
struct Node {
    executor: executor::Executor,
    events: event_sink::EventSink,
}

impl Node {
    fn bundle(&self) -> &NodeBundle {
        &self.executor.bundle
    }

    fn record(&mut self, event: RunEvent) {
        self.events.record(event);
    }

    fn obey(&mut self, command: NodeCommand) -> Vec<NodeReport> {
        self.executor.obey(command, &mut self.events)
    }

    fn look(&mut self) -> Vec<NodeReport> {
        self.executor.look(&mut self.events)
    }

    fn end_at_once(&mut self) {
        self.executor.end_at_once(&mut self.events);
    }
}
