//! Which streams are wanted, and from where.

use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_store::chunks::{StreamKind, StreamName};

use crate::envelope::ApiProblem;
use crate::http::params::Params;

/// The parameters of logs.
pub const KNOWN: [&str; 7] = ["rank", "stream", "attempt", "tail", "offset", "limitBytes", "follow"];

/// Which streams of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    pub task: TaskId,
    pub rank: Option<u32>,
    /// None for stdout and stderr.
    pub kind: Option<StreamKind>,
    /// The newest when none is named.
    pub attempt: Option<u32>,
}

/// Where in them to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The last lines.
    Tail(usize),
    Offset(u64),
}

/// How much.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub start: Option<Start>,
    pub limit_bytes: Option<u64>,
    pub follow: bool,
}

/// The most lines that `tail` gives.
const MOST_LINES: usize = 100_000;

impl Selection {
    pub fn read(task: TaskId, params: &Params) -> Result<Self, ApiProblem> {
        let kinds = [
            ("stdout", Some(StreamKind::Stdout)),
            ("stderr", Some(StreamKind::Stderr)),
            ("hang", Some(StreamKind::Hang)),
            ("all", None),
        ];
        let rank = if params.text("rank") == Some("all") { None } else { params.number("rank", 0..=u32::MAX)? };
        Ok(Self {
            task,
            rank,
            kind: params.choice("stream", &kinds)?.flatten(),
            attempt: params.number("attempt", 1..=u32::MAX)?,
        })
    }

    /// Whether a stream is one of them, whatever its attempt.
    pub fn wants(&self, name: &StreamName) -> bool {
        self.rank.is_none_or(|rank| rank == name.rank)
            && self.kind.map_or_else(|| name.kind.is_output(), |kind| kind == name.kind)
    }
}

impl Extent {
    pub fn read(params: &Params, selection: &Selection) -> Result<Self, ApiProblem> {
        let tail = params.number("tail", 0..=MOST_LINES)?;
        let offset = params.number("offset", 0..=u64::MAX)?;
        let start = match (tail, offset) {
            (Some(_), Some(_)) => {
                return Err(ApiProblem::unprocessable(
                    "parameter_conflict",
                    "offset",
                    Text::new("tail 与 offset 只能选其一", "both tail and offset are given"),
                ));
            }
            (Some(lines), None) => Some(Start::Tail(lines)),
            (None, Some(offset)) => Some(Start::Offset(offset)),
            (None, None) => None,
        };
        if offset.is_some() && (selection.rank.is_none() || selection.kind.is_none()) {
            return Err(ApiProblem::unprocessable(
                "parameter_conflict",
                "offset",
                Text::new("offset 需要指定 rank 与 stream", "an offset needs one rank and one stream"),
            )
            .hint(Text::new("例如 rank=0&stream=stdout&offset=0", "for example rank=0&stream=stdout&offset=0")));
        }
        Ok(Self { start, limit_bytes: params.number("limitBytes", 1..=u64::MAX)?, follow: params.flag("follow")? })
    }
}

/// How many bytes of `bytes` can be shown without cutting a letter in two. Bytes that are no UTF-8 at all count as whole.
pub fn whole_letters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        let needs = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => continue,
        };
        let rest = &bytes[at + 1..];
        if at + needs > bytes.len() && rest.iter().all(|byte| (0x80..0xC0).contains(byte)) {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_never_cut_in_two() {
        let text = "loss 损失 🙂";
        for end in 0..=text.len() {
            let whole = whole_letters(&text.as_bytes()[..end]);
            assert!(text.is_char_boundary(whole) && end - whole < 4, "{end}");
        }
        assert_eq!(whole_letters(b"ab\xff"), 3);
        assert_eq!(whole_letters(b"\x80\x80\x80"), 3);
        assert_eq!(whole_letters(b"\xe6a"), 2);
    }
}
