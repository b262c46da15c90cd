//! Looks who waits for whom while ranks start.

use super::CoordinatorDriver;
use crate::node::local_node::Node;
use crate::node_message::NodeCommand;

impl CoordinatorDriver {
    /// Asks the nodes for what it needs to know, and tells all of them what it sees.
    pub(super) fn mind_start_up(&mut self, node: &mut Node) {
        if !self.start_up.is_due() {
            return;
        }
        let waiting = self.serving.waiting();
        if self.start_up.asks(waiting.as_deref()) {
            for number in self.order.clone() {
                self.start_up.asked(number);
                match number {
                    0 => {
                        let reports = node.obey(NodeCommand::CheckJoined);
                        self.take_reports(0, reports, node);
                    }
                    _ => self.peers.send(number, &NodeCommand::CheckJoined),
                }
            }
        }
        if let Some(event) = self.start_up.look(waiting.as_deref()) {
            // Our own node answers nothing to what it is told.
            let _ = self.tell_all(event, node);
        }
    }
}
