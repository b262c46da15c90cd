//! Where data or weights are, as people write it.

use serde::{Deserialize, Serialize};

use crate::language::{Explained, Hint, Text};

/// What kind of place a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LocationKind {
    /// An absolute path; nodes can look whether it is there.
    Path,
    /// `s3://…`, `hf://…`, `https://…`: read by the training itself.
    Uri,
    /// A name that a hub knows, such as `facebook/opt-350m`.
    Name,
}

impl LocationKind {
    pub fn of(text: &str) -> Self {
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+.-".contains(letter))
        };
        if text.starts_with('/') {
            Self::Path
        } else if text.split_once("://").is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty()) {
            Self::Uri
        } else {
            Self::Name
        }
    }

    /// What is known of where a version of this kind is visible, when so many environments have seen it.
    pub fn visibility(self, environments: u64) -> Text {
        match (self, environments) {
            (Self::Uri, _) => {
                Text::new("未验证：URI 由训练程序自己读取", "not proven: a URI is read by the training itself")
            }
            (Self::Name, _) => {
                Text::new("未验证：名称由训练程序自己解析", "not proven: a name is resolved by the training itself")
            }
            (Self::Path, 0) => {
                Text::new("尚未验证：任务启动时由各节点验证", "not proven yet: each node looks when a task starts")
            }
            (Self::Path, 1) => Text::new("1 个开发环境已验证可见", "seen on 1 environment"),
            (Self::Path, count) => {
                Text::new(format!("{count} 个开发环境已验证可见"), format!("seen on {count} environments"))
            }
        }
    }

    /// Whether a node can see what is there by looking.
    pub fn can_be_proven(self) -> bool {
        self == Self::Path
    }
}

/// A place that means something else on every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationRefusal {
    pub field: &'static str,
    pub given: String,
}

/// Refuses what begins in a home or in the folder where a process happens to be.
pub fn check_location(field: &'static str, text: &str) -> Result<LocationKind, LocationRefusal> {
    let first = text.split('/').next().unwrap_or_default();
    if first.starts_with('~') || first == "." || first == ".." {
        return Err(LocationRefusal { field, given: text.to_owned() });
    }
    Ok(LocationKind::of(text))
}

impl Explained for LocationRefusal {
    fn id(&self) -> &'static str {
        "location_relative"
    }

    fn field(&self) -> Option<String> {
        Some(self.field.to_owned())
    }

    fn text(&self) -> Text {
        let given = &self.given;
        Text::new(
            format!("“{given}”在各节点上可能指不同的位置"),
            format!("'{given}' may be another place on each node"),
        )
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::new(
            "写绝对路径（/data/corpus）、URI（s3://…、hf://…、https://…）或模型库名称",
            "give an absolute path (/data/corpus), a URI (s3://…, hf://…, https://…) or a hub's name",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_a_uri_or_a_name() {
        for (text, expected) in [
            ("/data/corpus", LocationKind::Path),
            ("s3://bucket/corpus", LocationKind::Uri),
            ("hf://datasets/wikitext", LocationKind::Uri),
            ("https://example.com/a.tar", LocationKind::Uri),
            ("facebook/opt-350m", LocationKind::Name),
            ("wikitext", LocationKind::Name),
            ("://x", LocationKind::Name),
            ("s3://", LocationKind::Name),
        ] {
            assert_eq!(LocationKind::of(text), expected, "{text}");
            assert_eq!(check_location("path", text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_begins_where_a_process_happens_to_be_is_refused() {
        for text in ["~/data", "~li/data", "./data", "../data", "."] {
            let refusal = check_location("path", text).unwrap_err();
            assert!(refusal.text().en.contains(text) && refusal.hint().is_some());
        }
    }
}
