//! The answer of a diagnosis, and the one function that gives it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Evidence, scene::Scene, signatures::SIGNATURES};
use crate::language::Text;

/// Whose matter a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FailureClass {
    /// The script, its arguments, its packages or its data.
    User,
    /// What Fermi chose or did: a port, a launch, a file.
    Platform,
    /// A machine, a GPU, a disk or the network.
    Infrastructure,
}

impl FailureClass {
    /// The word that pages and the CLI show.
    pub fn text(self) -> Text {
        match self {
            Self::User => Text::new("用户", "user"),
            Self::Platform => Text::new("平台", "platform"),
            Self::Infrastructure => Text::new("基础设施", "infrastructure"),
        }
    }
}

/// Whether the same launch would fail in the same way, which decides if a restart is worth its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Recurrence {
    /// The same command meets the same error: a missing module does not appear by itself.
    WouldRepeat,
    /// Another moment, machine or port may do.
    MayPass,
}

/// Whether the failure began here, or came from another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Role {
    /// It failed by itself.
    Cause,
    /// It failed because another rank was gone or did not come.
    Victim,
}

/// What a signature made of the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The signature's name, such as `cuda_out_of_memory`; stable, for filters and documents.
    pub id: Cow<'static, str>,
    pub class: FailureClass,
    pub recurrence: Recurrence,
    pub role: Role,
    /// What happened.
    pub cause: Text,
    /// What to do about it.
    pub advice: Text,
    /// The line that gave it away, without the prefix that torch puts before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl Diagnosis {
    /// The id of a rank that did not end, but did not move either.
    pub const HANG: &str = "hang";
    /// The id of one that returned while others waited for it.
    pub const EARLY_RETURN: &str = "early_return";
}

/// Names the cause of a rank's end, or nothing when the evidence fits no signature (or the rank succeeded).
pub fn diagnose(evidence: &Evidence<'_>) -> Option<Diagnosis> {
    if evidence.exit.is_success() {
        return None;
    }
    let scene = Scene::of(evidence);
    SIGNATURES.iter().find_map(|signature| {
        let finding = (signature.find)(&scene)?;
        Some(Diagnosis {
            id: Cow::Borrowed(signature.id),
            class: finding.class.unwrap_or(signature.class),
            recurrence: finding.recurrence.unwrap_or(signature.recurrence),
            role: signature.role,
            cause: finding.cause,
            advice: finding.advice,
            line: finding.line,
        })
    })
}
