//! Asks Python for its version, the packages that matter, and what torch and JAX see.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fermi_attempt::launch::{NoPython, PythonSearch};
use fermi_domain::contract::engines::XLA_PYTHON_CLIENT_PREALLOCATE;
use fermi_domain::preflight::PreflightEngine;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::LookOptions;
use super::child::{Said, ask};
use crate::facts::{EngineAnswer, PythonFacts};

/// One line of JSON per answer, the quick ones first: what was said before a deadline counts.
const QUESTIONS: &str = include_str!("questions.py");

pub fn look(options: &LookOptions) -> Option<PythonFacts> {
    let patience = options.python_patience?;
    let search = PythonSearch::by_variables();
    let path = match chosen(options.python.as_deref(), &search) {
        Ok(path) => path,
        Err(NoPython { tried }) if search.named.is_some() => {
            return Some(PythonFacts { path: tried, is_missing: true, ..PythonFacts::default() });
        }
        Err(_) => return None,
    };
    let mut command = Command::new(&path);
    command.args(["-c", QUESTIONS]).args(options.lists.map(PreflightEngine::name));
    // To be asked for its devices, JAX need not take their memory.
    command.env(XLA_PYTHON_CLIENT_PREALLOCATE, "false");
    let said = ask(&mut command, patience);
    let asks_jax = options.lists == Some(PreflightEngine::Jax);
    let mut facts = said.map(|said| read(&said, patience, asks_jax)).unwrap_or_default();
    facts.path = path.display().to_string();
    facts.listed = options.lists;
    Some(facts)
}

/// The one that a person names, a file or a folder with `bin/python`, else the one that `fermi run` would take. A name that
/// leads to none is kept, so that it is said.
pub fn chosen(named: Option<&Path>, search: &PythonSearch) -> Result<PathBuf, NoPython> {
    let Some(named) = named else { return search.usual() };
    let found = named.to_str().and_then(|name| search.of_this_name(name, Path::new(".")).ok());
    Ok(found.unwrap_or_else(|| named.to_owned()))
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
        is_missing: false,
        listed: None,
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

    #[test]
    fn the_python_is_that_of_a_run_and_a_name_that_leads_nowhere_is_told() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [python, python3, inside] =
            ["one/python", "two/python3", "venv/bin/python"].map(|name| folder.path().join(name));
        for file in [&python, &python3, &inside] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([folder.path().join("two"), folder.path().join("one")]).unwrap();
        let search = PythonSearch { path, ..PythonSearch::default() };
        assert_eq!(chosen(None, &search), Ok(python), "'python' comes before 'python3', wherever it lies");
        assert_eq!(chosen(Some(&folder.path().join("venv")), &search), Ok(inside));
        assert_eq!(chosen(Some(Path::new("/no/such")), &search), Ok("/no/such".into()));
        let lost = PythonSearch { named: Some("/no/such".into()), ..search };
        assert!(chosen(None, &lost).is_err());
    }

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
