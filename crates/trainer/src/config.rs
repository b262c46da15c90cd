//! What can be asked of a training, and the sentences for what cannot.

use std::path::PathBuf;
use std::time::Duration;

use fermi_domain::language::Text;

use crate::corpus;
use crate::preset::Preset;

#[derive(Debug, Clone, PartialEq)]
pub struct TrainerConfig {
    pub preset: Preset,
    pub steps: u64,
    /// Samples per step over all ranks; the losses depend on this and never on how many ranks share it.
    pub global_batch: usize,
    /// Samples per forward pass of one rank; the rest of its share is gradient accumulation. All at once where none.
    pub micro_batch: Option<usize>,
    /// Bytes per sample; the preset's context where none.
    pub seq_len: Option<usize>,
    /// The peak learning rate; the preset's where none.
    pub lr: Option<f32>,
    pub weight_decay: f32,
    /// Steps over which the learning rate rises to its peak.
    pub warmup: u64,
    /// The largest norm of the whole gradient; what is longer is scaled down to it.
    pub clip: f32,
    pub seed: u64,
    pub checkpoint_dir: Option<PathBuf>,
    pub checkpoint_every: u64,
    /// Continue from the newest complete checkpoint of `checkpoint_dir`, or start afresh if it holds none.
    pub resume: bool,
    /// With `resume`: the checkpoint of this step instead of the newest.
    pub resume_step: Option<u64>,
    /// Without `resume`: begin anew although the folder holds checkpoints, which stay.
    pub begins_anew: bool,
    /// Whether all nodes have the same `checkpoint_dir`; where each has its own, the first rank of each node writes.
    pub checkpoints_shared: bool,
    pub progress_file: Option<PathBuf>,
    pub log_every: u64,
    /// Sleep this long in every step, so that a small model can play a long training.
    pub throttle: Option<Duration>,
    pub fault: Option<Fault>,
    /// How long the ranks wait for each other at the start.
    pub rendezvous_timeout: Duration,
    /// How long a rank waits for a silent neighbour while training.
    pub operation_timeout: Duration,
}

impl Default for TrainerConfig {
    fn default() -> Self {
        Self {
            preset: Preset::Tiny,
            steps: 200,
            global_batch: 16,
            micro_batch: None,
            seq_len: None,
            lr: None,
            weight_decay: 0.1,
            warmup: 20,
            clip: 1.0,
            seed: 1,
            checkpoint_dir: None,
            checkpoint_every: 50,
            resume: false,
            resume_step: None,
            begins_anew: false,
            checkpoints_shared: true,
            progress_file: None,
            log_every: 10,
            throttle: None,
            fault: None,
            rendezvous_timeout: Duration::from_secs(300),
            operation_timeout: fermi_collective::DEFAULT_OPERATION_TIMEOUT,
        }
    }
}

/// One thing that cannot be, the field it stands in, and what would work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", .problem.en, .hint.en)]
pub struct ConfigError {
    /// The field's name as in [`TrainerConfig`] or [`crate::RankPosition`].
    pub field: &'static str,
    pub problem: Text,
    pub hint: Text,
}

impl ConfigError {
    pub(crate) fn new(field: &'static str, problem: Text, hint: Text) -> Self {
        Self { field, problem, hint }
    }
}

impl TrainerConfig {
    pub fn sequence_length(&self) -> usize {
        self.seq_len.unwrap_or(self.preset.context())
    }

    pub fn learning_rate(&self) -> f32 {
        self.lr.unwrap_or(self.preset.learning_rate())
    }

    /// Bytes that all ranks together predict in one step.
    pub fn tokens_per_step(&self) -> usize {
        self.global_batch * self.sequence_length()
    }

    /// Everything that can be judged without knowing how many ranks there are.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let longest = corpus::longest_sequence();
        let sequence = self.sequence_length();
        let at_least_one = || Text::new("至少为 1", "ask for at least 1");
        let nothing = |zh: &'static str, en: &'static str| Text::new(zh, en);
        require(self.steps > 0, "steps", nothing("0 步训练不了什么", "0 steps train nothing"), at_least_one())?;
        require(
            self.global_batch > 0,
            "global_batch",
            nothing("全局批次为 0 训练不了什么", "a global batch of 0 samples trains nothing"),
            at_least_one(),
        )?;
        require(
            self.micro_batch != Some(0),
            "micro_batch",
            nothing("微批次为 0 训练不了什么", "a micro-batch of 0 samples trains nothing"),
            at_least_one(),
        )?;
        require(
            (2..=longest).contains(&sequence),
            "seq_len",
            Text::new(
                format!("无法从文本中切出 {sequence} 字节的序列"),
                format!("a sequence of {sequence} bytes cannot be cut from the text"),
            ),
            Text::new(format!("可用 2 到 {longest}"), format!("ask for 2 to {longest}")),
        )?;
        let positive = |number: &str| {
            Text::new(format!("用正数，例如 {number}"), format!("use a positive number such as {number}"))
        };
        let rate = self.learning_rate();
        require_number(rate > 0.0, "lr", rate, positive("0.004"))?;
        let small = Text::new("用 0 或较小的数，例如 0.1", "use 0 or a small number such as 0.1");
        require_number(self.weight_decay >= 0.0, "weight_decay", self.weight_decay, small)?;
        require_number(self.clip > 0.0, "clip", self.clip, positive("1.0"))?;
        require(
            self.checkpoint_every > 0,
            "checkpoint_every",
            nothing("每 0 步一个检查点，永远不会有", "a checkpoint every 0 steps never comes"),
            at_least_one(),
        )?;
        require(
            self.log_every > 0,
            "log_every",
            nothing("每 0 步一行输出，永远不会有", "a line every 0 steps never comes"),
            at_least_one(),
        )?;
        require(
            !self.resume || self.checkpoint_dir.is_some(),
            "resume",
            nothing("没有检查点文件夹，无从继续", "there is no checkpoint folder to resume from"),
            nothing("指定一个，或不要求继续", "name one, or do not ask to resume"),
        )?;
        require(
            self.fault.is_none_or(|fault| fault.step > 0),
            "fault",
            nothing("故障不能发生在第 0 步", "a fault cannot strike before step 0"),
            nothing("步数从 1 开始", "steps count from 1"),
        )
    }
}

fn require(holds: bool, field: &'static str, problem: Text, hint: Text) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::new(field, problem, hint)) }
}

/// NaN fails every comparison, so that only infinity needs a look of its own.
fn require_number(holds: bool, field: &'static str, value: f32, hint: Text) -> Result<(), ConfigError> {
    let problem = Text::new(format!("{field} 不能是 {value}"), format!("{field} cannot be {value}"));
    require(holds && value.is_finite(), field, problem, hint)
}

/// A fault on order, so that tests and demonstrations can see a cluster heal.
///
/// Strikes one rank right before it computes one step. It strikes in every attempt that reaches the step: who wants it
/// only once passes it only to the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub rank: usize,
    /// Steps count from 1.
    pub step: u64,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// `train` returns `TrainError::InjectedFault`, as a bug in a script would end it.
    Error,
    /// The process aborts (SIGABRT) without a word.
    Abort,
    /// The rank stops for ever without dying, as a stuck driver would.
    Hang,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_for_every_preset() {
        for preset in Preset::ALL {
            assert_eq!(TrainerConfig { preset, ..TrainerConfig::default() }.validate(), Ok(()));
        }
    }

    #[test]
    fn what_cannot_be_gets_a_sentence_with_its_field_and_what_would_work() {
        let usual = TrainerConfig::default;
        let cases = [
            (TrainerConfig { steps: 0, ..usual() }, "steps", "0 steps train nothing; ask for at least 1"),
            (
                TrainerConfig { lr: Some(f32::NAN), ..usual() },
                "lr",
                "lr cannot be NaN; use a positive number such as 0.004",
            ),
            (
                TrainerConfig { clip: f32::INFINITY, ..usual() },
                "clip",
                "clip cannot be inf; use a positive number such as 1.0",
            ),
            (
                TrainerConfig { resume: true, ..usual() },
                "resume",
                "there is no checkpoint folder to resume from; name one, or do not ask to resume",
            ),
        ];
        for (config, field, sentence) in cases {
            let error = config.validate().unwrap_err();
            assert_eq!((error.field, error.to_string().as_str()), (field, sentence));
        }
        assert_eq!(TrainerConfig { seq_len: Some(1 << 30), ..usual() }.validate().unwrap_err().field, "seq_len");
    }
}
