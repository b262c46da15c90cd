//! What is allowed but should be known.

use fermi_domain::language::{Explained, Language, Text};
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
}

impl Warning {
    pub fn new(id: impl Into<String>, text: Text, language: Language) -> Self {
        Self { id: id.into(), message: text.in_language(language).to_owned(), text }
    }

    /// A warning of the domain, as the caller reads it.
    pub fn of(warning: &fermi_domain::warnings::Warning, language: Language) -> Self {
        Self::new(warning.id(), warning.text(), language)
    }
}
