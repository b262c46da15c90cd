//! `pageSize` and `pageToken`.

use fermi_api::v1::{MOST_PER_PAGE, Page, USUAL_PER_PAGE};
use fermi_domain::language::Text;
use fermi_store::PageToken;
use fermi_store::tasks::ListError;

use super::params::Params;
use crate::envelope::ApiProblem;

/// The parameters that every list takes.
pub const LIST: [&str; 4] = ["pageSize", "pageToken", "filter", "orderBy"];

/// Which page is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub size: usize,
    pub token: Option<PageToken>,
}

pub fn wanted(params: &Params) -> Result<Wanted, ApiProblem> {
    let size = params.number("pageSize", 1..=MOST_PER_PAGE)?.unwrap_or(USUAL_PER_PAGE);
    let token = params.text("pageToken").map(|token| PageToken(token.to_owned()));
    Ok(Wanted { size: usize::try_from(size).unwrap_or(usize::MAX), token })
}

/// The token is not one that this list gave.
pub fn bad_token() -> ApiProblem {
    ApiProblem::unprocessable(
        "page_token_invalid",
        "pageToken",
        Text::new("翻页标记无效", "the page token is not one of this list"),
    )
    .hint(Text::new(
        "使用上一页的 nextPageToken，且不改变 orderBy",
        "give nextPageToken of the page before, with the same orderBy",
    ))
}

impl From<ListError> for ApiProblem {
    fn from(error: ListError) -> Self {
        match error {
            ListError::BadToken(_) => bad_token(),
            ListError::Store(error) => error.into(),
        }
    }
}

/// A page of the store as it is answered.
pub fn page<T, U>(page: fermi_store::Page<T>, show: impl FnMut(T) -> U) -> Page<U> {
    Page {
        items: page.rows.into_iter().map(show).collect(),
        next_page_token: page.next.map(|token| token.0),
        total: page.total,
    }
}

/// A page of a list that is in memory: the token is the place of its first row.
pub fn cut<T>(mut all: Vec<T>, wanted: &Wanted) -> Result<Page<T>, ApiProblem> {
    let start = match &wanted.token {
        None => 0,
        Some(token) => {
            let is_plain = token.0.len() <= 9 && token.0.bytes().all(|byte| byte.is_ascii_digit());
            token.0.parse::<usize>().ok().filter(|_| is_plain).ok_or_else(bad_token)?
        }
    };
    let total = all.len();
    let items: Vec<T> = all.drain(start.min(total)..total.min(start.saturating_add(wanted.size))).collect();
    let end = start.saturating_add(items.len());
    let next_page_token = (end < total && !items.is_empty()).then(|| end.to_string());
    Ok(Page { items, next_page_token, total: u64::try_from(total).ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_memory_is_cut_into_pages_without_loss() {
        let mut token = None;
        let mut seen = Vec::new();
        loop {
            let page = cut((0..7).collect(), &Wanted { size: 3, token }).unwrap();
            seen.extend(page.items);
            let Some(next) = page.next_page_token else { break };
            token = Some(PageToken(next));
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        for token in ["x", "-1", "9999999999", "1 "] {
            assert!(cut(vec![1], &Wanted { size: 3, token: Some(PageToken(token.to_owned())) }).is_err());
        }
    }
}
