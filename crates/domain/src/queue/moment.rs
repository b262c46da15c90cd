//! When something will have happened at the latest, and how a time is written.

use serde::{Deserialize, Serialize};

/// The time by which something has happened, in milliseconds since 1970; not known where a task states no time limit.
/// A known time comes before an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Latest {
    At(u64),
    Unknown,
}

impl Latest {
    /// The end of something that begins now and may take so long.
    pub fn after(now_ms: u64, limit_ms: Option<u64>) -> Self {
        limit_ms.map_or(Self::Unknown, |limit| Self::At(now_ms.saturating_add(limit)))
    }

    /// The end of something that takes so long and begins at this time.
    pub fn plus(self, limit_ms: Option<u64>) -> Self {
        match self {
            Self::At(at) => Self::after(at, limit_ms),
            Self::Unknown => Self::Unknown,
        }
    }

    pub fn known(self) -> Option<u64> {
        match self {
            Self::At(at) => Some(at),
            Self::Unknown => None,
        }
    }
}

/// `2026-11-16 05:10 UTC`: a sentence that is stored is read in any zone. Rounded up, because it is a bound.
pub fn written(at_ms: u64) -> String {
    let minutes = at_ms.div_ceil(60_000);
    let (days, minute) = (minutes / 1_440, minutes % 1_440);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// The date of a day since 1970, by the Gregorian calendar. Years are counted from March, so that the leap day is the last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_to_the_minute_and_never_too_early() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (1, "1970-01-01 00:01 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_794_805_800_000, "2026-11-16 05:10 UTC"),
            (1_798_761_599_999, "2027-01-01 00:00 UTC"),
        ];
        for (at, text) in cases {
            assert_eq!(written(at), text);
        }
    }

    #[test]
    fn a_known_time_comes_before_an_unknown_one() {
        assert!(Latest::At(u64::MAX) < Latest::Unknown);
        assert_eq!(Latest::after(5, None).plus(Some(1)), Latest::Unknown);
        assert_eq!(Latest::after(5, Some(2)).plus(Some(1)), Latest::At(8));
    }
}
