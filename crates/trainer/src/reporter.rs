//! Keeps the progress file going while a training runs.

use crate::config::TrainerConfig;
use crate::error::TrainError;
use crate::narrator::Narrator;
use crate::progress::{Progress, ProgressFile, unix_seconds};
use crate::run::Step;

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

fn warn(narrator: &mut Narrator<'_>, error: &std::io::Error) -> Result<(), TrainError> {
    let warning = format!("warning: the progress file cannot be written ({error}), training goes on without it");
    narrator.line(&warning).map_err(TrainError::Output)
}
