//! The engine's own all-reduce: on every node one Python process, which says each step when it is done.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fermi_attempt::launch::{NoPython, PythonSearch};
use fermi_domain::contract::engines::XLA_PYTHON_CLIENT_PREALLOCATE;
use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightEngine;
use serde::Deserialize;
use serde_json::Value;

use super::survey::{EngineOutcome, EngineStage};
use crate::facts::Reason;
use crate::look::child::{Said, ask};
use crate::look::python;

const RANK: &str = include_str!("engine.py");
/// What the engine's own waits end before, so that it says itself what it waited for.
const EARLIER: Duration = Duration::from_secs(2);

/// One rank of it.
#[derive(Clone, Debug)]
pub struct EngineRank<'a> {
    pub engine: PreflightEngine,
    pub backend: &'a str,
    pub rank: usize,
    pub world_size: usize,
    pub address: &'a str,
    pub port: u16,
    pub patience: Duration,
}

impl EngineRank<'_> {
    /// Takes part; with the usual Python where none is named.
    pub fn add(&self, python: Option<PathBuf>) -> EngineOutcome {
        let path = match python::chosen(python.as_deref(), &PythonSearch::by_variables()) {
            Ok(path) => path,
            Err(NoPython { tried }) => {
                let why = Text::new(format!("找不到 Python：{tried}"), format!("no Python was found: {tried}"));
                return EngineOutcome::failed(Vec::new(), why.into());
            }
        };
        let mut command = Command::new(path);
        command.args(["-c", RANK, self.engine.name(), self.backend]);
        command.args([self.rank, self.world_size].map(|number| number.to_string()));
        command.args([self.address, &self.port.to_string()]);
        command.arg(self.patience.saturating_sub(EARLIER).as_secs().max(1).to_string());
        command.env(XLA_PYTHON_CLIENT_PREALLOCATE, "false");
        match ask(&mut command, self.patience) {
            Some(said) => read(&said, self.patience),
            None => EngineOutcome::failed(Vec::new(), Text::new("Python 无法启动", "Python cannot be started").into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Added {
    micros: u64,
    is_right: bool,
}

fn read(said: &Said, patience: Duration) -> EngineOutcome {
    let lines: Vec<Value> = said.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |name: &str| lines.iter().find_map(|line| line.get(name));
    let devices = find("devices").and_then(|it| serde_json::from_value(it.clone()).ok()).unwrap_or_default();
    if let Some(Added { micros, is_right }) = find("added").and_then(|it| serde_json::from_value(it.clone()).ok()) {
        return EngineOutcome::Added { devices, micros, is_right };
    }
    if let Some(reason) = find("error").and_then(Value::as_str) {
        return EngineOutcome::failed(devices, Reason::said(reason));
    }
    if said.succeeded.is_some() {
        return EngineOutcome::failed(devices, Reason::said(&said.complaint));
    }
    let stage = match (find("met"), find("devices").or(find("imported"))) {
        (Some(_), _) => EngineStage::Add,
        (None, Some(_)) => EngineStage::Meet,
        (None, None) => EngineStage::Import,
    };
    EngineOutcome::Late { devices, stage, seconds: patience.as_secs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stdout: &str, succeeded: Option<bool>) -> EngineOutcome {
        let said = Said { stdout: stdout.to_owned(), complaint: "Killed".to_owned(), succeeded };
        read(&said, Duration::from_secs(20))
    }

    #[test]
    fn what_it_waited_for_is_the_step_after_the_last_that_it_said() {
        let late = |stdout: &str| match outcome(stdout, None) {
            EngineOutcome::Late { stage, seconds: 20, .. } => stage,
            other => panic!("{other:?}"),
        };
        assert_eq!(late(""), EngineStage::Import);
        assert_eq!(late("{\"devices\": [\"cpu\"]}\n"), EngineStage::Meet);
        assert_eq!(late("{\"imported\": true}\n"), EngineStage::Meet);
        assert_eq!(late("{\"devices\": [\"cpu\"]}\n{\"met\": true}\n"), EngineStage::Add);
    }

    #[test]
    fn a_result_counts_even_where_the_end_does_not_come() {
        let said = "{\"devices\": [\"cpu\"]}\nnoise\n{\"added\": {\"micros\": 7, \"isRight\": true}}\n";
        let added = EngineOutcome::Added { devices: vec!["cpu".into()], micros: 7, is_right: true };
        assert_eq!(outcome(said, None), added);
        assert_eq!(
            outcome("{\"error\": \"OSError: x\"}", Some(false)),
            EngineOutcome::failed(Vec::new(), Reason::said("OSError: x"))
        );
        assert_eq!(outcome("", Some(false)), EngineOutcome::failed(Vec::new(), Reason::said("Killed")));
    }
}
