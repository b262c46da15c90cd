//! A GPU that reports an error of the node's takes its environment out of service, where operators want that.

use fermi_domain::device_fault::DeviceFault;
use fermi_domain::environment::Duty;
use fermi_domain::event::RunEvent;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::principal::Principal;
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction};

/// Drains an environment that serves if one of these events is such an error; whether it did.
pub fn drain<'a>(
    tx: &mut Transaction<'_>,
    id: &EnvironmentId,
    events: impl IntoIterator<Item = &'a RunEvent>,
    now_ms: u64,
) -> Result<bool, StoreError> {
    let Some(fault) = events.into_iter().find_map(fault_of_the_node) else { return Ok(false) };
    // Who has put it back into service, or has drained it, knows of the error.
    let Some(row) = tx.environment(id)?.filter(|row| row.duty == Duty::Serves) else { return Ok(false) };
    tx.set_duty(id, row.duty.drained())?;
    let text = fault.drains(&row.environment.name);
    tracing::warn!(environment = %row.environment.name, gpu = fault.gpu, xid = fault.xid, "drained for a faulty GPU");
    tx.append_event(NewEvent::new(now_ms, "environment.drained", text, Principal::System).about_environment(id))?;
    Ok(true)
}

/// The class is looked up here: what an agent of another version says of the number does not count.
fn fault_of_the_node(event: &RunEvent) -> Option<DeviceFault> {
    match event {
        RunEvent::DeviceFault { gpu, xid, .. } => {
            Some(DeviceFault { gpu: *gpu, xid: *xid }).filter(|fault| fault.is_of_the_node())
        }
        _ => None,
    }
}
