//! Where the time of a task has gone, and who hangs, as `show` and `explain` say it.

use fermi_api::v1::Ledger;
use fermi_domain::hang::{HangNote, StackGroup, own_frame};
use fermi_domain::language::Language;

use crate::plain::plain;
use crate::span;
use crate::speech::{Paint, pick};

/// `████░░ 1 h 4 min · 93 % productive · import 4 %`.
pub fn bar(ledger: &Ledger, language: Language, paint: Paint) -> String {
    let (filled, rest) = ledger.account().bar();
    let (whole, text) = (span::exact(ledger.wall_ms), ledger.text.in_language(language));
    format!("{}{} {whole} · {text}", paint.green(&filled), paint.dim(&rest))
}

/// Where ranks stand, those at the same place together, and where the stacks of all their threads are.
pub fn places(hang: &HangNote, task: &str) -> String {
    let mut lines: Vec<String> = hang.stacks.iter().map(place).collect();
    lines.push(format!("fermi task logs {task} --attempt {} --stream hang", hang.attempt));
    lines.join("\n")
}

/// `7 ranks (0, 2-7): train.py:80 (step)`.
pub fn place(group: &StackGroup) -> String {
    let at = own_frame(&group.frames).map_or_else(|| pick("没有回应", "gave no stack").to_owned(), ToString::to_string);
    let count = match group.ranks.len() {
        1 => pick("1 个 rank", "1 rank").to_owned(),
        more => format!("{more} {}", pick("个 rank", "ranks")),
    };
    // Names of files and functions are their writer's.
    format!("{count} ({}): {}", ranges(&group.ranks), plain(&at))
}

/// `0, 2-7`.
pub fn ranges(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_as_ranges() {
        for (ranks, expected) in [(&[0_u32, 2, 3, 4, 7][..], "0, 2-4, 7"), (&[5], "5"), (&[], "")] {
            assert_eq!(ranges(ranks), expected);
        }
    }
}
