//! A task in a file: YAML or JSON with the fields of the API's request. Environments may be named in it.

use std::path::Path;

use fermi_api::client::Client;
use fermi_domain::language::{Text, reason};
use serde_json::{Map, Value};

use crate::commands::env;
use crate::connection::CommandProblem;

/// Reads a request; `-` is standard input. What its fields mean is for the server to judge.
pub fn read(path: &Path) -> Result<Map<String, Value>, CommandProblem> {
    let text = if path == Path::new("-") { fermi_named_file::read_stdin() } else { fermi_named_file::read_text(path) };
    let shown = path.display();
    let hint = || {
        Text::new(
            "字段与 POST /api/v1/training-tasks 相同，例如 taskName: bert",
            "its fields are those of POST /api/v1/training-tasks, such as taskName: bert",
        )
    };
    let text = text.map_err(|error| {
        let why = reason::of_io(&error);
        CommandProblem::usage(
            Text::new(format!("无法读取 {shown}：{}", why.zh), format!("{shown} cannot be read: {}", why.en)),
            hint(),
        )
    })?;
    let value: Value = serde_saphyr::from_str(&text).map_err(|error| {
        let at = error.location().map(|at| (at.line(), at.column()));
        let (zh, en) = at.map_or_else(
            || (format!("{shown} 不是有效的 YAML"), format!("{shown} is not YAML")),
            |(line, column)| {
                let zh = format!("{shown} 第 {line} 行第 {column} 列不是有效的 YAML");
                (zh, format!("line {line}, column {column} of {shown} is not YAML"))
            },
        );
        CommandProblem::usage(Text::new(zh, en), hint())
    })?;
    match value {
        Value::Object(request) => Ok(request),
        _ => Err(CommandProblem::usage(
            Text::new(format!("{shown} 应为 键: 值 的形式"), format!("{shown} must have keys with values")),
            hint(),
        )),
    }
}

/// Turns the names of environments into their ids.
pub fn name_environments(request: &mut Map<String, Value>, client: &Client) -> Result<(), CommandProblem> {
    let Some(Value::Object(nodes)) = request.get_mut("distributedConfig") else { return Ok(()) };
    if !["nodeIds", "masterNode", "workers"].iter().any(|field| nodes.get(*field).is_some_and(|it| !it.is_null())) {
        return Ok(());
    }
    let known = env::find::all(client)?;
    let id = |text: &str| env::find::one(&known, text).map(|found| found.id.clone());
    if let Some(Value::Array(ids)) = nodes.get_mut("nodeIds") {
        for item in ids {
            if let Value::String(text) = item {
                *text = id(text)?;
            }
        }
    }
    if let Some(Value::String(master)) = nodes.get_mut("masterNode") {
        *master = id(master)?;
    }
    if let Some(Value::Object(workers)) = nodes.get_mut("workers") {
        let named: Result<Map<String, Value>, CommandProblem> =
            std::mem::take(workers).into_iter().map(|(name, list)| Ok((id(&name)?, list))).collect();
        *workers = named?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_yaml_or_json_and_anything_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |text: &str| {
            let path = folder.path().join("task.yaml");
            std::fs::write(&path, text).unwrap();
            read(&path)
        };
        assert_eq!(file("taskName: bert\ncommand:\n  argv: [train.py, --lr, 1e-4]\n").unwrap()["taskName"], "bert");
        assert_eq!(file(r#"{"taskName": "bert"}"#).unwrap()["taskName"], "bert");
        for text in ["- a", "just words", "a: [", ""] {
            assert!(file(text).is_err(), "{text}");
        }
        assert!(read(Path::new("/no/such/file")).is_err());
    }
}
