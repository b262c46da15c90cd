//! By which a database and its log are known to belong together.
//!
//! SQLite takes whatever log lies beside a database. A server that was killed leaves one; were an older `fermi.db` put back by
//! hand beside it, the two would be mixed. So each start draws a word: it stands in the header of the database (its
//! `application_id`), and beside it in a file of its own. A backup has none.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::open::{DATABASE, LOG};

/// Beside the database.
const FILE: &str = "fermi.start";
/// Where `application_id` stands in the header of a database.
const PLACE: u64 = 68;
/// What no start draws: the word of a backup, and of a database that an earlier release has served.
const NONE: i32 = 0;

/// What stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Known {
    cluster: String,
    /// Those that the database may have: two while it is being given the next.
    words: Vec<i32>,
}

fn known(folder: &Path) -> Option<Known> {
    serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
}

/// The cluster that was served from a folder last, as far as its file says so.
pub(crate) fn cluster(folder: &Path) -> Option<String> {
    known(folder).map(|known| known.cluster).filter(|cluster| !cluster.is_empty())
}

/// What lies in a folder beside its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// None with anything in it: the last server has ended in order.
    Empty,
    /// That of a server which was killed.
    Own,
    /// That of another state of the database.
    Foreign,
}

/// Looks at a folder before the database is opened. What an earlier release has left is taken for its own.
pub(crate) fn log(folder: &Path) -> io::Result<Log> {
    let length = match fs::metadata(folder.join(LOG)) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    if length == 0 {
        return Ok(Log::Empty);
    }
    let Some(known) = known(folder).filter(|known| !known.words.is_empty()) else { return Ok(Log::Own) };
    Ok(match word(&folder.join(DATABASE))? {
        Some(word) if !known.words.contains(&word) => Log::Foreign,
        _ => Log::Own,
    })
}

/// The word in the database's own file, whatever its log says; none of an empty one.
fn word(database: &Path) -> io::Result<Option<i32>> {
    let mut file = match File::open(database) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; 4];
    file.seek(SeekFrom::Start(PLACE))?;
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(i32::from_be_bytes(bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives the database another word. On a disk that takes none, both sides keep the one that they have.
pub(crate) fn renew(folder: &Path, cluster: &str, writer: &Connection) -> rusqlite::Result<()> {
    let before: i32 = writer.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let next: i32 = writer.query_row("SELECT 1 + abs(random() % 2147483646)", [], |row| row.get(0))?;
    let note = |words: &[i32]| {
        let known = Known { cluster: cluster.to_owned(), words: words.to_vec() };
        // Without the file nothing is told apart, as in an earlier release.
        write(folder, &known).inspect_err(|_| drop(fs::remove_file(folder.join(FILE)))).is_ok()
    };
    // The file comes first: wherever this is cut off, it knows the word that the database has.
    // So it does where the start before could not write the log into the database, whose file then has an older one.
    let mut words = vec![before, next];
    words.extend(word(&folder.join(DATABASE)).ok().flatten().filter(|own| *own != before));
    if !note(&words) {
        return Ok(());
    }
    let given = writer.pragma_update(None, "application_id", next).and_then(|()| written_back(writer));
    if matches!(given, Ok(true)) {
        note(&[next]);
    }
    Ok(())
}

/// Writes the log into the database. Says whether all of it is there.
fn written_back(writer: &Connection) -> rusqlite::Result<bool> {
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
}

fn write(folder: &Path, known: &Known) -> io::Result<()> {
    let (path, part) = (folder.join(FILE), folder.join("fermi.start.part"));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&serde_json::to_vec(known)?)?;
    file.sync_all()?;
    fs::rename(part, path)?;
    File::open(folder)?.sync_all()
}

/// Takes the word out of a copy: put back by hand beside the log of a server that was killed, it is known to be another.
pub(crate) fn remove(copy: &Path) -> rusqlite::Result<()> {
    Connection::open(copy)?.pragma_update(None, "application_id", NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenError, open::open};

    /// The files of a server that is killed: they are copied while it has them open.
    fn killed(folder: &Path) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for name in [DATABASE, LOG, FILE] {
            let path = folder.join(name);
            if path.exists() {
                fs::copy(path, copy.path().join(name)).unwrap();
            }
        }
        copy
    }

    fn write_something(folder: &Path) -> tempfile::TempDir {
        let opened = open(folder, 0).unwrap();
        opened
            .writer
            .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('something', hex(randomblob(4)))", [])
            .unwrap();
        killed(folder)
    }

    #[test]
    fn a_log_is_taken_by_the_database_that_it_belongs_to_and_by_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let first = write_something(folder.path());
        let second = write_something(folder.path());
        assert_eq!((log(first.path()).unwrap(), log(second.path()).unwrap()), (Log::Own, Log::Own));
        fs::copy(first.path().join(DATABASE), second.path().join(DATABASE)).unwrap();
        assert_eq!(log(second.path()).unwrap(), Log::Foreign);
        let before = fs::read(second.path().join(LOG)).unwrap();
        let refused = open(second.path(), 0).unwrap_err();
        assert!(matches!(refused, OpenError::ForeignLog { .. }), "{refused}");
        assert_eq!(fs::read(second.path().join(LOG)).unwrap(), before, "and is left alone");
        fs::remove_file(second.path().join(LOG)).unwrap();
        drop(open(second.path(), 0).unwrap());
        let value: String = open(first.path(), 0)
            .unwrap()
            .writer
            .query_row("SELECT value FROM meta WHERE key = 'something'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(value.len(), 8, "its own log was taken");
    }

    #[test]
    fn a_backup_that_is_put_back_by_hand_beside_a_log_is_told_apart_in_the_same_start_too() {
        let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let opened = open(folder.path(), 0).unwrap();
        let backup = place.path().join("monday");
        crate::backup::back_up(folder.path(), &backup, false, 1).unwrap();
        opened.writer.execute("INSERT INTO meta (key, value) VALUES ('later', '1')", []).unwrap();
        let killed = killed(folder.path());
        fs::copy(backup.join(DATABASE), killed.path().join(DATABASE)).unwrap();
        assert_eq!(log(killed.path()).unwrap(), Log::Foreign);
    }

    #[test]
    fn a_start_that_is_cut_off_between_the_two_words_and_a_folder_of_before_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let at = write_something(folder.path());
        let of_database = word(&at.path().join(DATABASE)).unwrap().unwrap();
        write(at.path(), &Known { cluster: "c".into(), words: vec![of_database, 7] }).unwrap();
        assert_eq!((log(at.path()).unwrap(), cluster(at.path())), (Log::Own, Some("c".to_owned())));
        write(at.path(), &Known { cluster: "c".into(), words: vec![7] }).unwrap();
        assert_eq!(log(at.path()).unwrap(), Log::Foreign);
        fs::remove_file(at.path().join(FILE)).unwrap();
        assert_eq!(log(at.path()).unwrap(), Log::Own, "an earlier release has written no word");
    }
}
