//! Paths and queries in which any text stays what it is.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but letters, digits and the four signs that mean nothing in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The part of an address behind the question mark; nothing where there are no pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(&'static str, String)>);

impl Query {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.push((name, value.to_string()));
        self
    }

    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let joint = if at == 0 { '?' } else { '&' };
            write!(f, "{joint}{name}={}", segment(value))?;
        }
        Ok(())
    }
}

/// A text as one part of a path: no slash in it leads anywhere.
pub fn segment(text: &str) -> String {
    // A lone dot or two would be taken for a step within the path.
    match text {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_reaches_the_address() {
        assert_eq!(segment("a/b?c=d&e f"), "a%2Fb%3Fc%3Dd%26e%20f");
        assert_eq!(segment("训"), "%E8%AE%AD");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(Query::new().with("a", 1).with_some("b", None::<u8>).with("c", "x y").to_string(), "?a=1&c=x%20y");
        assert_eq!(Query::new().to_string(), "");
    }
}
