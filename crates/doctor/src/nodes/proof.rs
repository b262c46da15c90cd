//! How nodes of one preflight know each other: by a word that the server has told them, which is never sent itself.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Something that was not said before.
pub fn fresh() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// What the node of this rank shows.
pub fn of_member(word: &str, rank: usize, fresh: &str) -> String {
    of(word, &format!("node {rank} {fresh}"))
}

/// What the first node shows to one that has said this.
pub fn of_first(word: &str, fresh: &str) -> String {
    of(word, &format!("first {fresh}"))
}

/// Whether the two are one, in a time that says nothing of where they differ.
pub fn is(expected: &str, shown: &str) -> bool {
    let differs = expected.bytes().zip(shown.bytes()).fold(0, |differs, (ours, theirs)| differs | (ours ^ theirs));
    expected.len() == shown.len() && differs == 0
}

fn of(word: &str, text: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(word.as_bytes()) else { return String::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_word_its_node_and_its_moment() {
        let shown = of_member("word", 1, "now");
        assert!(is(&of_member("word", 1, "now"), &shown));
        let others = [of_member("other", 1, "now"), of_member("word", 2, "now"), of_member("word", 1, "then")];
        for other in others.iter().chain([&of_first("word", "now"), &String::new()]) {
            assert!(!is(other, &shown), "{other}");
        }
    }
}
