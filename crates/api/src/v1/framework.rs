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
    /// The keys of `options.framework` that it knows.
    #[serde(default)]
    pub settings: Vec<FrameworkSetting>,
}

/// One setting of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameworkSetting {
    #[schema(example = "zeroStage")]
    pub name: String,
    pub about: Text,
}

impl FrameworkCard {
    pub fn new(card: domain::FrameworkCard, settings: Vec<FrameworkSetting>) -> Self {
        let domain::FrameworkCard { value, label, kind, vendor, suits, features } = card;
        Self { value, label: label.to_owned(), kind, vendor, suits, features, settings }
    }
}
