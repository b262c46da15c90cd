//! The event log: what happened, in the order in which it was committed.

use fermi_domain::{
    ids::{EnvironmentId, TaskId},
    language::Text,
    principal::Principal,
    task::EventDetail,
};
use rusqlite::{Row, params, params_from_iter, types::Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::{
    StoreError, Transaction, View,
    row::{document, json, signed, unsigned},
    tasks::{task_id, task_seq},
};

/// How many events one call of [`Transaction::prune_events`] removes at most; other writes wait meanwhile.
pub const PRUNE_AT_ONCE: usize = 2_000;

/// An event that is to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewEvent {
    pub time_ms: u64,
    pub task: Option<TaskId>,
    pub environment: Option<EnvironmentId>,
    /// A stable name, such as `task.running`.
    pub kind: String,
    pub attempt: Option<u32>,
    pub rank: Option<u32>,
    pub text: Text,
    pub detail: Option<EventDetail>,
    /// On whose behalf it happened; not known of events of older releases.
    pub principal: Option<Principal>,
}

impl NewEvent {
    /// An event that is about nothing in particular yet.
    pub fn new(time_ms: u64, kind: impl Into<String>, text: Text, principal: Principal) -> Self {
        Self {
            time_ms,
            task: None,
            environment: None,
            kind: kind.into(),
            attempt: None,
            rank: None,
            text,
            detail: None,
            principal: Some(principal),
        }
    }

    #[must_use]
    pub fn about_task(self, task: &TaskId) -> Self {
        Self { task: Some(task.clone()), ..self }
    }

    #[must_use]
    pub fn about_environment(self, environment: &EnvironmentId) -> Self {
        Self { environment: Some(environment.clone()), ..self }
    }
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvent {
    pub cursor: u64,
    #[serde(flatten)]
    pub event: NewEvent,
}

/// Which events are wanted; all conditions hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub task: Option<TaskId>,
    pub environment: Option<EnvironmentId>,
    /// How the kind begins, such as `task.`.
    pub kind: Option<String>,
    /// On whose behalf.
    pub by: Option<ActorFilter>,
    /// Not before this time.
    pub since_ms: Option<u64>,
    /// Before this time.
    pub until_ms: Option<u64>,
}

/// On whose behalf something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActorFilter {
    /// Any user's, and not the server's own or an agent's.
    Users,
    /// This user's, whatever the role was then.
    User(String),
}

impl EventFilter {
    /// Whether an event is wanted; the same rule as in the table, for those who listen.
    pub fn matches(&self, event: &NewEvent) -> bool {
        self.task.as_ref().is_none_or(|task| event.task.as_ref() == Some(task))
            && self.environment.as_ref().is_none_or(|environment| event.environment.as_ref() == Some(environment))
            && self.kind.as_ref().is_none_or(|kind| event.kind.starts_with(kind))
            && self.by.as_ref().is_none_or(|by| match (by, event.principal.as_ref().and_then(Principal::user)) {
                (ActorFilter::Users, user) => user.is_some(),
                (ActorFilter::User(name), user) => user == Some(name),
            })
            && self.since_ms.is_none_or(|since| event.time_ms >= since)
            && self.until_ms.is_none_or(|until| event.time_ms < until)
    }
}

pub(crate) const COLUMNS: &str =
    "cursor, time_ms, task_seq, environment_id, kind, attempt, rank, text_zh, text_en, data, principal";

impl View<'_> {
    /// Events behind a cursor (0 for all), oldest first.
    pub fn events(&self, after: u64, filter: &EventFilter, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.select_events(after, filter, "ASC", limit)
    }

    fn select_events(
        &self,
        after: u64,
        filter: &EventFilter,
        order: &'static str,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let mut sql = format!("SELECT {COLUMNS} FROM events WHERE cursor > ?1");
        let mut values = vec![Value::Integer(signed(after)), Value::Integer(signed(limit as u64))];
        let mut also = |condition: &str, value: Value| {
            values.push(value);
            sql += &format!(" AND {}", condition.replace('@', &format!("?{}", values.len())));
        };
        if let Some(task) = &filter.task {
            let Some(seq) = task_seq(task) else { return Ok(Vec::new()) };
            also("task_seq = @", Value::Integer(seq));
        }
        if let Some(environment) = &filter.environment {
            also("environment_id = @", Value::Text(environment.0.clone()));
        }
        if let Some(kind) = &filter.kind {
            also("substr(kind, 1, length(@)) = @", Value::Text(kind.clone()));
        }
        match &filter.by {
            Some(ActorFilter::Users) => also("substr(principal, 1, length(@)) = @", Value::Text("user:".to_owned())),
            // `user:ROLE:NAME`; neither a role nor a name has a colon in it.
            Some(ActorFilter::User(name)) => {
                also("principal LIKE 'user:%' AND substr(principal, -length(@)) = @", Value::Text(format!(":{name}")));
            }
            None => {}
        }
        if let Some(since) = filter.since_ms {
            also("time_ms >= @", Value::Integer(signed(since)));
        }
        if let Some(until) = filter.until_ms {
            also("time_ms < @", Value::Integer(signed(until)));
        }
        sql += &format!(" ORDER BY cursor {order} LIMIT ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            events.push(read(row)?);
        }
        Ok(events)
    }

    /// The last events, oldest first.
    pub fn newest_events(&self, filter: &EventFilter, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let mut events = self.select_events(0, filter, "DESC", limit)?;
        events.reverse();
        Ok(events)
    }

    /// The cursor of the newest event that ever was, pruned or not; 0 before the first.
    pub fn last_cursor(&self) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?;
        let mut rows = statement.query([])?;
        rows.next()?.map_or(Ok(0), |row| Ok(unsigned(row.get(0)?)))
    }

    /// The cursor of the oldest event that is still there; one past the newest if none is.
    pub fn first_cursor(&self) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT min(cursor) FROM events")?;
        let first: Option<i64> = statement.query_row([], |row| row.get(0))?;
        first.map_or_else(|| Ok(self.last_cursor()? + 1), |first| Ok(unsigned(first)))
    }
}

impl Transaction<'_> {
    /// Keeps an event; listeners hear of it when the transaction is committed. Gives its cursor.
    pub fn append_event(&mut self, event: NewEvent) -> Result<u64, StoreError> {
        let data = event.detail.as_ref().map(|data| json("event", data)).transpose()?;
        self.connection
            .prepare_cached(
                "INSERT INTO events (time_ms, task_seq, environment_id, kind, attempt, rank, text_zh, text_en, data, \
                 principal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                signed(event.time_ms),
                event.task.as_ref().and_then(task_seq),
                event.environment.as_ref().map(EnvironmentId::as_str),
                event.kind,
                event.attempt,
                event.rank,
                event.text.zh,
                event.text.en,
                data,
                event.principal.as_ref().map(ToString::to_string),
            ])?;
        let cursor = unsigned(self.connection.last_insert_rowid());
        self.events.push(Arc::new(StoredEvent { cursor, event }));
        Ok(cursor)
    }

    /// Forgets the oldest events: those before a time, and those beyond a number. Gives how many; after
    /// [`PRUNE_AT_ONCE`] there may be more.
    pub fn prune_events(&mut self, older_than_ms: u64, keep_at_most: u64) -> Result<usize, StoreError> {
        let last = self.last_cursor()?;
        // The log is ordered by time but for clocks that were set back: the first event that is young enough ends it.
        let mut statement =
            self.connection.prepare_cached("SELECT cursor FROM events WHERE time_ms >= ?1 ORDER BY cursor LIMIT 1")?;
        let mut rows = statement.query([signed(older_than_ms)])?;
        let young: u64 = rows.next()?.map(|row| row.get(0)).transpose()?.map_or(last + 1, unsigned);
        // Cursors have gaps where a backup was put back, so that rows are counted.
        let mut statement =
            self.connection.prepare_cached("SELECT cursor FROM events ORDER BY cursor DESC LIMIT 1 OFFSET ?1")?;
        let mut rows = statement.query([signed(keep_at_most)])?;
        let beyond: u64 = rows.next()?.map(|row| row.get(0)).transpose()?.map_or(0, |cursor| unsigned(cursor) + 1);
        let before = young.max(beyond);
        let removed = self
            .connection
            .prepare_cached(
                "DELETE FROM events WHERE cursor IN (SELECT cursor FROM events WHERE cursor < ?1 ORDER BY cursor LIMIT ?2)",
            )?
            .execute(params![signed(before), signed(PRUNE_AT_ONCE as u64)])?;
        Ok(removed)
    }
}

pub(crate) fn read(row: &Row<'_>) -> Result<StoredEvent, StoreError> {
    let data: Option<String> = row.get(9)?;
    let principal: Option<String> = row.get(10)?;
    Ok(StoredEvent {
        cursor: unsigned(row.get(0)?),
        event: NewEvent {
            time_ms: unsigned(row.get(1)?),
            task: row.get::<_, Option<i64>>(2)?.map(task_id),
            environment: row.get::<_, Option<String>>(3)?.map(EnvironmentId),
            kind: row.get(4)?,
            attempt: row.get(5)?,
            rank: row.get(6)?,
            text: Text::new(row.get::<_, String>(7)?, row.get::<_, String>(8)?),
            detail: data.map(|data| document("event", &data)).transpose()?,
            principal: principal.map(|text| read_principal(&text)).transpose()?,
        },
    })
}

fn read_principal(text: &str) -> Result<Principal, StoreError> {
    text.parse().map_err(|_| StoreError::Value { noun: "principal", value: text.to_owned() })
}
