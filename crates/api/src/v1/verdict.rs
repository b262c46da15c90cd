//! Why an attempt ended, as it is shown.

use fermi_domain::exit::Exit;
use fermi_domain::failure::{FailureClass, Role};
use fermi_domain::language::{FrontEnd, Text};
use fermi_domain::verdict::{self as domain, VerdictKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// `succeeded`, `rankFailed`, `startTimedOut`, `stoppedByUser`, `timeLimitReached`, `supervisorLost`, `nodeLost`,
    /// `resultUnknown`, `superseded` or `launchRefused`.
    pub kind: String,
    /// Whose matter it is; null when nothing went wrong.
    pub class: Option<FailureClass>,
    pub headline: Text,
    pub advice: Option<Text>,
    /// The failure's signature, such as `cuda_out_of_memory`.
    pub signature: Option<String>,
    pub cause: Option<Text>,
    /// The rank that failed first.
    pub first: Option<FailedRank>,
    /// The last lines of the first rank.
    pub evidence: Vec<String>,
    /// The first rank's traceback, line by line.
    pub traceback: Vec<String>,
    /// The line that names the exception.
    pub exception: Option<String>,
    /// Those that failed after the first, in the order in which they did.
    pub others: Vec<OtherFailure>,
    pub others_summary: Option<Text>,
}

/// A rank with its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedRank {
    pub rank: u32,
    pub node: String,
    pub exit: Exit,
    /// The exit in words, such as `SIGKILL`.
    pub exit_text: String,
}

/// A rank that failed after the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherFailure {
    pub rank: u32,
    pub node: String,
    pub exit_text: String,
    /// How long after the first it ended.
    pub after_ms: i64,
    pub role: Option<Role>,
}

impl From<&domain::FailedRank> for FailedRank {
    fn from(failed: &domain::FailedRank) -> Self {
        Self {
            rank: failed.rank.0,
            node: failed.node.clone(),
            exit: failed.exit.clone(),
            exit_text: failed.exit.to_string(),
        }
    }
}

impl Verdict {
    /// The verdict for readers at this front end.
    pub fn of(verdict: &domain::Verdict, front_end: FrontEnd) -> Self {
        let diagnosis = verdict.diagnosis.as_ref();
        let other = |other: &domain::OtherFailure| OtherFailure {
            rank: other.failed.rank.0,
            node: other.failed.node.clone(),
            exit_text: other.failed.exit.to_string(),
            after_ms: other.after_ms,
            role: other.role,
        };
        Self {
            kind: kind(&verdict.kind).to_owned(),
            class: verdict.class,
            headline: verdict.headline(),
            advice: verdict.advice().map(|advice| advice.spelled(front_end)),
            signature: diagnosis.map(|diagnosis| diagnosis.id.clone().into_owned()),
            cause: diagnosis.map(|diagnosis| diagnosis.cause.clone()),
            first: verdict.first.as_ref().map(FailedRank::from),
            evidence: verdict.evidence.clone(),
            traceback: verdict.traceback.as_ref().map(|traceback| traceback.lines.clone()).unwrap_or_default(),
            exception: verdict.traceback.as_ref().map(|traceback| traceback.exception.clone()),
            others: verdict.others.iter().map(other).collect(),
            others_summary: verdict.others_summary(),
        }
    }
}

fn kind(kind: &VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Succeeded => "succeeded",
        VerdictKind::RankFailed => "rankFailed",
        VerdictKind::StartTimedOut { .. } => "startTimedOut",
        VerdictKind::StoppedByUser => "stoppedByUser",
        VerdictKind::TimeLimitReached { .. } => "timeLimitReached",
        VerdictKind::SupervisorLost { .. } => "supervisorLost",
        VerdictKind::NodeLost { .. } => "nodeLost",
        VerdictKind::ResultUnknown { .. } => "resultUnknown",
        VerdictKind::Superseded { .. } => "superseded",
        VerdictKind::LaunchRefused { .. } => "launchRefused",
    }
}
