//! What things are called: as a setting, by Megatron-LM's parser, and by that of Megatron-DeepSpeed, its fork.
//!
//! The names were compared with both parsers; neither is in a registry.

/// Whose parser reads the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parser {
    MegatronLm,
    MegatronDeepspeed,
}

/// One thing under all its names. The first flag is the one that is written; any of them counts as the user's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub setting: &'static str,
    ours: &'static [&'static str],
    of_the_fork: &'static [&'static str],
}

impl Name {
    const fn same(setting: &'static str, flags: &'static [&'static str]) -> Self {
        Self { setting, ours: flags, of_the_fork: flags }
    }

    const fn differs(
        setting: &'static str,
        ours: &'static [&'static str],
        of_the_fork: &'static [&'static str],
    ) -> Self {
        Self { setting, ours, of_the_fork }
    }

    pub(super) fn flags(&self, parser: Parser) -> &'static [&'static str] {
        match parser {
            Parser::MegatronLm => self.ours,
            Parser::MegatronDeepspeed => self.of_the_fork,
        }
    }
}

// The task's strategy stands where others have a setting.
pub(super) const TENSOR: Name = Name::same("strategy.tensorParallel", &["--tensor-model-parallel-size"]);
pub(super) const PIPELINE: Name = Name::same("strategy.pipelineParallel", &["--pipeline-model-parallel-size"]);
/// The fork divides sequences in another way, which it can only be told in the command.
pub(super) const CONTEXT: Name =
    Name::differs("contextParallel", &["--context-parallel-size"], &["--ds-sequence-parallel-size"]);
pub(super) const EXPERT: Name =
    Name::differs("expertParallel", &["--expert-model-parallel-size"], &["--moe-expert-parallel-size"]);
pub(super) const EXPERTS: Name = Name::same("numExperts", &["--num-experts"]);
pub(super) const VIRTUAL_LAYERS: Name =
    Name::same("layersPerVirtualStage", &["--num-layers-per-virtual-pipeline-stage"]);
pub(super) const SEQUENCE_PARALLEL: Name = Name::same("sequenceParallel", &["--sequence-parallel"]);
pub(super) const DISTRIBUTED_OPTIMIZER: Name = Name::same("distributedOptimizer", &["--use-distributed-optimizer"]);

pub(super) const MICRO_BATCH: Name = Name::same("microBatchSize", &["--micro-batch-size"]);
pub(super) const GLOBAL_BATCH: Name = Name::same("globalBatchSize", &["--global-batch-size"]);

// An encoder and a decoder have lengths of their own; the whole and the encoder's are one thing.
pub(super) const LAYERS: Name = Name::same("numLayers", &["--num-layers", "--encoder-num-layers"]);
pub(super) const SEQUENCE: Name = Name::same("seqLength", &["--seq-length", "--encoder-seq-length"]);
pub(super) const HIDDEN: Name = Name::same("hiddenSize", &["--hidden-size"]);
pub(super) const FFN_HIDDEN: Name = Name::same("ffnHiddenSize", &["--ffn-hidden-size"]);
pub(super) const HEADS: Name = Name::same("numAttentionHeads", &["--num-attention-heads"]);
pub(super) const QUERY_GROUPS: Name =
    Name::differs("numQueryGroups", &["--num-query-groups"], &["--num-key-value-heads"]);

pub(super) const TRAIN_ITERS: Name = Name::same("trainIters", &["--train-iters"]);
pub(super) const LEARNING_RATE: Name = Name::same("learningRate", &["--lr"]);
pub(super) const CLIP_GRAD: Name = Name::same("gradientClipping", &["--clip-grad"]);
pub(super) const SAVE_INTERVAL: Name =
    Name::differs("saveInterval", &["--save-interval", "--persistent-save-interval"], &["--save-interval"]);
