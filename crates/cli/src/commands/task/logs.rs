//! `fermi task logs`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use fermi_api::client::{Client, ClientError, LogQuery, Moment};
use fermi_api::v1::{LogPiece, Stream};
use fermi_domain::language::Text;

use super::heard::Heard;
use super::{find, ranks, watch};
use crate::commands::launch::lines::{Bars, Lines};
use crate::commands::usage::Expected;
use crate::connection::{CommandProblem, Outcome, ServerFlags};
use crate::exit_code;
use crate::speech::{self, Paint, pick};

/// A line that is longer is shown in parts.
const LONGEST_LINE: usize = 1 << 20;

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
        return follow_as(&client, &task, &query, flags.rank.as_ref(), flags.json);
    }
    if flags.json {
        speech::print_json(&client.logs(&task, &query)?.raw);
        return Ok(ExitCode::SUCCESS);
    }
    let mut writer = Writer::new(&client, &task, flags.rank.clone(), Bars::Last);
    client.read_logs(&task, &query, |piece| writer.take(&piece))?;
    writer.finish();
    if !writer.has_written {
        say_why_nothing(&client, &task)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A silence without a reason looks like a mistake: the task may wait, or have ended before any rank began.
fn say_why_nothing(client: &Client, task: &str) -> Result<(), CommandProblem> {
    let explanation = client.explain(task)?.data;
    speech::say(&format!("{}\n", nothing_written(&explanation.summary, task).in_language(speech::language())));
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

/// Shows everything until the task is over, then how it ended.
pub fn follow(client: &Client, id: &str, query: &LogQuery) -> Outcome {
    follow_as(client, id, query, None, false)
}

fn follow_as(client: &Client, id: &str, query: &LogQuery, ranks: Option<&Ranks>, json: bool) -> Outcome {
    // A task that is not there is an answer before anything is opened.
    client.task(id)?;
    let mut writer = Writer::new(client, id, ranks.cloned(), Bars::NowAndThen);
    let mut heard = Heard::default();
    let mut stream = client.follow_logs(id, query);
    let mut was_over = false;
    while let Some(moment) = stream.next()? {
        match moment {
            Moment::Event { kind, data, .. } if kind == "log" || kind == "message" => {
                let piece: LogPiece = serde_json::from_str(&data).map_err(|error| unreadable(client, &error))?;
                if !writer.wants(piece.rank) {
                    continue;
                }
                let came = (piece.offset, piece.next_offset);
                let Some(news) = heard.news(piece) else { continue };
                let is_heard = match json {
                    // As the server has sent it, unless a part of it came before.
                    true if came == (news.offset, news.next_offset) => speech::print(&format!("{data}\n")),
                    true => speech::print(&format!("{}\n", serde_json::to_string(&news).unwrap_or_default())),
                    false => writer.take(&news),
                };
                if !is_heard {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            Moment::Event { .. } | Moment::Back => {}
            // A stream that ends on a task that is over is at its end. One look may come before the last lines, the
            // second one cannot.
            Moment::Lost => {
                let is_over = client.task(id).is_ok_and(|task| task.data.row.status.is_final());
                if is_over && was_over {
                    break;
                }
                was_over = is_over;
            }
        }
    }
    writer.finish();
    let task = watch::until_over(client, id, None)?;
    if json {
        let is_good = task.row.status == fermi_domain::phase::TaskPhase::Succeeded;
        return Ok(ExitCode::from(if is_good { exit_code::DONE } else { exit_code::FAILED }));
    }
    Ok(watch::end(&task))
}

fn unreadable(client: &Client, error: &serde_json::Error) -> CommandProblem {
    ClientError::NotUnderstood { server: client.server().to_string(), reason: error.to_string() }.into()
}

/// Puts pieces together to lines and writes each behind its prefix.
struct Writer<'a> {
    client: &'a Client,
    task: &'a str,
    paint: Paint,
    nodes: BTreeMap<u32, String>,
    /// Of the attempt that is written.
    lines: BTreeMap<(u32, Stream), Lines>,
    bars: Bars,
    attempt: u32,
    ranks: Option<Ranks>,
    has_written: bool,
}

impl<'a> Writer<'a> {
    fn new(client: &'a Client, task: &'a str, ranks: Option<Ranks>, bars: Bars) -> Self {
        let paint = Paint::for_stdout();
        let (nodes, lines) = (BTreeMap::new(), BTreeMap::new());
        Self { client, task, paint, ranks, nodes, lines, bars, attempt: 0, has_written: false }
    }

    fn wants(&self, rank: u32) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.has(rank))
    }

    /// False when the reader is gone.
    fn take(&mut self, piece: &LogPiece) -> bool {
        if !self.wants(piece.rank) {
            return true;
        }
        if self.attempt != 0 && piece.attempt != self.attempt {
            self.finish();
            let text = format!("{} {}", pick("── 启动", "── attempt"), piece.attempt);
            speech::say(&format!("{}\n", Paint::for_stderr().bold(&text)));
        }
        self.attempt = piece.attempt;
        let key = (piece.rank, piece.stream);
        let mut lines = match self.lines.remove(&key) {
            Some(lines) => lines,
            None => Lines::behind(self.prefix(piece.rank), self.bars, LONGEST_LINE),
        };
        // What stands for a range that was not kept ends the line before it.
        let mut text = if piece.is_gap { lines.end() } else { Vec::new() };
        text.append(&mut lines.take(piece.text.as_bytes(), Instant::now()));
        self.lines.insert(key, lines);
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> bool {
        if text.is_empty() {
            return true;
        }
        self.has_written = true;
        speech::print(&String::from_utf8_lossy(text))
    }

    /// Writes a line that was found.
    fn line(&mut self, rank: u32, line: &str) -> bool {
        if !self.wants(rank) {
            return true;
        }
        let mut lines = Lines::behind(self.prefix(rank), Bars::Last, LONGEST_LINE);
        let mut text = lines.take(line.as_bytes(), Instant::now());
        text.append(&mut lines.take(b"\n", Instant::now()));
        self.write(&text)
    }

    fn prefix(&mut self, rank: u32) -> String {
        let prefix = format!("[{}:{rank}]", self.node(rank));
        format!("{} ", self.paint.nth(rank, &prefix))
    }

    fn node(&mut self, rank: u32) -> String {
        if !self.nodes.contains_key(&rank)
            && let Ok(answer) = self.client.ranks(self.task, None)
        {
            self.nodes = answer.data.items.into_iter().map(|rank| (rank.rank, rank.node)).collect();
        }
        // Asked once, whatever the answer was.
        self.nodes.entry(rank).or_insert_with(|| "rank".to_owned()).clone()
    }

    /// Ends the lines that have begun.
    fn finish(&mut self) {
        for mut lines in std::mem::take(&mut self.lines).into_values() {
            self.write(&lines.end());
        }
    }
}

/// Some ranks, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks(Vec<(u32, u32)>);

impl Ranks {
    fn has(&self, rank: u32) -> bool {
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
