//! `fermi task stacks`.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fermi_api::v1::Stacks;
use fermi_domain::hang::StackGroup;
use fermi_domain::language::Language;

use super::{find, ledger, ranks};
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, Paint, pick};

/// What is answered within it needs no word.
const MOMENT: Duration = Duration::from_secs(1);

/// Show where all ranks of a task stand right now: those at the same line together
#[derive(Debug, clap::Args)]
pub struct StacksFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// Only this rank
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &StacksFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let (task, rank) = (find::id(&client, &flags.task)?, flags.rank);
    if rank.is_some() {
        ranks::check(&client, &task, rank)?;
    }
    let answer = saying_what_lasts(|| client.stacks(&task))?;
    flags.ask.show(&answer, |stacks, paint| render(stacks, rank, paint))
}

/// A node that does not answer is waited for; who waits for longer than a moment hears for what.
fn saying_what_lasts<T>(ask: impl FnOnce() -> T) -> T {
    let (answered, waits) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waits.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                let most = Stacks::PATIENCE.as_secs();
                speech::say(&match speech::language() {
                    Language::ZhCn => format!("等待所有节点回应，最多 {most} 秒\n"),
                    Language::En => format!("waiting until all nodes have answered, up to {most} s\n"),
                });
            }
        });
        let answer = ask();
        drop(answered);
        answer
    })
}

fn render(stacks: &Stacks, rank: Option<u32>, paint: Paint) -> String {
    let is_wanted = |number: &u32| rank.is_none_or(|rank| rank == *number);
    let mut out = String::new();
    for StackGroup { ranks, frames } in &stacks.groups {
        let ranks: Vec<u32> = ranks.iter().copied().filter(is_wanted).collect();
        if ranks.is_empty() {
            continue;
        }
        let group = StackGroup { ranks, frames: frames.clone() };
        out.push_str(&format!("{}\n", paint.bold(&ledger::place(&group))));
        for frame in frames {
            out.push_str(&format!("  {}:{} {}\n", frame.file, frame.line, frame.function));
        }
    }
    let silent: Vec<u32> = stacks.silent.iter().copied().filter(is_wanted).collect();
    if !silent.is_empty() {
        let text = pick("没有给出调用栈的 rank", "gave no stack: rank");
        out.push_str(&format!("{} {text} {}\n", paint.yellow("!"), ledger::ranges(&silent)));
    }
    if !stacks.silent_nodes.is_empty() {
        let text = pick("没有回应的节点", "did not answer: node");
        out.push_str(&format!("{} {text} {}\n", paint.yellow("!"), stacks.silent_nodes.join(", ")));
    }
    out
}
