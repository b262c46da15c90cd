//! The cluster of the weeks: forty machines with eight GPUs each, two zones, two GPU models.

use std::collections::BTreeMap;

use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::queue::{Offer, WorkerRun};

pub const MACHINES: u64 = 40;
pub const GPUS: u32 = 8;
pub const WORKERS: u64 = MACHINES * GPUS as u64;

pub fn offers() -> Vec<Offer> {
    let offer = |number: u64| {
        let (model, zone) = match number {
            0..16 => ("H100", "a"),
            16..24 => ("H100", "b"),
            _ => ("A100", "a"),
        };
        let name = format!("n{number}");
        Offer {
            environment: name.as_str().into(),
            name,
            zone: Some(zone.to_owned()),
            labels: BTreeMap::new(),
            status: EnvironmentStatus::Running,
            runs: vec![WorkerRun { model: Some(model.to_owned()), count: GPUS }],
        }
    };
    (0..MACHINES).map(offer).collect()
}
