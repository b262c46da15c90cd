//! The lines that people read while a training runs. Rank 0 tells the story; the others only come and go.

use std::io::{self, Write};
use std::path::Path;

use crate::batch::BatchPlan;
use crate::config::TrainerConfig;
use crate::train::{RankPosition, Summary};

pub(crate) struct Narrator<'a> {
    out: &'a mut dyn Write,
    rank: usize,
    world_size: usize,
}

impl<'a> Narrator<'a> {
    pub fn new(out: &'a mut dyn Write, position: &RankPosition) -> Self {
        Self { out, rank: position.rank, world_size: position.world_size }
    }

    pub fn start(&mut self, config: &TrainerConfig, plan: &BatchPlan, parameters: usize) -> io::Result<()> {
        let (rank, world_size) = (self.rank, self.world_size);
        if rank > 0 {
            return self.line(&format!("rank {rank} of {world_size} starting"));
        }
        let ranks = if world_size == 1 { "1 rank".to_owned() } else { format!("{world_size} ranks") };
        let accumulation = match plan.accumulation() {
            1 => String::new(),
            parts => format!(" in {parts} micro-batches of {} per rank", plan.micro_batch()),
        };
        self.line(&format!(
            "training the {} model ({} parameters) on {ranks}: {} steps of {} samples of {} bytes{accumulation}",
            config.preset,
            grouped(parameters as f64),
            config.steps,
            config.global_batch,
            config.sequence_length(),
        ))
    }

    pub fn resumed(&mut self, step: u64) -> io::Result<()> {
        self.line_of_rank_0(&format!("resumed from step {step}"))
    }

    pub fn step(&mut self, step: u64, steps: u64, loss: f32, lr: f32, tokens_per_s: f64) -> io::Result<()> {
        let width = steps.to_string().len();
        let speed = grouped(tokens_per_s);
        self.line_of_rank_0(&format!("step {step:>width$}/{steps}  loss {loss:.4}  lr {lr:.1e}  {speed} tokens/s"))
    }

    pub fn checkpoint(&mut self, step: u64, path: &Path) -> io::Result<()> {
        self.line_of_rank_0(&format!("checkpoint of step {step} in {}", path.display()))
    }

    pub fn end(&mut self, summary: &Summary) -> io::Result<()> {
        let checksum = &summary.parameter_checksum;
        if self.rank > 0 {
            return self.line(&format!("rank {} done, parameters {checksum}", self.rank));
        }
        self.line(&format!(
            "done: loss {:.4} -> {:.4} in {} steps, {} tokens/s, parameters {checksum}",
            summary.first_loss,
            summary.last_loss,
            summary.steps,
            grouped(summary.tokens_per_s),
        ))
    }

    fn line_of_rank_0(&mut self, line: &str) -> io::Result<()> {
        if self.rank == 0 { self.line(line) } else { Ok(()) }
    }

    /// One write and a flush per line: a reader sees whole lines, and sees them at once.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(format!("{line}\n").as_bytes())?;
        self.out.flush()
    }
}

/// `3412.4` as `3,412`.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let cases = [(0.0, "0"), (999.4, "999"), (3412.0, "3,412"), (1_234_567.0, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_step_is_one_aligned_line_and_only_rank_0_tells_it() {
        let told = |rank| {
            let mut out = Vec::new();
            let position = RankPosition { rank, world_size: 2, ..RankPosition::alone() };
            Narrator::new(&mut out, &position).step(20, 200, 2.91344, 2.12e-3, 3412.0).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(told(0), "step  20/200  loss 2.9134  lr 2.1e-3  3,412 tokens/s\n");
        assert_eq!(told(1), "");
    }
}
