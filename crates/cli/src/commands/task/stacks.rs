//! `fermi task stacks`.

use fermi_api::v1::Stacks;
use fermi_domain::hang::StackGroup;

use super::{find, ledger};
use crate::connection::{AskFlags, Outcome};
use crate::speech::{Paint, pick};

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
    let answer = client.stacks(&find::id(&client, &flags.task)?)?;
    let rank = flags.rank;
    flags.ask.show(&answer, |stacks, paint| render(stacks, rank, paint))
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
