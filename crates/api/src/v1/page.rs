//! Lists in pages.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What `pageSize` is when it is not given.
pub const USUAL_PER_PAGE: u32 = 50;
/// What `pageSize` may be.
pub const MOST_PER_PAGE: u32 = 1_000;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Give it as `pageToken` to get the next page; null on the last one.
    pub next_page_token: Option<String>,
    /// How many there are on all pages, where that is known without counting.
    #[serde(default)]
    pub total: Option<u64>,
}

impl<T> Page<T> {
    /// A list that has no second page.
    pub fn whole(items: Vec<T>) -> Self {
        let total = u64::try_from(items.len()).ok();
        Self { items, next_page_token: None, total }
    }
}
