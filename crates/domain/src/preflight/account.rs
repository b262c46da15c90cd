//! How it stands with one node of a preflight.

use super::{NodeReadiness, PreflightNode, PreflightStep};
use crate::finding::{Finding, FindingTopic};
use crate::language::Text;

/// From the question to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAccount {
    /// It cannot be asked.
    Absent,
    /// It will be asked when the first one lets others in.
    Waits,
    Asked {
        at_ms: u64,
    },
    TakesPart,
    Done,
    /// It says itself why it could not take part.
    Failed {
        reason: Text,
        hint: Text,
    },
    /// It was asked and has not begun.
    Silent,
    /// The link to its agent broke.
    Left {
        during: PreflightStep,
    },
}

impl NodeAccount {
    /// Whether something may still be heard of it.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Asked { .. } | Self::TakesPart)
    }

    /// One word for it, as the API says it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Waits => "waits",
            Self::Asked { .. } => "asked",
            Self::TakesPart => "takesPart",
            Self::Done => "done",
            Self::Failed { .. } => "failed",
            Self::Silent => "silent",
            Self::Left { .. } => "left",
        }
    }

    /// What is wrong with a node by its account alone.
    pub fn finding(&self, number: usize, node: &PreflightNode) -> Option<Finding> {
        let name = &node.name;
        let error = |check, text| Some(Finding::error(check, FindingTopic::Nodes, text).of(number));
        match self {
            Self::Waits | Self::Asked { .. } | Self::TakesPart | Self::Done => None,
            Self::Absent => absent(number, node),
            Self::Failed { reason, hint } => {
                let text = Text::new(
                    format!("{name} 未能参加：{}", reason.zh),
                    format!("{name} could not take part: {}", reason.en),
                );
                error("nodes.joined", text).map(|finding| finding.advice(hint.clone()))
            }
            Self::Silent => {
                let text = Text::new(
                    format!("{name} 的代理收到请求后没有开始"),
                    format!("the agent of {name} was asked and did not begin"),
                );
                let fix = Text::new("看该机器是否过载或挂住", "see whether that machine is overloaded or hangs");
                error("nodes.silent", text).map(|finding| finding.fix(fix, format!("fermi env show {name}")))
            }
            Self::Left { during } => {
                let step = during.text();
                let text = Text::new(
                    format!("{name} 的代理在中途断开（当时：{}）", step.zh),
                    format!("the link to the agent of {name} broke in the middle (then: {})", step.en),
                );
                let fix = Text::new(
                    "看该机器是否死机、断网，或代理是否被结束",
                    "see whether that machine hangs or is cut off, or whether its agent was ended",
                );
                error("nodes.left", text).map(|finding| finding.fix(fix, format!("fermi env show {name}")))
            }
        }
    }
}

fn absent(number: usize, node: &PreflightNode) -> Option<Finding> {
    let name = &node.name;
    let (check, text, fix) = match node.readiness {
        NodeReadiness::Ready => return None,
        NodeReadiness::Offline => (
            "nodes.offline",
            Text::new(format!("{name} 的代理不在线"), format!("the agent of {name} is offline")),
            Text::new("在该机器上启动代理，或检查网络", "start the agent there, or see to its network"),
        ),
        NodeReadiness::CannotBeAsked => (
            "nodes.release",
            Text::new(
                format!("{name} 的代理版本较旧，不能参加预检"),
                format!("the agent of {name} is of an older release and cannot take part"),
            ),
            Text::new("升级该机器上的 fermi 并重启代理", "upgrade fermi there and start the agent anew"),
        ),
    };
    let finding = Finding::error(check, FindingTopic::Nodes, text).of(number);
    Some(finding.fix(fix, format!("fermi env show {name}")))
}
