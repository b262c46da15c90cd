//! The cards of the frameworks.

use fermi_domain::framework::{self as domain, Framework};
use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the form shows of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameworkCard {
    pub value: Framework,
    #[schema(example = "PyTorch DDP")]
    pub label: String,
    /// 类型
    pub kind: Text,
    /// 厂商
    pub vendor: Text,
    /// 适用
    pub suits: Text,
    /// 特点
    pub features: Vec<Text>,
}

impl From<domain::FrameworkCard> for FrameworkCard {
    fn from(card: domain::FrameworkCard) -> Self {
        let domain::FrameworkCard { value, label, kind, vendor, suits, features } = card;
        Self { value, label: label.to_owned(), kind, vendor, suits, features }
    }
}
