//! The last Python traceback among the lines of a rank.

use serde::{Deserialize, Serialize};

/// One traceback with those it was chained to, as Python printed it, without the prefixes of torch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Traceback {
    /// All lines, oldest exception of the chain first.
    pub lines: Vec<String>,
    /// The line that names the exception that ended the program, such as `ValueError: bad shape`.
    pub exception: String,
}

/// Finds the last complete traceback. A message that goes over several lines is kept with it.
pub fn last_traceback<S: AsRef<str>>(lines: &[S]) -> Option<Traceback> {
    let bare: Vec<&str> = lines.iter().map(|line| without_prefix(line.as_ref())).collect();
    locate(&bare).map(|located| located.traceback(&bare))
}

/// Where a traceback stands, so that a caller can tell what was printed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) start: usize,
    exception: usize,
    end: usize,
}

impl Located {
    pub(super) fn traceback(self, lines: &[&str]) -> Traceback {
        let exception = without_margin(lines[self.exception]).trim().to_owned();
        Traceback { lines: lines[self.start..self.end].iter().map(|line| (*line).to_owned()).collect(), exception }
    }
}

/// The last traceback of `lines` (already without prefixes) that ended the program, as far as one can see.
pub(super) fn locate(lines: &[&str]) -> Option<Located> {
    let blocks = blocks(lines);
    // What Python prints of destructors, exit handlers and other threads did not end the program, and what a wrapper
    // prints does not tell why it ended.
    let last = blocks.iter().rposition(|block| !block.aside).or(blocks.len().checked_sub(1))?;
    let mut first = last;
    while first > 0 && blocks[first].chained {
        first -= 1;
    }
    Some(Located { start: blocks[first].start, exception: blocks[last].exception, end: blocks[last].end })
}

/// Removes what torch and launchers put before a line: `[rank3]: `, `[default0]:`, `[gn6:rank3]: `.
pub(super) fn without_prefix(line: &str) -> &str {
    let Some((tag, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")) else { return line };
    let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':');
    if tag.ends_with(|letter: char| letter.is_ascii_digit())
        && tag.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && tag.chars().all(known)
    {
        rest.strip_prefix(' ').unwrap_or(rest)
    } else {
        line
    }
}

struct Block {
    start: usize,
    exception: usize,
    end: usize,
    /// Belongs to the one before, see [`CHAINS`].
    chained: bool,
    /// Printed by the way, see [`locate`].
    aside: bool,
}

const HEADER: &str = "Traceback (most recent call last):";
const GROUP_HEADER: &str = "+ Exception Group Traceback (most recent call last):";
/// The box that the rich library draws; what stands in it is for people, the exception follows it.
const BOXED_HEADER: &str = "Traceback (most recent call last)";
/// What stands before a traceback that explains the one above: Python's two sentences, and the one of torch's spawn.
const CHAINS: [&str; 3] = [
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
    "-- Process ",
];
/// How torch's data loader shows what happened in its worker.
const ORIGINAL: &str = "Original Traceback";
/// Exceptions of launchers that say no more than that the program which they started failed.
const WRAPPERS: [&str; 2] =
    ["subprocess.CalledProcessError", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"];
const ASIDES: [&str; 3] = ["Exception ignored in", "Exception in thread", "Error in atexit._run_exitfuncs"];
/// Lines of another stream that may slip in between the frames and the exception.
const STRAY_LINES: usize = 3;
/// Lines of a message after its first that are kept.
const MESSAGE_LINES: usize = 16;

fn blocks(lines: &[&str]) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let block = if lines[at].trim_start().starts_with(GROUP_HEADER) {
            group(lines, at)
        } else if is_header(lines[at]) {
            plain(lines, at, at + 1)
        } else if lines[at].starts_with('╭') && lines[at].contains(BOXED_HEADER) {
            boxed(lines, at)
        } else if is_frame(lines[at]) {
            // A SyntaxError has no header, nor has a traceback whose beginning fell out of the tail.
            plain(lines, at, at)
        } else {
            None
        };
        let Some((exception, end)) = block else {
            at += 1;
            continue;
        };
        let before = lines[..at].iter().rev().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
        let continues = CHAINS.iter().any(|chain| before.starts_with(chain)) || lines[at].starts_with(ORIGINAL);
        let chained = continues && !found.is_empty();
        let aside = ASIDES.iter().any(|aside| before.starts_with(aside))
            || WRAPPERS.iter().any(|wrapper| lines[exception].starts_with(wrapper));
        found.push(Block { start: at, exception, end, chained, aside });
        at = end;
    }
    found
}

/// Reads frames from `at` on, then the exception and its message.
fn plain(lines: &[&str], start: usize, mut at: usize) -> Option<(usize, usize)> {
    let mut strays = 0;
    loop {
        let line = *lines.get(at)?;
        if line.starts_with([' ', '\t']) {
            at += 1;
        } else if is_exception(line) {
            break;
        } else if strays < STRAY_LINES && at > start && !is_header(line) {
            strays += 1;
            at += 1;
        } else {
            return None;
        }
    }
    let rest = lines[at + 1..].iter().take(MESSAGE_LINES).take_while(|line| continues_message(line)).count();
    Some((at, at + 1 + rest))
}

/// Reads a box to its lower edge, then the exception below it.
fn boxed(lines: &[&str], start: usize) -> Option<(usize, usize)> {
    let edge = start + lines[start..].iter().position(|line| line.starts_with('╰'))?;
    plain(lines, start, edge + 1)
}

/// Reads an exception group: its own frames, then its members, each behind a margin. The first member is the
/// exception to name, since the group itself says only how many there are.
fn group(lines: &[&str], start: usize) -> Option<(usize, usize)> {
    let inside = |line: &&&str| line.trim_start().starts_with(['|', '+']);
    let end = start + lines[start..].iter().take_while(inside).count();
    let members = lines[start..end].iter().position(|line| line.contains("---- 1 ----")).map(|at| start + at + 1);
    let leaf = |from: usize| {
        (from..end).find(|at| {
            let line = without_margin(lines[*at]);
            is_exception(line) && !line.contains("sub-exception")
        })
    };
    let exception = members.and_then(leaf).or_else(|| (start..end).find(|at| is_exception(without_margin(lines[*at]))));
    exception.map(|exception| (exception, end))
}

fn without_margin(line: &str) -> &str {
    let trimmed = line.trim_start();
    trimmed.strip_prefix("| ").unwrap_or(line)
}

fn is_header(line: &str) -> bool {
    line.trim_end().ends_with(HEADER) && !line.trim_start().starts_with(GROUP_HEADER)
}

fn is_frame(line: &str) -> bool {
    line.strip_prefix("  File \"").is_some_and(|rest| rest.contains("\", line "))
}

/// Whether a line is `some.module.Name` or `some.module.Name: message`.
fn is_exception(line: &str) -> bool {
    let path = line.split_once(": ").map_or(line, |(path, _)| path);
    let path = path.strip_suffix(':').unwrap_or(path);
    let word = |part: &str| {
        part.starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '<'))
            && part.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '<' | '>'))
    };
    // All capitals are levels of a logger ("WARNING: …"); a bare word in lower case is something printed.
    path.split('.').all(word)
        && path.chars().any(char::is_lowercase)
        && (path.contains('.') || path.starts_with(|letter: char| letter.is_uppercase() || letter == '_'))
}

/// A message's next line is neither empty nor the beginning of something else.
fn continues_message(line: &str) -> bool {
    let ends = line.trim().is_empty()
        || is_header(line)
        || is_frame(line)
        || line.starts_with(['[', '╭'])
        || line.starts_with("Exception raised from")
        || ASIDES.iter().any(|aside| line.starts_with(aside));
    !ends
}

#[cfg(test)]
mod tests;
