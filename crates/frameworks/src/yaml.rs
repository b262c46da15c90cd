//! Scalars of the YAML files that Fermi writes.

/// Letters that cannot be mistaken for YAML's own signs.
fn is_plain(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
        && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_ascii_lowercase().as_str())
}

/// A text as a YAML scalar: bare where nothing can be misread, else in double quotes with JSON's escapes, which are
/// YAML's too.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::scalar;

    #[test]
    fn what_could_be_misread_is_quoted() {
        assert_eq!(scalar("pytorch-dev-env"), "pytorch-dev-env");
        assert_eq!(scalar("北京可用区A"), "\"北京可用区A\"");
        assert_eq!(scalar("it's \"x\" # $HOME: y"), "\"it's \\\"x\\\" # $HOME: y\"");
        for text in ["no", "Null", "12", "1.5", "10.0.0.1", "", "- a", "a: b", "*x", "!y"] {
            assert!(scalar(text).starts_with('"'), "{text}");
        }
    }
}
