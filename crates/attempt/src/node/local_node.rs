//! This node as the coordinator driver and the follower see it.

use fermi_domain::event::RunEvent;
use fermi_process::lease::Lease;

use super::event_sink::EventSink;
use super::executor::Executor;
use crate::bundle::NodeBundle;
use crate::node_message::{NodeCommand, NodeReport};

/// What acts here, and what records.
#[derive(Debug)]
pub struct Node {
    pub executor: Executor,
    pub events: EventSink,
    /// Kept by the warden.
    pub lease: Lease,
}

impl Node {
    pub fn bundle(&self) -> &NodeBundle {
        &self.executor.bundle
    }

    pub fn record(&mut self, event: RunEvent) {
        self.events.record(event);
    }

    pub fn obey(&mut self, command: NodeCommand) -> Vec<NodeReport> {
        self.executor.obey(command, &mut self.events)
    }

    pub fn look(&mut self) -> Vec<NodeReport> {
        self.executor.look(&mut self.events)
    }

    /// Answers whether nothing is left.
    pub fn end_at_once(&mut self) -> bool {
        self.executor.end_at_once(&mut self.events)
    }
}
