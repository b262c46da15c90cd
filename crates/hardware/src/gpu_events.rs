//! Errors that GPUs report, as they happen: NVML's events, heard by a thread of their own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::{NvmlError, NvmlErrorWithSource};

/// An error of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuError {
    /// The number of the GPU in the machine.
    pub gpu: u32,
    /// The number of the error, as the driver writes it into the kernel's log.
    pub xid: u64,
}

/// What is told of a GPU that does not answer any more: it has fallen off the bus.
const LOST: u64 = 79;
/// What is told of memory with an error of two bits, which is an event of its own.
const DOUBLE_BIT: u64 = 48;
/// Each wait ends after so long, so that the thread sees that nobody listens any more.
const WAIT_MS: u32 = 1_000;

/// Errors of all GPUs of this machine from now on; none where there is no driver. What is not heard costs nothing: the thread
/// ends with whoever listens.
pub fn errors() -> Receiver<GpuError> {
    let (tell, told) = channel();
    // Without a thread nothing is heard, and a training needs nothing of it.
    let _ = thread::Builder::new().name("gpu-errors".to_owned()).spawn(move || {
        let _ = follow(&tell);
    });
    told
}

fn follow(tell: &Sender<GpuError>) -> Result<(), NvmlErrorWithSource> {
    let nvml = Nvml::init()?;
    let watched = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
    let (mut set, count) = (nvml.create_event_set()?, nvml.device_count()?);
    for index in 0..count {
        let Ok(device) = nvml.device_by_index(index) else { continue };
        let supported = device.supported_event_types().unwrap_or(EventTypes::empty()) & watched;
        if !supported.is_empty() {
            set = device.register_events(supported, set)?;
        }
    }
    let mut lost = Vec::new();
    loop {
        let mut rest = Duration::ZERO;
        let told = match set.wait(WAIT_MS) {
            Ok(event) => {
                let gpu = event.device.index()?;
                let xid = match event.event_data {
                    Some(XidError::Value(xid)) => xid,
                    Some(XidError::Unknown) => 0,
                    None => DOUBLE_BIT,
                };
                vec![GpuError { gpu, xid }]
            }
            Err(NvmlError::Timeout) => Vec::new(),
            Err(NvmlError::GpuLost) => {
                let new: Vec<u32> = lost_of(&nvml, count).into_iter().filter(|gpu| !lost.contains(gpu)).collect();
                lost.extend(&new);
                // It is said again at once as long as it is so.
                rest = Duration::from_millis(u64::from(WAIT_MS));
                new.into_iter().map(|gpu| GpuError { gpu, xid: LOST }).collect()
            }
            Err(error) => return Err(error.into()),
        };
        for error in told {
            if tell.send(error).is_err() {
                return Ok(());
            }
        }
        thread::sleep(rest);
    }
}

/// The GPUs that do not answer any more.
fn lost_of(nvml: &Nvml, count: u32) -> Vec<u32> {
    let is_lost = |index: &u32| match nvml.device_by_index(*index) {
        Ok(device) => matches!(device.memory_info(), Err(NvmlError::GpuLost)),
        Err(error) => matches!(error, NvmlError::GpuLost),
    };
    (0..count).filter(is_lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_tells_nothing() {
        if Nvml::init().is_err() {
            assert!(errors().recv().is_err());
        }
    }
}
