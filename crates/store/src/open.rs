//! Opening a folder: its lock, its connections with their pragmas, its shape, its cluster id.

use std::{
    fs::File,
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use fermi_domain::language::{Explained, Hint, Text, reason};
use fermi_folder_lock::{FolderLock, LockError};
use nix::sys::statvfs::statvfs;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OptionalExtension};
use thiserror::Error;

use crate::{
    ballast::Ballast,
    migrations,
    start_word::{self, Log},
};

pub(crate) const DATABASE: &str = "fermi.db";
/// What a server that was killed has not yet written into it.
pub(crate) const LOG: &str = "fermi.db-wal";
const LOCK: &str = "fermi.lock";
/// A restored database that is whole and about to take its place.
pub(crate) const RESTORED: &str = "fermi.db.restored";
/// `PRAGMA synchronous` as SQLite reads it back: a commit waits until the disk has it.
const SYNCHRONOUS_FULL: i64 = 2;
const STATEMENTS: usize = 128;
/// Pages of 4 KiB of the log before it is written into the database.
const LOG_PAGES: i64 = 4_000;
/// The same on a disk that is smaller than [`SMALL_DISK`].
const FEW_LOG_PAGES: i64 = 100;
const SMALL_DISK: u64 = 1 << 30;
/// With less the database cannot be opened: its log's index alone has 32 KiB, and SQLite does not say that it found no room for it.
const LEAST_FREE: u64 = 64 << 10;

/// How long the lock may still be held by a process that is being taken down.
const LAST_MOMENT: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why a folder cannot be served.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the folder {folder} cannot be used")]
    Folder {
        folder: String,
        #[source]
        source: io::Error,
    },
    #[error("the disk of {folder} is full")]
    Full { folder: String },
    #[error("another server{} serves the folder {folder}", .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Held { folder: String, pid: Option<u32> },
    #[error("the database in {folder} is of version {found}; this Fermi understands versions up to {newest}")]
    Newer { folder: String, found: i64, newest: i64 },
    /// Acknowledged writes would not survive a power cut.
    #[error("the database in {folder} cannot be kept safely: {setting} is {found}")]
    NotDurable { folder: String, setting: &'static str, found: String },
    /// An older database was put back by hand, and the log of a later state lies beside it.
    #[error("fermi.db-wal in {folder} belongs to another state of fermi.db")]
    ForeignLog { folder: String },
    #[error("the database in {folder} cannot be opened")]
    Sql {
        folder: String,
        #[source]
        source: rusqlite::Error,
    },
    #[error("the store's threads cannot be started")]
    Threads(#[source] io::Error),
}

impl Explained for OpenError {
    fn id(&self) -> &'static str {
        "store_unusable"
    }

    fn text(&self) -> Text {
        let zh = match self {
            Self::Folder { folder, source } => {
                let why = reason::of_io(source);
                return Text::new(format!("无法使用文件夹 {folder}：{}", why.zh), format!("{self}: {}", why.en));
            }
            Self::Full { folder } => format!("{folder} 所在的磁盘已满"),
            Self::Held { folder, pid: Some(pid) } => format!("文件夹 {folder} 正由另一个服务（进程 {pid}）使用"),
            Self::Held { folder, pid: None } => format!("文件夹 {folder} 正由另一个服务使用"),
            Self::Newer { folder, found, newest } => {
                format!("{folder} 中的数据库版本为 {found}，此 Fermi 最高支持版本 {newest}")
            }
            Self::NotDurable { folder, setting, found } => {
                format!("{folder} 中的数据库无法可靠保存：{setting} 为 {found}")
            }
            Self::ForeignLog { folder } => format!("{folder} 中的 fermi.db-wal 属于 fermi.db 的另一个状态"),
            Self::Sql { folder, source } => {
                let why = of_database(source);
                return Text::new(format!("无法打开 {folder} 中的数据库：{}", why.zh), format!("{self}: {}", why.en));
            }
            Self::Threads(source) => {
                let why = reason::of_io(source);
                return Text::new(format!("无法启动存储线程：{}", why.zh), format!("{self}: {}", why.en));
            }
        };
        Text::new(zh, self.to_string())
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Held { .. } => Hint::new(
                "先结束那个服务，或用 --data-dir 换一个文件夹",
                "end that server first, or name another folder with --data-dir",
            ),
            Self::Full { .. } => Hint::new(
                "腾出几 MB 空间，或用 --data-dir 换一个文件夹",
                "make some MB of room, or name another folder with --data-dir",
            ),
            Self::Newer { .. } => Hint::new("安装更新版本的 fermi", "install a newer fermi"),
            Self::Sql { source, .. } if is_damaged(source) => Hint::new(
                "fermi.db 已损坏或不是数据库；用 fermi server restore 从备份恢复，或把它移走以重新开始",
                "fermi.db is damaged or no database; put a backup back with `fermi server restore`, or move it away to begin anew",
            ),
            Self::ForeignLog { .. } => Hint::new(
                "若此目录在此期间由旧版本的 Fermi 使用过：只移走 fermi.start 再启动，否则会丢失旧版本写入的内容。\
                 若手工放回了 fermi.db：用 fermi server restore 从备份恢复；或移走 fermi.db-wal 和 fermi.db-shm，再运行 \
                 fermi server restore --here",
                "if an older release of Fermi has served this folder meanwhile: move fermi.start alone away and start again, or what \
                 it has written is lost; if fermi.db was put back by hand: put a backup back with `fermi server restore`, or move \
                 fermi.db-wal and fermi.db-shm away and run `fermi server restore --here`",
            ),
            Self::Folder { .. } | Self::NotDurable { .. } | Self::Sql { .. } | Self::Threads(_) => {
                Hint::new("检查文件夹的权限与磁盘空间", "check the folder's permissions and the disk's space")
            }
        })
    }
}

/// Whether the file is no database, or not a whole one: no room on the disk helps then.
fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// What the database says, in words that people know.
fn of_database(error: &rusqlite::Error) -> Text {
    let (zh, en) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            ("文件已损坏或不是数据库", "it is damaged or no database")
        }
        Some(ErrorCode::SystemIoFailure) => ("读写磁盘失败", "the disk could not be read or written"),
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => ("没有权限", "permission is denied"),
        Some(ErrorCode::CannotOpen) => ("文件打不开", "its file cannot be opened"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ("另一个程序正在使用它", "another program uses it")
        }
        _ => return Text::new(error.to_string(), error.to_string()),
    };
    Text::new(zh, en)
}

/// Why the folder itself cannot be used.
fn unusable(folder: &Path, source: io::Error) -> OpenError {
    let shown = folder.display().to_string();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OpenError::Full { folder: shown },
        _ => OpenError::Folder { folder: shown, source },
    }
}

/// Why the database cannot be opened.
fn failed(folder: &Path, source: rusqlite::Error) -> OpenError {
    let free = || statvfs(folder).map_or(u64::MAX, |about| about.fragment_size() * about.blocks_available());
    let shown = folder.display().to_string();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => OpenError::Full { folder: shown },
        Some(ErrorCode::SystemIoFailure) if free() < LEAST_FREE => OpenError::Full { folder: shown },
        _ => OpenError::Sql { folder: shown, source },
    }
}

/// A folder that is ready to be served.
#[derive(Debug)]
pub(crate) struct Opened {
    pub lock: FolderLock,
    pub ballast: Ballast,
    pub writer: Connection,
    pub readers: Vec<Connection>,
    pub cluster: String,
}

pub(crate) fn open(folder: &Path, readers: usize) -> Result<Opened, OpenError> {
    let shown = folder.display().to_string();
    let unusable = |source| unusable(folder, source);
    let failed = |source| failed(folder, source);
    std::fs::create_dir_all(folder).map_err(unusable)?;
    let lock = lock(folder)?;
    // A disk that has filled up while nobody served it: the database needs the room of the ballast to be opened.
    let ballast = Ballast::of(folder);

    let path = folder.join(DATABASE);
    finish_restore(folder, &path).map_err(unusable)?;
    let log = refuse_foreign_log(folder)?;
    let pages = log_pages(folder);
    let mut writer = connect(&path, pages).map_err(failed)?;
    let found = migrations::version(&writer).map_err(failed)?;
    if found > migrations::NEWEST {
        return Err(OpenError::Newer { folder: shown, found, newest: migrations::NEWEST });
    }
    writer.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    assert_durable(&writer, &shown)?;
    if log == Log::Own {
        // Nobody has closed it: what it has now may be of two states.
        assert_whole(&writer).map_err(failed)?;
    }
    migrations::migrate(&mut writer).map_err(failed)?;
    let cluster = cluster(&writer).map_err(failed)?;
    start_word::renew(folder, &cluster, &writer).map_err(failed)?;
    // The entries of the folder itself must survive as well.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(unusable)?;

    let readers: Result<Vec<Connection>, rusqlite::Error> = (0..readers)
        .map(|_| {
            let reader = connect(&path, pages)?;
            reader.pragma_update(None, "query_only", true)?;
            Ok(reader)
        })
        .collect();
    Ok(Opened { lock, ballast, writer, readers: readers.map_err(failed)?, cluster })
}

/// What lies beside the database, unless it is the log of another state of it: SQLite would mix the two.
pub(crate) fn refuse_foreign_log(folder: &Path) -> Result<Log, OpenError> {
    match start_word::log(folder).map_err(|source| unusable(folder, source))? {
        Log::Foreign => Err(OpenError::ForeignLog { folder: folder.display().to_string() }),
        log => Ok(log),
    }
}

fn assert_whole(connection: &Connection) -> rusqlite::Result<()> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(rusqlite::Error::SqliteFailure(code, Some(found)))
}

/// A restore that was cut off between setting the old database aside and putting the new one in its place.
fn finish_restore(folder: &Path, database: &Path) -> io::Result<()> {
    let ready = folder.join(RESTORED);
    if ready.exists() && !database.exists() { std::fs::rename(ready, database) } else { Ok(()) }
}

/// Takes the folder for this process alone. A server that was killed a moment ago may still be on its way out.
pub(crate) fn lock(folder: &Path) -> Result<FolderLock, OpenError> {
    let deadline = Instant::now() + LAST_MOMENT;
    loop {
        match FolderLock::take(&folder.join(LOCK)) {
            Ok(lock) => return Ok(lock),
            Err(LockError::Held { .. }) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            Err(LockError::Held { pid }) => return Err(OpenError::Held { folder: folder.display().to_string(), pid }),
            // Without a lock two servers could write one database.
            Err(LockError::Unsupported(source) | LockError::Io(source)) => return Err(unusable(folder, source)),
        }
    }
}

/// How long the database's log grows before it is written into the database: on a small disk it must be short.
fn log_pages(folder: &Path) -> i64 {
    let size = statvfs(folder).map_or(u64::MAX, |about| about.fragment_size() * about.blocks());
    if size < SMALL_DISK { FEW_LOG_PAGES } else { LOG_PAGES }
}

fn connect(path: &Path, log_pages: i64) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "mmap_size", 64 << 20)?;
    // What a savepoint would undo stays in memory; a file for it costs more writes than the tasks themselves.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // A checkpoint rewrites pages; four times as rarely it rewrites fewer of them twice.
    connection.pragma_update(None, "wal_autocheckpoint", log_pages)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    // The log shrinks again after a burst.
    connection.pragma_update(None, "journal_size_limit", 4 * log_pages * 4_096)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// A setting that SQLite did not take is silently another one, so it is read back.
fn assert_durable(connection: &Connection, folder: &str) -> Result<(), OpenError> {
    let failed = |source| failed(Path::new(folder), source);
    let not_durable = |setting, found| OpenError::NotDurable { folder: folder.to_owned(), setting, found };
    // A file that could not be opened for writing just then is silently opened for reading.
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        return Err(not_durable("mode", "read-only".to_owned()));
    }
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(failed)?;
    if synchronous != SYNCHRONOUS_FULL {
        return Err(not_durable("synchronous", synchronous.to_string()));
    }
    let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(failed)?;
    if journal != "wal" {
        return Err(not_durable("journal_mode", journal));
    }
    let foreign_keys: bool = connection.query_row("PRAGMA foreign_keys", [], |row| row.get(0)).map_err(failed)?;
    if !foreign_keys {
        return Err(not_durable("foreign_keys", "off".to_owned()));
    }
    Ok(())
}

/// The folder's own id, drawn when it was first opened.
fn cluster(connection: &Connection) -> rusqlite::Result<String> {
    let stored =
        connection.query_row("SELECT value FROM meta WHERE key = 'cluster'", [], |row| row.get(0)).optional()?;
    if let Some(cluster) = stored {
        return Ok(cluster);
    }
    let random: [u8; 4] = connection.query_row("SELECT randomblob(4)", [], |row| row.get(0))?;
    let cluster: String = random
        .iter()
        .map(|byte| char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[usize::from(*byte) % 36]))
        .collect();
    connection.execute("INSERT INTO meta (key, value) VALUES ('cluster', ?1)", [&cluster])?;
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_would_lose_writes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let writer = open(folder.path(), 0).unwrap().writer;
        assert!(assert_durable(&writer, "x").is_ok());
        writer.pragma_update(None, "synchronous", "NORMAL").unwrap();
        let refused = assert_durable(&writer, "x").unwrap_err();
        assert_eq!(refused.to_string(), "the database in x cannot be kept safely: synchronous is 1");
        assert!(refused.text().zh.contains("synchronous"));
    }

    #[test]
    fn a_restore_that_was_cut_off_is_finished_by_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = open(folder.path(), 0).unwrap().cluster;
        std::fs::rename(folder.path().join(DATABASE), folder.path().join(RESTORED)).unwrap();
        assert_eq!(open(folder.path(), 0).unwrap().cluster, cluster);
    }

    #[test]
    fn a_folder_whose_holder_is_about_to_be_gone_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        let leaves = thread::spawn(move || {
            thread::sleep(Duration::from_millis(60));
            drop(held);
        });
        lock(folder.path()).unwrap();
        leaves.join().unwrap();
    }

    #[test]
    fn a_newer_database_is_refused_with_a_sentence_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let writer = open(folder.path(), 0).unwrap().writer;
        writer.pragma_update(None, "user_version", 99).unwrap();
        drop(writer);
        let refused = open(folder.path(), 0).unwrap_err();
        let newest = format!("is of version 99; this Fermi understands versions up to {}", migrations::NEWEST);
        assert!(refused.to_string().contains(&newest), "{refused}");
        assert!(refused.text().zh.contains("99"));
    }
}
