//! What a misspelt word may have meant.

/// The closest of the known words, if it is close enough to be a slip.
pub fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect::<String>().to_lowercase();
    let near = |known: &&'a str| strsim::damerau_levenshtein(&word, &known.to_lowercase());
    let best = known.iter().copied().min_by_key(near)?;
    let most = (best.chars().count() / 3).clamp(1, 3);
    (near(&best) <= most).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_seen_and_something_else_is_not() {
        let known = ["pageSize", "pageToken", "filter", "orderBy"];
        assert_eq!(closest("pagesize", &known), Some("pageSize"));
        assert_eq!(closest("filer", &known), Some("filter"));
        assert_eq!(closest("colour", &known), None);
        assert_eq!(closest("x", &[]), None);
    }
}
