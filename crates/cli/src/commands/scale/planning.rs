//! Which runs are to be made, with which batch and words, and what is to be known beforehand. Pure.

use std::path::PathBuf;

use fermi_domain::language::{Notice, Text};

use super::ScaleFlags;
use super::measuring::Ground;
use super::refusals::too_many_nodes;
use super::table::Scaling;

/// Stands for the sequences of one process, and of all, in a command.
const BATCH: &str = "{batch}";
const GLOBAL_BATCH: &str = "{global_batch}";

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    pub scaling: Scaling,
    /// Of processes, or of nodes.
    pub count: u64,
    pub processes: u64,
    /// Sequences of one process.
    pub batch: u64,
}

impl Planned {
    pub fn global_batch(&self) -> u64 {
        self.batch * self.processes
    }

    /// A word of the command, with what it stands for.
    pub fn filled(&self, word: &str) -> String {
        word.replace(GLOBAL_BATCH, &self.global_batch().to_string()).replace(BATCH, &self.batch.to_string())
    }
}

impl ScaleFlags {
    pub fn knows_batch(&self) -> bool {
        self.command.is_empty() || self.command.iter().any(|word| word.contains(BATCH) || word.contains(GLOBAL_BATCH))
    }

    pub fn workload(&self) -> Text {
        match self.command.as_slice() {
            [] => Text::new(format!("内置训练器 ({})", self.preset), format!("built-in trainer ({})", self.preset)),
            words => Text::new(words.join(" "), words.join(" ")),
        }
    }

    /// Rising numbers of processes, or of nodes.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = match (self.nodes.is_empty(), self.num_nodes_list.is_empty()) {
            (true, _) => self.num_gpus_list.iter().map(|count| count.unsigned_abs()).collect(),
            (false, false) => self.num_nodes_list.clone(),
            (false, true) => doublings(self.nodes.len() as u64),
        };
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Refuses more nodes than are named.
    pub fn check_counts(&self) -> Result<(), Notice> {
        let there = self.nodes.len() as u64;
        let beyond = self.counts().into_iter().find(|count| *count > there);
        beyond.filter(|_| !self.nodes.is_empty()).map_or(Ok(()), |asked| Err(too_many_nodes(asked, there)))
    }

    /// Repeats go round, so that a slow minute of the machine does not meet one number of processes alone.
    pub fn planned(&self, processes: impl Fn(u64) -> u64) -> Vec<Planned> {
        let counts = self.counts();
        let most = processes(counts.last().copied().unwrap_or(1));
        let mut scalings = self.scaling.clone();
        scalings.sort_unstable();
        scalings.dedup();
        if !self.knows_batch() {
            scalings = vec![Scaling::Weak];
        }
        let mut planned = Vec::new();
        for _ in 0..self.repeats {
            for scaling in &scalings {
                planned.extend(counts.iter().map(|count| {
                    let processes = processes(*count).max(1);
                    let batch = match scaling {
                        Scaling::Weak => self.batch,
                        Scaling::Strong => (self.batch * most / processes).max(1),
                    };
                    Planned { scaling: *scaling, count: *count, processes, batch }
                }));
            }
        }
        planned
    }

    /// What `fermi run` is given.
    pub fn words(&self, planned: &Planned) -> Vec<String> {
        if !self.command.is_empty() {
            return self.command.iter().map(|word| planned.filled(word)).collect();
        }
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("fermi"));
        let words = ["--no-python", &program.to_string_lossy(), "trainer"].map(str::to_owned);
        words.into_iter().chain(self.trainer_words(planned)).collect()
    }

    /// What the built-in trainer is given.
    pub fn trainer_words(&self, planned: &Planned) -> [String; 6] {
        let (preset, steps, all) =
            (self.preset.to_string(), self.steps.to_string(), planned.global_batch().to_string());
        ["--preset", &preset, "--steps", &steps, "--global-batch", &all].map(str::to_owned)
    }

    pub fn notes(&self, ground: &Ground) -> Vec<Text> {
        let mut notes = Vec::new();
        let more: Vec<String> = self
            .counts()
            .into_iter()
            .filter(|count| ground.shares_devices(*count))
            .map(|count| count.to_string())
            .collect();
        let (zh, en) = (more.join("、"), more.join(", "));
        match ground {
            Ground::Nodes(nodes) => {
                notes.extend(nodes.fleet.notes(self.counts().last().copied().unwrap_or(1), nodes.device));
            }
            Ground::Here { devices, .. } if !more.is_empty() => {
                let (of_zh, of_en) = if ground.has_gpus() { ("块 GPU", "GPUs") } else { ("个 CPU 核", "CPU cores") };
                notes.push(Text::new(
                    format!("本机只有 {devices} {of_zh}：{zh} 个进程会共用，其速度列出，但不算扩展性"),
                    format!(
                        "this machine has {devices} {of_en}: {en} processes share them; their speed is shown, but it is no scaling"
                    ),
                ));
            }
            Ground::Here { .. } => {}
        }
        if !more.is_empty() && self.calibrate {
            let (what_zh, what_en) = ground.noun();
            notes.push(Text::new(
                format!("规划器不从 {zh} 个{what_zh}的运行中学习"),
                format!("the planner learns nothing from the runs of {en} {what_en}"),
            ));
        }
        if !self.knows_batch() && self.scaling.contains(&Scaling::Strong) {
            notes.push(Text::new(
                format!("命令中没有 {BATCH} 或 {GLOBAL_BATCH}：批次由脚本决定，只测弱扩展"),
                format!("the command has neither {BATCH} nor {GLOBAL_BATCH}: the script chooses its batch, only weak scaling is measured"),
            ));
        }
        notes
    }
}

/// 1, 2, 4 … and the whole.
fn doublings(all: u64) -> Vec<u64> {
    let below = std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count < all);
    below.chain([all]).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        scale: ScaleFlags,
    }

    fn flags(line: &str) -> ScaleFlags {
        Line::try_parse_from(line.split(' ')).expect("the line is read").scale
    }

    fn here(devices: u64) -> Ground {
        Ground::Here { gpus: None, devices }
    }

    #[test]
    fn strong_scaling_shares_out_the_batch_of_the_most_and_repeats_go_round() {
        let planned = flags("scale --num-gpus-list 4 1 2 --repeats 2 --batch 3").planned(|count| count);
        let short: Vec<_> = planned.iter().map(|it| (it.scaling, it.processes, it.batch)).collect();
        let once = [
            (Scaling::Weak, 1, 3),
            (Scaling::Weak, 2, 3),
            (Scaling::Weak, 4, 3),
            (Scaling::Strong, 1, 12),
            (Scaling::Strong, 2, 6),
            (Scaling::Strong, 4, 3),
        ];
        assert_eq!(short, [once, once].concat());
    }

    #[test]
    fn nodes_are_compared_by_doublings_and_share_out_the_batch_of_their_processes() {
        let flags = flags("scale --nodes a,b,c --repeats 1 --batch 2");
        assert_eq!(flags.counts(), [1, 2, 3]);
        let planned = flags.planned(|nodes| nodes * 4);
        let short: Vec<_> = planned.iter().map(|it| (it.count, it.processes, it.global_batch())).collect();
        assert_eq!(short, [(1, 4, 8), (2, 8, 16), (3, 12, 24), (1, 4, 24), (2, 8, 24), (3, 12, 24)]);
        assert!(flags.check_counts().is_ok());
    }

    #[test]
    fn more_nodes_than_are_named_are_refused() {
        assert!(flags("scale --nodes a,b --num-nodes-list 1 4").check_counts().is_err());
        assert!(flags("scale --num-gpus-list 1 64").check_counts().is_ok());
        assert!(Line::try_parse_from("scale --nodes a --num-gpus-list 1".split(' ')).is_err());
        assert!(Line::try_parse_from("scale --num-nodes-list 1".split(' ')).is_err());
    }

    #[test]
    fn a_command_gets_its_batch_or_is_measured_by_weak_scaling_alone() {
        let filled = flags("scale --batch 2 -- -m train --per-gpu {batch} --all={global_batch}");
        let planned = Planned { scaling: Scaling::Weak, count: 4, processes: 4, batch: 2 };
        assert_eq!(filled.words(&planned).join(" "), "-m train --per-gpu 2 --all=8");
        let silent = flags("scale --repeats 1 -- train.py");
        assert!(silent.planned(|count| count).iter().all(|it| it.scaling == Scaling::Weak));
        assert_eq!(silent.notes(&here(64)).len(), 1);
    }

    #[test]
    fn processes_beyond_the_cores_are_named_beforehand() {
        let notes = flags("scale --num-gpus-list 1 2 4 8").notes(&here(2));
        assert!(notes[0].en.contains("2 CPU cores: 4, 8 processes share them"), "{}", notes[0].en);
        assert!(flags("scale --num-gpus-list 1 2").notes(&here(2)).is_empty());
    }
}
