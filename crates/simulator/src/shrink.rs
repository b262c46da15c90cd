//! Makes a history that fails as short as it gets.

use crate::plan::Plan;
use crate::play;

/// Leaves out as many actions as it can while the same promise stays broken.
pub fn shrink(plan: &Plan) -> Plan {
    let Some(violation) = play(plan) else { return plan.clone() };
    let mut best = plan.clone();
    let mut size = best.actions.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.actions.len() {
            let mut shorter = best.clone();
            shorter.actions.drain(at..(at + size).min(best.actions.len()));
            if play(&shorter).is_some_and(|other| other.promise == violation.promise) {
                best = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    best
}
