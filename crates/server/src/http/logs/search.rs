//! Looking for a text in the logs of all ranks.

use axum::extract::{RawQuery, State};
use fermi_api::v1::{Envelope, Failure, LogMatch, LogSearch};
use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_store::chunks::{Case, SearchCursor, SearchQuery, StreamKind, StreamName};

use super::read::{blocking, stream};
use super::selection::Selection;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply};
use crate::http::id::TaskPath;
use crate::http::paging::bad_token;
use crate::http::params::Params;
use crate::http::tasks::show;

const KNOWN: [&str; 7] = ["query", "ignoreCase", "limit", "pageToken", "rank", "stream", "attempt"];
const LONGEST_QUERY: usize = 1_000;

/// Lines that contain a text, over all ranks. An empty page with a `nextPageToken` means: not yet, look on.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/logs/search", tag = "training-tasks",
    params(
        ("id" = String, Path),
        ("query" = String, Query, description = "A text within one line"),
        ("ignoreCase" = Option<bool>, Query),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "100 when not given"),
        ("pageToken" = Option<String>, Query),
        ("rank" = Option<u32>, Query),
        ("stream" = Option<String>, Query, description = "`stdout`, `stderr` or `all`"),
        ("attempt" = Option<u32>, Query, minimum = 1, description = "The newest when not given"),
    ),
    responses((status = 200, body = Envelope<LogSearch>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn search(State(core): State<Core>, TaskPath(id): TaskPath, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &KNOWN)?;
    let selection = Selection::read(id.clone(), &params)?;
    let text = params.text("query").filter(|text| text.len() <= LONGEST_QUERY && !text.contains(['\n', '\r']));
    let text = text.ok_or_else(|| {
        ApiProblem::unprocessable(
            "query_invalid",
            "query",
            Text::new("请输入要查找的文本", "please give a text to look for"),
        )
        .hint(Text::new("一行之内，至多 1000 字节", "within one line, at most 1,000 bytes"))
    })?;
    let limit = params.number("limit", 1..=1_000_usize)?.unwrap_or(100);
    let from = params.text("pageToken").map(|token| cursor(&id, token).ok_or_else(bad_token)).transpose()?;
    let task = show::find_with(&core, &id, selection.attempt, selection.rank).await?;
    let of_cursor = from.as_ref().map(|from| from.stream.attempt);
    let attempt = of_cursor.or(selection.attempt).unwrap_or(task.newest_attempt());
    let wanted = SearchQuery {
        case: if params.flag("ignoreCase")? { Case::Ignored } else { Case::Sensitive },
        attempt: Some(attempt),
        rank: selection.rank,
        kind: selection.kind,
        from,
        ..SearchQuery::new(text, limit)
    };
    let chunks = core.chunks().clone();
    let found = blocking(tokio::task::spawn_blocking(move || chunks.search(&id, &wanted)).await)?;
    let items = found.matches.into_iter().filter(|found| selection.wants(&found.stream));
    let items = items.map(|found| LogMatch {
        rank: found.stream.rank,
        stream: stream(found.stream.kind),
        offset: found.line_offset,
        text: String::from_utf8_lossy(&found.shown).into_owned(),
    });
    EnvelopeAnswer::ok(&LogSearch {
        attempt,
        items: items.collect(),
        next_page_token: found.next.map(|cursor| token(&cursor)),
    })
}

fn token(cursor: &SearchCursor) -> String {
    let SearchCursor { stream, offset, line_offset } = cursor;
    format!("{}.{}.{}.{offset}.{line_offset}", stream.attempt, stream.rank, stream.kind.as_str())
}

fn cursor(task: &TaskId, token: &str) -> Option<SearchCursor> {
    let mut parts = token.split('.');
    let mut next = || parts.next();
    let (attempt, rank) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let kind = next()?;
    let kind = StreamKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    let (offset, line_offset) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let stream = StreamName { task: task.clone(), attempt, rank, kind };
    next().is_none().then_some(SearchCursor { stream, offset, line_offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_anything_else_is_refused() {
        let task = TaskId::from("task-1");
        let found = cursor(&task, "2.0.stderr.77.70").unwrap();
        assert_eq!(token(&found), "2.0.stderr.77.70");
        for text in ["", "1", "1.0.stdin.0.0", "1.0.stdout.0", "1.0.stdout.0.0.0", "-1.0.stdout.0.0", "a.b.c.d.e"] {
            assert_eq!(cursor(&task, text), None, "{text}");
        }
    }
}
