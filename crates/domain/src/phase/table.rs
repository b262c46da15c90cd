//! Tables of phases and events, for the tests: a row per phase, a column per event, `-` where it is refused.

use std::fmt::Debug;

use serde::de::DeserializeOwned;

/// Whether every phase meets every event as the table says, and the table has them all.
pub(super) fn holds<Phase, Event>(
    table: &str,
    phases: &[Phase],
    events: &[Event],
    next: impl Fn(Phase, Event) -> Option<Phase>,
) where
    Phase: Copy + Debug + DeserializeOwned + PartialEq,
    Event: Copy + Debug,
{
    let phase = |name: &str| -> Phase { serde_json::from_value(name.into()).unwrap() };
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<Vec<&str>> = rows.filter(|row| !row.is_empty()).collect();
    let named: Vec<Phase> = rows.iter().map(|row| phase(row[0])).collect();
    assert_eq!(named, phases, "the table has other phases");
    for row in rows {
        assert_eq!(row.len(), events.len() + 1, "{} has too few or too many columns", row[0]);
        for (event, expected) in events.iter().zip(&row[1..]) {
            let expected = (*expected != "-").then(|| phase(expected));
            assert_eq!(next(phase(row[0]), *event), expected, "{} on {event:?}", row[0]);
        }
    }
}
