//! The two languages in which Fermi speaks to people, a sentence held in both, and what every message to a person has.
//!
//! [`Explained`] is the one shape of what people are told: a name, a field, a sentence, a hint. A hint names a
//! [`Setting`], and each [`FrontEnd`] spells it its own way.

mod explained;
mod hint;
pub mod reason;
mod setting;

use std::borrow::Cow;

pub use explained::{Explained, Notice, StoredMessage};
pub use hint::Hint;
pub use setting::{FrontEnd, Setting};

use serde::{Deserialize, Serialize};

/// A language that every sentence exists in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    #[default]
    #[serde(rename = "zh-CN")]
    ZhCn,
    #[serde(rename = "en")]
    En,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::ZhCn, Self::En];

    /// Reads a POSIX locale such as `zh_CN.UTF-8` or a tag such as `en-GB`; anything but Chinese is English.
    pub fn of_locale(locale: &str) -> Self {
        if locale.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("zh")) { Self::ZhCn } else { Self::En }
    }
}

/// One sentence, Chinese and English side by side, so that neither can be forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Text {
    #[serde(rename = "zh-CN")]
    pub zh: Cow<'static, str>,
    pub en: Cow<'static, str>,
}

impl Text {
    pub fn new(zh: impl Into<Cow<'static, str>>, en: impl Into<Cow<'static, str>>) -> Self {
        Self { zh: zh.into(), en: en.into() }
    }

    /// Both in one sentence.
    pub fn followed_by(&self, next: &Self) -> Self {
        Self::new(format!("{}；{}", self.zh, next.zh), format!("{}; {}", self.en, next.en))
    }

    pub fn in_language(&self, language: Language) -> &str {
        match language {
            Language::ZhCn => &self.zh,
            Language::En => &self.en,
        }
    }
}

#[cfg(test)]
mod tests;
