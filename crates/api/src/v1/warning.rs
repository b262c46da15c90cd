//! What is allowed but should be known.

use fermi_domain::language::{Explained, FrontEnd, Language, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that did not stop the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    #[schema(example = "cross_zone")]
    pub id: String,
    /// In the caller's language.
    pub message: String,
    pub text: Text,
    /// What to do about it, or what to weigh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Text>,
}

impl Warning {
    pub fn new(id: impl Into<String>, text: Text, language: Language) -> Self {
        Self { id: id.into(), message: text.in_language(language).to_owned(), text, hint: None }
    }

    /// A warning of the domain, as the caller at this front end reads it.
    pub fn of(warning: &fermi_domain::warnings::Warning, language: Language, front_end: FrontEnd) -> Self {
        let hint = warning.hint().map(|hint| hint.spelled(front_end));
        Self { hint, ..Self::new(warning.id(), warning.text(), language) }
    }
}
