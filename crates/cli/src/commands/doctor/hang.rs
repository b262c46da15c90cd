//! `fermi doctor hang`: compares the dumps of all ranks of a job, whoever made them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::Args;
use fermi_domain::hang::dumps::{Dump, DumpProblem, DumpReport, rank_of_name};
use fermi_domain::language::reason::{NeitherFileNorFolder, TooLarge};
use fermi_domain::language::{Explained, Text, reason};
use fermi_named_file::MOST_BYTES;
use serde_json::json;

use crate::commands::task::ledger;
use crate::connection::CommandProblem;
use crate::plain::plain;
use crate::speech::{self, Paint, pick};
use crate::{connection, exit_code};

/// How many files that say nothing, and how many ranks with several files, are named.
const NAMED: usize = 5;

/// Compare the stacks and flight records of all ranks of a job that hangs: who stands where, and who is missing
#[derive(Debug, Args)]
pub struct HangFlags {
    /// A folder with one file per rank: py-spy dump, faulthandler, torch's flight recorder, or Fermi's hang.txt
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
    let found = Found::of(read_all(&flags.folder)?);
    if found.ranks.is_empty() {
        let hint = found.unread.first().and_then(|(_, problem)| speech::hint(problem));
        let usual = Text::new("放入每个 rank 的 py-spy dump 输出", "put what py-spy dump says of each rank there");
        let folder = flags.folder.display();
        return Err(CommandProblem::usage(
            Text::new(format!("{folder} 中没有可用的转储"), format!("there is no dump in {folder} that says anything")),
            hint.unwrap_or(usual),
        ));
    }
    let report = DumpReport::of(&found.ranks);
    if flags.json {
        let unread = found.unread.iter();
        let unread: Vec<_> =
            unread.map(|(name, problem)| json!({"file": name, "id": problem.id(), "text": problem.text()})).collect();
        let repeated: Vec<_> =
            found.repeated().iter().map(|(rank, files)| json!({"rank": rank, "files": files})).collect();
        speech::print_json(&json!({"v": 1, "report": report, "unread": unread, "repeated": repeated}));
    } else {
        speech::print(&render(&report, &found, Paint::for_stdout()));
    }
    Ok(ExitCode::from(exit_code::DONE))
}

/// What the files say, by rank.
#[derive(Default)]
struct Found {
    ranks: BTreeMap<u32, Vec<Dump>>,
    /// The files that say the same kind of thing of a rank: a stack, or a flight record.
    files: BTreeMap<(u32, bool), Vec<String>>,
    unread: Vec<(String, DumpProblem)>,
}

impl Found {
    fn of(files: Vec<DumpFile>) -> Self {
        let mut found = Self::default();
        for DumpFile { name, dumps } in files {
            match dumps {
                Ok(dumps) => dumps.into_iter().for_each(|dump| found.take(&name, dump)),
                Err(problem) => found.unread.push((name, problem)),
            }
        }
        found
    }

    fn take(&mut self, name: &str, dump: Dump) {
        let next = self.ranks.keys().next_back().map_or(0, |rank| rank + 1);
        let rank = dump.rank.or_else(|| rank_of_name(name)).unwrap_or(next);
        let files = self.files.entry((rank, dump.record.is_some())).or_default();
        // The sections of one file are in the order of time.
        if files.last().is_none_or(|last| last != name) {
            files.push(name.to_owned());
        }
        self.ranks.entry(rank).or_default().push(dump);
    }

    /// Ranks of which several files say the same kind of thing; the last file counts.
    fn repeated(&self) -> Vec<(u32, &[String])> {
        let several = self.files.iter().filter(|(_, files)| files.len() > 1);
        several.map(|((rank, _), files)| (*rank, files.as_slice())).collect()
    }
}

/// All of the folder but folders, in the order of their names; read by several threads, since a cluster leaves many.
fn read_all(folder: &Path) -> Result<Vec<DumpFile>, CommandProblem> {
    let entries = fs::read_dir(folder).map_err(|error| {
        let why = reason::of_io(&error);
        let name = folder.display();
        CommandProblem::usage(
            Text::new(format!("无法读取 {name}：{}", why.zh), format!("cannot read {name}: {}", why.en)),
            Text::new("给出放有转储文件的目录", "name the folder that has the dumps"),
        )
    })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| !path.is_dir()).collect();
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
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }))
}

/// `room` takes the bytes of one file after the other.
fn read(path: &Path, room: &mut Vec<u8>) -> DumpFile {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let whole = read_plain(path, room).map_err(|error| DumpProblem::Unread { why: reason::of_io(&error) });
    DumpFile { name, dumps: whole.and_then(|()| Dump::read(room)) }
}

/// The whole of a plain file of a known size; nobody has named it, so that it may be anything. A pipe or a device is not even
/// opened. What is in `/proc` has no size: reading some of it waits for ever, or takes it away from others.
fn read_plain(path: &Path, room: &mut Vec<u8>) -> io::Result<()> {
    room.clear();
    let size_of_plain = |kept: fs::Metadata| -> io::Result<u64> {
        if kept.is_file() { Ok(kept.len()) } else { Err(NeitherFileNorFolder.into()) }
    };
    let size = size_of_plain(fs::metadata(path)?)?;
    if size > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, TooLarge { most_bytes: MOST_BYTES }));
    }
    if size > 0 {
        // What has taken its place in between is not waited for either.
        let file = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        size_of_plain(file.metadata()?)?;
        file.take(MOST_BYTES).read_to_end(room)?;
    }
    Ok(())
}

fn render(report: &DumpReport, found: &Found, paint: Paint) -> String {
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
    let repeated = found.repeated().into_iter().map(|(rank, files)| {
        let (zh, en) = (files.join("、"), files.join(", "));
        Text::new(
            format!("rank {rank} 在多个文件中：{zh}；以最后一个为准"),
            format!("rank {rank} is in several files: {en}; the last one counts"),
        )
    });
    let unread = found.unread.iter().map(|(name, problem)| {
        let text = problem.text();
        Text::new(format!("{name} {}", text.zh), format!("{name} {}", text.en))
    });
    some(&mut out, repeated.collect(), paint);
    some(&mut out, unread.collect(), paint);
    out
}

/// The first of the remarks, and how many more there are.
fn some(out: &mut String, remarks: Vec<Text>, paint: Paint) {
    for remark in remarks.iter().take(NAMED) {
        out.push_str(&format!("{} {}\n", paint.yellow("!"), plain(remark.in_language(speech::language()))));
    }
    if remarks.len() > NAMED {
        out.push_str(&format!("{} +{}\n", paint.yellow("!"), remarks.len() - NAMED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dumps_say_does_not_steer_the_terminal() {
        let dump = "Current thread 0x00007f0000000000 (most recent call first):\n  \
                    File \"/a/\u{1b}]0;title\u{7}train.py\", line 3 in \u{1b}[2Jstep\n";
        let dumps = Dump::read(dump.as_bytes()).unwrap();
        let found = Found::of(vec![
            DumpFile { name: "\u{1b}[31mrank0".to_owned(), dumps: Ok(dumps) },
            DumpFile { name: "\u{1b}[31mname".to_owned(), dumps: Err(DumpProblem::NotText) },
        ]);
        let shown = render(&DumpReport::of(&found.ranks), &found, Paint::none());
        assert!(shown.contains("train.py:3 step") && shown.contains("name"), "{shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }

    #[test]
    fn what_is_no_dump_is_left_out_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&place("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::File::create(place("huge")).unwrap().set_len(1 << 40).unwrap();
        std::os::unix::fs::symlink("/proc/kmsg", place("kmsg")).unwrap();
        fs::create_dir(place("more")).unwrap();
        let read = read_all(folder.path()).unwrap();
        let said: Vec<String> =
            read.iter().map(|file| format!("{} {}", file.name, file.dumps.as_ref().unwrap_err().text().en)).collect();
        assert_eq!(
            said,
            [
                "fifo is not read: it is a device, a pipe or a socket, neither a file nor a folder",
                "huge is not read: it has more than 64 MiB, as no such file has",
                "kmsg has no stack of a Python thread",
            ]
        );
    }

    #[test]
    fn a_rank_with_several_stacks_is_named_with_its_files() {
        let file = |name: &str, line: u32| {
            let stack = format!("Thread 7 (active): \"MainThread\"\n    step (train.py:{line})\n");
            DumpFile { name: name.to_owned(), dumps: Dump::read(stack.as_bytes()) }
        };
        let found = Found::of(vec![file("gn1-rank0", 3), file("gn2-rank0", 4), file("rank1", 5)]);
        let shown = render(&DumpReport::of(&found.ranks), &found, Paint::none());
        assert!(shown.contains("gn1-rank0") && shown.contains("gn2-rank0") && shown.contains("train.py:4"), "{shown}");
        assert_eq!(found.repeated().len(), 1, "{shown}");
    }
}
