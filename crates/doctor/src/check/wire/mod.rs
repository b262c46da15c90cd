//! Judges what several nodes have measured. A bad node is named once, with the reason from which the rest follows.

mod blame;
mod clock;
mod engine;
mod folder;
mod grouped;
mod interfaces;
mod machines;
mod mtu;
mod outliers;
mod packets;
mod place;
mod presence;
mod reach;
mod speed;
mod sum;
mod versions;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::Finding;
use crate::nodes::survey::Survey;

pub use interfaces::interfaces;
pub use versions::{Difference, differences};

/// Everything that is to be said of several nodes, the most basic first.
pub fn nodes(survey: &Survey) -> Vec<Finding> {
    // Who is blamed for one thing is not blamed again for what follows from it.
    let mut blamed = BTreeSet::new();
    let mut findings = presence::check(survey);
    let mut of_wire = reach::check(survey, &mut blamed);
    of_wire.extend(speed::loss(survey, &mut blamed));
    of_wire.extend(packets::check(survey, &mut blamed));
    of_wire.extend(speed::delay(survey, &mut blamed));
    of_wire.extend(speed::bandwidth(survey, &blamed));
    of_wire.extend(mtu::check(survey));
    of_wire.extend(clock::check(survey));
    findings.extend(grouped::grouped(survey, of_wire));
    findings.extend(interfaces::check(survey, &blamed));
    findings.extend(sum::check(survey));
    findings.extend(engine::check(survey));
    findings.extend(folder::check(survey));
    findings.extend(versions::check(survey));
    findings.extend(machines::check(survey));
    findings
}

/// `gn1, gn2`, at most a handful.
fn named(survey: &Survey, nodes: impl IntoIterator<Item = usize>) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = nodes.into_iter().map(|node| survey.name(node)).collect();
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{shown} … ({})", names.len()) } else { shown }
}
