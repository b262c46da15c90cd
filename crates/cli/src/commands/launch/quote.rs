//! Words for a POSIX shell.
//!
//! Between single quotes a shell changes nothing but the single quote itself, so that spaces, `$(…)`, newlines and bytes
//! that are no text at all reach the program as they are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// One word, such that a shell reads exactly these bytes.
pub fn word(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Several words with spaces between them.
pub fn words<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Vec<u8> {
    words.into_iter().map(word).collect::<Vec<_>>().join(&b' ')
}

/// A path in which a leading `~/` still means the home folder of whoever reads it.
pub fn path(path: &str) -> Vec<u8> {
    match path.strip_prefix("~/") {
        Some(rest) => [b"\"$HOME\"/".as_slice(), &word(OsStr::new(rest))].concat(),
        None => word(OsStr::new(path)),
    }
}

/// Whether a shell can export a variable of this name.
pub fn is_variable_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// What a real shell makes of the words: each ends with a NUL, which no argument can hold.
    fn read_by_a_shell(given: &[&[u8]]) -> Vec<Vec<u8>> {
        let quoted = words(given.iter().map(|word| OsStr::from_bytes(word)));
        let line = [b"printf '%s\\0' ".as_slice(), &quoted].concat();
        let output = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&line)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).take(given.len()).collect()
    }

    #[test]
    fn awkward_words_arrive_as_they_are() {
        let given: [&[u8]; 10] = [
            b"train.py",
            b"two words",
            b"it's \"quoted\"",
            "训练 脚本.py".as_bytes(),
            b"$(touch /tmp/never) `id` ${HOME} $1",
            b"line one\nline two\n",
            b"",
            b"~/a ! # & ; | < > * ? [a] {b,c} \\",
            b"'",
            b"\xff\xfe\x01",
        ];
        assert_eq!(read_by_a_shell(&given), given);
    }

    #[test]
    fn only_a_leading_tilde_stays_open() {
        assert_eq!(path("~/my bin/fermi"), b"\"$HOME\"/'my bin/fermi'");
        assert_eq!(path("/opt/~/fermi"), b"'/opt/~/fermi'");
    }

    #[test]
    fn names_of_variables_are_known() {
        for good in ["A", "_x", "NCCL_DEBUG", "x9"] {
            assert!(is_variable_name(good), "{good}");
        }
        for bad in ["", "9a", "A B", "BASH_FUNC_x%%", "a-b", "变量"] {
            assert!(!is_variable_name(bad), "{bad}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn any_words_survive_a_real_shell(given in prop::collection::vec(prop::collection::vec(1u8..=255, 0..24), 1..6)) {
            let given: Vec<&[u8]> = given.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(read_by_a_shell(&given), given);
        }

        #[test]
        fn any_text_survives_a_real_shell(text in "[a-zA-Z0-9 '\"$`\\\\\n\t(){}!#&;|<>*?~=中文-]{0,40}") {
            prop_assert_eq!(read_by_a_shell(&[text.as_bytes()]), vec![text.as_bytes().to_vec()]);
        }
    }
}
