//! How the global batch is shared out: in order over the ranks, and in order over the micro-batches of each.

use fermi_domain::language::Text;

use crate::config::{ConfigError, TrainerConfig};
use crate::corpus::sample;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchPlan {
    first: usize,
    per_rank: usize,
    micro_batch: usize,
}

/// What one forward pass reads and what it should predict, samples one after the other.
pub(crate) struct MicroBatch {
    pub inputs: Vec<u8>,
    pub targets: Vec<u8>,
}

impl BatchPlan {
    pub fn new(config: &TrainerConfig, rank: usize, world_size: usize) -> Result<Self, ConfigError> {
        let global = config.global_batch;
        if !global.is_multiple_of(world_size) {
            let below = global / world_size * world_size;
            let above = below + world_size;
            let choices = match below {
                0 => Text::new(format!("可用 {above}"), format!("{above} would work")),
                _ => Text::new(format!("可用 {below} 或 {above}"), format!("{below} or {above} would work")),
            };
            return Err(ConfigError::new(
                "global_batch",
                Text::new(
                    format!("全局批次 {global} 不能平均分给 {world_size} 个 rank"),
                    format!("a global batch of {global} samples cannot be shared evenly by {world_size} ranks"),
                ),
                choices,
            ));
        }
        let per_rank = global / world_size;
        let micro_batch = config.micro_batch.unwrap_or(per_rank);
        if !per_rank.is_multiple_of(micro_batch) {
            let choices: Vec<String> =
                (1..=per_rank).filter(|size| per_rank.is_multiple_of(*size)).map(|size| size.to_string()).collect();
            return Err(ConfigError::new(
                "micro_batch",
                Text::new(
                    format!("每个 rank 的 {per_rank} 个样本不能按微批次 {micro_batch} 均分"),
                    format!("micro-batches of {micro_batch} do not divide the {per_rank} samples of each rank evenly"),
                ),
                Text::new(format!("可用的值：{}", choices.join("、")), format!("these would: {}", choices.join(", "))),
            ));
        }
        Ok(Self { first: rank * per_rank, per_rank, micro_batch })
    }

    pub fn micro_batch(&self) -> usize {
        self.micro_batch
    }

    pub fn accumulation(&self) -> usize {
        self.per_rank / self.micro_batch
    }

    /// The micro-batches of this rank in the given step.
    pub fn of_step(&self, seed: u64, step: u64, length: usize) -> impl Iterator<Item = MicroBatch> + use<> {
        let plan = *self;
        (0..plan.accumulation()).map(move |part| {
            let mut batch = MicroBatch { inputs: Vec::new(), targets: Vec::new() };
            for index in 0..plan.micro_batch {
                let (inputs, targets) = sample(seed, step, plan.first + part * plan.micro_batch + index, length);
                batch.inputs.extend(inputs);
                batch.targets.extend(targets);
            }
            batch
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(global_batch: usize, micro_batch: Option<usize>) -> TrainerConfig {
        TrainerConfig { global_batch, micro_batch, ..TrainerConfig::default() }
    }

    #[test]
    fn any_split_reads_the_same_samples_in_the_same_order() {
        let read = |world_size: usize, micro_batch| -> Vec<u8> {
            (0..world_size)
                .flat_map(|rank| {
                    let plan = BatchPlan::new(&config(12, micro_batch), rank, world_size).unwrap();
                    plan.of_step(5, 9, 16).flat_map(|batch| batch.inputs).collect::<Vec<_>>()
                })
                .collect()
        };
        let whole = read(1, None);
        assert_eq!(whole.len(), 12 * 16);
        for (world_size, micro_batch) in [(1, Some(1)), (1, Some(4)), (2, None), (3, Some(2)), (4, Some(3)), (12, None)]
        {
            assert_eq!(read(world_size, micro_batch), whole);
        }
    }

    #[test]
    fn an_uneven_split_says_what_would_work() {
        let sentence = |global, micro, world| BatchPlan::new(&config(global, micro), 0, world).unwrap_err().to_string();
        assert_eq!(
            sentence(10, None, 4),
            "a global batch of 10 samples cannot be shared evenly by 4 ranks; 8 or 12 would work"
        );
        assert_eq!(
            sentence(2, None, 3),
            "a global batch of 2 samples cannot be shared evenly by 3 ranks; 3 would work"
        );
        assert_eq!(
            sentence(16, Some(3), 2),
            "micro-batches of 3 do not divide the 8 samples of each rank evenly; these would: 1, 2, 4, 8"
        );
    }
}
