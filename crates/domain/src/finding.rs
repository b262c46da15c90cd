//! What a check of the doctor has found, as it is shown, sent and kept.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finding {
    /// A stable name, such as `gpu.ecc`.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "wire.port"))]
    pub check: Cow<'static, str>,
    pub topic: FindingTopic,
    pub state: FindingState,
    /// The conclusion.
    pub text: Text,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// The nodes that it concerns, where several were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<usize>,
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fix {
    pub text: Text,
    /// To be copied into a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FindingState {
    Ok,
    /// There was nothing to check, which is no fault.
    Skipped,
    /// A training runs, but slower or less safely than it could.
    Warning,
    /// A training that needs this fails.
    Error,
}

/// Under which heading it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FindingTopic {
    /// Which of several nodes are there.
    Nodes,
    /// What is between them.
    Wire,
    /// What differs between them.
    Versions,
    Gpu,
    Cpu,
    Limits,
    Disk,
    Clock,
    Network,
    Launch,
    Python,
}

impl FindingTopic {
    pub const ALL: [Self; 11] = [
        Self::Nodes,
        Self::Wire,
        Self::Versions,
        Self::Gpu,
        Self::Cpu,
        Self::Limits,
        Self::Disk,
        Self::Clock,
        Self::Network,
        Self::Launch,
        Self::Python,
    ];

    pub fn title(self) -> Text {
        match self {
            Self::Nodes => Text::new("节点", "nodes"),
            Self::Wire => Text::new("节点之间", "between nodes"),
            Self::Versions => Text::new("版本", "versions"),
            Self::Gpu => Text::new("GPU", "GPUs"),
            Self::Cpu => Text::new("CPU 与内存", "CPU and memory"),
            Self::Limits => Text::new("系统限制", "limits"),
            Self::Disk => Text::new("磁盘", "disk"),
            Self::Clock => Text::new("时钟", "clock"),
            Self::Network => Text::new("网络", "network"),
            Self::Launch => Text::new("启动", "launch"),
            Self::Python => Text::new("Python", "Python"),
        }
    }
}

impl Finding {
    fn new(check: &'static str, topic: FindingTopic, state: FindingState, text: Text) -> Self {
        Self { check: Cow::Borrowed(check), topic, state, text, evidence: None, fix: None, nodes: Vec::new() }
    }

    pub fn ok(check: &'static str, topic: FindingTopic, text: Text) -> Self {
        Self::new(check, topic, FindingState::Ok, text)
    }

    pub fn skipped(check: &'static str, topic: FindingTopic, text: Text) -> Self {
        Self::new(check, topic, FindingState::Skipped, text)
    }

    pub fn warning(check: &'static str, topic: FindingTopic, text: Text) -> Self {
        Self::new(check, topic, FindingState::Warning, text)
    }

    pub fn error(check: &'static str, topic: FindingTopic, text: Text) -> Self {
        Self::new(check, topic, FindingState::Error, text)
    }

    /// One more node that it concerns.
    pub fn of(mut self, node: usize) -> Self {
        self.nodes.push(node);
        self
    }

    pub fn seen(mut self, evidence: Text) -> Self {
        self.evidence = Some(evidence);
        self
    }

    pub fn fix(mut self, text: Text, command: impl Into<String>) -> Self {
        self.fix = Some(Fix { text, command: Some(command.into()) });
        self
    }

    pub fn advice(mut self, text: Text) -> Self {
        self.fix = Some(Fix { text, command: None });
        self
    }
}

/// How many findings there are of each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FindingCounts {
    pub ok: usize,
    pub skipped: usize,
    pub warnings: usize,
    pub errors: usize,
}

impl FindingCounts {
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        findings.into_iter().fold(Self::default(), |mut counts, finding| {
            *match finding.state {
                FindingState::Ok => &mut counts.ok,
                FindingState::Skipped => &mut counts.skipped,
                FindingState::Warning => &mut counts.warnings,
                FindingState::Error => &mut counts.errors,
            } += 1;
            counts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no heading is never shown.
    #[test]
    fn every_topic_has_its_place() {
        let last = FindingTopic::ALL.len() - 1;
        assert_eq!(FindingTopic::ALL[last] as usize, last, "the last topic is the last of the list");
        assert!(FindingTopic::ALL.is_sorted() && FindingTopic::ALL.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
