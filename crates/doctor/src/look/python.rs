//! Asks Python for its version, the packages that matter, and what torch and JAX see.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fermi_domain::contract::{PATH, PYTHON_EXEC, VIRTUAL_ENV, engines::XLA_PYTHON_CLIENT_PREALLOCATE};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::LookOptions;
use super::child::{Said, ask};
use crate::facts::{EngineAnswer, PythonFacts};

/// One line of JSON per answer, the quick ones first: what was said before a deadline counts.
const QUESTIONS: &str = include_str!("questions.py");

pub fn look(options: &LookOptions) -> Option<PythonFacts> {
    let patience = options.python_patience?;
    let path = options.python.clone().or_else(usual)?;
    let mut command = Command::new(&path);
    command.args(["-c", QUESTIONS]).args(options.asks_jax.then_some("jax"));
    // To be asked for its devices, JAX need not take their memory.
    command.env(XLA_PYTHON_CLIENT_PREALLOCATE, "false");
    let said = ask(&mut command, patience);
    let mut facts = said.map(|said| read(&said, patience, options.asks_jax)).unwrap_or_default();
    facts.path = path.display().to_string();
    Some(facts)
}

/// The one that `fermi run` would take.
pub fn usual() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let environment = variable(VIRTUAL_ENV).map(|folder| folder.join("bin/python"));
    let path = std::env::var_os(PATH).unwrap_or_default();
    let on_path = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.is_file());
    let named = [variable(PYTHON_EXEC), environment].into_iter().flatten().find(|path| Path::new(path).is_file());
    named.or_else(|| on_path("python3")).or_else(|| on_path("python"))
}

fn read(said: &Said, patience: Duration, asked_jax: bool) -> PythonFacts {
    let answers: Vec<Value> = said.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |name: &str| answers.iter().find_map(|answer| answer.get(name));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let packages = find("packages").and_then(Value::as_object);
    let packages = packages.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), text(value)?)));
    let packages: std::collections::BTreeMap<_, _> = packages.collect();
    PythonFacts {
        path: String::new(),
        version: find("version").and_then(text),
        torch: engine(find("torch"), said, patience, packages.contains_key("torch")),
        jax: engine(find("jax"), said, patience, asked_jax && packages.contains_key("jax")),
        packages,
    }
}

fn engine<T: DeserializeOwned>(
    answer: Option<&Value>,
    said: &Said,
    patience: Duration,
    is_asked: bool,
) -> EngineAnswer<T> {
    let failed = |reason: &str| EngineAnswer::Failed { reason: reason.to_owned() };
    match answer {
        Some(value) => match value.get("error").and_then(Value::as_str) {
            Some(reason) => failed(reason),
            None => serde_json::from_value(value.clone())
                .map_or_else(|error| failed(&error.to_string()), EngineAnswer::Imported),
        },
        None if !is_asked => EngineAnswer::NotAsked,
        None if said.succeeded.is_none() => EngineAnswer::Late { seconds: patience.as_secs() },
        None => failed(&said.complaint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str, succeeded: Option<bool>) -> Said {
        Said { stdout: stdout.to_owned(), complaint: "Segmentation fault".to_owned(), succeeded }
    }

    const FIRST: &str = "{\"version\": \"3.11.2\", \"packages\": {\"torch\": \"2.9.0\"}}\n";

    #[test]
    fn what_was_said_before_the_deadline_counts() {
        let late = read(&said(FIRST, None), Duration::from_secs(30), false);
        assert_eq!(late.version.as_deref(), Some("3.11.2"));
        assert_eq!(late.torch, EngineAnswer::Late { seconds: 30 });
        assert_eq!(late.jax, EngineAnswer::NotAsked);
    }

    #[test]
    fn an_engine_that_does_not_import_says_why() {
        let crashed = read(&said(FIRST, Some(false)), Duration::from_secs(30), false);
        assert_eq!(crashed.torch, EngineAnswer::Failed { reason: "Segmentation fault".into() });
        let line = format!("{FIRST}{{\"torch\": {{\"error\": \"OSError: libcudart.so.12\"}}}}\n");
        let broken = read(&said(&line, Some(true)), Duration::from_secs(30), false);
        assert_eq!(broken.torch, EngineAnswer::Failed { reason: "OSError: libcudart.so.12".into() });
        let line = format!("{FIRST}{{\"torch\": {{\"version\": \"2.9.0\", \"hasDistributed\": true}}}}\n");
        let whole = read(&said(&line, Some(true)), Duration::from_secs(30), false);
        assert!(matches!(whole.torch, EngineAnswer::Imported(torch) if torch.has_distributed));
    }
}
