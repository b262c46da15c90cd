//! Errors of the GPUs of this node while ranks run: told at once, and joined to why a rank has failed.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use fermi_domain::contract::CUDA_VISIBLE_DEVICES;
use fermi_domain::device_fault::{DeviceFault, DeviceFaultClass, explained_by, gpu_of};
use fermi_domain::event::RunEvent;
use fermi_domain::failure::Diagnosis;
use fermi_domain::language::Text;
use fermi_hardware::gpu_events::{self, GpuError};

use super::event_sink::EventSink;
use crate::bundle::RankPlan;

/// So many are kept of an attempt: a GPU that fails may say so without end.
const MOST: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What was heard in the attempt that runs.
#[derive(Debug)]
pub struct DeviceWatch {
    /// None until ranks run: looking for the driver takes a thread and a millisecond, which their start would pay for.
    told: Option<Receiver<GpuError>>,
    /// Whether anything can be heard: there is a driver.
    is_open: bool,
    /// The GPU of each rank, as far as its number is known.
    gpus: BTreeMap<u32, u32>,
    faults: Vec<DeviceFault>,
}

impl DeviceWatch {
    pub fn new() -> Self {
        Self { told: None, is_open: true, gpus: BTreeMap::new(), faults: Vec::new() }
    }

    /// When it is to be looked at even if nothing else happens.
    pub fn wake_in(&self) -> Option<Duration> {
        self.is_open.then_some(LOOK_EVERY)
    }

    /// What was heard before belongs to attempts that are over.
    pub fn attempt_begins(&mut self, ranks: &[RankPlan]) {
        while self.next().is_some() {}
        self.faults.clear();
        let gpu = |rank: &RankPlan| Some((rank.place.rank, gpu_of(rank.place.local_rank, visible(rank).as_deref())?));
        self.gpus = ranks.iter().filter_map(gpu).collect();
    }

    /// Tells what has happened since the last look; each error of a GPU once.
    pub fn look(&mut self, attempt: u32, events: &mut EventSink) {
        if attempt > 0 {
            self.told.get_or_insert_with(gpu_events::errors);
        }
        while let Some(GpuError { gpu, xid }) = self.next() {
            let fault = DeviceFault { gpu, xid };
            if self.faults.len() < MOST && !self.faults.contains(&fault) {
                self.faults.push(fault);
                let ranks = self.gpus.iter().filter(|(_, own)| **own == gpu).map(|(rank, _)| *rank).collect();
                let (class, text, hint) = (fault.class(), Box::new(fault.text()), Box::new(fault.hint()));
                events.record(RunEvent::DeviceFault { attempt, gpu, xid, class, ranks, text, hint });
            }
        }
    }

    fn next(&mut self) -> Option<GpuError> {
        let next = self.told.as_ref()?.try_recv();
        self.is_open &= next != Err(TryRecvError::Disconnected);
        next.ok()
    }

    /// What is said of a hang, with what GPUs have reported that may be why.
    pub fn joined(&self, text: Text) -> Text {
        let is_why = |fault: &&DeviceFault| fault.class() != DeviceFaultClass::Application;
        let Some(said) = self.faults.iter().find(is_why).map(|fault| fault.text()) else { return text };
        Text::new(format!("{}；{}", text.zh, said.zh), format!("{}; {}", text.en, said.en))
    }

    /// Why a rank has failed, given what its GPU has reported.
    pub fn explain(&self, rank: u32, diagnosis: Option<Diagnosis>) -> Option<Diagnosis> {
        let Some(gpu) = self.gpus.get(&rank) else { return diagnosis };
        let own: Vec<DeviceFault> = self.faults.iter().filter(|fault| fault.gpu == *gpu).copied().collect();
        explained_by(&own, diagnosis)
    }
}

/// What CUDA shows the rank: what its launch says, else what it inherits.
fn visible(rank: &RankPlan) -> Option<String> {
    let own = rank.command.env.iter().find(|(name, _)| name == CUDA_VISIBLE_DEVICES);
    own.map(|(_, value)| value.clone()).or_else(|| std::env::var(CUDA_VISIBLE_DEVICES).ok())
}
