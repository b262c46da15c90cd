//! The journal of a run: every event in order, one JSON object per line, readable while it is written and after a crash.
//!
//! The first line names the format's version. A reader understands its own version and those before it; the last line
//! may be torn by a crash and is then left out. The file has room behind its end before the disk is full ([`reserve`]), so
//! that the result of a run fits whatever its ranks have written.

mod backlog;
mod reserve;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use backlog::{Backlog, WaitingLine};
pub use reserve::Importance;
use reserve::Reserve;

pub const VERSION: u32 = 1;
pub const FILE_NAME: &str = "journal.ndjson";

#[derive(Serialize, Deserialize)]
struct Header {
    journal: u32,
    fermi: String,
}

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read the journal")]
    Io(#[from] io::Error),
    #[error("the journal has no valid first line")]
    NoHeader,
    #[error("the journal is of version {found}, this Fermi understands up to {VERSION}: use a newer fermi")]
    Newer { found: u32 },
    #[error("line {line} of the journal is damaged")]
    Damaged { line: usize, source: serde_json::Error },
}

/// The writing end. A disk that takes no lines never stops the run: they wait in memory and are tried again. Those that did
/// not fit there are lost; how many is known, so that it can be told when the disk takes lines again.
#[derive(Debug)]
pub struct Journal {
    file: Option<File>,
    reserve: Reserve,
    /// What the file has.
    length: u64,
    backlog: Backlog,
    /// Lines that were lost since [`Journal::append_loss`] told of some.
    lost: u64,
    /// Whether the file may end in a part of a line.
    is_torn: bool,
}

impl Journal {
    pub fn create(folder: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(folder.join(FILE_NAME))?;
        let mut journal = Self::none();
        journal.file = Some(file);
        journal.measure();
        let header = Header { journal: VERSION, fermi: env!("CARGO_PKG_VERSION").to_owned() };
        journal.append(&header, Importance::Result);
        Ok(journal)
    }

    /// Keeps nothing: for runs whose logs go to `/dev/null`.
    pub fn none() -> Self {
        Self {
            file: None,
            reserve: Reserve::default(),
            length: 0,
            backlog: Backlog::default(),
            lost: 0,
            is_torn: false,
        }
    }

    pub fn append(&mut self, event: &impl Serialize, importance: Importance) {
        let Ok(text) = serde_json::to_vec(event) else {
            self.lost += 1;
            return;
        };
        self.retry();
        let may_be_tried = match importance {
            Importance::Result => self.put_results_ahead(),
            Importance::Usual => self.backlog.is_empty(),
        };
        if may_be_tried && self.write(&text, importance) {
            // Lines of the way that the disk has not taken would stand behind this one.
            self.lost += self.backlog.clear();
        } else {
            // The launcher hears of the event all the same.
            self.lost += self.backlog.push(WaitingLine { text, importance });
        }
    }

    /// Writes what waits, as far as the disk takes it.
    pub fn retry(&mut self) {
        while let Some(WaitingLine { text, importance }) = self.backlog.first() {
            let (text, importance) = (text.clone(), *importance);
            if !self.write(&text, importance) {
                return;
            }
            self.backlog.first_is_done();
        }
    }

    /// Writes the results that wait, in their order, ahead of what tells of the way, which would stand behind them and is lost.
    /// False where the disk does not take all of them.
    pub fn put_results_ahead(&mut self) -> bool {
        while let Some(text) = self.backlog.first_result().map(<[u8]>::to_vec) {
            if !self.write(&text, Importance::Result) {
                return false;
            }
            self.lost += self.backlog.first_result_is_done();
        }
        true
    }

    /// Whether lines wait for the disk.
    pub fn has_waiting(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Whether one waits without which the result of the run would not be known.
    pub fn has_waiting_result(&self) -> bool {
        self.backlog.has_result()
    }

    /// How many lines were lost and not told of yet.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many lines the file lacks, lost or waiting.
    pub fn missing(&self) -> u64 {
        self.lost + self.backlog.len()
    }

    /// Tells of the lines that were lost; false when the disk still takes nothing.
    pub fn append_loss(&mut self, event: &impl Serialize) -> bool {
        self.retry();
        let is_written =
            self.backlog.is_empty() && serde_json::to_vec(event).is_ok_and(|text| self.write(&text, Importance::Usual));
        if is_written {
            self.lost = 0;
        }
        is_written
    }

    /// Writes one line; false when the disk did not take it whole.
    fn write(&mut self, text: &[u8], importance: Importance) -> bool {
        let Some(file) = &mut self.file else { return true };
        let mut line = if self.is_torn { vec![b'\n'] } else { Vec::new() };
        line.extend_from_slice(text);
        line.push(b'\n');
        let bytes = line.len() as u64;
        self.reserve.extend(file, self.length, bytes);
        if !self.reserve.lets(self.length, bytes, importance) {
            return false;
        }
        if file.write_all(&line).is_err() {
            self.is_torn = true;
            self.measure();
            return false;
        }
        self.is_torn = false;
        self.length += bytes;
        true
    }

    fn measure(&mut self) {
        let about = self.file.as_ref().and_then(|file| file.metadata().ok());
        self.length = about.map_or(self.length, |about| about.len());
    }
}

impl Drop for Journal {
    /// Gives back what is left of the reserve.
    fn drop(&mut self) {
        self.measure();
        if let Some(file) = &self.file {
            // Blocks that stay are room that the disk lacks, nothing worse.
            let _ = file.set_len(self.length);
        }
    }
}

/// Reads all events that were written whole.
pub fn read<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>, ReadError> {
    let text = fs::read(folder.join(FILE_NAME))?;
    let whole = memchr::memrchr(b'\n', &text).map_or(&[][..], |end| &text[..end]);
    let mut lines = whole.split(|byte| *byte == b'\n');
    let header: Header = lines.next().and_then(|line| serde_json::from_slice(line).ok()).ok_or(ReadError::NoHeader)?;
    if header.journal > VERSION {
        return Err(ReadError::Newer { found: header.journal });
    }
    lines
        .enumerate()
        // Stands after a line that the disk did not take.
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| {
            serde_json::from_slice(line).map_err(|source| ReadError::Damaged { line: index + 2, source })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_left_out_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.append(&1, Importance::Usual);
        journal.append(&2, Importance::Usual);
        let path = folder.path().join(FILE_NAME);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"torn\":");
        fs::write(&path, bytes).unwrap();
        assert_eq!(read::<u32>(folder.path()).unwrap(), [1, 2]);
    }

    #[test]
    fn what_the_disk_does_not_take_waits_and_stands_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let disk = journal.file.replace(File::options().write(true).open("/dev/full").unwrap());
        journal.append(&1, Importance::Usual);
        journal.append(&2, Importance::Result);
        assert_eq!((journal.lost(), journal.missing()), (0, 2));
        assert!(journal.has_waiting() && journal.has_waiting_result());
        journal.file = disk;
        journal.append(&3, Importance::Usual);
        assert!(!journal.has_waiting() && journal.missing() == 0);
        assert_eq!(read::<u32>(folder.path()).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn a_result_goes_ahead_of_lines_of_the_way_and_behind_the_results_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let disk = journal.file.replace(File::options().write(true).open("/dev/full").unwrap());
        for (line, importance) in
            [(1, Importance::Usual), (2, Importance::Result), (3, Importance::Usual), (4, Importance::Result)]
        {
            journal.append(&line, importance);
        }
        (journal.file, journal.reserve) = (disk, Reserve::for_results_alone());
        journal.append(&5, Importance::Usual);
        assert_eq!((journal.lost(), journal.missing()), (0, 5), "the first in line may not be written");
        journal.append(&6, Importance::Result);
        assert_eq!((journal.lost(), journal.missing()), (3, 3));
        assert_eq!(read::<u32>(folder.path()).unwrap(), [2, 4, 6]);
    }

    #[test]
    fn what_does_not_fit_in_memory_is_counted_and_told_of_when_the_disk_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let disk = journal.file.replace(File::options().write(true).open("/dev/full").unwrap());
        for letter in ["a", "b", "c"] {
            journal.append(&letter.repeat(100 << 10), Importance::Usual);
        }
        assert_eq!((journal.lost(), journal.missing()), (1, 3));
        assert!(!journal.append_loss(&"1 lost"), "the disk still takes nothing");
        journal.file = disk;
        assert!(journal.append_loss(&"1 lost"));
        assert_eq!(journal.lost(), 0);
        let lines: Vec<String> = read::<String>(folder.path()).unwrap().iter().map(|line| line[..1].into()).collect();
        assert_eq!(lines, ["b", "c", "1"]);
    }

    #[test]
    fn a_newer_journal_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "{\"journal\":99,\"fermi\":\"9\"}\n").unwrap();
        let error = read::<u32>(folder.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the journal is of version 99, this Fermi understands up to 1: use a newer fermi"
        );
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "{\"journal\":1,\"fermi\":\"0\"}\n1\nx\n2\n").unwrap();
        assert!(matches!(read::<u32>(folder.path()), Err(ReadError::Damaged { line: 3, .. })));
    }
}
