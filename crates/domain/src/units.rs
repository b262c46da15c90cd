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
}
