//! The progress file: one JSON object per line and step, for those who watch the run.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::config::TrainerConfig;
use crate::error::TrainError;
use crate::narrator::Narrator;
use crate::run::Step;

/// The keys are those of the launch contract.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    /// Unix seconds.
    pub time: f64,
    pub step: u64,
    pub total_steps: u64,
    pub loss: f32,
    pub tokens_per_s: f64,
    pub step_time_s: f64,
    pub lr: f32,
}

#[derive(Debug)]
struct ProgressFile {
    file: File,
}

impl ProgressFile {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().append(true).create(true).open(path)? })
    }

    /// Appends the line with a single write, so that a reader never sees two lines mixed.
    pub fn append(&mut self, progress: &Progress) -> io::Result<()> {
        let mut line = serde_json::to_vec(progress)?;
        line.push(b'\n');
        match self.file.write(&line)? {
            written if written == line.len() => Ok(()),
            // A full disk. Writing the rest later would glue it to the next line.
            _ => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Writes the progress file as long as that works. A full disk under it is worth a warning, not the training.
pub(crate) struct Reporter<'a> {
    config: &'a TrainerConfig,
    file: Option<ProgressFile>,
}

impl<'a> Reporter<'a> {
    pub fn open(config: &'a TrainerConfig, narrator: &mut Narrator<'_>) -> Result<Self, TrainError> {
        let file = match config.progress_file.as_deref().map(ProgressFile::open).transpose() {
            Ok(file) => file,
            Err(error) => {
                warn(narrator, &error)?;
                None
            }
        };
        Ok(Self { config, file })
    }

    pub fn report(&mut self, step: u64, outcome: &Step, narrator: &mut Narrator<'_>) -> Result<(), TrainError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let step_time_s = outcome.duration.as_secs_f64();
        let tokens = self.config.tokens_per_step() as f64;
        let progress = Progress {
            time: unix_seconds(),
            step,
            total_steps: self.config.steps,
            loss: outcome.loss,
            tokens_per_s: tokens / step_time_s.max(1e-9),
            step_time_s,
            lr: outcome.lr,
        };
        if let Err(error) = file.append(&progress) {
            self.file = None;
            warn(narrator, &error)?;
        }
        Ok(())
    }
}

fn warn(narrator: &mut Narrator<'_>, error: &io::Error) -> Result<(), TrainError> {
    let warning = format!("warning: the progress file cannot be written ({error}), training goes on without it");
    narrator.line(&warning).map_err(TrainError::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_keys_of_the_contract_and_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        let progress = Progress {
            time: 1.5,
            step: 3,
            total_steps: 10,
            loss: 2.25,
            tokens_per_s: 1000.0,
            step_time_s: 0.5,
            lr: 0.25,
        };
        for _ in 0..2 {
            ProgressFile::open(&path).unwrap().append(&progress).unwrap();
        }
        let line = r#"{"time":1.5,"step":3,"totalSteps":10,"loss":2.25,"tokensPerS":1000.0,"stepTimeS":0.5,"lr":0.25}"#;
        assert_eq!(std::fs::read_to_string(path).unwrap(), format!("{line}\n{line}\n"));
    }
}
