//! Finds the lines of a rank that is not on the terminal which its user would want to see all the same.

/// At most this many lines of one stream are lifted out; the file has them all.
const BUDGET: usize = 40;

/// Watches one stream for errors.
#[derive(Debug, Default)]
pub struct Lift {
    in_traceback: bool,
    lifted: usize,
}

/// Whether a line is worth showing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    Nothing,
    Show,
    /// Show it and say that further ones are in the file only.
    ShowAsLast,
}

impl Lift {
    /// Of a traceback only the exception is lifted: the report at the end has the whole of the one that matters.
    pub fn judge(&mut self, line: &[u8]) -> Worth {
        let line = without_rank_prefix(line);
        if line.starts_with(b"Traceback (most recent call last)") {
            self.in_traceback = true;
            return Worth::Nothing;
        }
        let worth = if self.in_traceback {
            let inside = line.is_empty() || line[0].is_ascii_whitespace();
            self.in_traceback = inside;
            !inside && !is_between_chained(line)
        } else {
            is_error(line)
        };
        if !worth || self.lifted >= BUDGET {
            return Worth::Nothing;
        }
        self.lifted += 1;
        if self.lifted == BUDGET { Worth::ShowAsLast } else { Worth::Show }
    }
}

/// torch puts `[rank3]: ` before the lines of an uncaught exception.
fn without_rank_prefix(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_prefix(b"[rank") else { return line };
    memchr::memmem::find(rest, b"]: ").map_or(line, |at| &rest[at + 3..])
}

fn is_between_chained(line: &[u8]) -> bool {
    line.starts_with(b"During handling of") || line.starts_with(b"The above exception")
}

/// The ways in which common loggers and libraries mark an error.
fn is_error(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 9] = [
        b"ERROR:",
        b"[ERROR]",
        b" ERROR ",
        b" - ERROR - ",
        b"CRITICAL",
        b"FATAL",
        b"Fatal Python error",
        b"CUDA out of memory",
        b"terminate called",
    ];
    line.starts_with(b"error: ") || MARKS.iter().any(|mark| memchr::memmem::find(line, mark).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(text: &str) -> Vec<&str> {
        let mut lift = Lift::default();
        text.lines().filter(|line| lift.judge(line.as_bytes()) != Worth::Nothing).collect()
    }

    #[test]
    fn of_a_traceback_the_exception_is_lifted() {
        let text =
            "step 1\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    boom()\nValueError: boom\nbye";
        assert_eq!(lifted(text), ["ValueError: boom"]);
    }

    #[test]
    fn torchs_rank_prefix_does_not_hide_it() {
        let text = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\"\n[rank1]: RuntimeError: x";
        assert_eq!(lifted(text), ["[rank1]: RuntimeError: x"]);
    }

    #[test]
    fn log_levels_are_recognised_and_ordinary_words_are_not() {
        assert_eq!(
            lifted("2026-01-01 ERROR disk\nno error here\nERROR: bad\nerror rate 0.1"),
            ["2026-01-01 ERROR disk", "ERROR: bad"]
        );
    }

    #[test]
    fn a_flood_of_errors_is_cut_off() {
        let mut lift = Lift::default();
        let shown = (0..1000).filter(|_| lift.judge(b"ERROR: again") != Worth::Nothing).count();
        assert_eq!(shown, BUDGET);
    }
}
