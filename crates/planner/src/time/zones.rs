//! What crosses from zone to zone: gradients once a step, or far more where parameters are spread over all zones.

use crate::job::Job;
use crate::sharding::Sharding;

pub fn seconds(job: &Job) -> f64 {
    let Some(zones) = job.cluster.zones.filter(|z| z.count > 1) else {
        return 0.0;
    };
    let rate = zones.gbps * 1e9 / 8.0 * 0.9;
    if rate <= 0.0 {
        return f64::INFINITY;
    }
    let round_trip = zones.round_trip_ms * 1e-3;
    let spread = (zones.count - 1) as f64 / zones.count as f64;
    let params = job.architecture.params() as f64;
    let per_zone = job.cluster.gpus / zones.count;
    let model = job.layout.tp * job.layout.pp * job.layout.cp;
    if model > per_zone {
        // A pipeline that spans zones sends activations for every micro-batch.
        let bytes = 2.0 * 2.0 * job.tokens_per_micro_batch() * job.architecture.hidden as f64;
        return job.layout.accumulation as f64 * (bytes * job.layout.dp as f64 / rate + round_trip);
    }
    match job.layout.sharding {
        // One copy of the gradients leaves and enters each zone.
        Sharding::Ddp | Sharding::Zero1 | Sharding::Zero2 => 2.0 * spread * 2.0 * params / rate + 2.0 * round_trip,
        Sharding::Hybrid(size) if size <= per_zone => 2.0 * spread * 2.0 * params / rate + 2.0 * round_trip,
        // Parameters are gathered over the link block by block, in every micro-batch.
        Sharding::Zero3 | Sharding::FsdpFull | Sharding::FsdpGradOp | Sharding::Hybrid(_) => {
            let blocks = job.architecture.layers as f64;
            job.layout.accumulation as f64 * (3.0 * spread * 2.0 * params / rate + 3.0 * blocks * round_trip)
        }
    }
}
