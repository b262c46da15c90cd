//! One rank of a running training: the state, the model, the others, and how a step is done.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use fermi_collective::Communicator;

use crate::batch::BatchPlan;
use crate::checkpoint::State;
use crate::config::{Fault, FaultKind, TrainerConfig};
use crate::error::TrainError;
use crate::fingerprint::{fingerprint, hexadecimal};
use crate::model::Transformer;
use crate::optimizer::{clip_factor, learning_rate, norm, update};

pub(crate) struct Run<'a> {
    pub config: &'a TrainerConfig,
    pub plan: BatchPlan,
    pub model: Transformer,
    pub state: State,
    pub world: Communicator,
    decaying: Vec<Range<usize>>,
    /// The gradients of all parameters, and the loss as one more value: a step needs a single all-reduce.
    sums: Vec<f32>,
}

/// What one step came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The mean over the global batch, equal on all ranks.
    pub loss: f32,
    pub lr: f32,
    pub duration: Duration,
}

impl<'a> Run<'a> {
    pub fn new(
        config: &'a TrainerConfig,
        plan: BatchPlan,
        model: Transformer,
        state: State,
        world: Communicator,
    ) -> Self {
        let sums = vec![0.0; model.parameters() + 1];
        let decaying = model.decaying();
        Self { config, plan, model, state, world, decaying, sums }
    }

    pub fn step(&mut self) -> Result<Step, TrainError> {
        let start = Instant::now();
        let config = self.config;
        let step = self.state.step + 1;
        strike(config.fault, self.world.rank(), step)?;
        self.compute_sums(step);
        self.world.all_reduce_sum(&mut self.sums).map_err(|source| TrainError::Collective { step, source })?;
        let (gradient, loss) = self.sums.split_at(self.model.parameters());
        let loss = loss[0];
        let length = norm(gradient);
        if !loss.is_finite() || !length.is_finite() {
            return Err(TrainError::Diverged { step });
        }
        let lr = learning_rate(config.learning_rate(), config.warmup, config.steps, step);
        self.state.step = step;
        let factor = clip_factor(length, config.clip);
        update(&mut self.state, gradient, factor, lr, config.weight_decay, &self.decaying);
        if step == 1 {
            self.state.first_loss = loss;
        }
        self.state.last_loss = loss;
        if let Some(pause) = config.throttle {
            thread::sleep(pause);
        }
        Ok(Step { loss, lr, duration: start.elapsed() })
    }

    /// This rank's part of the mean gradient and mean loss. Scaling each part by the whole batch makes the sum over all
    /// ranks and micro-batches the mean, however the batch is split.
    fn compute_sums(&mut self, step: u64) {
        let config = self.config;
        let scale = 1.0 / config.tokens_per_step() as f32;
        self.sums.fill(0.0);
        let (gradients, loss) = self.sums.split_at_mut(self.model.parameters());
        let mut total = 0.0;
        for batch in self.plan.of_step(config.seed, step, config.sequence_length()) {
            let parameters = &self.state.parameters;
            total += self.model.loss_and_gradients(parameters, gradients, &batch.inputs, &batch.targets, scale);
        }
        loss[0] = (total * f64::from(scale)) as f32;
    }

    /// The fingerprint of the parameters, once every rank has been heard to hold the same.
    pub fn agreed_checksum(&mut self) -> Result<String, TrainError> {
        let step = self.state.step;
        let own = hexadecimal(fingerprint([&self.state.parameters[..]]));
        let all = self.world.all_gather(own.as_bytes()).map_err(|source| TrainError::Collective { step, source })?;
        if all.iter().all(|other| *other == own.as_bytes()) {
            return Ok(own);
        }
        let told = all.iter().enumerate().map(|(rank, sum)| format!("rank {rank} {}", String::from_utf8_lossy(sum)));
        Err(TrainError::RanksDisagree { checksums: told.collect::<Vec<_>>().join(", ") })
    }
}

fn strike(fault: Option<Fault>, rank: usize, step: u64) -> Result<(), TrainError> {
    match fault {
        Some(fault) if fault.rank == rank && fault.step == step => match fault.kind {
            FaultKind::Error => Err(TrainError::InjectedFault { rank, step }),
            FaultKind::Abort => std::process::abort(),
            FaultKind::Hang => loop {
                thread::park();
            },
        },
        _ => Ok(()),
    }
}
