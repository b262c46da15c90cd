//! What people are told, in one shape for every front end.

use super::{FrontEnd, Hint, Setting, Text};

/// Something that a person is told: a refusal, a mistake, a warning.
///
/// A front end has one function that shows any of these: the command line as `error: …`, a blank line, `hint: …`; the API
/// as the envelope's `message` and `error: {id, field, hint}`.
pub trait Explained {
    /// Its name for programs; stable.
    fn id(&self) -> &'static str;

    /// The field of the request or the file that is to be corrected.
    fn field(&self) -> Option<String> {
        None
    }

    /// What is so. Names no setting, because it may be stored and read anywhere.
    fn text(&self) -> Text;

    /// What to do about it.
    fn hint(&self) -> Option<Hint> {
        None
    }
}

/// What is stored of a message, for readers at any front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    pub reason: Text,
    /// What its reader would set differently; each front end spells it its own way.
    pub settings: Vec<Setting>,
}

impl StoredMessage {
    /// A hint that names no setting is the same for every reader, and stands behind the sentence.
    pub fn of(message: &impl Explained) -> Self {
        let hint = message.hint();
        let settings = hint.as_ref().map(Hint::settings).unwrap_or_default();
        match hint.filter(|_| settings.is_empty()) {
            Some(hint) => Self { reason: message.text().followed_by(&hint.spelled(FrontEnd::Api)), settings },
            None => Self { reason: message.text(), settings },
        }
    }
}

/// A message made where it is said, for what has no enum of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    id: &'static str,
    text: Text,
    hint: Option<Hint>,
}

impl Notice {
    pub fn new(id: &'static str, text: Text, hint: impl Into<Hint>) -> Self {
        Self { id, text, hint: Some(hint.into()) }
    }

    /// A copy of any message, for callers that pass on several kinds.
    pub fn of(message: &impl Explained) -> Self {
        Self { id: message.id(), text: message.text(), hint: message.hint() }
    }
}

impl Explained for Notice {
    fn id(&self) -> &'static str {
        self.id
    }

    fn text(&self) -> Text {
        self.text.clone()
    }

    fn hint(&self) -> Option<Hint> {
        self.hint.clone()
    }
}
