//! Every key of the file, with its kind.

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Flag,
    /// A whole number of at least this.
    Count(u64),
    /// A whole number from 0 to this.
    UpTo(u64),
    /// A number from 0 to 1.
    Share,
    /// A number that is not negative.
    Number,
    Word,
    Choice(&'static [&'static str]),
    /// One word or a list of them.
    Words,
    /// A path, or whether at all.
    FlagOrWord,
    /// Anything; for those who read the file after us.
    Free,
}

/// One key: where it stands, what it may be, what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// With dots between sections, such as `training.dataloader.batch_size`.
    pub path: &'static str,
    pub kind: Kind,
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { path, kind, about }
}

/// The section whose keys may also stand alone, without a section around them.
pub const MAIN: &str = "training";

/// Two spellings of one thing; different values for them are an error.
pub const SAME: &[(&str, &str)] = &[
    ("training.per_device_train_batch_size", "training.dataloader.batch_size"),
    ("training.dataloader_num_workers", "training.dataloader.num_workers"),
    ("training.dataloader_pin_memory", "training.dataloader.pin_memory"),
    ("training.dataloader_drop_last", "training.dataloader.drop_last"),
    ("training.dataloader_prefetch_factor", "training.dataloader.prefetch_factor"),
    ("training.distributed_backend", "training.backend"),
    ("training.seed", "seed"),
    ("training.algorithm", "algorithm"),
    ("training.experiment_name", "experiment_name"),
];

/// The largest whole number: above it sums would overflow and JSON would lose digits.
pub const MOST: u64 = 1 << 52;

pub const STRATEGIES: &[&str] = &["ddp", "deepspeed", "fsdp", "auto"];
const PRECISIONS: &[&str] = &["no", "fp32", "fp16", "bf16"];
const ALGORITHMS: &[&str] = &["sft", "rm", "reward", "ppo", "dpo", "grpo"];
const WHEN: &[&str] = &["no", "steps", "epoch"];
const SHARDINGS: &[&str] = &["FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD"];

pub const KEYS: &[Key] = &[
    key("seed", Kind::Count(0), "the same random numbers in every process"),
    key("experiment_name", Kind::Word, "the folder below outputs/"),
    key("model.name_or_path", Kind::Word, "the model"),
    key("model.parameters", Kind::Free, "its size, such as 7B; decides distributed_strategy: auto"),
    key("model.max_length", Kind::Count(1), "tokens of a sample"),
    key("data", Kind::Free, "datasets, for the script"),
    key("algorithm", Kind::Choice(ALGORITHMS), "how the model is trained"),
    key("lora", Kind::Free, "LoRA, for the script"),
    key("recipe.dynamic_batch", Kind::Flag, "sft: the largest micro-batch that fits on all ranks"),
    key(
        "recipe.dynamic_batch_from",
        Kind::Count(1),
        "sft: where the search for it begins; fermi train gives the planner's word",
    ),
    key("recipe.ddp_comm_hook", Kind::Choice(&["fp16", "bf16", "powersgd"]), "sft: compresses gradients"),
    key("recipe.center_rewards", Kind::Number, "rm: weight of the sum of rewards"),
    key("recipe.beta", Kind::Number, "dpo, grpo: how near the model stays to where it began"),
    key("recipe.loss_type", Kind::Words, "dpo, grpo: the loss"),
    key("recipe.label_smoothing", Kind::Share, "dpo: share of preferences that are wrong"),
    key(
        "recipe.reward",
        Kind::Words,
        "grpo, ppo: exact, format:REGEX, length:N, share:LETTER, model:FOLDER, module:function",
    ),
    key("recipe.num_generations", Kind::Count(2), "grpo: answers to each prompt"),
    key("recipe.max_completion_length", Kind::Count(1), "grpo, ppo: tokens of an answer"),
    key("recipe.temperature", Kind::Number, "grpo, ppo: of sampling"),
    key("recipe.top_p", Kind::Share, "grpo, ppo: of sampling"),
    key("recipe.epsilon", Kind::Number, "grpo: where the ratio is clipped"),
    key("recipe.num_iterations", Kind::Count(1), "grpo: updates with the same answers"),
    key("recipe.scale_rewards", Kind::Choice(&["group", "batch", "none"]), "grpo: by what advantages are divided"),
    key("recipe.ppo_epochs", Kind::Count(1), "ppo: passes over the same answers"),
    key("recipe.minibatches", Kind::Count(1), "ppo: updates in each pass"),
    key("recipe.kl_coef", Kind::Number, "ppo: weight of the distance to where the model began"),
    key("recipe.clip", Kind::Number, "ppo: where the ratio is clipped"),
    key("recipe.value_clip", Kind::Number, "ppo: where values are clipped"),
    key("recipe.value_coef", Kind::Number, "ppo: weight of the value's loss"),
    key("recipe.gamma", Kind::Share, "ppo: discount"),
    key("recipe.lam", Kind::Share, "ppo: lambda of the advantage"),
    key("recipe.missing_eos_penalty", Kind::Number, "ppo: taken off where an answer does not end"),
    key("training.algorithm", Kind::Choice(ALGORITHMS), "how the model is trained"),
    key("training.distributed", Kind::Flag, "whether several processes train together"),
    key("training.distributed_strategy", Kind::Choice(STRATEGIES), "how they do; auto decides by the model's size"),
    key("training.distributed_backend", Kind::Choice(&["nccl", "gloo"]), "nccl on GPUs, gloo on CPU"),
    key("training.backend", Kind::Choice(&["nccl", "gloo"]), "as distributed_backend"),
    key("training.find_unused_parameters", Kind::Flag, "DDP: look for unused parameters"),
    key("training.ddp_bucket_cap_mb", Kind::Count(1), "DDP: size of a gradient bucket in MB"),
    key("training.ddp_broadcast_buffers", Kind::Flag, "DDP: broadcast buffers"),
    key("training.gradient_as_bucket_view", Kind::Flag, "DDP: gradients live in the buckets"),
    key("training.deepspeed.config_path", Kind::Word, "DeepSpeed's JSON; values of this file win over it"),
    key("training.deepspeed.zero_stage", Kind::UpTo(3), "ZeRO stage where there is no JSON"),
    key("training.fsdp.sharding_strategy", Kind::Choice(SHARDINGS), "how parameters are divided"),
    key("training.fsdp.transformer_layer_cls_to_wrap", Kind::Words, "classes of the layers to wrap"),
    key("training.fsdp.min_num_params", Kind::Count(1), "least parameters of a part wrapped by size"),
    key("training.fsdp.offload_params", Kind::Flag, "parameters on the CPU"),
    key("training.per_device_train_batch_size", Kind::Count(1), "samples of a rank in one pass"),
    key("training.per_device_eval_batch_size", Kind::Count(1), "samples of a rank in one pass of evaluation"),
    key("training.gradient_accumulation_steps", Kind::Count(1), "passes before each update"),
    key("training.dataloader.batch_size", Kind::Count(1), "as per_device_train_batch_size"),
    key("training.dataloader.num_workers", Kind::Count(0), "processes that load data"),
    key("training.dataloader.pin_memory", Kind::Flag, "page-locked memory"),
    key("training.dataloader.drop_last", Kind::Flag, "leave out an incomplete batch"),
    key("training.dataloader.prefetch_factor", Kind::Count(1), "batches loaded ahead by a process"),
    key("training.dataloader_num_workers", Kind::Count(0), "as dataloader.num_workers"),
    key("training.dataloader_pin_memory", Kind::Flag, "as dataloader.pin_memory"),
    key("training.dataloader_drop_last", Kind::Flag, "as dataloader.drop_last"),
    key("training.dataloader_prefetch_factor", Kind::Count(1), "as dataloader.prefetch_factor"),
    key("training.mixed_precision", Kind::Choice(PRECISIONS), "number format"),
    key("training.fp16", Kind::Flag, "number format; bf16 wins over it"),
    key("training.bf16", Kind::Flag, "number format"),
    key("training.fp16_opt_level", Kind::Choice(&["O0", "O1", "O2", "O3"]), "Apex's level; torch's own AMP has none"),
    key("training.fp16_full_eval", Kind::Flag, "evaluate in fp16"),
    key("training.gradient_checkpointing", Kind::Flag, "compute activations again to save memory"),
    key("training.max_grad_norm", Kind::Number, "the norm at which gradients are clipped"),
    key("training.learning_rate", Kind::Number, "learning rate on one GPU"),
    key("training.lr_scaling", Kind::Choice(&["none", "linear", "sqrt"]), "how it grows with the ranks"),
    key("training.lr_scheduler_type", Kind::Word, "schedule of the learning rate"),
    key("training.warmup_ratio", Kind::Share, "share of the steps with a rising rate"),
    key("training.warmup_steps", Kind::Count(0), "steps with a rising rate"),
    key("training.weight_decay", Kind::Number, "weight decay"),
    key("training.optim", Kind::Word, "optimizer"),
    key("training.num_train_epochs", Kind::Number, "epochs"),
    key("training.max_steps", Kind::Count(1), "steps in all"),
    key("training.max_seq_length", Kind::Count(1), "tokens of a sample"),
    key("training.seed", Kind::Count(0), "the same random numbers in every process"),
    key("training.experiment_name", Kind::Word, "the folder below outputs/"),
    key("training.output_dir", Kind::Word, "where results go"),
    key("training.save_strategy", Kind::Choice(WHEN), "when checkpoints are saved"),
    key("training.save_steps", Kind::Count(1), "steps between checkpoints"),
    key("training.save_total_limit", Kind::Count(1), "checkpoints that are kept"),
    key("training.eval_strategy", Kind::Choice(WHEN), "when the model is evaluated"),
    key("training.eval_steps", Kind::Count(1), "steps between evaluations"),
    key("training.logging_steps", Kind::Count(1), "steps between lines of the log"),
    key("training.report_to", Kind::Words, "tensorboard, wandb, none"),
    key("training.resume_from_checkpoint", Kind::FlagOrWord, "a checkpoint, or true for the newest"),
];

/// What no launch and no engine does: recipes obey it, and any other script has to do so itself.
pub(super) const FOR_THE_SCRIPT: &[&str] = &[
    "training.experiment_name",
    "training.output_dir",
    "training.save_strategy",
    "training.save_steps",
    "training.save_total_limit",
    "training.eval_strategy",
    "training.eval_steps",
    "training.logging_steps",
    "training.report_to",
    "training.resume_from_checkpoint",
];

/// The key at a path, also where its section was left out.
pub(super) fn at(path: &str) -> Option<&'static Key> {
    let exact = |path: &str| KEYS.iter().find(|key| key.path == path);
    exact(path).or_else(|| exact(&format!("{MAIN}.{path}")))
}

/// The path under which the value of a key is kept.
pub(super) fn first_spelling(path: &str) -> Option<&'static str> {
    let path = at(path)?.path;
    Some(SAME.iter().find(|(_, second)| *second == path).map_or(path, |(first, _)| first))
}

/// Whether deeper keys stand below a path.
pub(super) fn is_section(path: &str) -> bool {
    let below =
        |path: &str| KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')));
    below(path) || below(&format!("{MAIN}.{path}"))
}
