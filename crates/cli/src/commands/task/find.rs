//! Tasks by what people call them: an id, its number alone, a name, or `last`.

use fermi_api::client::{Client, ClientError, Query};
use fermi_api::v1::TaskRow;
use fermi_domain::language::Text;
use fermi_domain::validation::LAST_TASK;

use crate::connection::{self, CommandProblem, Noun};

const NOUN: Noun = Noun { zh: "训练任务", en: "task", list: "fermi task list" };
/// How ids begin.
const PREFIX: &str = "task-";

/// The id of the task that is meant. An id wins over a name; of several tasks with one name the newest is meant.
pub fn id(client: &Client, text: &str) -> Result<String, CommandProblem> {
    if text == LAST_TASK {
        let newest = client.tasks(&Query::new().with("pageSize", 1))?.data.items;
        return newest.into_iter().next().map(|row| row.id).ok_or_else(none_yet);
    }
    if let Some(id) = as_id(text)
        && exists(client, &id)?
    {
        return Ok(id);
    }
    let mut names = Vec::new();
    for row in connection::pages(|query| client.tasks(query)) {
        let TaskRow { id, name, .. } = row?;
        if name == text {
            return Ok(id);
        }
        names.push(name);
    }
    Err(NOUN.unknown(text, names.iter().map(String::as_str)))
}

/// The ids of several.
pub fn ids(client: &Client, texts: &[String]) -> Result<Vec<String>, CommandProblem> {
    texts.iter().map(|text| id(client, text)).collect()
}

/// `12` and `task-12` may be ids.
fn as_id(text: &str) -> Option<String> {
    let number = text.strip_prefix(PREFIX).unwrap_or(text);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{PREFIX}{}", number.trim_start_matches('0')))
}

fn exists(client: &Client, id: &str) -> Result<bool, CommandProblem> {
    match client.task(id) {
        Ok(_) => Ok(true),
        Err(ClientError::Refused(refused)) if refused.code == 404 || refused.code == 422 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn none_yet() -> CommandProblem {
    CommandProblem::not_found(
        Text::new("还没有训练任务", "there are no tasks yet"),
        Text::new("用 fermi task create 创建一个", "create one with 'fermi task create'"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_an_id_with_or_without_its_beginning() {
        for (text, id) in [
            ("12", Some("task-12")),
            ("task-12", Some("task-12")),
            ("007", Some("task-7")),
            ("task-007", Some("task-7")),
            ("heal", None),
            ("task-", None),
            ("12a", None),
            ("", None),
        ] {
            assert_eq!(as_id(text).as_deref(), id, "{text}");
        }
    }
}
