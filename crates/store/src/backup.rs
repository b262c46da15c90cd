//! A copy of everything while the server runs, and the way back.
//!
//! A backup is a folder: the database as of one moment, the server's secret, token and authority, the sources that tasks were
//! created from, with `--logs` what ranks wrote, and last `manifest.json`, so that a folder without one is no backup. The key of
//! the secrets is left out: who gets hold of a backup does not read them.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use fermi_domain::{
    fleet,
    ids::TaskId,
    language::{Explained, Hint, Text, reason},
    principal::Principal,
};
use rusqlite::{Connection, OpenFlags, params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    OpenError, StoreError, Transaction, UpdateError, View,
    events::NewEvent,
    migrations,
    open::{self, DATABASE},
    start_word::{self, Log},
};

const MANIFEST: &str = "manifest.json";
/// What lies beside the database and belongs to it.
const BESIDE: [&str; 4] = ["secret", "token", "authority.key", "authority.pem"];
/// The key under which secrets are sealed; it stays in the data folder.
pub const KEY_OF_SECRETS: &str = "secrets.key";
const SOURCES: &str = "snapshots";
const LOGS: &str = "streams";

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The release that made it.
    pub fermi: String,
    pub cluster: String,
    /// The version of the database's shape.
    pub version: i64,
    pub epoch: u64,
    pub last_task: u64,
    pub taken_ms: u64,
    pub has_logs: bool,
    /// Secrets in it, which open only with the key of the data folder.
    #[serde(default)]
    pub secrets: u64,
    pub files: u64,
    pub bytes: u64,
}

/// What a restore has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFolder {
    pub manifest: Manifest,
    /// Where the database of before lies; none where there was none.
    pub set_aside: Option<PathBuf>,
    /// New tasks are counted after this number.
    pub last_number: u64,
    /// Tasks that had come to their end since the backup, as the database of before says.
    pub ends: u64,
    /// Files of the folder that were kept, though it cannot be told whether they are of this cluster: token, secret, authority.
    pub kept: Vec<&'static str>,
}

/// Why there is no backup, or no restore.
#[derive(Debug, Error)]
pub enum BackupError {
    #[error("there is no database in {0}")]
    NoDatabase(PathBuf),
    #[error("{0} is not empty")]
    NotEmpty(PathBuf),
    #[error("{0} is no backup: it has no manifest.json that can be read")]
    NoBackup(PathBuf),
    #[error("{0} is both the backup and the data folder")]
    SameFolder(PathBuf),
    #[error("the copy of the database is damaged: {0}")]
    Damaged(String),
    #[error("{path}: {source}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the database cannot be copied: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explained for BackupError {
    fn id(&self) -> &'static str {
        "backup_failed"
    }

    fn text(&self) -> Text {
        let zh = match self {
            Self::NoDatabase(folder) => format!("{} 中没有数据库", folder.display()),
            Self::NotEmpty(folder) => format!("{} 不是空文件夹", folder.display()),
            Self::NoBackup(folder) => format!("{} 不是备份：没有可读的 manifest.json", folder.display()),
            Self::SameFolder(folder) => format!("{} 既是备份又是数据目录", folder.display()),
            Self::Damaged(found) => format!("数据库的副本已损坏：{found}"),
            Self::File { path, source } => format!("{}：{source}", path.display()),
            Self::Sql(error) => format!("无法复制数据库：{error}"),
            Self::Open(error) => return error.text(),
            Self::Store(error) => format!("无法读写数据库：{error}"),
        };
        Text::new(reason::of_said(&zh).zh, reason::of_said(&self.to_string()).en)
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoDatabase(_) => {
                Hint::new("用 --data-dir 指定服务端的数据目录", "name the server's data folder with --data-dir")
            }
            Self::NotEmpty(_) => Hint::new("指定一个新的文件夹", "name a folder that does not exist yet"),
            Self::SameFolder(_) => {
                Hint::new("用 --data-dir 指定服务端的数据目录", "name the server's data folder with --data-dir")
            }
            Self::NoBackup(_) => Hint::new(
                "指定 fermi server backup 写成的文件夹；没有写完的备份不能用",
                "name a folder that `fermi server backup` has written; one that was not finished is of no use",
            ),
            Self::Damaged(_) => Hint::new("检查磁盘，或用更早的备份", "check the disk, or take an earlier backup"),
            Self::Open(error) => return error.hint(),
            Self::File { .. } | Self::Sql(_) | Self::Store(_) => {
                Hint::new("检查文件夹的权限与磁盘空间", "check the folder's permissions and the disk's space")
            }
        })
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::File { path, source }
}

/// Copies what is in a data folder to a new folder, whether a server runs there or not.
pub fn back_up(data: &Path, to: &Path, with_logs: bool, now_ms: u64) -> Result<Manifest, BackupError> {
    let database = data.join(DATABASE);
    if !database.exists() {
        return Err(BackupError::NoDatabase(data.to_owned()));
    }
    if to.exists() && fs::read_dir(to).map_err(at(to))?.next().is_some() {
        return Err(BackupError::NotEmpty(to.to_owned()));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(at(to))?;
    let outcome = copy_all(data, to, with_logs, now_ms);
    if outcome.is_err() {
        // Half a backup is worse than none: it could be taken for one.
        let _ = fs::remove_dir_all(to);
    }
    outcome
}

fn copy_all(data: &Path, to: &Path, with_logs: bool, now_ms: u64) -> Result<Manifest, BackupError> {
    let copy = to.join(DATABASE);
    open::refuse_foreign_log(data)?;
    let source = Connection::open_with_flags(data.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    source.busy_timeout(std::time::Duration::from_secs(30))?;
    source.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    drop(source);
    start_word::remove(&copy)?;
    let mut manifest = checked(&copy)?;
    private(&copy)?;
    let mut done = Copied { files: 1, bytes: fs::metadata(&copy).map_err(at(&copy))?.len() };
    for name in BESIDE {
        let from = data.join(name);
        if from.exists() {
            done.file(&from, &to.join(name))?;
        }
    }
    // After the database: what it speaks of is there.
    done.folder(&data.join(SOURCES), &to.join(SOURCES))?;
    if with_logs {
        done.folder(&data.join(LOGS), &to.join(LOGS))?;
    }
    (manifest.taken_ms, manifest.has_logs) = (now_ms, with_logs);
    (manifest.files, manifest.bytes) = (done.files, done.bytes);
    let path = to.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| at(&path)(error.into()))?;
    write_synced(&path, &text)?;
    File::open(to).and_then(|folder| folder.sync_all()).map_err(at(to))?;
    Ok(manifest)
}

/// Reads what a database is, and whether it is whole.
fn checked(path: &Path) -> Result<Manifest, BackupError> {
    let copy = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(BackupError::Damaged(found));
    }
    let view = View { connection: &copy };
    let cluster = copy.query_row("SELECT value FROM meta WHERE key = 'cluster'", [], |row| row.get(0))?;
    Ok(Manifest {
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        cluster,
        version: migrations::version(&copy)?,
        epoch: view.history()?.epoch,
        last_task: view.last_task_number()?,
        taken_ms: 0,
        has_logs: false,
        secrets: count_secrets(&copy)?,
        files: 0,
        bytes: 0,
    })
}

/// How much is sealed: secrets, and webhooks. None in a database of before there was either.
fn count_secrets(copy: &Connection) -> Result<u64, BackupError> {
    let mut sealed = 0;
    for table in ["secrets", "webhooks"] {
        let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'sealed'";
        if copy.query_row(sql, [table], |row| row.get::<_, i64>(0))? > 0 {
            let sql = format!("SELECT count(*) FROM {table} WHERE sealed IS NOT NULL");
            sealed += copy.query_row(&sql, [], |row| row.get::<_, i64>(0))?;
        }
    }
    Ok(u64::try_from(sealed).unwrap_or(0))
}

#[derive(Default)]
struct Copied {
    files: u64,
    bytes: u64,
}

impl Copied {
    fn file(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        let bytes = match fs::copy(from, to) {
            Ok(bytes) => bytes,
            // The retention has taken it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => return Ok(()),
            Err(error) => return Err(at(to)(error)),
        };
        private(to)?;
        File::open(to).and_then(|file| file.sync_all()).map_err(at(to))?;
        self.files += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// The folders below one that are not there yet: what is there may have grown since.
    fn missing_folders(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let target = to.join(entry.file_name());
            if !target.exists() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(at(to))?;
                self.folder(&entry.path(), &target)?;
            }
        }
        Ok(())
    }

    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        let entries = match fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(from)(error)),
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(at(to))?;
        for entry in entries.flatten() {
            let target = to.join(entry.file_name());
            match entry.file_type().map_err(at(&entry.path()))? {
                kind if kind.is_dir() => self.folder(&entry.path(), &target)?,
                kind if kind.is_file() => self.file(&entry.path(), &target)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn private(path: &Path) -> Result<(), BackupError> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(at(path))
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    fs::write(path, bytes).and_then(|()| File::open(path)?.sync_all()).map_err(at(path))
}

/// Puts a backup in the place of what a data folder has. The database of before is set aside in the folder; what ranks
/// wrote stays. No server may serve the folder.
pub fn restore(from: &Path, data: &Path, now_ms: u64) -> Result<RestoredFolder, BackupError> {
    let no_backup = || BackupError::NoBackup(from.to_owned());
    let is_same_folder = |data: PathBuf| from.canonicalize().is_ok_and(|from| from == data);
    if data.canonicalize().is_ok_and(is_same_folder) {
        return Err(BackupError::SameFolder(data.to_owned()));
    }
    let text = fs::read(from.join(MANIFEST)).map_err(|_| no_backup())?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| no_backup())?;
    let found = checked(&from.join(DATABASE))?;
    if (&found.cluster, found.last_task) != (&manifest.cluster, manifest.last_task) {
        return Err(BackupError::Damaged("manifest.json speaks of another database".to_owned()));
    }
    if found.version > migrations::NEWEST {
        let folder = from.display().to_string();
        return Err(OpenError::Newer { folder, found: found.version, newest: migrations::NEWEST }.into());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(at(data))?;
    // Whoever serves the folder would not notice that its files are others.
    let _lock = open::lock(data)?;
    let is_whole = start_word::log(data).map_err(at(data))? != Log::Foreign;
    let before = checked(&data.join(DATABASE)).ok().filter(|_| is_whole);
    // Of a database that cannot be read the file beside it says whose it is.
    let served = before.as_ref().map(|before| before.cluster.clone()).or_else(|| start_word::cluster(data));
    let is_same = served.as_ref() == Some(&manifest.cluster);
    let mut done = Copied::default();
    let mut kept = Vec::new();
    for name in BESIDE {
        let is_there = data.join(name).exists();
        // Those of another cluster are of no use to this one. Where nobody knows, what is there stays: a token that was replaced
        // since the backup must not be good again.
        if from.join(name).exists() && !(is_there && (is_same || served.is_none())) {
            done.file(&from.join(name), &data.join(name))?;
        } else if is_there && served.is_none() {
            kept.push(name);
        }
    }
    done.folder(&from.join(SOURCES), &data.join(SOURCES))?;
    done.missing_folders(&from.join(LOGS), &data.join(LOGS))?;
    let part = data.join("fermi.db.part");
    done.file(&from.join(DATABASE), &part)?;
    let seen = before.as_ref().map_or(0, |before| before.last_task).max(highest_task(&data.join(LOGS)));
    let epoch = before.as_ref().map_or(0, |before| before.epoch);
    // Who speaks for an environment is not taken back: a machine that has taken a name since the backup has what runs there.
    let is_read = is_same && is_whole;
    let speakers = if is_read { speakers(&data.join(DATABASE)).unwrap_or_default() } else { Vec::new() };
    let later = if is_read { opened(&data.join(DATABASE)).ok() } else { None };
    let Noted { last_number, ends } = note(&part, &Before { seen, epoch, speakers, later }, now_ms)?;
    // From here on the next start would finish it.
    let ready = data.join(open::RESTORED);
    fs::rename(&part, &ready).map_err(at(&part))?;
    let set_aside = set_aside(data, is_whole, now_ms)?;
    fs::rename(&ready, data.join(DATABASE)).map_err(at(&ready))?;
    File::open(data).and_then(|folder| folder.sync_all()).map_err(at(data))?;
    Ok(RestoredFolder { manifest, set_aside, last_number, ends, kept })
}

/// Takes note of a data folder that was put back whole, by a snapshot of its disk or a copy. No server may serve it.
pub fn restored_by_other_means(data: &Path, now_ms: u64) -> Result<RestoredFolder, BackupError> {
    if !data.join(DATABASE).exists() {
        return Err(BackupError::NoDatabase(data.to_owned()));
    }
    let _lock = open::lock(data)?;
    open::refuse_foreign_log(data)?;
    let manifest = checked(&data.join(DATABASE))?;
    let before = Before { seen: highest_task(&data.join(LOGS)), ..Before::default() };
    let Noted { last_number, .. } = note(&data.join(DATABASE), &before, now_ms)?;
    Ok(RestoredFolder { manifest, set_aside: None, last_number, ends: 0, kept: Vec::new() })
}

/// What is known of the state that is replaced.
#[derive(Default)]
struct Before {
    /// The highest number that anything speaks of.
    seen: u64,
    epoch: u64,
    speakers: Vec<Speaker>,
    /// Its database, where it can be read.
    later: Option<Connection>,
}

struct Noted {
    last_number: u64,
    ends: u64,
}

/// Numbers and cursors go on where nothing can have been given.
fn note(database: &Path, before: &Before, now_ms: u64) -> Result<Noted, BackupError> {
    let Before { seen, epoch, speakers, later } = before;
    let mut connection = Connection::open(database)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    migrations::migrate(&mut connection)?;
    let transaction = connection.transaction()?;
    for Speaker { name, instance, boot, identity } in speakers {
        let sql = "UPDATE environments SET instance = ?2, boot = ?3, identity = ?4 WHERE name = ?1";
        transaction.execute(sql, params![name, instance, boot, identity])?;
    }
    let noted = {
        let mut tx = Transaction::new(&transaction);
        let mut history = tx.history()?;
        history.epoch = history.epoch.max(*epoch);
        tx.set_history(&history)?;
        tx.note_restore(*seen)?;
        let text = Text::new("数据库已从备份恢复", "the database was restored from a backup");
        tx.append_event(NewEvent::new(now_ms, "server.restored", text, Principal::System))?;
        let last_number = tx.last_task_number()?;
        let ends = later.as_ref().map_or(Ok(0), |later| take_ends(&mut tx, &View { connection: later }, now_ms))?;
        Noted { last_number, ends }
    };
    transaction.commit()?;
    Ok(noted)
}

/// What came to its end since the backup is not done again. A later state that cannot be read says nothing.
fn take_ends(tx: &mut Transaction<'_>, later: &View<'_>, now_ms: u64) -> Result<u64, StoreError> {
    let queued = tx.queued_tasks(None, usize::MAX >> 1)?;
    let mut taken = 0;
    for found in tx.live_tasks()?.into_iter().chain(queued) {
        let (mut task, revision) = (found.value, found.revision);
        let Ok(Some(of_later)) = later.task(&task.id) else { continue };
        let Some(told) = task.take_end_of(&of_later.value) else { continue };
        match tx.update_task(&task, revision, now_ms) {
            Ok(()) => {}
            Err(UpdateError::Store(error)) => return Err(error),
            // It was read in this very transaction.
            Err(UpdateError::Conflict { .. } | UpdateError::Missing) => return Err(StoreError::TransactionLost),
        }
        if task.is_swept() {
            tx.release(&task.id)?;
        }
        // What its ranks wrote may still be on its way.
        for trailing in later.trailing_of(&task.id).unwrap_or_default() {
            tx.put_trailing(&trailing.run, &trailing.environment)?;
        }
        let event = NewEvent::new(now_ms, told.kind, told.text, Principal::System).about_task(&task.id);
        let attempt = task.attempt().map(|attempt| attempt.number.get());
        tx.append_event(NewEvent { attempt, detail: told.detail, ..event })?;
        taken += 1;
    }
    Ok(taken)
}

fn opened(database: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Who speaks for an environment, as its row has it.
struct Speaker {
    name: String,
    instance: Option<String>,
    boot: Option<String>,
    identity: Option<String>,
}

fn speakers(database: &Path) -> Result<Vec<Speaker>, BackupError> {
    let before = opened(database)?;
    let mut statement = before.prepare("SELECT name, instance, boot, identity FROM environments")?;
    let rows = statement.query_map([], |row| {
        Ok(Speaker { name: row.get(0)?, instance: row.get(1)?, boot: row.get(2)?, identity: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Moves the database of before into a folder of its own, also one that cannot be read.
fn set_aside(data: &Path, is_whole: bool, now_ms: u64) -> Result<Option<PathBuf>, BackupError> {
    if !data.join(DATABASE).exists() {
        return Ok(None);
    }
    // What is in its log only goes with it; one that cannot be read is moved as it is.
    if is_whole && let Ok(before) = Connection::open_with_flags(data.join(DATABASE), OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        let _ = before.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    let aside = data.join(format!("before-restore-{now_ms}"));
    fs::DirBuilder::new().mode(0o700).create(&aside).map_err(at(&aside))?;
    for name in ["fermi.db-wal", "fermi.db-shm", DATABASE] {
        let path = data.join(name);
        if path.exists() {
            fs::rename(&path, aside.join(name)).map_err(at(&path))?;
        }
    }
    Ok(Some(aside))
}

/// The highest number of a task of which something is kept in the folder of streams.
pub fn highest_task(streams: &Path) -> u64 {
    let names = fs::read_dir(streams).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| fleet::number(&TaskId::from(name.to_str()?))).max().unwrap_or(0)
}
