//! A survey as it is sent to those who did not measure: findings, what differs, and two maps.

use fermi_domain::finding::Finding;
use fermi_domain::preflight::{PreflightReport, VersionDifference, VersionOf};

use super::survey::Survey;
use crate::check::wire::{Difference, differences, interfaces};

pub fn report(survey: &Survey, findings: Vec<Finding>) -> PreflightReport {
    let nodes = survey.nnodes;
    let map = |value: &dyn Fn(usize, usize) -> Option<u64>| -> Vec<Vec<Option<u64>>> {
        let cell = |from: usize, to: usize| if from == to { None } else { value(from, to) };
        (0..nodes).map(|from| (0..nodes).map(|to| cell(from, to)).collect()).collect()
    };
    PreflightReport {
        findings,
        differences: differences(survey).into_iter().map(told).collect(),
        round_trips_us: map(&|from, to| survey.best(from, to).map(|pings| pings.least_us)),
        bytes_per_second: map(&|from, to| survey.speed(from, to).map(|speed| speed as u64)),
        untried: survey.untried(),
        interfaces: interfaces(survey),
        missing: survey.nodes.iter().filter(|node| node.greeting.is_none()).map(|node| node.node).collect(),
    }
}

fn told(difference: Difference) -> VersionDifference {
    let Difference { what, versions, state } = difference;
    let versions = versions.into_iter().map(|(version, nodes)| VersionOf { version, nodes }).collect();
    VersionDifference { what: what.to_owned(), state, versions }
}
