//! What datasets and models have in common: a name of their own, a description, labels.

use std::collections::BTreeMap;

use rusqlite::{ErrorCode, OptionalExtension, Row, params};
use thiserror::Error;

use crate::{
    Page, PageToken, StoreError, Transaction, View,
    numbered::Numbered,
    row::{document, json, signed, unsigned},
    tasks::ListError,
};

/// Something with a name that tasks refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Where it is, if that is known; a dataset's versions have their own.
    pub path: Option<String>,
    pub created_ms: u64,
}

/// Something with a name, before it has an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewEntry {
    pub name: String,
    pub description: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub path: Option<String>,
}

/// Why something was not created.
#[derive(Clone, Debug, Error)]
pub enum CreateError {
    #[error("the name is taken")]
    NameTaken,
    /// What it would belong to is not there.
    #[error("what it belongs to does not exist")]
    Missing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for CreateError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Self::NameTaken,
            _ => Self::Store(error.into()),
        }
    }
}

/// One table of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shelf {
    pub table: &'static str,
    pub id: Numbered,
}

impl Shelf {
    pub fn create(self, transaction: &mut Transaction<'_>, new: &NewEntry, now_ms: u64) -> Result<Entry, CreateError> {
        let Self { table, id } = self;
        let sql = format!(
            "INSERT INTO {table} (name, name_folded, description, labels, created_ms, path) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        );
        transaction.connection.prepare_cached(&sql)?.execute(params![
            new.name,
            new.name.to_lowercase(),
            new.description,
            json("entry", &new.labels)?,
            signed(now_ms),
            new.path,
        ])?;
        let NewEntry { name, description, labels, path } = new.clone();
        let id = id.write(transaction.connection.last_insert_rowid());
        Ok(Entry { id, name, description, labels, path, created_ms: now_ms })
    }

    /// The newest first; `name` is a part of the name, in upper or lower case.
    pub fn list(
        self,
        view: &View<'_>,
        name: Option<&str>,
        size: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<Entry>, ListError> {
        let behind: i64 = token.map(PageToken::place).transpose()?.unwrap_or(i64::MAX);
        let size = size.clamp(1, 1000);
        let table = self.table;
        let sql = format!(
            "SELECT seq, name, description, labels, created_ms, path FROM {table} WHERE seq < ?1 \
             AND (?2 = '' OR instr(name_folded, ?2) > 0) ORDER BY seq DESC LIMIT ?3"
        );
        let mut statement = view.connection.prepare_cached(&sql)?;
        let part = name.unwrap_or_default().to_lowercase();
        let mut found = statement.query(params![behind, part, signed(size as u64 + 1)])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            rows.push(self.read(row)?);
        }
        let has_more = rows.len() > size;
        rows.truncate(size);
        let next = rows.last().filter(|_| has_more).and_then(|entry| PageToken::of(&self.id.read(&entry.id)?));
        let total = if part.is_empty() {
            let mut count = view.connection.prepare_cached(&format!("SELECT count(*) FROM {table}"))?;
            Some(count.query_row([], |row| row.get(0)).map(unsigned)?)
        } else {
            None
        };
        Ok(Page { rows, next, total })
    }

    pub fn get(self, view: &View<'_>, id: &str) -> Result<Option<Entry>, StoreError> {
        let Some(seq) = self.id.read(id) else { return Ok(None) };
        let sql = format!("SELECT seq, name, description, labels, created_ms, path FROM {} WHERE seq = ?1", self.table);
        let mut statement = view.connection.prepare_cached(&sql)?;
        statement.query_row([seq], |row| Ok(self.read(row))).optional()?.transpose()
    }

    pub fn delete(self, transaction: &mut Transaction<'_>, id: &str) -> Result<bool, StoreError> {
        let Some(seq) = self.id.read(id) else { return Ok(false) };
        let sql = format!("DELETE FROM {} WHERE seq = ?1", self.table);
        Ok(transaction.connection.prepare_cached(&sql)?.execute([seq])? > 0)
    }

    fn read(self, row: &Row<'_>) -> Result<Entry, StoreError> {
        let labels: String = row.get(3)?;
        Ok(Entry {
            id: self.id.write(row.get(0)?),
            name: row.get(1)?,
            description: row.get(2)?,
            labels: document("entry", &labels)?,
            created_ms: unsigned(row.get(4)?),
            path: row.get(5)?,
        })
    }
}
