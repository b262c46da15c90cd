//! Why a training ended early.

use fermi_collective::{ConnectError, OperationError};

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
    #[error("rank 0 cannot resume: {reason}")]
    CannotResume { reason: String },
    #[error("the loss is no longer a number at step {step}; a lower learning rate or a longer warm-up usually helps")]
    Diverged { step: u64 },
    #[error("the ranks ended with different parameters: {checksums}")]
    RanksDisagree { checksums: String },
    #[error("rank {rank} failed before step {step}, as it was asked to")]
    InjectedFault { rank: usize, step: u64 },
    #[error("the training's output could not be written")]
    Output(#[source] std::io::Error),
}
