//! Environments by the name that people use, or by id.

use fermi_api::client::Client;
use fermi_api::v1::Environment;
use fermi_domain::language::Text;

use crate::connection::{self, CommandProblem};

/// All environments that the server knows.
pub fn all(client: &Client) -> Result<Vec<Environment>, CommandProblem> {
    Ok(connection::pages(|query| client.environments(query)).collect::<Result<_, _>>()?)
}

/// The one that is meant; an id wins over a name.
pub fn one<'a>(known: &'a [Environment], text: &str) -> Result<&'a Environment, CommandProblem> {
    let by_id = known.iter().find(|environment| environment.id == text);
    by_id.or_else(|| known.iter().find(|environment| environment.name == text)).ok_or_else(|| unknown(known, text))
}

fn unknown(known: &[Environment], text: &str) -> CommandProblem {
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
    CommandProblem::not_found(
        Text::new(format!("没有开发环境 “{text}”"), format!("there is no environment '{text}'")),
        hint,
    )
}
