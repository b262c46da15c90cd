//! A training from its first line to its last.

use std::io::Write;
use std::time::Instant;

use fermi_collective::{Communicator, Rendezvous};
use fermi_domain::language::Text;

use crate::batch::BatchPlan;
use crate::checkpoint::{Folder, Identity, State};
use crate::config::{ConfigError, TrainerConfig};
use crate::error::TrainError;
use crate::model::{Shape, Transformer};
use crate::narrator::Narrator;
use crate::progress::Reporter;
use crate::restore::restore;
use crate::run::Run;

/// Where this process stands in the run, as its launcher decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankPosition {
    pub rank: usize,
    pub world_size: usize,
    pub local_rank: usize,
    pub master_addr: String,
    pub master_port: u16,
    /// Ranks of different runs refuse each other.
    pub run_id: String,
}

impl RankPosition {
    /// A run of one process, which opens no socket.
    pub fn alone() -> Self {
        Self {
            rank: 0,
            world_size: 1,
            local_rank: 0,
            master_addr: "127.0.0.1".to_owned(),
            master_port: 0,
            run_id: "alone".to_owned(),
        }
    }

    pub fn is_first(&self) -> bool {
        self.rank == 0
    }
}

/// What a finished run has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The mean loss over the global batch of the run's very first step, also when this attempt resumed later.
    pub first_loss: f32,
    pub last_loss: f32,
    /// The steps that the run has now done in all, those before a resume included.
    pub steps: u64,
    /// Sixteen hexadecimal digits over the bits of every parameter; equal on all ranks, which has been verified.
    pub parameter_checksum: String,
    pub parameters: usize,
    /// Of all ranks together, over the steps of this attempt; 0 when nothing was left to do.
    pub tokens_per_s: f64,
    /// The step of the checkpoint that this attempt continued from.
    pub resumed_from: Option<u64>,
}

/// Trains as one rank until every step is done, or until something makes that impossible. Blocks; every rank of the run
/// must call it with the same configuration, except for its own progress file.
pub fn train(config: &TrainerConfig, position: &RankPosition, out: &mut dyn Write) -> Result<Summary, TrainError> {
    let plan = prepare(config, position)?;
    let mut narrator = Narrator::new(out, position);
    let model = Transformer::new(&Shape::new(config.preset, config.sequence_length()));
    let identity = Identity::new(config, model.parameters());
    let folder = config.checkpoint_dir.as_deref().map(Folder::new);
    let mut state = State::new(model.initial_parameters(config.seed));
    narrator.start(config, &plan, model.parameters()).map_err(TrainError::Output)?;
    let mut world = connect(config, position)?;

    let mut resumed_from = None;
    if let Some(folder) = folder.as_ref().filter(|_| config.resume) {
        let warnings = restore(&mut world, folder, config.resume_step, &identity, &mut state)?;
        warnings.iter().try_for_each(|warning| narrator.line(&warning.en)).map_err(TrainError::Output)?;
        if state.step > 0 {
            resumed_from = Some(state.step);
            narrator.resumed(state.step).map_err(TrainError::Output)?;
        }
    }

    let mut run = Run::new(config, plan, model, state, world);
    // Others only read their copy of the state; one writer per folder is enough and the only safe number.
    let writes = position.is_first() || (!config.checkpoints_shared && position.local_rank == 0);
    let folder = folder.filter(|_| writes);
    let tokens_per_s = run_steps(&mut run, folder.as_ref(), &identity, &mut narrator)?;
    let summary = Summary {
        parameter_checksum: run.agreed_checksum()?,
        first_loss: run.state.first_loss,
        last_loss: run.state.last_loss,
        steps: run.state.step,
        parameters: run.model.parameters(),
        tokens_per_s,
        resumed_from,
    };
    narrator.end(&summary).map_err(TrainError::Output)?;
    Ok(summary)
}

/// Everything that can be refused before the other ranks are kept waiting.
fn prepare(config: &TrainerConfig, position: &RankPosition) -> Result<BatchPlan, TrainError> {
    config.validate()?;
    let RankPosition { rank, world_size, .. } = *position;
    if rank >= world_size {
        let problem = Text::new(
            format!("共 {world_size} 个 rank，没有 rank {rank}"),
            format!("rank {rank} does not exist among {world_size} ranks"),
        );
        return Err(ConfigError::new("rank", problem, Text::new("rank 从 0 开始", "ranks count from 0")).into());
    }
    if let Some(folder) = &config.checkpoint_dir
        && position.is_first()
        && !config.resume
        && !config.begins_anew
    {
        Folder::new(folder).require_empty()?;
    }
    Ok(BatchPlan::new(config, rank, world_size)?)
}

fn connect(config: &TrainerConfig, position: &RankPosition) -> Result<Communicator, TrainError> {
    let mut world = Communicator::connect(&Rendezvous {
        rank: position.rank,
        world_size: position.world_size,
        master_addr: position.master_addr.clone(),
        master_port: position.master_port,
        run_id: position.run_id.clone(),
        timeout: config.rendezvous_timeout,
    })?;
    world.set_operation_timeout(config.operation_timeout);
    Ok(world)
}

/// Returns the tokens per second over all steps that were done here.
fn run_steps(
    run: &mut Run<'_>,
    folder: Option<&Folder>,
    identity: &Identity,
    narrator: &mut Narrator<'_>,
) -> Result<f64, TrainError> {
    let config = run.config;
    let mut progress = Reporter::open(config, narrator)?;
    let (start, first) = (Instant::now(), run.state.step);
    let (mut since, mut told) = (start, first);
    while run.state.step < config.steps {
        let outcome = run.step()?;
        let step = run.state.step;
        progress.report(step, &outcome, narrator)?;
        let is_last = step == config.steps;
        if is_last || step.is_multiple_of(config.log_every) || step == first + 1 {
            let tokens_per_s = speed(config, step - told, since);
            narrator.step(step, config.steps, outcome.loss, outcome.lr, tokens_per_s).map_err(TrainError::Output)?;
            (since, told) = (Instant::now(), step);
        }
        if let Some(folder) = folder
            && (is_last || step.is_multiple_of(config.checkpoint_every))
        {
            let path = folder.save(&run.state, identity)?;
            narrator.checkpoint(step, &path).map_err(TrainError::Output)?;
        }
    }
    Ok(speed(config, run.state.step - first, start))
}

fn speed(config: &TrainerConfig, steps: u64, since: Instant) -> f64 {
    let tokens = steps as f64 * config.tokens_per_step() as f64;
    tokens / since.elapsed().as_secs_f64().max(1e-9)
}
