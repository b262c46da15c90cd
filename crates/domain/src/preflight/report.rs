//! What the nodes have found of each other, as the first of them tells it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::interface;
use crate::finding::{Finding, FindingState};

/// Everything, by node rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreflightReport {
    pub findings: Vec<Finding>,
    pub differences: Vec<VersionDifference>,
    /// The shortest round trips in microseconds, from row to column; none where two do not reach each other.
    pub round_trips_us: Vec<Vec<Option<u64>>>,
    /// Bytes per second between two; none where nothing was measured.
    pub bytes_per_second: Vec<Vec<Option<u64>>>,
    /// From and to, of the round trips that there was no time to try.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<(usize, usize)>,
    /// Each node's interface at which all others get through; empty of older releases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Option<String>>,
    /// Who never came.
    pub missing: Vec<usize>,
}

/// Something of which nodes have different versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionDifference {
    /// Such as `torch` or `driver`.
    pub what: String,
    /// How much it matters.
    pub state: FindingState,
    pub versions: Vec<VersionOf>,
}

/// A version and who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionOf {
    pub version: String,
    pub nodes: Vec<usize>,
}

/// Findings, differences and names beyond these are not kept: what an agent sends has a bound.
const MOST_FINDINGS: usize = 400;
const MOST_DIFFERENCES: usize = 40;

impl PreflightReport {
    /// With the numbers of the preflight's list instead of ranks: `numbers[rank]`. What lies outside is left out.
    pub fn renumbered(self, numbers: &[usize], count: usize) -> Self {
        let number = |rank: usize| numbers.get(rank).copied();
        let all = |ranks: Vec<usize>| -> Vec<usize> {
            let mut found: Vec<usize> = ranks.into_iter().filter_map(number).collect();
            found.sort_unstable();
            found
        };
        let findings = self.findings.into_iter().take(MOST_FINDINGS);
        let differences = self.differences.into_iter().take(MOST_DIFFERENCES);
        let of_nodes = |versions: Vec<VersionOf>| {
            versions.into_iter().take(count).map(|it| VersionOf { nodes: all(it.nodes), ..it }).collect()
        };
        Self {
            findings: findings.map(|finding| Finding { nodes: all(finding.nodes.clone()), ..finding }).collect(),
            differences: differences
                .map(|it| VersionDifference { versions: of_nodes(it.versions.clone()), ..it })
                .collect(),
            round_trips_us: moved(&self.round_trips_us, numbers, count),
            bytes_per_second: moved(&self.bytes_per_second, numbers, count),
            untried: self.untried.into_iter().filter_map(|(from, to)| Some((number(from)?, number(to)?))).collect(),
            interfaces: by_number(self.interfaces, numbers, count),
            missing: all(self.missing),
        }
    }
}

fn by_number(interfaces: Vec<Option<String>>, numbers: &[usize], count: usize) -> Vec<Option<String>> {
    let mut found = vec![None; count];
    for (interface, number) in interfaces.into_iter().zip(numbers) {
        if let Some(place) = found.get_mut(*number) {
            *place = interface.and_then(interface::checked);
        }
    }
    found
}

fn moved(matrix: &[Vec<Option<u64>>], numbers: &[usize], count: usize) -> Vec<Vec<Option<u64>>> {
    let ranks: BTreeMap<usize, usize> = numbers.iter().enumerate().map(|(rank, number)| (*number, rank)).collect();
    let cell = |from: usize, to: usize| *matrix.get(*ranks.get(&from)?)?.get(*ranks.get(&to)?)?;
    (0..count).map(|from| (0..count).map(|to| cell(from, to)).collect()).collect()
}
