//! Whether a task's nodes are checked before its ranks start.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, FindingState};
use crate::language::Text;

/// What a task asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PreflightPolicy {
    /// Ranks start at once.
    #[default]
    Off,
    /// What is found becomes an event, and ranks start.
    Warn,
    /// An error keeps ranks from starting.
    Require,
}

/// Errors that are named where ranks are kept from starting.
const MOST_NAMED: usize = 3;

/// Why ranks do not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightRefusal {
    /// The node of the first error, by its place in the preflight.
    pub node: usize,
    pub text: Text,
}

impl PreflightPolicy {
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// Whether what was found keeps ranks from starting.
    pub fn refusal(self, findings: &[Finding]) -> Option<PreflightRefusal> {
        if self != Self::Require {
            return None;
        }
        let errors: Vec<&Finding> = findings.iter().filter(|it| it.state == FindingState::Error).collect();
        let node = errors.first()?.nodes.first().copied().unwrap_or(0);
        let named = errors.iter().take(MOST_NAMED);
        let zh: Vec<&str> = named.clone().map(|it| it.text.zh.as_ref()).collect();
        let en: Vec<&str> = named.map(|it| it.text.en.as_ref()).collect();
        let (count, more) = (errors.len(), if errors.len() > MOST_NAMED { " …" } else { "" });
        let text = Text::new(
            format!("预检发现 {count} 项错误，没有启动：{}{more}", zh.join("；")),
            format!("the preflight found {count} errors, so nothing was started: {}{more}", en.join("; ")),
        );
        Some(PreflightRefusal { node, text })
    }
}
