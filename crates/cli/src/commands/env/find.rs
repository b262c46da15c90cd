//! Environments by the name that people use, or by id.

use fermi_api::client::Client;
use fermi_api::v1::Environment;
use fermi_domain::language::Text;

use crate::connection::{self, CommandProblem, Noun};

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
    if known.is_empty() {
        return CommandProblem::not_found(
            Text::new(format!("没有开发环境 “{text}”"), format!("there is no environment '{text}'")),
            Text::new(
                "还没有开发环境；用 fermi agent 加入一个",
                "there are no environments yet; add one with 'fermi agent'",
            ),
        );
    }
    let noun = Noun { zh: "开发环境", en: "environment", list: "fermi env list" };
    noun.unknown(text, known.iter().map(|environment| environment.name.as_str()))
}
