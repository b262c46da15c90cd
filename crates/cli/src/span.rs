//! Times and sizes as people read them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::speech::pick;

/// Unix milliseconds.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The two largest units: `5天3小时`, `2 h 5 min`.
pub fn long(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let units =
        [(86_400, pick("天", " d")), (3_600, pick("小时", " h")), (60, pick("分", " min")), (1, pick("秒", " s"))];
    let Some(first) = units.iter().position(|(size, _)| seconds >= *size) else {
        return format!("{milliseconds}{}", pick("毫秒", " ms"));
    };
    let (size, name) = units[first];
    let mut text = format!("{}{name}", seconds / size);
    if let Some((smaller, name)) = units.get(first + 1)
        && seconds % size / smaller > 0
    {
        text.push_str(&format!("{}{}{name}", pick("", " "), seconds % size / smaller));
    }
    text
}

/// `0.84 s`, `12.3 s`, then as [`long`].
pub fn exact(milliseconds: u64) -> String {
    let seconds = milliseconds as f64 / 1e3;
    let unit = pick(" 秒", " s");
    if seconds < 10.0 {
        format!("{seconds:.2}{unit}")
    } else if seconds < 60.0 {
        format!("{seconds:.1}{unit}")
    } else {
        long(milliseconds)
    }
}

/// How long ago that was.
pub fn ago(then_ms: u64) -> String {
    let text = long(now_ms().saturating_sub(then_ms));
    format!("{text}{}", pick("前", " ago"))
}

/// The time of day.
pub fn clock(then_ms: u64) -> String {
    local(then_ms).map_or_else(String::new, |at| {
        format!("{:02}:{:02}:{:02}.{:03}", at.tm_hour, at.tm_min, at.tm_sec, then_ms % 1000)
    })
}

/// Date and time of day.
pub fn date(then_ms: u64) -> String {
    local(then_ms).map_or_else(String::new, |at| {
        format!("{:04}-{:02}-{:02} {}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, clock(then_ms))
    })
}

/// Date and time without a sign that a file name could not have, in the order in which they sort.
pub fn stamp(then_ms: u64) -> String {
    local(then_ms).map_or_else(String::new, |at| {
        let (year, month) = (at.tm_year + 1900, at.tm_mon + 1);
        format!("{year:04}{month:02}{:02}-{:02}{:02}{:02}", at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec)
    })
}

/// Date and time in the zone of this machine, in UTC where that is not known. By the C library, which is linked anyway:
/// `fermi run` needs one date at its start and no crate for time zones.
fn local(then_ms: u64) -> Option<libc::tm> {
    let seconds = i64::try_from(then_ms / 1000).ok()?;
    // SAFETY: an all-zero `tm` is a valid value to be overwritten.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that outlive the call; `localtime_r` keeps neither.
    let is_known = !unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) }.is_null();
    is_known.then_some(parts)
}

/// Bytes in the unit that fits.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 || size >= 100.0 { format!("{size:.0} {}", UNITS[unit]) } else { format!("{size:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_sorts_by_time_and_names_a_file() {
        let (before, after) = (stamp(1_700_000_000_000), stamp(1_700_086_400_000));
        assert!(before < after && before.starts_with("202311"), "{before} {after}");
        assert_eq!(before.len(), "20231114-221320".len());
        assert!(before.chars().all(|c| c.is_ascii_digit() || c == '-'));
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(
            [bytes(0), bytes(1536), bytes(200 << 20), bytes(u64::MAX)],
            ["0 B", "1.5 KiB", "200 MiB", "16777216 TiB"]
        );
    }
}
