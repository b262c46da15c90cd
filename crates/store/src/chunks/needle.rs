//! The text that is looked for, prepared: found in bytes without looking at each of them.

use memchr::{memchr_iter, memchr2_iter, memmem};

use super::Case;

/// A text, and how it is found.
#[derive(Debug)]
pub(super) struct Needle {
    text: Vec<u8>,
    finder: Finder,
}

#[derive(Debug)]
enum Finder {
    Exact(Box<memmem::Finder<'static>>),
    /// By this byte of it, capital or small: the one that the bytes at hand have least.
    ByByte(usize),
}

impl Needle {
    /// `sample` is some of what will be looked through: the byte of the text that is rare there is the one to look for, because
    /// each time that it is seen the rest has to be compared.
    pub fn new(text: &[u8], case: Case, sample: &[u8]) -> Self {
        let finder = match case {
            Case::Sensitive => Finder::Exact(Box::new(memmem::Finder::new(text).into_owned())),
            Case::Ignored => Finder::ByByte(rarest(text, sample)),
        };
        Self { text: text.to_vec(), finder }
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Where the text first is.
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        let place = match &self.finder {
            Finder::Exact(finder) => return finder.find(bytes),
            Finder::ByByte(place) => *place,
        };
        let byte = *self.text.get(place)?;
        let is_here = |at: usize| {
            let part = at.checked_sub(place).and_then(|begin| bytes.get(begin..begin + self.text.len()));
            part.is_some_and(|part| part.eq_ignore_ascii_case(&self.text))
        };
        let (small, capital) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        let found = if small == capital {
            memchr_iter(byte, bytes).find(|at| is_here(*at))
        } else {
            memchr2_iter(small, capital, bytes).find(|at| is_here(*at))
        };
        found.map(|at| at - place)
    }
}

/// The place of the byte that the sample has least, capital and small together; the first of those.
fn rarest(text: &[u8], sample: &[u8]) -> usize {
    let mut counts = [0_u32; 256];
    for byte in sample {
        counts[usize::from(byte.to_ascii_lowercase())] += 1;
    }
    let count = |place: &usize| counts[usize::from(text[*place].to_ascii_lowercase())];
    (0..text.len()).min_by_key(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_for_by_its_byte_that_is_rare() {
        assert_eq!(rarest(b"needle-late", b"plain lines, all of them; never a dash, Dd"), 6);
        assert_eq!(rarest(b"Abc", b"aaa B c"), 1);
        assert_eq!(rarest(b"abc", b""), 0);
        assert_eq!(rarest(b"", b"abc"), 0);
    }

    #[test]
    fn it_is_found_where_a_plain_comparison_finds_it() {
        let alphabet = ["a", "A", "b", "-", "\u{e9}", "[", "{", "\n"];
        let mut bytes = Vec::new();
        let mut number = 7_u32;
        for _ in 0..400 {
            number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            bytes.extend(alphabet[(number >> 16) as usize % alphabet.len()].as_bytes());
        }
        for text in ["a", "B", "ab", "Ab-", "\u{e9}", "aa\u{e9}b", "[", "{a", "aAbA", "-[{", "nowhere"] {
            for sample in [&bytes[..], b"", b"aaaa", b"bbbb----"] {
                for from in 0..bytes.len() {
                    let rest = &bytes[from..];
                    for case in [Case::Sensitive, Case::Ignored] {
                        let is_same = |part: &[u8]| match case {
                            Case::Sensitive => part == text.as_bytes(),
                            Case::Ignored => part.eq_ignore_ascii_case(text.as_bytes()),
                        };
                        let plain = rest.windows(text.len()).position(is_same);
                        assert_eq!(Needle::new(text.as_bytes(), case, sample).find(rest), plain, "{text} from {from}");
                    }
                }
            }
        }
    }
}
