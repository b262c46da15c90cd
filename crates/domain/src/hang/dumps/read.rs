//! What one file says: stacks by `faulthandler` or py-spy, a flight record as JSON or pickled, or the evidence of a Fermi run.

use serde::Serialize;

use super::FlightRecord;
use super::pickle::{self, PickleProblem};
use crate::hang::Frame;
use crate::hang::stack::KEPT;
use crate::language::{Explained, Hint, Text, reason};

/// What wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DumpFormat {
    Faulthandler,
    PySpy,
    FlightRecorder,
}

/// What is known of one rank by one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// As the file itself says; else by its name.
    pub rank: Option<u32>,
    pub format: DumpFormat,
    /// Of the main thread, the innermost first.
    pub frames: Vec<Frame>,
    pub record: Option<FlightRecord>,
}

/// Why a file says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpProblem {
    /// A pickle with an opcode that no flight record has: reading it could run what is in it.
    Pickle {
        opcode: u8,
    },
    /// A pickle that ends early, is too large, or is no flight record.
    OtherPickle,
    /// JSON, and no flight record.
    OtherJson {
        error: String,
    },
    /// No stack of a Python thread is in it.
    NoStack,
    NotText,
    /// It is no file, too large, or the system does not give it.
    Unread {
        why: Text,
    },
}

impl Explained for DumpProblem {
    fn id(&self) -> &'static str {
        match self {
            Self::Pickle { .. } => "dump_pickle",
            Self::OtherPickle => "dump_other_pickle",
            Self::OtherJson { .. } => "dump_other_json",
            Self::NoStack => "dump_without_stack",
            Self::NotText => "dump_not_text",
            Self::Unread { .. } => "dump_unread",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Pickle { opcode } => Text::new(
                format!("是 pickle 文件，其中的操作码 0x{opcode:02x} 可能执行代码，Flight Recorder 的文件里没有它"),
                format!(
                    "is a pickle with the opcode 0x{opcode:02x}, which may run code and which no flight record has"
                ),
            ),
            Self::OtherPickle => Text::new(
                "是 pickle 文件，但不是完整的 Flight Recorder 记录",
                "is a pickle, and no whole flight record",
            ),
            Self::OtherJson { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("是 JSON，但不是 Flight Recorder 的记录：{}", why.zh),
                    format!("is JSON and no flight record: {}", why.en),
                )
            }
            Self::NoStack => Text::new("没有 Python 线程的调用栈", "has no stack of a Python thread"),
            Self::NotText => Text::new("不是文本", "is no text"),
            Self::Unread { why } => Text::new(format!("没有读取：{}", why.zh), format!("is not read: {}", why.en)),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Pickle { .. } | Self::OtherPickle => Hint::new(
                "改用 JSON：torch._C._distributed_c10d._dump_nccl_trace_json()",
                "write it as JSON: torch._C._distributed_c10d._dump_nccl_trace_json()",
            ),
            Self::OtherJson { .. } | Self::NoStack | Self::NotText | Self::Unread { .. } => Hint::new(
                "文件可以是 py-spy dump 的输出、faulthandler 的输出，或 Flight Recorder 的记录",
                "files are what py-spy dump or faulthandler writes, or a flight record",
            ),
        })
    }
}

impl Dump {
    /// All that a file says; one of Fermi's own has several ranks.
    pub fn read(bytes: &[u8]) -> Result<Vec<Self>, DumpProblem> {
        // Protocols 2 and up begin so.
        if bytes.first() == Some(&0x80) {
            return pickled(bytes).map(|dump| vec![dump]);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| DumpProblem::NotText)?;
        if text.trim_start().starts_with('{') {
            return record(text).map(|dump| vec![dump]);
        }
        if text.lines().any(|line| section(line).is_some()) {
            let dumps: Vec<Self> = sections(text).filter_map(|(rank, part)| stacks(part, Some(rank))).collect();
            return if dumps.is_empty() { Err(DumpProblem::NoStack) } else { Ok(dumps) };
        }
        stacks(text, None).map(|dump| vec![dump]).ok_or(DumpProblem::NoStack)
    }
}

fn record(text: &str) -> Result<Dump, DumpProblem> {
    let other = |error: String| DumpProblem::OtherJson { error };
    let record: FlightRecord = serde_json::from_str(text).map_err(|error| other(error.to_string()))?;
    if !record.says_something() {
        return Err(other("pg_status, entries".to_owned()));
    }
    Ok(of_record(record))
}

fn of_record(record: FlightRecord) -> Dump {
    let rank = record.rank.filter(|rank| *rank < MOST_RANKS);
    Dump { rank, format: DumpFormat::FlightRecorder, frames: Vec::new(), record: Some(record) }
}

/// What torch itself writes after a time-out.
fn pickled(bytes: &[u8]) -> Result<Dump, DumpProblem> {
    let whole = pickle::read(bytes).map_err(|problem| match problem {
        PickleProblem::OtherOpcode(opcode) => DumpProblem::Pickle { opcode },
        PickleProblem::Broken | PickleProblem::TooLarge => DumpProblem::OtherPickle,
    })?;
    FlightRecord::of_pickle(&whole).map(of_record).ok_or(DumpProblem::OtherPickle)
}

/// `== rank 3: process 12, …`.
fn section(line: &str) -> Option<u32> {
    line.strip_prefix("== rank ")?.split(':').next()?.parse().ok()
}

/// The parts of Fermi's own evidence, of which the last of a rank is the newest.
fn sections(text: &str) -> impl Iterator<Item = (u32, &str)> {
    text.split("\n== rank ").enumerate().filter_map(|(at, part)| {
        let part = if at == 0 { part.strip_prefix("== rank ")? } else { part };
        let rank = part.split(':').next()?.parse().ok().filter(|rank| *rank < MOST_RANKS)?;
        Some((rank, part))
    })
}

fn stacks(text: &str, rank: Option<u32>) -> Option<Dump> {
    let (format, frames) = match faulthandler(text) {
        frames if !frames.is_empty() => (DumpFormat::Faulthandler, frames),
        _ => (DumpFormat::PySpy, py_spy(text)),
    };
    (!frames.is_empty()).then_some(Dump { rank, format, frames, record: None })
}

/// The main thread's: the current one, else the last, which is the oldest.
fn faulthandler(text: &str) -> Vec<Frame> {
    let (mut main, mut is_current, mut reads) = (Vec::new(), false, false);
    for line in text.lines() {
        let begins = (line.starts_with("Thread 0x") || line.starts_with("Current thread 0x")) && line.contains("(most");
        if begins {
            reads = !is_current;
            if reads {
                main.clear();
                is_current = line.starts_with("Current");
            }
        } else if reads {
            match Frame::parse(line) {
                Some(frame) if main.len() < KEPT => main.push(frame),
                Some(_) => {}
                None => reads = false,
            }
        }
    }
    main
}

/// The main thread's, else the first one's.
fn py_spy(text: &str) -> Vec<Frame> {
    let mut threads: Vec<(bool, Vec<Frame>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Thread ") {
            threads.push((line.contains("\"MainThread\""), Vec::new()));
        } else if let (Some((_, frames)), Some(frame)) = (threads.last_mut(), py_spy_frame(line))
            && frames.len() < KEPT
        {
            frames.push(frame);
        }
    }
    let main = threads.iter().position(|(is_main, _)| *is_main).unwrap_or(0);
    threads.into_iter().nth(main).map(|(_, frames)| frames).unwrap_or_default()
}

/// `    forward (model.py:12)`.
fn py_spy_frame(line: &str) -> Option<Frame> {
    let rest = line.strip_prefix("    ")?.trim_end().strip_suffix(')')?;
    let (function, place) = rest.rsplit_once(" (")?;
    let (file, number) = place.rsplit_once(':')?;
    Some(Frame { file: file.to_owned(), line: number.parse().ok()?, function: function.trim_start().to_owned() })
}

/// More ranks than any job has: what is above is a date or the number of a process.
const MOST_RANKS: u32 = 1 << 20;

/// The rank that the name of a file tells: the number behind `rank`, else the last number.
pub fn rank_of_name(name: &str) -> Option<u32> {
    let stem = name
        .rsplit_once('.')
        .map_or(name, |(stem, end)| if end.bytes().all(|byte| byte.is_ascii_digit()) { name } else { stem });
    let lower = stem.to_ascii_lowercase();
    let behind = lower.rfind("rank").map(|at| lower[at + 4..].trim_start_matches(|c: char| !c.is_ascii_digit()));
    let first = |text: &str| text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok();
    let last = |text: &str| text.rsplit(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok();
    behind.and_then(first).or_else(|| last(&lower)).filter(|rank| *rank < MOST_RANKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTHANDLER: &str = "Thread 0x00007f8 (most recent call first):\n  File \"/x/threading.py\", line 3 in wait\n\n\
        Current thread 0x00007f9 (most recent call first):\n  File \"/me/train.py\", line 15 in load\n\n\
        Thread 0x00007fa (most recent call first):\n  File \"/x/queue.py\", line 4 in get\n";
    const PY_SPY: &str = "Process 7: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n\
        Thread 9 (idle): \"Thread-1\"\n    wait (threading.py:320)\nThread 7 (active+gil): \"MainThread\"\n    \
        load batch (/me/train.py:15)\n    <module> (/me/train.py:80)\n";

    fn at(text: &str) -> String {
        Dump::read(text.as_bytes()).unwrap()[0].frames[0].to_string()
    }

    #[test]
    fn the_main_thread_is_found_whatever_wrote_it() {
        assert_eq!(at(FAULTHANDLER), "train.py:15 (load)");
        let later = FAULTHANDLER.replace("Current thread", "Thread");
        assert_eq!(at(&later), "queue.py:4 (get)", "without a current one the oldest thread is the last");
        assert_eq!(at(PY_SPY), "train.py:15 (load batch)");
        assert_eq!(Dump::read(PY_SPY.as_bytes()).unwrap()[0].frames.len(), 2);
    }

    #[test]
    fn evidence_of_a_run_has_several_ranks() {
        let text = format!(
            "NotEntered rank [1] at 5 ms\n== rank 0: process 3\n{FAULTHANDLER}\n== rank 1: process 4\n{FAULTHANDLER}"
        );
        let ranks: Vec<Option<u32>> = Dump::read(text.as_bytes()).unwrap().iter().map(|dump| dump.rank).collect();
        assert_eq!(ranks, [Some(0), Some(1)]);
    }

    #[test]
    fn what_says_nothing_is_refused_with_a_reason() {
        for (bytes, problem) in [
            (&b"\x80\x04\x95"[..], DumpProblem::Pickle { opcode: 0x95 }),
            (b"\x80\x02}.", DumpProblem::OtherPickle),
            (b"\x80\x02}(X", DumpProblem::OtherPickle),
            (b"", DumpProblem::NoStack),
            (b"loss 3.2\n", DumpProblem::NoStack),
            (b"\xff\xfe", DumpProblem::NotText),
            (b"== rank 0: process 3\n", DumpProblem::NoStack),
        ] {
            assert_eq!(Dump::read(bytes), Err(problem));
        }
        assert!(matches!(Dump::read(b"{\"a\": 1}"), Err(DumpProblem::OtherJson { .. })));
        assert!(matches!(Dump::read(b"{\"a\""), Err(DumpProblem::OtherJson { .. })));
    }

    #[test]
    fn what_torch_writes_is_read() {
        let [first, second] = [
            include_bytes!("samples/flight_record_rank_0.pickle").as_slice(),
            include_bytes!("samples/flight_record_rank_1.pickle"),
        ]
        .map(|bytes| Dump::read(bytes).unwrap().remove(0));
        let record = first.record.unwrap();
        assert_eq!(record.name_of("0", 3), Some("all_reduce"));
        assert_eq!(record.status("0").map(|status| status.last_completed_collective), Some(2));
        let record = second.record.unwrap();
        assert_eq!(record.status("0").map(|status| status.last_enqueued_collective), Some(2));
    }

    #[test]
    fn ranks_are_read_from_names() {
        for (name, rank) in [
            ("rank_3.txt", Some(3)),
            ("nccl_trace_rank_12", Some(12)),
            ("dump-node2-rank07.json", Some(7)),
            ("gn6.4711.txt", Some(4711)),
            ("trace.5", Some(5)),
            ("stack.txt", None),
        ] {
            assert_eq!(rank_of_name(name), rank, "{name}");
        }
    }
}
