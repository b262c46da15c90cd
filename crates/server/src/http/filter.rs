//! `filter` and `orderBy` of lists: `phase=running,failed name~bert label.team=nlp`.

use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::phase::TaskPhase;
use fermi_store::tasks::{LabelFilter, TaskFilter, TaskOrder, TaskSort};

use super::suggestion::closest;
use crate::envelope::ApiProblem;

/// One condition of a filter.
#[derive(Debug, PartialEq, Eq)]
pub struct Condition {
    pub key: String,
    /// `~` looks for a part, `=` for the whole.
    pub is_part: bool,
    pub value: String,
}

/// Takes a filter apart. A value with spaces stands in double quotes, within which `\\` stands before a quote and itself.
pub fn conditions(filter: &str) -> Result<Vec<Condition>, ApiProblem> {
    let mut found = Vec::new();
    let mut rest = filter.trim_start();
    while !rest.is_empty() {
        let at = rest.find(['=', '~']).ok_or_else(|| invalid(rest))?;
        let (key, tail) = rest.split_at(at);
        let is_part = tail.starts_with('~');
        let tail = &tail[1..];
        let (value, after) = match tail.strip_prefix('"') {
            Some(text) => quoted(text).ok_or_else(|| invalid(rest))?,
            None => {
                let (value, after) = tail.split_at(tail.find(char::is_whitespace).unwrap_or(tail.len()));
                (value.to_owned(), after)
            }
        };
        let is_key = !key.is_empty() && !key.contains(char::is_whitespace);
        let is_apart = after.is_empty() || after.starts_with(char::is_whitespace);
        if !is_key || !is_apart || value.is_empty() {
            return Err(invalid(rest));
        }
        found.push(Condition { key: key.to_owned(), is_part, value });
        rest = after.trim_start();
    }
    Ok(found)
}

/// The value up to the closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    loop {
        match letters.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => value.push(letters.next()?.1),
            (_, letter) => value.push(letter),
        }
    }
}

/// Refuses a filter, or a part of it.
pub fn invalid(part: &str) -> ApiProblem {
    let shown: String = part.chars().take(80).collect::<String>().escape_debug().to_string();
    ApiProblem::unprocessable(
        "filter_invalid",
        "filter",
        Text::new(format!("筛选条件无效：{shown}"), format!("the filter is not understood: {shown}")),
    )
    .hint(Text::new(
        "例如 phase=running,failed name~bert environment=env-001 label.team=nlp",
        "for example phase=running,failed name~bert environment=env-001 label.team=nlp",
    ))
}

/// The filter of the list of tasks.
pub fn tasks(filter: &str) -> Result<TaskFilter, ApiProblem> {
    let mut wanted = TaskFilter::default();
    for condition in conditions(filter)? {
        let Condition { key, is_part, value } = &condition;
        let whole = format!("{key}{}{value}", if *is_part { '~' } else { '=' });
        match (key.as_str(), is_part) {
            ("phase" | "status", false) => {
                for word in value.split(',') {
                    wanted.phases.push(phase(word)?);
                }
            }
            ("name", _) if wanted.name.is_none() => wanted.name = Some(value.clone()),
            ("environment", false) if wanted.environment.is_none() => {
                wanted.environment = Some(EnvironmentId(value.clone()));
            }
            (key, false) if key.starts_with("label.") && key.len() > 6 && wanted.label.is_none() => {
                let value = (value != "*").then(|| value.clone());
                wanted.label = Some(LabelFilter { key: key[6..].to_owned(), value });
            }
            _ => return Err(invalid(&whole)),
        }
    }
    Ok(wanted)
}

fn phase(word: &str) -> Result<TaskPhase, ApiProblem> {
    let names = TaskPhase::ALL.map(|phase| phase.text().en.into_owned());
    let found = TaskPhase::ALL.into_iter().find(|phase| phase.text().en == word);
    found.ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let problem = invalid(&format!("phase={word}"));
        match closest(word, &known) {
            Some(close) => problem.hint(Text::new(format!("是否想写 {close}？"), format!("did you mean {close}?"))),
            None => problem.hint(Text::new(
                format!("可选：{}", known.join("、")),
                format!("phase is one of {}", known.join(", ")),
            )),
        }
    })
}

/// A column with a direction, such as `createdAt desc`.
pub fn order<T: Copy>(text: &str, columns: &[(&str, T)]) -> Result<(T, bool), ApiProblem> {
    let mut words = text.split_whitespace();
    let column = words.next().and_then(|word| columns.iter().find(|(name, _)| *name == word));
    let descending = match words.next() {
        None => Some(false),
        Some(word) if word.eq_ignore_ascii_case("asc") => Some(false),
        Some(word) if word.eq_ignore_ascii_case("desc") => Some(true),
        Some(_) => None,
    };
    match (column, descending, words.next()) {
        (Some((_, column)), Some(descending), None) => Ok((*column, descending)),
        _ => {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Err(ApiProblem::unprocessable(
                "order_invalid",
                "orderBy",
                Text::new("排序方式无效", "the order is not understood"),
            )
            .hint(Text::new(
                format!("{names} 之一，可加 asc 或 desc，例如 name desc"),
                format!("one of {names}, with asc or desc behind it, for example name desc"),
            )))
        }
    }
}

/// The order of the list of tasks; the newest first when not given.
pub fn task_order(text: Option<&str>) -> Result<TaskOrder, ApiProblem> {
    const COLUMNS: [(&str, TaskSort); 6] = [
        ("createdAt", TaskSort::Created),
        ("updatedAt", TaskSort::Updated),
        ("name", TaskSort::Name),
        ("status", TaskSort::Phase),
        ("phase", TaskSort::Phase),
        ("priority", TaskSort::Priority),
    ];
    let Some(text) = text else { return Ok(TaskOrder::default()) };
    order(text, &COLUMNS).map(|(by, descending)| TaskOrder { by, descending })
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::FrontEnd;

    use super::*;

    #[test]
    fn a_filter_is_taken_apart() {
        let wanted = tasks(r#"phase=running,failed name~"bert 大" environment=env-001 label.team=nlp"#).unwrap();
        assert_eq!(wanted.phases, [TaskPhase::Running, TaskPhase::Failed]);
        assert_eq!(wanted.name.as_deref(), Some("bert 大"));
        assert_eq!(wanted.environment, Some(EnvironmentId::from("env-001")));
        assert_eq!(wanted.label, Some(LabelFilter { key: "team".into(), value: Some("nlp".into()) }));
        assert_eq!(tasks("  ").unwrap(), TaskFilter::default());
        let quoted = tasks(r#"name="a \"b\" \\""#).unwrap();
        assert_eq!(quoted.name.as_deref(), Some(r#"a "b" \"#));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_an_example() {
        for filter in [
            "running",
            "phase",
            "phase=",
            "phase=done",
            "=x",
            "name~\"x",
            "name~\"x\"y",
            "owner=me",
            "phase~run",
            "label.=x",
            "phase=running;DROP TABLE tasks",
            "name~a name~b",
            "phase = running",
        ] {
            let refused = tasks(filter).unwrap_err();
            assert_eq!((refused.status.as_u16(), &*refused.id), (422, "filter_invalid"), "{filter}");
            assert!(refused.hint.is_some());
        }
        assert_eq!(tasks("phase=runing").unwrap_err().hint.unwrap().spelled(FrontEnd::Api).en, "did you mean running?");
    }

    #[test]
    fn an_order_is_a_column_and_a_direction() {
        let by = |text| task_order(Some(text)).map(|order| (order.by, order.descending));
        assert_eq!(by("createdAt desc").unwrap(), (TaskSort::Created, true));
        assert_eq!(by("name").unwrap(), (TaskSort::Name, false));
        for text in ["", "nam", "name up", "name desc x", "name;--", "createdAt desc, name"] {
            assert_eq!(by(text).unwrap_err().id, "order_invalid", "{text}");
        }
    }
}
