//! Quantities with their unit in the type.

use std::{fmt, iter::Sum, ops::Add};

use serde::{Deserialize, Serialize};

const GIB: u64 = 1 << 30;

/// An amount of memory or storage. People read it in whole GiB, which the pages call GB as the trade does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bytes(pub u64);

impl Bytes {
    /// So many GiB.
    pub fn from_gib(gib: u64) -> Self {
        Self(gib.saturating_mul(GIB))
    }

    /// Full GiB; what is left over is not shown, because it cannot be counted on.
    pub fn whole_gib(self) -> u64 {
        self.0 / GIB
    }
}

impl Bytes {
    /// Three figures with the unit that fits, as people speak of disks; a unit is 1,024 of the one below.
    pub fn rounded(self) -> String {
        let units = ["KB", "MB", "GB", "TB", "PB", "EB"];
        if self.0 < 1_024 {
            return format!("{} B", self.0);
        }
        let mut amount = self.0 as f64 / 1_024.0;
        let mut unit = 0;
        while amount >= 999.5 && unit + 1 < units.len() {
            amount /= 1_024.0;
            unit += 1;
        }
        let decimals = if amount < 9.95 { 1 } else { 0 };
        format!("{amount:.decimals$} {}", units[unit])
    }

    /// Reads `512MB`, `8 GB`, `64g`, `1TiB` or a bare number of bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(1 << shift).map(Self)
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GB", self.whole_gib())
    }
}

/// A span of time as people configure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Seconds(pub u64);

impl Seconds {
    /// For clocks, which count in milliseconds.
    pub fn as_millis(self) -> u64 {
        self.0.saturating_mul(1_000)
    }

    /// As people write it: `90 s`, `45 min`, `2 h`, `1 h 30 min`.
    pub fn written(self) -> String {
        let (hours, minutes, seconds) = (self.0 / 3_600, self.0 / 60 % 60, self.0 % 60);
        match (hours, minutes, seconds) {
            (0, minutes, 0) if minutes > 0 => format!("{minutes} min"),
            (hours, 0, 0) if hours > 0 => format!("{hours} h"),
            (hours, minutes, 0) if hours > 0 => format!("{hours} h {minutes} min"),
            _ => format!("{} s", self.0),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

/// For fields that hold [`Bytes`] and travel as a number of whole GiB, as `totalMemory: 128` does.
pub mod as_whole_gib {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Bytes;

    pub fn serialize<S: Serializer>(amount: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        amount.whole_gib().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        u64::deserialize(deserializer).map(Bytes::from_gib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_in_whole_gib_called_gb() {
        assert_eq!(Bytes::from_gib(128).to_string(), "128 GB");
        assert_eq!(Bytes(128 * GIB - 1).to_string(), "127 GB");
        assert_eq!(Bytes(0).to_string(), "0 GB");
    }

    #[test]
    fn sums_do_not_overflow() {
        assert_eq!([Bytes(u64::MAX), Bytes(1)].into_iter().sum::<Bytes>(), Bytes(u64::MAX));
        assert_eq!([Bytes::from_gib(1), Bytes::from_gib(2)].into_iter().sum::<Bytes>().whole_gib(), 3);
    }

    #[test]
    fn amounts_of_disk_are_read_and_shown() {
        let cases = [
            ("0", "0 B"),
            ("1023", "1023 B"),
            ("2k", "2.0 KB"),
            ("512MB", "512 MB"),
            ("8 GiB", "8.0 GB"),
            ("1024 GB", "1.0 TB"),
        ];
        for (text, shown) in cases {
            assert_eq!(Bytes::parse(text).unwrap().rounded(), shown, "{text}");
        }
        for text in ["", "GB", "-1", "1.5 GB", "8 parsecs", "99999999999999999999", "99999999 TB"] {
            assert_eq!(Bytes::parse(text), None, "{text}");
        }
    }
}
