//! `fermi task launch`.

use fermi_api::v1::RankStart;
use fermi_domain::slurm::script::quoted;

use super::{find, ledger};
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{Paint, pick};
use crate::table;

/// Show what a rank was really started with: command line, folder, variables; also when its machine is long gone
#[derive(Debug, clap::Args)]
pub struct LaunchFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// Which rank
    #[arg(long, value_name = "N", default_value_t = 0)]
    rank: u32,
    /// An earlier attempt [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &LaunchFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.rank_start(&find::id(&client, &flags.task)?, flags.rank, flags.attempt)?;
    flags.ask.show(&answer, render)
}

/// Command line and variables as a shell takes them; in the order of their names, so that two ranks can be compared by `diff`.
fn render(start: &RankStart, paint: Paint) -> String {
    let attempt = format!("{} {}", pick("启动", "attempt"), start.attempt);
    let mut out = format!("{}  [{attempt}]\n\n", paint.bold(&format!("rank {}", start.rank)));
    out.push_str(&table::facts(
        [
            (pick("节点", "node"), Some(start.node.clone())),
            (pick("账户", "account"), start.account.clone()),
            ("PID", Some(start.pid.to_string())),
            (pick("时间", "time"), Some(span::date(start.started_at))),
            (pick("版本", "release"), Some(start.fermi.clone())),
            (pick("文件夹", "folder"), start.directory.clone()),
            ("CPU", (!start.cpus.is_empty()).then(|| ledger::ranges(&start.cpus))),
            (
                pick("接续", "warm"),
                start.is_released.then(|| pick("由待命的解释器接续", "from a parked interpreter").to_owned()),
            ),
        ],
        paint,
    ));
    let words: Vec<String> = start.argv.iter().map(|word| quoted(word)).collect();
    out.push_str(&format!("\n{}\n\n", words.join(" ")));
    for (name, value) in &start.env {
        out.push_str(&format!("{}{}\n", paint.dim(&format!("{name}=")), quoted(value)));
    }
    if start.is_cut {
        let text = pick("内容过长，已截短", "parts of it were too long and are cut");
        out.push_str(&format!("\n{} {text}\n", paint.yellow("!")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_variables_are_as_a_shell_takes_them() {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let start = RankStart {
            attempt: 2,
            rank: 3,
            node: "gn6".to_owned(),
            argv: ["python", "a b.py", "it's"].map(str::to_owned).to_vec(),
            env: [("RANK", "3"), ("A", ""), ("M", "***")].map(pair).into(),
            cpus: vec![0, 1, 2, 7],
            ..RankStart::default()
        };
        let shown = render(&start, Paint::none());
        assert!(shown.contains("\npython 'a b.py' 'it'\\''s'\n\nA=''\nM='***'\nRANK=3\n"), "{shown}");
        assert!(shown.contains("0-2, 7"), "{shown}");
        assert!(!shown.contains("account") && !shown.contains("账户") && !shown.contains('!'), "{shown}");
    }
}
