//! From where an attempt goes on, by what its nodes have.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// So many steps of a node are named in a sentence.
const NAMED_STEPS: usize = 4;
/// So many nodes are named in a sentence.
const NAMED_NODES: usize = 4;

/// What a node finds in its checkpoint folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCheckpoints {
    /// Whether it sees there what the first node has just written into its own folder.
    pub shares: bool,
    /// Whether anything lies there, of a known format or not.
    pub holds_anything: bool,
    /// The steps that are whole there.
    pub steps: BTreeSet<u64>,
}

/// The answer of a node with its name; none where it gave none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCheckpoints {
    pub node: String,
    pub checkpoints: Option<NodeCheckpoints>,
}

/// How the ranks of an attempt begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumePlan {
    /// Whether all nodes have one checkpoint folder.
    pub shared: bool,
    pub resume: bool,
    /// The step that every rank goes on from; none where the script has to find it, or where it begins anew.
    pub step: Option<u64>,
}

impl ResumePlan {
    /// One node, from the beginning.
    pub const FRESH: Self = Self { shared: true, resume: false, step: None };
}

/// Decides it: the newest step that is whole on all nodes. Where they have none in common they begin anew, since ranks
/// that go on from different steps wait for each other for ever.
pub fn resume_plan(wants_resume: bool, nodes: &[NamedCheckpoints]) -> ResumePlan {
    let answers: Vec<Option<&NodeCheckpoints>> = nodes.iter().map(|node| node.checkpoints.as_ref()).collect();
    let shared = answers.len() <= 1 || answers.iter().all(|answer| answer.is_some_and(|answer| answer.shares));
    if !wants_resume {
        return ResumePlan { shared, resume: false, step: None };
    }
    let first = answers.first().copied().flatten();
    let is_common = |step: &u64| answers.iter().all(|answer| answer.is_some_and(|answer| answer.steps.contains(step)));
    let common = first.and_then(|first| first.steps.iter().rev().copied().find(is_common));
    if common.is_some() {
        return ResumePlan { shared, resume: true, step: common };
    }
    if shared {
        // A node whose view of a shared disk is late has not listed the newest one, and will find it all the same.
        return ResumePlan { shared, resume: true, step: first.and_then(|first| first.steps.last().copied()) };
    }
    // Where nothing lies anywhere, a script keeps its checkpoints elsewhere, or has none.
    let resume = answers.iter().all(|answer| answer.is_some_and(|answer| !answer.holds_anything));
    ResumePlan { shared, resume, step: None }
}

impl ResumePlan {
    /// What people are told of it.
    pub fn text(&self, attempt: u32, nodes: &[NamedCheckpoints], wants_resume: bool) -> Text {
        let count = nodes.len();
        match (self.step, self.shared) {
            (Some(step), true) if count <= 1 => Text::new(
                format!("第 {attempt} 次启动从第 {step} 步的检查点继续"),
                format!("attempt {attempt} goes on from the checkpoint of step {step}"),
            ),
            (Some(step), true) => Text::new(
                format!("第 {attempt} 次启动从第 {step} 步的检查点继续；{count} 个节点使用同一个检查点文件夹"),
                format!(
                    "attempt {attempt} goes on from the checkpoint of step {step}; all {count} nodes see one checkpoint folder"
                ),
            ),
            (None, true) if count <= 1 => Text::new(
                format!("第 {attempt} 次启动：检查点文件夹中没有可识别的完整检查点"),
                format!("attempt {attempt}: no checkpoint of a known format is whole in the checkpoint folder"),
            ),
            (None, true) => Text::new(
                format!("{count} 个节点使用同一个检查点文件夹"),
                format!("all {count} nodes see one checkpoint folder"),
            ),
            (Some(step), false) => Text::new(
                format!(
                    "第 {attempt} 次启动从第 {step} 步继续：这是各节点都有的最新完整检查点；各节点的检查点文件夹互不相通"
                ),
                format!(
                    "attempt {attempt} goes on from step {step}, the newest checkpoint that is whole on every node; each \
                     node has a checkpoint folder of its own"
                ),
            ),
            (None, false) if wants_resume && !self.resume => {
                let (zh, en) = (held(nodes, "：", "、", "无", "；"), held(nodes, ": ", ", ", "none", "; "));
                Text::new(
                    format!(
                        "第 {attempt} 次启动从头开始：各节点没有共同的完整检查点（{zh}）；请把检查点放到所有节点都能访问的文件夹"
                    ),
                    format!(
                        "attempt {attempt} begins anew: the nodes have no whole checkpoint in common ({en}); keep \
                         checkpoints in a folder that all nodes see"
                    ),
                )
            }
            (None, false) => Text::new(
                format!(
                    "{count} 个节点的检查点文件夹互不相通：每个节点须各自保存检查点，或使用所有节点都能访问的文件夹"
                ),
                format!(
                    "each of the {count} nodes has a checkpoint folder of its own: save on every node, or use a folder that \
                     all nodes see"
                ),
            ),
        }
    }
}

/// The newest steps of each node, in words.
fn held(nodes: &[NamedCheckpoints], is: &str, and: &str, none: &str, next: &str) -> String {
    let mut parts: Vec<String> = nodes
        .iter()
        .take(NAMED_NODES)
        .map(|NamedCheckpoints { node, checkpoints }| {
            let newest = checkpoints.iter().flat_map(|found| found.steps.iter().rev().take(NAMED_STEPS));
            let steps: Vec<String> = newest.map(u64::to_string).collect();
            let steps = if steps.is_empty() { none.to_owned() } else { steps.join(and) };
            format!("{node}{is}{steps}")
        })
        .collect();
    if nodes.len() > NAMED_NODES {
        parts.push("…".to_owned());
    }
    parts.join(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<const N: usize>(shares: bool, holds_anything: bool, steps: [u64; N]) -> NamedCheckpoints {
        let checkpoints = Some(NodeCheckpoints { shares, holds_anything, steps: steps.into() });
        NamedCheckpoints { node: "gn6".into(), checkpoints }
    }

    fn silent() -> NamedCheckpoints {
        NamedCheckpoints { node: "gn7".into(), checkpoints: None }
    }

    #[test]
    fn the_newest_step_that_is_whole_on_all_nodes_is_taken_or_none() {
        let own = |steps: &[u64]| NamedCheckpoints {
            node: "gn7".into(),
            checkpoints: Some(NodeCheckpoints {
                shares: false,
                holds_anything: !steps.is_empty(),
                steps: steps.iter().copied().collect(),
            }),
        };
        let first = |steps: &[u64]| {
            let mut first = own(steps);
            first.checkpoints.as_mut().unwrap().shares = true;
            first
        };
        let cases = [
            ("one node", vec![node(true, true, [32, 64])], (true, true, Some(64))),
            ("one node without any", vec![node(true, false, [])], (true, true, None)),
            ("one node that is late", vec![silent()], (true, true, None)),
            ("one folder", vec![first(&[32, 64]), first(&[32, 64])], (true, true, Some(64))),
            ("one folder, a late view", vec![first(&[32, 64]), first(&[32])], (true, true, Some(32))),
            ("one folder, a very late view", vec![first(&[64]), first(&[])], (true, true, Some(64))),
            ("own folders", vec![first(&[64, 96, 128]), own(&[64, 96])], (false, true, Some(96))),
            ("own folders, one newer here and there", vec![first(&[32, 64]), own(&[32, 96])], (false, true, Some(32))),
            ("only the first has any", vec![first(&[64, 128]), own(&[])], (false, false, None)),
            ("nobody has any", vec![first(&[]), own(&[])], (false, true, None)),
            ("of three one has another", vec![first(&[8]), own(&[8]), own(&[4])], (false, false, None)),
            ("a release that cannot answer", vec![first(&[8]), silent()], (false, false, None)),
        ];
        for (what, nodes, (shared, resume, step)) in cases {
            assert_eq!(resume_plan(true, &nodes), ResumePlan { shared, resume, step }, "{what}");
            let fresh = ResumePlan { shared, resume: false, step: None };
            assert_eq!(resume_plan(false, &nodes), fresh, "{what}, first attempt");
        }
        let unknown = [node(true, true, []), node(false, true, [])];
        assert_eq!(resume_plan(true, &unknown), ResumePlan { shared: false, resume: false, step: None });
    }

    #[test]
    fn a_new_beginning_is_explained_with_what_each_node_has() {
        let nodes = [node(true, true, [32, 64]), silent()];
        let text = resume_plan(true, &nodes).text(2, &nodes, true);
        assert!(
            text.zh.starts_with("第 2 次启动从头开始：各节点没有共同的完整检查点（gn6：64、32；gn7：无）"),
            "{}",
            text.zh
        );
        assert!(text.en.contains("gn6: 64, 32; gn7: none"), "{}", text.en);
    }
}
