//! Groups: which worker is in which. A worker is a primary key, so that it cannot be in two.

use std::collections::{BTreeSet, HashMap};

use fermi_domain::{
    group::{Group, LaunchConfig},
    ids::{GroupId, WorkerId},
};
use rusqlite::{ErrorCode, OptionalExtension, Params, params};
use thiserror::Error;

use crate::{
    StoreError, Transaction, View,
    leases::worker,
    numbered,
    row::{document, json, signed, unsigned},
};

/// A group as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Its workers by node and number.
    pub group: Group,
    pub created_ms: u64,
    pub updated_ms: u64,
}

/// Why a group was not made or changed.
#[derive(Clone, Debug, Error)]
pub enum GroupError {
    #[error("the name is taken")]
    NameTaken,
    #[error("it does not exist")]
    Missing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for GroupError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Self::NameTaken,
            _ => Self::Store(error.into()),
        }
    }
}

fn group_seq(id: &GroupId) -> Option<i64> {
    numbered::GROUP.read(id.as_str())
}

fn group_id(seq: i64) -> GroupId {
    GroupId(numbered::GROUP.write(seq))
}

impl View<'_> {
    /// All groups with their workers, in the order in which they were made.
    pub fn groups(&self) -> Result<Vec<GroupRow>, StoreError> {
        let mut workers: HashMap<i64, Vec<WorkerId>> = HashMap::new();
        let mut statement = self.connection.prepare_cached("SELECT group_seq, worker FROM group_workers")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            workers.entry(row.get(0)?).or_default().push(worker(row.get(1)?)?);
        }
        let groups = self.groups_by("ORDER BY seq", [])?;
        Ok(groups.into_iter().map(|(seq, row)| with_workers(row, workers.remove(&seq).unwrap_or_default())).collect())
    }

    pub fn group(&self, id: &GroupId) -> Result<Option<GroupRow>, StoreError> {
        let Some(seq) = group_seq(id) else { return Ok(None) };
        self.one_group("WHERE seq = ?1", [seq])
    }

    pub fn group_by_name(&self, name: &str) -> Result<Option<GroupRow>, StoreError> {
        self.one_group("WHERE name = ?1", [name])
    }

    /// The group of each of these workers, of those that are in one.
    pub fn groups_of<'w>(
        &self,
        workers: impl IntoIterator<Item = &'w WorkerId>,
    ) -> Result<HashMap<WorkerId, GroupId>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT group_seq FROM group_workers WHERE worker = ?1")?;
        let mut found = HashMap::new();
        for worker in workers {
            let seq: Option<i64> = statement.query_row([worker.to_string()], |row| row.get(0)).optional()?;
            found.extend(seq.map(|seq| (worker.clone(), group_id(seq))));
        }
        Ok(found)
    }

    fn one_group(&self, which: &str, parameters: impl Params) -> Result<Option<GroupRow>, StoreError> {
        let Some((seq, row)) = self.groups_by(which, parameters)?.pop() else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT worker FROM group_workers WHERE group_seq = ?1")?;
        let mut rows = statement.query([seq])?;
        let mut workers = Vec::new();
        while let Some(row) = rows.next()? {
            workers.push(worker(row.get(0)?)?);
        }
        Ok(Some(with_workers(row, workers)))
    }

    /// With their numbers, and without their workers.
    fn groups_by(&self, which: &str, parameters: impl Params) -> Result<Vec<(i64, GroupRow)>, StoreError> {
        let sql = format!("SELECT seq, name, launch, version, created_ms, updated_ms FROM groups {which}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(parameters)?;
        let mut groups = Vec::new();
        while let Some(row) = rows.next()? {
            let (seq, launch): (i64, String) = (row.get(0)?, row.get(2)?);
            let group = Group {
                id: group_id(seq),
                name: row.get(1)?,
                workers: Vec::new(),
                launch: document("group", &launch)?,
                version: unsigned(row.get(3)?),
            };
            groups
                .push((seq, GroupRow { group, created_ms: unsigned(row.get(4)?), updated_ms: unsigned(row.get(5)?) }));
        }
        Ok(groups)
    }
}

fn with_workers(mut row: GroupRow, mut workers: Vec<WorkerId>) -> GroupRow {
    workers.sort_unstable();
    row.group.workers = workers;
    row
}

impl Transaction<'_> {
    /// Keeps a new group without workers. Its version is 1.
    pub fn create_group(&mut self, name: &str, launch: &LaunchConfig, now_ms: u64) -> Result<GroupId, GroupError> {
        self.connection
            .prepare_cached(
                "INSERT INTO groups (name, launch, version, created_ms, updated_ms) VALUES (?1, ?2, 1, ?3, ?3)",
            )?
            .execute(params![name, json("group", launch)?, signed(now_ms)])?;
        Ok(group_id(self.connection.last_insert_rowid()))
    }

    /// Keeps another name and configuration of a group; its version grows.
    pub fn update_group(
        &mut self,
        id: &GroupId,
        name: &str,
        launch: &LaunchConfig,
        now_ms: u64,
    ) -> Result<(), GroupError> {
        let seq = group_seq(id).ok_or(GroupError::Missing)?;
        let sql = "UPDATE groups SET name = ?2, launch = ?3, version = version + 1, updated_ms = ?4 WHERE seq = ?1";
        let changed =
            self.connection.prepare_cached(sql)?.execute(params![seq, name, json("group", launch)?, signed(now_ms)])?;
        if changed == 0 { Err(GroupError::Missing) } else { Ok(()) }
    }

    /// Puts workers into a group, or into none; each leaves the group in which it was. The version of every group that
    /// gains or loses a worker grows. Gives how many workers have another group now.
    pub fn move_workers(
        &mut self,
        workers: &[WorkerId],
        to: Option<&GroupId>,
        now_ms: u64,
    ) -> Result<usize, GroupError> {
        let target = to.map(|id| group_seq(id).ok_or(GroupError::Missing)).transpose()?;
        if let Some(seq) = target {
            let is_there = self.connection.prepare_cached("SELECT 1 FROM groups WHERE seq = ?1")?.exists([seq])?;
            is_there.then_some(()).ok_or(GroupError::Missing)?;
        }
        let mut find = self.connection.prepare_cached("SELECT group_seq FROM group_workers WHERE worker = ?1")?;
        let mut put = self.connection.prepare_cached(
            "INSERT INTO group_workers (worker, group_seq) VALUES (?1, ?2) \
             ON CONFLICT (worker) DO UPDATE SET group_seq = excluded.group_seq",
        )?;
        let mut take = self.connection.prepare_cached("DELETE FROM group_workers WHERE worker = ?1")?;
        let (mut touched, mut moved) = (BTreeSet::new(), 0);
        for worker in workers {
            let name = worker.to_string();
            let from: Option<i64> = find.query_row([&name], |row| row.get(0)).optional()?;
            if from == target {
                continue;
            }
            match target {
                Some(seq) => put.execute(params![name, seq])?,
                None => take.execute([&name])?,
            };
            touched.extend(from.into_iter().chain(target));
            moved += 1;
        }
        let sql = "UPDATE groups SET version = version + 1, updated_ms = ?2 WHERE seq = ?1";
        let mut grow = self.connection.prepare_cached(sql)?;
        for seq in touched {
            grow.execute(params![seq, signed(now_ms)])?;
        }
        Ok(moved)
    }

    /// Forgets a group; its workers are in none then. Says whether there was one. Whether a task still needs it, the caller
    /// asks [`View::open_tasks_on_group`].
    pub fn delete_group(&mut self, id: &GroupId) -> Result<bool, StoreError> {
        let Some(seq) = group_seq(id) else { return Ok(false) };
        Ok(self.connection.prepare_cached("DELETE FROM groups WHERE seq = ?1")?.execute([seq])? > 0)
    }
}
