//! `fermi task logs`.

use std::process::ExitCode;

use fermi_api::client::{Client, LogQuery};
use fermi_api::v1::Stream;
use fermi_domain::language::Text;
use fermi_domain::task::NotLaunched;

use super::log_writer::Writer;
use super::{find, follow, ranks};
use crate::commands::launch::lines::Bars;
use crate::commands::usage::Expected;
use crate::connection::{CommandProblem, Outcome, ServerFlags};
use crate::exit_code;
use crate::speech::{self, pick};

/// What the ranks of a task wrote, each line with its [node:rank]
#[allow(rustdoc::broken_intra_doc_links, reason = "the brackets of a help text are no links")]
#[derive(Debug, clap::Args)]
pub struct LogsFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// Stay until the task is over; survives a restart of the server
    #[arg(long, short)]
    follow: bool,
    /// Only these ranks, such as 0 or 0,4-7
    #[arg(long, value_name = "RANKS", value_parser = parse_ranks)]
    rank: Option<Ranks>,
    /// stdout or stderr; hang for the stacks that were kept of ranks that hung [default: stdout and stderr]
    #[arg(long, value_name = "STREAM", value_parser = parse_stream)]
    stream: Option<Stream>,
    /// An earlier attempt [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Only the last lines of each stream
    #[arg(long, value_name = "N")]
    tail: Option<u64>,
    /// Only lines with this text, over all ranks
    #[arg(long, value_name = "TEXT", conflicts_with = "follow")]
    search: Option<String>,
    /// The API's data as JSON; one piece per line with --follow
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &LogsFlags) -> Outcome {
    let client = flags.server.connect()?;
    let query = LogQuery {
        // The server knows one rank or all; of some, the others are left out here.
        rank: flags.rank.as_ref().and_then(Ranks::only),
        stream: flags.stream,
        attempt: flags.attempt,
        tail: flags.tail,
    };
    let task = find::id(&client, &flags.task)?;
    if let Some(some) = flags.rank.as_ref().filter(|ranks| ranks.only().is_none()) {
        ranks::check(&client, &task, some.starts())?;
    }
    if let Some(text) = &flags.search {
        return search(&client, flags, &task, text, &query);
    }
    if flags.follow {
        return follow::follow(&client, &task, &query, flags.rank.as_ref(), flags.json);
    }
    if flags.json {
        speech::print_json(&client.logs(&task, &query)?.raw);
        return Ok(ExitCode::SUCCESS);
    }
    let mut writer = Writer::new(&client, &task, flags.rank.clone(), Bars::Last);
    client.read_logs(&task, &query, |piece| writer.take(&piece))?;
    writer.finish();
    if !writer.has_written {
        say_why_nothing(&client, &task, flags.attempt)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A silence without a reason looks like a mistake: the task may wait, or have ended before any rank began.
fn say_why_nothing(client: &Client, task: &str, attempt: Option<u32>) -> Result<(), CommandProblem> {
    let explanation = client.explain(task)?.data;
    let newest = explanation.attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0);
    // Of a task that has not been launched the summary says more.
    let to_come = NotLaunched::of(task, attempt, newest, explanation.status.is_final()).filter(|_| newest > 0);
    let why = to_come.map_or(explanation.summary, |to_come| to_come.text());
    speech::say(&format!("{}\n", nothing_written(&why, task).in_language(speech::language())));
    Ok(())
}

fn nothing_written(summary: &Text, task: &str) -> Text {
    Text::new(
        format!("没有输出：{}（详见 fermi task explain {task}）", summary.zh),
        format!("nothing was written: {} (more: fermi task explain {task})", summary.en),
    )
}

fn search(client: &Client, flags: &LogsFlags, task: &str, text: &str, query: &LogQuery) -> Outcome {
    let mut writer = Writer::new(client, task, flags.rank.clone(), Bars::Last);
    let mut token: Option<String> = None;
    let mut found = 0;
    loop {
        let answer = client.search_logs(task, text, query, token.as_deref())?;
        if flags.json {
            speech::print_json(&answer.raw);
        }
        for line in &answer.data.items {
            found += 1;
            if !flags.json && !writer.line(line.rank, &line.text) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        token = answer.data.next_page_token;
        if token.is_none() {
            break;
        }
    }
    if found == 0 {
        speech::say(pick("没有匹配的行\n", "no line matches\n"));
    }
    Ok(ExitCode::from(if found == 0 { exit_code::FAILED } else { exit_code::DONE }))
}

/// Some ranks, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks(Vec<(u32, u32)>);

impl Ranks {
    pub fn has(&self, rank: u32) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&rank))
    }

    /// The first ones, as many as that at most.
    pub fn first(&self, most: usize) -> Vec<u32> {
        self.0.iter().flat_map(|(first, last)| *first..=*last).take(most).collect()
    }

    /// Where each range begins.
    fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|(first, _)| *first)
    }

    /// The one that it is, if it is one.
    fn only(&self) -> Option<u32> {
        match self.0[..] {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }
}

/// `0,4-7`.
pub fn parse_ranks(text: &str) -> Result<Ranks, Expected> {
    let hint = || Expected(Text::new("例如 0 或 0,4-7", "write 0 or 0,4-7"));
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| hint());
        let (first, last) = (number(first)?, number(last)?);
        if first <= last { Ok((first, last)) } else { Err(hint()) }
    };
    text.split(',').map(range).collect::<Result<_, _>>().map(Ranks)
}

fn parse_stream(text: &str) -> Result<Stream, Expected> {
    match text {
        "stdout" => Ok(Stream::Stdout),
        "stderr" => Ok(Stream::Stderr),
        "hang" => Ok(Stream::Hang),
        _ => Err(Expected(Text::new("可用的值：stdout、stderr、hang", "use stdout, stderr or hang"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_output_says_why() {
        let told = nothing_written(&Text::new("gn6 离线", "gn6 is offline"), "task-7");
        assert_eq!(told.en, "nothing was written: gn6 is offline (more: fermi task explain task-7)");
        assert_eq!(told.zh, "没有输出：gn6 离线（详见 fermi task explain task-7）");
    }

    #[test]
    fn ranks_are_read_as_lists_of_ranges() {
        let ranks = parse_ranks("0,4-7").unwrap();
        assert_eq!([0, 1, 4, 7, 8].map(|rank| ranks.has(rank)), [true, false, true, true, false]);
        assert_eq!(ranks.first(3), [0, 4, 5]);
        assert_eq!((ranks.only(), parse_ranks("3").unwrap().only()), (None, Some(3)));
        for text in ["", "x", "4-2", "1,", "-1"] {
            assert!(parse_ranks(text).is_err(), "{text}");
        }
    }
}
