//! Where a run begins: at the checkpoint that it was told, at the newest, or at the beginning. Rank 0 finds out and the others follow, because
//! they may not see its disk.

use fermi_collective::{Communicator, OperationError};
use fermi_domain::language::{Text, reason};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Folder, Identity, State};
use crate::error::TrainError;

/// What rank 0 found, as told to the others before the values themselves.
#[derive(Debug, Serialize, Deserialize)]
enum Found {
    Nothing,
    State { step: u64, first_loss: f32, last_loss: f32 },
    Trouble { reason: Text },
}

/// Brings every rank to the same state. Returns the warnings that rank 0 should tell.
pub(crate) fn restore(
    world: &mut Communicator,
    folder: &Folder,
    step: Option<u64>,
    identity: &Identity,
    state: &mut State,
) -> Result<Vec<Text>, TrainError> {
    let mut warnings = Vec::new();
    let found = if world.rank() == 0 {
        match step {
            Some(step) => folder.exactly(step, identity).map(Some),
            None => folder.newest(identity).map(|newest| {
                warnings = newest.warnings;
                newest.state
            }),
        }
    } else {
        Ok(None)
    };
    let announcement = match &found {
        Ok(None) => Found::Nothing,
        Ok(Some(State { step, first_loss, last_loss, .. })) => {
            Found::State { step: *step, first_loss: *first_loss, last_loss: *last_loss }
        }
        Err(error) => Found::Trouble { reason: error.text() },
    };
    let announced = announce(world, &announcement)?;
    if let Some(loaded) = found? {
        *state = loaded;
    }
    match announced {
        Found::Nothing => Ok(warnings),
        Found::Trouble { reason } => Err(TrainError::CannotResume { reason }),
        Found::State { step, first_loss, last_loss } => {
            for tensor in state.tensors_mut() {
                world.broadcast(0, tensor).map_err(|source| TrainError::Collective { step, source })?;
            }
            (state.step, state.first_loss, state.last_loss) = (step, first_loss, last_loss);
            Ok(warnings)
        }
    }
}

/// Rank 0's words, on every rank.
fn announce(world: &mut Communicator, found: &Found) -> Result<Found, TrainError> {
    let unclear = |error: serde_json::Error| TrainError::CannotResume { reason: reason::of_json(&error) };
    let words = if world.rank() == 0 { serde_json::to_vec(found).map_err(unclear)? } else { Vec::new() };
    let told = world.all_gather(&words).map_err(lost_at_the_start)?;
    serde_json::from_slice(&told[0]).map_err(unclear)
}

fn lost_at_the_start(source: OperationError) -> TrainError {
    TrainError::Collective { step: 0, source }
}
