//! Pages of a list: a place in the order instead of a number of rows to skip, so that rows that come or go meanwhile
//! neither hide a row nor show one twice.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

/// A row with the revision that a change of it must name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: T,
    pub revision: u64,
}

/// Some rows of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Where the next page begins; none after the last one.
    pub next: Option<PageToken>,
    /// How many rows there are on all pages, where that is known without counting them.
    pub total: Option<u64>,
}

/// A place in a list, opaque to everybody but the list that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageToken(pub String);

/// A page token that this list never gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the page token is not one of this list")]
pub struct BadToken;

impl PageToken {
    pub(crate) fn of<T: Serialize>(place: &T) -> Option<Self> {
        let json = serde_json::to_vec(place).ok()?;
        Some(Self(HEXLOWER.encode(&json)))
    }

    pub(crate) fn place<T: DeserializeOwned>(&self) -> Result<T, BadToken> {
        let bytes = HEXLOWER_PERMISSIVE.decode(self.0.as_bytes()).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or(BadToken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_back_and_anything_else_is_refused() {
        let token = PageToken::of(&(7, "名字 ' %")).unwrap();
        assert_eq!(token.place(), Ok((7, "名字 ' %".to_owned())));
        for text in ["", "0", "zz", "5b", "中文", &token.0[2..]] {
            assert_eq!(PageToken(text.to_owned()).place::<(i64, String)>(), Err(BadToken), "{text}");
        }
    }
}
