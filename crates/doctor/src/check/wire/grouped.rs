//! The same fault of several nodes is told once.

use fermi_domain::language::Text;

use crate::Finding;
use crate::nodes::survey::Survey;

/// As many of one check are told one by one.
const FEW: usize = 2;

/// Findings of one node each that differ in their numbers alone, where there are many: the first of them, with what is seen
/// of each.
pub fn grouped(survey: &Survey, findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Vec<Finding>> = Vec::new();
    for finding in findings {
        let key = key(survey, &finding);
        let is_alike = |group: &&mut Vec<Finding>| key.is_some() && key == self::key(survey, &group[0]);
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups.into_iter().flat_map(|group| if group.len() > FEW { joined(group) } else { group }).collect()
}

/// What is left without the node's name and all numbers; none of what concerns several nodes, or is well.
fn key(survey: &Survey, finding: &Finding) -> Option<String> {
    let [node] = finding.nodes[..] else { return None };
    let text = finding.text.en.replace(&survey.name(node), "");
    let words: String = text.chars().filter(|it| !it.is_ascii_digit() && *it != '.').collect();
    (finding.state >= crate::State::Warning).then(|| format!("{} {:?} {words}", finding.check, finding.state))
}

fn joined(group: Vec<Finding>) -> Vec<Finding> {
    let others = group.len() - 1;
    let (zh, en): (Vec<String>, Vec<String>) = group.iter().map(whole).unzip();
    let nodes = group.iter().flat_map(|it| it.nodes.clone()).collect();
    let told = |first: Finding| {
        let Text { zh: own_zh, en: own_en } = &first.text;
        let text = Text::new(
            format!("{own_zh}（另有 {others} 个节点类似）"),
            format!("{own_en} (and {others} more are like it)"),
        );
        Finding { text, nodes, ..first }.seen(Text::new(zh.join("；"), en.join("; ")))
    };
    group.into_iter().next().map(told).into_iter().collect()
}

/// What it says and what was seen.
fn whole(finding: &Finding) -> (String, String) {
    let Text { zh, en } = &finding.text;
    match &finding.evidence {
        Some(seen) => (format!("{zh}（{}）", seen.zh), format!("{en} ({})", seen.en)),
        None => (zh.to_string(), en.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topic;
    use crate::nodes::survey::NodeSeen;

    fn survey(count: usize) -> Survey {
        let seen = |node: usize| NodeSeen { node, name: Some(format!("gn{node}")), ..NodeSeen::default() };
        Survey { nnodes: count, nodes: (0..count).map(seen).collect(), ..Survey::default() }
    }

    fn slow(node: usize, speed: usize) -> Finding {
        let text = format!("node {node} (gn{node}) has only {speed}.5 Mbit/s");
        Finding::error("wire.bandwidth", Topic::Wire, Text::new(text.clone(), text)).of(node)
    }

    #[test]
    fn what_differs_in_numbers_alone_is_told_once_for_many_nodes() {
        let survey = survey(20);
        let two = vec![slow(1, 9), slow(12, 10)];
        assert_eq!(grouped(&survey, two.clone()), two);
        let other = Finding::error("wire.loss", Topic::Wire, Text::new("x", "node 3 (gn3) loses packets")).of(3);
        let found = grouped(&survey, vec![slow(1, 9), other.clone(), slow(12, 10), slow(13, 11)]);
        assert_eq!(found.len(), 2);
        assert_eq!((&found[0].nodes[..], &found[1]), (&[1, 12, 13][..], &other));
        assert_eq!(found[0].text.en, "node 1 (gn1) has only 9.5 Mbit/s (and 2 more are like it)");
        assert!(found[0].evidence.as_ref().is_some_and(|it| it.en.contains("node 13 (gn13) has only 11.5")));
    }
}
