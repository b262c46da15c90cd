//! The progress file: one JSON object per line and step, for whoever watches the run.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The keys are those of the launch contract.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
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
pub(crate) struct ProgressFile {
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

pub(crate) fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
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
