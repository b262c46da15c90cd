//! How a rank ended, on disk beside its logs, so that the answer outlives everyone who saw it.

use std::fs;
use std::io;
use std::path::Path;

use fermi_domain::exit::Exit;
use serde::{Deserialize, Serialize};

use crate::in_place;

pub const VERSION: u32 = 1;
pub const FILE_NAME: &str = "exit.json";
const DRAFT: &str = ".exit.json.new";
/// More than a record takes, but for an error of many words.
const ROOM: usize = 512;

/// The record of one rank of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    pub version: u32,
    pub rank: u32,
    pub pid: i32,
    pub exit: Exit,
    pub started_ms: u64,
    pub ended_ms: u64,
    /// The kernel ended it for want of memory.
    pub oom_killed: bool,
}

impl ExitRecord {
    /// Takes the room for a record while the disk has some.
    pub fn reserve(folder: &Path) -> io::Result<()> {
        in_place::reserve(&folder.join(DRAFT), b"", ROOM)
    }

    /// Writes the record in one piece: it is there whole or not at all. In the room of [`ExitRecord::reserve`] a full disk
    /// takes it too. Where it cannot be written nothing of it stays.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let draft = folder.join(DRAFT);
        let record = serde_json::to_vec(self)?;
        let written = in_place::overwrite(&draft, &record).and_then(|()| fs::rename(&draft, folder.join(FILE_NAME)));
        if written.is_err() {
            // It may not even be there.
            let _ = fs::remove_file(draft);
        }
        written
    }

    pub fn read(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(folder.join(FILE_NAME))?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: ExitRecord = ExitRecord {
        version: VERSION,
        rank: 3,
        pid: 42,
        exit: Exit::Signal { signal: 9, core_dumped: false },
        started_ms: 1,
        ended_ms: 2,
        oom_killed: true,
    };

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        RECORD.write(folder.path()).unwrap();
        assert_eq!(ExitRecord::read(folder.path()).unwrap(), RECORD);
    }

    #[test]
    fn a_record_that_cannot_be_written_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        ExitRecord::reserve(folder.path()).unwrap();
        fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
        assert!(RECORD.write(folder.path()).is_err());
        assert!(!folder.path().join(DRAFT).exists());
    }
}
