//! `fermi doctor hang`: compares the dumps of all ranks of a job, whoever made them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::Args;
use fermi_domain::hang::dumps::{Dump, DumpProblem, DumpReport, rank_of_name};
use fermi_domain::language::{Explained, Text, reason};
use serde_json::json;

use crate::commands::task::ledger;
use crate::connection::CommandProblem;
use crate::plain::plain;
use crate::speech::{self, Paint, pick};
use crate::{connection, exit_code};

/// How many files that say nothing are named.
const NAMED: usize = 5;

/// Compare the stacks and flight records of all ranks of a job that hangs: who stands where, and who is missing
#[derive(Debug, Args)]
pub struct HangFlags {
    /// A folder with one file per rank: py-spy dump, faulthandler, torch's flight recorder as JSON, or Fermi's hang.txt
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A file with what it says.
struct DumpFile {
    name: String,
    dumps: Result<Vec<Dump>, DumpProblem>,
}

pub fn execute(flags: &HangFlags) -> ExitCode {
    connection::answer(compare(flags))
}

fn compare(flags: &HangFlags) -> Result<ExitCode, CommandProblem> {
    let files = read_all(&flags.folder)?;
    let mut unread: Vec<(String, DumpProblem)> = Vec::new();
    let mut ranks: BTreeMap<u32, Vec<Dump>> = BTreeMap::new();
    for DumpFile { name, dumps } in files {
        match dumps {
            Ok(dumps) => {
                for dump in dumps {
                    let next = ranks.keys().next_back().map_or(0, |rank| rank + 1);
                    let rank = dump.rank.or_else(|| rank_of_name(&name)).unwrap_or(next);
                    ranks.entry(rank).or_default().push(dump);
                }
            }
            Err(problem) => unread.push((name, problem)),
        }
    }
    if ranks.is_empty() {
        let hint = unread.first().and_then(|(_, problem)| speech::hint(problem));
        let usual = Text::new("放入每个 rank 的 py-spy dump 输出", "put what py-spy dump says of each rank there");
        let folder = flags.folder.display();
        return Err(CommandProblem::usage(
            Text::new(format!("{folder} 中没有可用的转储"), format!("there is no dump in {folder} that says anything")),
            hint.unwrap_or(usual),
        ));
    }
    let report = DumpReport::of(&ranks);
    if flags.json {
        let unread: Vec<_> = unread
            .iter()
            .map(|(name, problem)| json!({"file": name, "id": problem.id(), "text": problem.text()}))
            .collect();
        speech::print_json(&json!({"v": 1, "report": report, "unread": unread}));
    } else {
        speech::print(&render(&report, &unread, Paint::for_stdout()));
    }
    Ok(ExitCode::from(exit_code::DONE))
}

/// All files of the folder, in the order of their names; read by several threads, since a cluster leaves many.
fn read_all(folder: &Path) -> Result<Vec<DumpFile>, CommandProblem> {
    let entries = fs::read_dir(folder).map_err(|error| {
        let why = reason::of_io(&error);
        let name = folder.display();
        CommandProblem::usage(
            Text::new(format!("无法读取 {name}：{}", why.zh), format!("cannot read {name}: {}", why.en)),
            Text::new("给出放有转储文件的目录", "name the folder that has the dumps"),
        )
    })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = paths.len().div_ceil(threads).max(1);
    Ok(thread::scope(|scope| {
        let parts: Vec<_> = paths
            .chunks(each)
            .map(|part| {
                let mut room = Vec::new();
                scope.spawn(move || part.iter().map(|path| read(path, &mut room)).collect::<Vec<_>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    }))
}

/// `room` takes the bytes of one file after the other.
fn read(path: &Path, room: &mut Vec<u8>) -> DumpFile {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    room.clear();
    let whole = fs::File::open(path).and_then(|mut file| file.read_to_end(room));
    let dumps = whole.map_err(|_| DumpProblem::NotText).and_then(|_| Dump::read(room));
    DumpFile { name, dumps }
}

fn render(report: &DumpReport, unread: &[(String, DumpProblem)], paint: Paint) -> String {
    let language = speech::language();
    let mut out = String::new();
    match &report.verdict {
        Some(verdict) => out.push_str(&format!("{}\n\n", paint.bold(&plain(verdict.text.in_language(language))))),
        None => out.push_str(&format!(
            "{}\n\n",
            pick("没有哪个 rank 与众不同", "nothing sets one rank apart from the others")
        )),
    }
    for group in &report.stacks {
        out.push_str(&format!("  {}\n", ledger::place(group)));
        for frame in group.frames.iter().take(4) {
            let place = format!("{}:{} {}", frame.file, frame.line, frame.function);
            out.push_str(&format!("    {}\n", paint.dim(&plain(&place))));
        }
    }
    if !report.missing.is_empty() {
        let missing = ledger::ranges(&report.missing);
        out.push_str(&format!("{} {}: {missing}\n", paint.yellow("!"), pick("没有转储的 rank", "no dump of rank")));
    }
    for (name, problem) in unread.iter().take(NAMED) {
        let said = plain(&format!("{name} {}", problem.text().in_language(language)));
        out.push_str(&format!("{} {said}\n", paint.yellow("!")));
    }
    if unread.len() > NAMED {
        let more = unread.len() - NAMED;
        out.push_str(&format!("{} +{more}\n", paint.yellow("!")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dumps_say_does_not_steer_the_terminal() {
        let dump = "Current thread 0x00007f0000000000 (most recent call first):\n  \
                    File \"/a/\u{1b}]0;title\u{7}train.py\", line 3 in \u{1b}[2Jstep\n";
        let dumps = Dump::read(dump.as_bytes()).unwrap();
        let report = DumpReport::of(&BTreeMap::from([(0, dumps)]));
        let shown = render(&report, &[("\u{1b}[31mname".to_owned(), DumpProblem::NotText)], Paint::none());
        assert!(shown.contains("train.py:3 step") && shown.contains("name"), "{shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }
}
