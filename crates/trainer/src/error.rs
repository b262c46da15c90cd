//! Why a training ended early.

use std::io;

use fermi_collective::{ConnectError, InChinese, OperationError};
use fermi_domain::language::{Explained, Hint, Text, reason};

use crate::checkpoint::CheckpointError;
use crate::config::ConfigError;

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the ranks could not meet")]
    Connect(#[from] ConnectError),
    #[error("the ranks could not work together at step {step}")]
    Collective {
        step: u64,
        #[source]
        source: OperationError,
    },
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Rank 0's own error, told to the others so that every rank says the cause and none says "connection lost".
    #[error("rank 0 cannot resume: {}", .reason.en)]
    CannotResume { reason: Text },
    #[error("the loss is no longer a number at step {step}; a lower learning rate or a longer warm-up usually helps")]
    Diverged { step: u64 },
    #[error("the ranks ended with different parameters: {checksums}")]
    RanksDisagree { checksums: String },
    #[error("rank {rank} failed before step {step}, as it was asked to")]
    InjectedFault { rank: usize, step: u64 },
    #[error("the training's output could not be written")]
    Output(#[source] std::io::Error),
}

impl Explained for TrainError {
    fn id(&self) -> &'static str {
        "training_ended"
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Config(error) => Some(error.field.to_owned()),
            _ => None,
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Config(error) => error.problem.clone(),
            Self::Connect(source) => {
                let why = with_cause(source);
                Text::new(format!("各 rank 无法会合：{}", why.zh), format!("the ranks could not meet: {}", why.en))
            }
            Self::Collective { step, source } => {
                let why = with_cause(source);
                Text::new(
                    format!("第 {step} 步各 rank 无法协同：{}", why.zh),
                    format!("the ranks could not work together at step {step}: {}", why.en),
                )
            }
            Self::Checkpoint(error) => error.text(),
            Self::CannotResume { reason } => {
                Text::new(format!("rank 0 无法继续：{}", reason.zh), format!("rank 0 cannot resume: {}", reason.en))
            }
            Self::Diverged { step } => Text::new(
                format!("第 {step} 步的损失不再是数"),
                format!("the loss is no longer a number at step {step}"),
            ),
            Self::RanksDisagree { checksums } => Text::new(
                format!("各 rank 结束时的参数不同：{checksums}"),
                format!("the ranks ended with different parameters: {checksums}"),
            ),
            Self::InjectedFault { rank, step } => Text::new(
                format!("rank {rank} 按要求在第 {step} 步之前失败"),
                format!("rank {rank} failed before step {step}, as it was asked to"),
            ),
            Self::Output(source) => {
                let why = reason::of_io(source);
                Text::new(
                    format!("训练的输出无法写出：{}", why.zh),
                    format!("the training's output could not be written: {}", why.en),
                )
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        match self {
            Self::Config(error) => Some(error.hint.clone().into()),
            Self::Checkpoint(error) => Some(error.hint().into()),
            Self::Diverged { .. } => {
                Some(Hint::new("通常降低学习率（--lr）有帮助", "a lower learning rate (--lr) usually helps"))
            }
            Self::Connect(_)
            | Self::Collective { .. }
            | Self::CannotResume { .. }
            | Self::RanksDisagree { .. }
            | Self::InjectedFault { .. }
            | Self::Output(_) => None,
        }
    }
}

/// What went wrong between the ranks, and what the system said of it.
fn with_cause(error: &impl InChinese) -> Text {
    let said = Text::new(error.zh(), error.to_string());
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(reason::of_io) {
        Some(why) => Text::new(format!("{}：{}", said.zh, why.zh), format!("{}: {}", said.en, why.en)),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_an_error_is_said_in_both_languages() {
        let source = io::ErrorKind::ConnectionRefused.into();
        let error = TrainError::Connect(ConnectError::Listen { port: 29_500, source });
        let told = error.text();
        assert!(told.en.starts_with("the ranks could not meet: rank 0 cannot listen on port 29500: "), "{}", told.en);
        assert!(told.zh.starts_with("各 rank 无法会合：rank 0 无法监听端口 29500："), "{}", told.zh);
        let diverged = TrainError::Diverged { step: 7 };
        assert_eq!(diverged.text().zh, "第 7 步的损失不再是数");
        assert!(diverged.hint().is_some());
    }
}
