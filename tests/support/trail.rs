//! One file into which all ranks of a task write who they are, as a training does into its checkpoints, and what it proves:
//! that no two attempts lived at once, that no rank was started twice, and that the result is that of the ranks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Fleet, eventually};

/// How many lines a rank prints once the gate is open.
const LINES: u32 = 8;

/// The trail of one task.
pub struct Trail {
    file: PathBuf,
    gate: PathBuf,
    ranks: usize,
}

/// Which launch of all ranks: generation and attempt.
type Attempt = (u32, u32);

impl Trail {
    pub fn new(folder: &Path, name: &str, ranks: usize) -> Self {
        Self { file: folder.join(format!("{name}.trail")), gate: folder.join(format!("{name}.gate")), ranks }
    }

    /// What ranks run: they write until the gate opens, then print some lines, and end well.
    pub fn script(&self) -> String {
        format!(
            "trail={}; me=\"$FERMI_GENERATION $FERMI_ATTEMPT $RANK\"; echo \"$me start\" >> $trail; \
             while [ ! -e {} ]; do echo \"$me beat\" >> $trail; sleep 0.03; done; \
             i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo \"line $i of rank $RANK\"; sleep 0.01; done; echo done; \
             echo \"$me end\" >> $trail",
            self.file.display(),
            self.gate.display()
        )
    }

    pub fn open_gate(&self) {
        fs::write(&self.gate, "").unwrap();
    }

    fn lines(&self) -> Vec<(Attempt, u32, String)> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).unwrap_or(0);
        text.lines()
            .map(|line| {
                let mut words = line.split(' ');
                let attempt = (number(words.next()), number(words.next()));
                (attempt, number(words.next()), words.next().unwrap_or_default().to_owned())
            })
            .collect()
    }

    /// How many ranks have written in the newest attempt.
    pub fn begun(&self) -> usize {
        let lines = self.lines();
        let Some(newest) = lines.iter().map(|(attempt, ..)| *attempt).max() else { return 0 };
        lines.iter().filter(|(attempt, _, what)| *attempt == newest && what == "start").count()
    }

    pub fn has_begun(&self) {
        eventually("all ranks to write", || (self.begun() == self.ranks).then_some(()));
    }

    /// Whether every rank of an attempt has ended well.
    pub fn has_ended(&self) -> bool {
        self.lines().iter().filter(|(_, _, what)| what == "end").count() == self.ranks
    }

    /// Fails the test if two attempts lived at once, or a rank twice. The answer is the attempts with how many of their ranks
    /// ended well.
    pub fn attempts(&self) -> BTreeMap<Attempt, usize> {
        let mut ended: BTreeMap<Attempt, usize> = BTreeMap::new();
        let mut started = Vec::new();
        let mut newest = (0, 0);
        for (attempt, rank, what) in self.lines() {
            assert!(attempt >= newest, "{attempt:?} writes though {newest:?} has begun");
            newest = attempt;
            let count = ended.entry(attempt).or_default();
            match what.as_str() {
                "start" => {
                    assert!(!started.contains(&(attempt, rank)), "rank {rank} was started twice in {attempt:?}");
                    started.push((attempt, rank));
                }
                "end" => *count += 1,
                _ => {}
            }
        }
        ended
    }

    /// Fails the test where the task's result is not what its ranks came to, or its log not what they printed.
    pub fn agrees_with(&self, fleet: &Fleet, id: &str, task: &Value) {
        let attempts = self.attempts();
        let last = attempts.last_key_value().map_or((0, 0), |(attempt, _)| *attempt);
        let is_success = task["status"] == "succeeded";
        for (attempt, ended) in &attempts {
            let all_ended_well = *ended == self.ranks;
            assert!(
                !all_ended_well || is_success && *attempt == last,
                "all ranks of {attempt:?} ended well, and yet: {attempts:?} {task:#}"
            );
        }
        if is_success {
            assert_eq!(attempts.get(&last), Some(&self.ranks), "it is said to have succeeded: {attempts:?} {task:#}");
            (0..self.ranks).for_each(|rank| self.check_log(fleet, id, last.1, rank as u32));
        } else {
            let said = task["verdict"]["headline"]["en"].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "it does not say why it has not succeeded: {task:#}");
        }
    }

    /// Every line once and in order; what is missing is said.
    fn check_log(&self, fleet: &Fleet, id: &str, attempt: u32, rank: u32) {
        let whole: Vec<String> =
            (1..=LINES).map(|line| format!("line {line} of rank {rank}")).chain(["done".to_owned()]).collect();
        eventually(&format!("the log of rank {rank} in attempt {attempt}"), || {
            let text = fleet.log(id, attempt, rank);
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
            let (told, kept): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(|line| line.starts_with("[fermi: "));
            assert!(kept.is_sorted_by_key(|line| whole.iter().position(|known| known == line)), "{text}");
            assert!(kept.iter().all(|line| whole.iter().any(|known| known == line)), "{text}");
            (kept.len() == whole.len() || !told.is_empty() && kept.last() == Some(&"done") || self.is_lost(fleet, id))
                .then_some(())
        });
    }

    /// Whether the task says that output was lost.
    fn is_lost(&self, fleet: &Fleet, id: &str) -> bool {
        let events = fleet.get(&format!("/training-tasks/{id}/events"));
        events["items"].as_array().is_some_and(|items| items.iter().any(|event| event["kind"] == "output.lost"))
    }
}
