//! DeepSpeed's three batch sizes contradict each other.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "deepspeed_batch",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARK: &str = "Check batch related parameters. train_batch_size is not equal to";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&[MARK])?;
    let cause = match after(line, "* world_size ", &[]) {
        Some(sum) => Text::new(
            format!("DeepSpeed 的 train_batch_size 不等于每卡批次 × 梯度累积 × 进程数：{sum}"),
            format!("DeepSpeed's train_batch_size is not micro-batch x accumulation x processes: {sum}"),
        ),
        None => Text::new(
            "DeepSpeed 的 train_batch_size 不等于每卡批次 × 梯度累积 × 进程数",
            "DeepSpeed's train_batch_size is not micro-batch x accumulation x processes",
        ),
    };
    let fitting = fitting(line);
    let advice = Text::new(
        format!(
            "去掉 train_batch_size{}，只写 train_micro_batch_size_per_gpu 与 gradient_accumulation_steps；或让 \
             Fermi 生成配置（框架 deepspeed，设置 config 为该文件），它会按进程数重算",
            fitting.map_or_else(String::new, |batch| format!("（或改为 {batch}）")),
        ),
        format!(
            "Leave train_batch_size out{} and keep train_micro_batch_size_per_gpu and gradient_accumulation_steps; or let \
             Fermi write the configuration (framework deepspeed, with the file as its setting config), which computes it for the \
             number of processes",
            fitting.map_or_else(String::new, |batch| format!(" (or set it to {batch})")),
        ),
    );
    Some(Finding::new(Some(line), cause, advice))
}

/// 56 out of "… 64 != 4 * 1 * 14".
fn fitting(line: &str) -> Option<u64> {
    let factors = after(line, " != ", &[])?.split(" * ").map(|factor| factor.trim().parse::<u64>().ok());
    factors.take(3).try_fold(1, |product: u64, factor| product.checked_mul(factor?))
}
