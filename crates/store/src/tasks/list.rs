//! Paging through all tasks, filtered and sorted.
//!
//! The statement is put together from fixed parts; whatever a user wrote is only ever bound.

use fermi_domain::{ids::EnvironmentId, phase::TaskPhase};
use rusqlite::{params_from_iter, types::Value};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    TaskRow,
    columns::{ROW, phase_code, read_row},
    task_seq,
};
use crate::{BadToken, Page, PageToken, StoreError, View, row::signed};

/// Which tasks are wanted; all conditions hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Any of these; empty for all.
    pub phases: Vec<TaskPhase>,
    /// A part of the name, in upper or lower case.
    pub name: Option<String>,
    /// Asked for, or running in it.
    pub environment: Option<EnvironmentId>,
    pub label: Option<LabelFilter>,
}

/// A label that a task must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFilter {
    pub key: String,
    /// None for any value.
    pub value: Option<String>,
}

/// What a list of tasks is sorted by; equal ones by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskSort {
    #[default]
    Created,
    Updated,
    Name,
    Phase,
    Priority,
}

/// A sort with its direction; the newest first unless told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOrder {
    pub by: TaskSort,
    pub descending: bool,
}

impl Default for TaskOrder {
    fn default() -> Self {
        Self { by: TaskSort::Created, descending: true }
    }
}

/// Why there is no page.
#[derive(Clone, Debug, Error)]
pub enum ListError {
    #[error(transparent)]
    BadToken(#[from] BadToken),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for ListError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The last row of a page, which the next one begins behind.
#[derive(Debug, Serialize, Deserialize)]
struct Cursor {
    order: TaskOrder,
    key: Key,
    seq: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Key {
    Number(i64),
    Text(String),
}

impl From<Key> for Value {
    fn from(key: Key) -> Self {
        match key {
            Key::Number(number) => Self::Integer(number),
            Key::Text(text) => Self::Text(text),
        }
    }
}

impl TaskSort {
    /// None where the number alone is the order.
    fn column(self) -> Option<&'static str> {
        match self {
            Self::Created => None,
            Self::Updated => Some("updated_ms"),
            Self::Name => Some("name_folded"),
            Self::Phase => Some("phase"),
            Self::Priority => Some("priority"),
        }
    }

    fn key(self, row: &TaskRow, seq: i64) -> Key {
        match self {
            Self::Created => Key::Number(seq),
            Self::Updated => Key::Number(signed(row.updated_ms)),
            Self::Name => Key::Text(row.name.to_lowercase()),
            Self::Phase => Key::Number(phase_code(row.phase)),
            Self::Priority => Key::Number(i64::from(row.priority)),
        }
    }
}

impl View<'_> {
    /// At most `size` tasks, from the beginning or behind a page before.
    pub fn list_tasks(
        &self,
        filter: &TaskFilter,
        order: TaskOrder,
        size: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<TaskRow>, ListError> {
        let cursor: Option<Cursor> = token.map(PageToken::place).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.order != order) {
            return Err(BadToken.into());
        }
        let size = size.clamp(1, 1000);
        let (sql, values) = statement(filter, order, cursor, size + 1);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(values))?;
        let mut rows = Vec::with_capacity(size + 1);
        while let Some(row) = found.next()? {
            rows.push(read_row(row)?);
        }
        let has_more = rows.len() > size;
        rows.truncate(size);
        let last = rows.last().filter(|_| has_more).and_then(|row| Some((row, task_seq(&row.id)?)));
        let next = last.and_then(|(row, seq)| PageToken::of(&Cursor { order, key: order.by.key(row, seq), seq }));
        Ok(Page { rows, next, total: self.total(filter)? })
    }

    /// Known where nothing but the phase is filtered.
    fn total(&self, filter: &TaskFilter) -> Result<Option<u64>, StoreError> {
        if filter.name.is_some() || filter.environment.is_some() || filter.label.is_some() {
            return Ok(None);
        }
        let counts = self.count_by_phase()?;
        let is_wanted = |phase: &TaskPhase| filter.phases.is_empty() || filter.phases.contains(phase);
        Ok(Some(counts.iter().filter(|(phase, _)| is_wanted(phase)).map(|(_, number)| number).sum()))
    }
}

/// One sorted and limited branch per phase, merged: each branch reads an index in order and stops at the limit, where a
/// set of phases in one condition would read and sort all of their rows.
fn statement(filter: &TaskFilter, order: TaskOrder, cursor: Option<Cursor>, limit: usize) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = Vec::new();
    let mut bind = |value: Value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let direction = if order.descending { "DESC" } else { "ASC" };
    let beyond = if order.descending { "<" } else { ">" };
    let mut conditions = String::new();
    let mut from = "tasks t".to_owned();
    let mut number = "t.seq";
    if let Some(environment) = &filter.environment {
        // Driven by the environment's tasks, which are sorted by their number as well.
        from = "task_nodes n CROSS JOIN tasks t ON t.seq = n.task_seq".to_owned();
        number = "n.task_seq";
        conditions += &format!(" AND n.environment_id = {}", bind(Value::Text(environment.0.clone())));
    }
    if let Some(name) = filter.name.as_ref().filter(|name| !name.is_empty()) {
        conditions += &format!(" AND instr(t.name_folded, {}) > 0", bind(Value::Text(name.to_lowercase())));
    }
    if let Some(LabelFilter { key, value }) = &filter.label {
        let key = bind(Value::Text(key.clone()));
        let value = value.as_ref().map(|value| format!(" AND l.value = {}", bind(Value::Text(value.clone()))));
        let value = value.unwrap_or_default();
        conditions +=
            &format!(" AND EXISTS (SELECT 1 FROM task_labels l WHERE l.task_seq = t.seq AND l.key = {key}{value})");
    }
    if let Some(cursor) = cursor {
        let seq = bind(Value::Integer(cursor.seq));
        conditions += &match order.by.column() {
            None => format!(" AND {number} {beyond} {seq}"),
            Some(column) => format!(" AND (t.{column}, {number}) {beyond} ({}, {seq})", bind(cursor.key.into())),
        };
    }
    let limit = bind(Value::Integer(signed(limit as u64)));
    let sorted = |table: &str, number: &str| match order.by.column() {
        None => format!("{number} {direction}"),
        Some(column) => format!("{table}{column} {direction}, {number} {direction}"),
    };
    let mut phases: Vec<i64> = filter.phases.iter().map(|phase| phase_code(*phase)).collect();
    phases.sort_unstable();
    phases.dedup();
    let branch = |phase: &str| {
        let sorted = sorted("t.", number);
        format!("SELECT {ROW}, t.name_folded FROM {from} WHERE {phase}{conditions} ORDER BY {sorted} LIMIT {limit}")
    };
    let sql = match phases.as_slice() {
        [] => branch("1"),
        [phase] => branch(&format!("t.phase = {phase}")),
        phases => {
            let branches: Vec<String> = phases
                .iter()
                .map(|phase| format!("SELECT * FROM ({})", branch(&format!("t.phase = {phase}"))))
                .collect();
            format!("{} ORDER BY {} LIMIT {limit}", branches.join(" UNION ALL "), sorted("", "seq"))
        }
    };
    (sql, values)
}
