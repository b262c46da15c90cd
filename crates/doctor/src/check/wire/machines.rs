//! What is wrong with single machines: the same fault of several nodes is told once.

use fermi_domain::language::Text;

use super::grouped::grouped;
use super::named;
use crate::nodes::survey::Survey;
use crate::{Finding, State};

pub fn check(survey: &Survey) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::new();
    for node in &survey.nodes {
        let Some(facts) = &node.facts else { continue };
        let bad = crate::check::machine(facts).into_iter().filter(|finding| finding.state >= State::Warning);
        for finding in bad {
            match told.iter_mut().find(|it| it.check == finding.check && it.text == finding.text) {
                Some(same) => same.nodes.push(node.node),
                None => told.push(finding.of(node.node)),
            }
        }
    }
    for finding in &mut told {
        let is_everywhere = finding.nodes.len() == survey.nnodes;
        let names = named(survey, finding.nodes.iter().copied());
        let (zh, en) =
            if is_everywhere { ("所有节点".to_owned(), "all nodes".to_owned()) } else { (names.clone(), names) };
        finding.text = Text::new(format!("{zh}：{}", finding.text.zh), format!("{en}: {}", finding.text.en));
    }
    grouped(survey, told)
}
