//! Why something did not work, in both languages.

use fermi_domain::language::{Text, reason};
use serde::{Deserialize, Serialize};

/// In English under the name that every release knows, and in Chinese beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason_zh: Option<String>,
}

impl Reason {
    /// What another program says, whose language is its own.
    pub fn said(words: impl Into<String>) -> Self {
        Self { reason: words.into(), reason_zh: None }
    }

    /// Words of the system that came without Chinese ones have them where they are known.
    pub fn text(&self) -> Text {
        match &self.reason_zh {
            Some(zh) => Text::new(zh.clone(), self.reason.clone()),
            None => reason::of_said(&self.reason),
        }
    }
}

impl From<Text> for Reason {
    fn from(text: Text) -> Self {
        Self { reason: text.en.into_owned(), reason_zh: Some(text.zh.into_owned()) }
    }
}

impl From<&std::io::Error> for Reason {
    fn from(error: &std::io::Error) -> Self {
        reason::of_io(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_travels_in_both_languages_and_an_older_release_reads_the_english() {
        let reason = Reason::from(&std::io::Error::from_raw_os_error(2));
        let sent = serde_json::to_value(&reason).unwrap();
        assert_eq!(sent, serde_json::json!({"reason": "it does not exist", "reasonZh": "不存在"}));
        assert_eq!(serde_json::from_value::<Reason>(sent).unwrap().text().zh, "不存在");
        let older = serde_json::json!({"reason": "No such file or directory (os error 2)"});
        assert_eq!(serde_json::from_value::<Reason>(older).unwrap().text().zh, "不存在");
    }
}
