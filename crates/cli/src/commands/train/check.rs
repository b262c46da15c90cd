//! Asks the recipes what they would refuse and what the run will be, before any rank starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use fermi_domain::language::{Notice, Text, reason};
use serde::Deserialize;
use serde_json::Value;

use super::{Ranks, Refused};

/// What `fermi_train check` says of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Checked {
    pub algorithm: String,
    pub strategy: String,
    pub stage: Option<u64>,
    /// The model's size, where the file has it or it decides the strategy.
    pub parameters: Option<Value>,
    pub model: String,
    /// The model's config.json, where it lies on this machine.
    pub model_config: Option<Value>,
    pub max_length: u64,
    pub precision: String,
    pub optimizer: String,
    pub micro: u64,
    pub accumulation: u64,
    /// Whether the micro-batch is tried before step 1, and where the file lets the search begin.
    pub dynamic_batch: bool,
    pub dynamic_batch_from: Option<u64>,
    pub gradient_checkpointing: bool,
    pub lora_rank: Option<u64>,
    pub output_dir: PathBuf,
}

/// The answer; a refusal has been said by Python itself, in the reader's language.
pub fn ask(
    python: &Path,
    recipes: &Path,
    words: &[OsString],
    changes: &[String],
    ranks: Ranks,
) -> Result<Checked, Refused> {
    let mut command = Command::new(python);
    command.arg(recipes).arg("check").args(words).args(["--ranks", &ranks.all.to_string()]);
    command.args(changes.iter().flat_map(|change| ["--set", change.as_str()]));
    command.args(ranks.on_gpus.then_some("--gpus"));
    let answer = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let answer = answer.map_err(|error| {
        let (why, python) = (reason::of_io(&error), python.display());
        Notice::new(
            "python_not_started",
            Text::new(format!("无法启动 {python}：{}", why.zh), format!("cannot start {python}: {}", why.en)),
            Text::new("检查该 Python 是否可执行", "see whether this Python can be executed"),
        )
    })?;
    if !answer.status.success() {
        let code = answer.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        return Err(Refused::Said(ExitCode::from(code)));
    }
    let text = String::from_utf8_lossy(&answer.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|error| {
        let why = reason::of_json(&error);
        let notice = Notice::new(
            "recipes_not_understood",
            Text::new(
                format!("训练配方的回答无法理解：{}", why.zh),
                format!("the recipes gave an answer that cannot be read: {}", why.en),
            ),
            Text::new(
                "检查 sitecustomize 等是否向标准输出写入",
                "see what else writes to the standard output of this Python",
            ),
        );
        Refused::Told(notice)
    })
}
