//! Environments by the name that people use, or by id.

use fermi_api::client::{Client, Query};
use fermi_api::v1::{Environment, MOST_PER_PAGE};
use fermi_domain::language::Text;

use crate::connection::Problem;
use crate::exit_code;

/// All environments that the server knows.
pub fn all(client: &Client) -> Result<Vec<Environment>, Problem> {
    let mut found = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let query = Query::new().with("pageSize", MOST_PER_PAGE).with_some("pageToken", token.as_deref());
        let page = client.environments(&query)?.data;
        found.extend(page.items);
        token = page.next_page_token;
        if token.is_none() {
            return Ok(found);
        }
    }
}

/// The one that is meant; an id wins over a name.
pub fn one<'a>(known: &'a [Environment], text: &str) -> Result<&'a Environment, Problem> {
    let by_id = known.iter().find(|environment| environment.id == text);
    by_id.or_else(|| known.iter().find(|environment| environment.name == text)).ok_or_else(|| unknown(known, text))
}

fn unknown(known: &[Environment], text: &str) -> Problem {
    let near = known
        .iter()
        .map(|environment| (strsim::jaro_winkler(&environment.name, text), &environment.name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match near {
        Some((_, name)) => Text::new(format!("是不是 {name}？"), format!("did you mean {name}?")),
        None if known.is_empty() => Text::new(
            "还没有开发环境；用 fermi agent 加入一个",
            "there are no environments yet; add one with 'fermi agent'",
        ),
        None => Text::new("fermi env list 列出全部开发环境", "'fermi env list' shows them all"),
    };
    Problem::Own {
        message: Text::new(format!("没有开发环境 “{text}”"), format!("there is no environment '{text}'")),
        hint,
        code: exit_code::NOT_FOUND,
    }
}
