//! The lines of a journal that comes in pieces, cut anywhere.

use std::ops::RangeInclusive;

use fermi_domain::event::{Record, RunEvent};
use serde::Deserialize;

/// A longer line is no event of ours: the longest has the evidence of a verdict in it.
const LONGEST_LINE: usize = 1 << 20;
/// Stands in the tail for a line that was too long; no line of JSON begins so, and what follows belongs to it.
const CUT: u8 = 0;
/// Events that happened within this span are one change of their task.
const TOGETHER_MS: u64 = 1_000;

/// What a piece makes of the tail that was kept.
#[derive(Debug, PartialEq)]
pub struct Lines {
    /// What happened, with the time that its line tells, if it is one.
    pub events: Vec<(u64, RunEvent)>,
    /// What is not a whole line yet.
    pub rest: Vec<u8>,
    /// Lines that were too long.
    pub dropped: u64,
}

/// Takes a piece in.
pub fn take(mut tail: Vec<u8>, piece: &[u8]) -> Lines {
    tail.extend_from_slice(piece);
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut rest = tail.split_off(whole);
    let is_too_long = |line: &[u8]| line.len() > LONGEST_LINE || line.first() == Some(&CUT);
    let mut dropped = 0;
    let mut events = Vec::new();
    for line in tail.split(|byte| *byte == b'\n') {
        if is_too_long(line) {
            dropped += 1;
        } else {
            events.extend(event_of_line(line));
        }
    }
    if is_too_long(&rest) {
        rest = vec![CUT];
    }
    Lines { events, rest, dropped }
}

/// Headers and whatever a newer supervisor may tell are passed over.
fn event_of_line(line: &[u8]) -> Option<(u64, RunEvent)> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let version = serde_json::from_slice::<Versioned>(line).ok()?;
    if version.v > fermi_domain::event::VERSION {
        return None;
    }
    serde_json::from_slice::<Record>(line).ok().map(|record| (record.time_ms, record.event))
}

/// Gives each event a time that can be true: not before the task, not after the line came, never before the event before.
/// Events that are close together are one group, each with its own time.
pub fn grouped(events: Vec<(u64, RunEvent)>, possible_ms: RangeInclusive<u64>) -> Vec<Vec<(u64, RunEvent)>> {
    let (first, last) = (*possible_ms.start(), (*possible_ms.end()).max(*possible_ms.start()));
    let mut groups: Vec<Vec<(u64, RunEvent)>> = Vec::new();
    let mut earliest = first;
    for (told_ms, event) in events {
        let time_ms = told_ms.clamp(earliest, last.max(earliest));
        earliest = time_ms;
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|(begin, _)| time_ms - begin < TOGETHER_MS) => {
                group.push((time_ms, event));
            }
            _ => groups.push(vec![(time_ms, event)]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time_ms: u64, attempt: u32) -> String {
        format!("{{\"v\":1,\"seq\":1,\"timeMs\":{time_ms},\"event\":\"attempt.killing\",\"attempt\":{attempt}}}\n")
    }

    #[test]
    fn strangers_journals_leave_little_behind() {
        let text = format!("{{\"journal\":1,\"fermi\":\"0\"}}\n{}\n{}", line(5, 1), line(6, 2));
        let mut tail = Vec::new();
        fermi_mutator::try_all(&[text.as_bytes(), b"{\"v\":2}\n", &[CUT, b'\n']], 3_000, |piece| {
            let Lines { events, rest, .. } = take(std::mem::take(&mut tail), piece);
            assert!(rest.len() <= LONGEST_LINE + piece.len());
            let count = events.len();
            let groups = grouped(events, 3..=9);
            assert!(groups.iter().flatten().all(|(time, _)| (3..=9).contains(time)));
            assert_eq!(groups.iter().flatten().count(), count);
            tail = rest;
        });
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let text = format!("{{\"journal\":1,\"fermi\":\"0\"}}\n{}\n{}", line(5, 1), line(6, 2));
        for cut in 0..text.len() {
            let first = take(Vec::new(), &text.as_bytes()[..cut]);
            let second = take(first.rest, &text.as_bytes()[cut..]);
            let times: Vec<u64> = first.events.iter().chain(&second.events).map(|(time, _)| *time).collect();
            assert_eq!((times, second.rest.len()), (vec![5, 6], 0), "{cut}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_dropped_and_the_next_one_is_read() {
        let mut tail = Vec::new();
        for _ in 0..5 {
            let lines = take(tail, &vec![b'x'; LONGEST_LINE / 2]);
            assert!(lines.rest.len() <= LONGEST_LINE && lines.events.is_empty());
            tail = lines.rest;
        }
        let lines = take(tail, format!("more\n{}", line(7, 1)).as_bytes());
        assert_eq!((lines.dropped, lines.events.len(), lines.rest.len()), (1, 1, 0));
    }

    #[test]
    fn events_have_the_time_at_which_they_happened_if_it_can_be_true() {
        let event = |time_ms| (time_ms, RunEvent::Killing { attempt: 1 });
        let times = |told: &[u64]| {
            let groups = grouped(told.iter().map(|time| event(*time)).collect(), 10_000..=50_000);
            groups.iter().map(|group| (group[0].0, group.len())).collect::<Vec<_>>()
        };
        assert_eq!(
            times(&[20_000, 20_500, 40_000]),
            [(20_000, 2), (40_000, 1)],
            "hours after a cut they are told as they were"
        );
        assert_eq!(times(&[1, 99_000_000]), [(10_000, 1), (50_000, 1)], "a clock that is wrong is not believed");
        assert_eq!(times(&[30_000, 20_000]), [(30_000, 2)], "never back");
    }
}
