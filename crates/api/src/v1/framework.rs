//! The cards of the frameworks.

use fermi_domain::framework::{self as domain, Framework};
use fermi_domain::guidance::{self, DataParallelStrategy};
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
    /// Its strategies of data-parallel training, to be compared with those of others.
    #[serde(default)]
    pub strategies: Vec<StrategyCard>,
    /// The keys of `options.framework` that it knows.
    #[serde(default)]
    pub settings: Vec<FrameworkSetting>,
}

/// A strategy in the comparison of DDP and ZeRO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StrategyCard {
    #[schema(example = "zero2")]
    pub value: String,
    #[schema(example = "DeepSpeed ZeRO-2")]
    pub label: String,
    /// Parameters of the model.
    #[schema(example = "1-7B")]
    pub model_size: String,
    /// 内存使用
    pub memory: Text,
    /// 通信开销
    pub communication: Text,
    /// 设置复杂度
    pub setup: Text,
    /// 推荐场景
    pub suits: Text,
}

impl From<guidance::StrategyCard> for StrategyCard {
    fn from(card: guidance::StrategyCard) -> Self {
        let guidance::StrategyCard { value, label, model_size, memory, communication, setup, suits } = card;
        let (value, label, model_size) = (value.to_owned(), label.to_owned(), model_size.to_owned());
        Self { value, label, model_size, memory, communication, setup, suits }
    }
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
        let strategies = DataParallelStrategy::of(value).iter().map(|strategy| strategy.card().into()).collect();
        Self { value, label: label.to_owned(), kind, vendor, suits, features, strategies, settings }
    }
}
