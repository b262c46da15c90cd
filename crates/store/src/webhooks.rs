//! Webhooks, how far each has got, and the events that they are told of.

use fermi_domain::webhook::{Webhook, WebhookState};
use rusqlite::{OptionalExtension, Params, Row, params};

pub use crate::catalogue::CreateError;
use crate::{
    StoreError, Transaction, View,
    events::{self, StoredEvent},
    numbered,
    row::{document, json, signed, unsigned},
    secrets::SealedValue,
};

/// A webhook as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWebhook {
    pub id: String,
    pub name: String,
    pub created_ms: u64,
    /// Its address and its secret as far as everyone may see them, where they are sealed.
    pub webhook: Webhook,
    /// Both under the server's key; none of a webhook of before.
    pub sealed: Option<SealedValue>,
    pub state: WebhookState,
}

impl View<'_> {
    /// All of them, the oldest first.
    pub fn webhooks(&self) -> Result<Vec<KeptWebhook>, StoreError> {
        self.webhooks_by("ORDER BY seq", [])
    }

    pub fn webhook(&self, id: &str) -> Result<Option<KeptWebhook>, StoreError> {
        let Some(seq) = numbered::WEBHOOK.read(id) else { return Ok(None) };
        Ok(self.webhooks_by("WHERE seq = ?1", [seq])?.pop())
    }

    fn webhooks_by(&self, which: &str, parameters: impl Params) -> Result<Vec<KeptWebhook>, StoreError> {
        let sql = format!("SELECT seq, name, created_ms, document, state, nonce, sealed FROM webhooks {which}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(parameters)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    /// Events behind a cursor that a webhook may be told of, oldest first.
    pub fn events_for_webhooks(&self, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let sql = format!(
            "SELECT {} FROM events WHERE kind IN ('task.succeeded', 'task.failed', 'task.stopped', 'task.waits_long') \
             AND cursor > ?1 ORDER BY cursor LIMIT ?2",
            events::COLUMNS
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![signed(after), signed(limit as u64)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(events::read(row)?);
        }
        Ok(found)
    }
}

fn read(row: &Row<'_>) -> Result<KeptWebhook, StoreError> {
    let (nonce, sealed): (Option<[u8; 24]>, Option<Vec<u8>>) = (row.get(5)?, row.get(6)?);
    Ok(KeptWebhook {
        id: numbered::WEBHOOK.write(row.get(0)?),
        name: row.get(1)?,
        created_ms: unsigned(row.get(2)?),
        webhook: document("webhook", &row.get::<_, String>(3)?)?,
        sealed: nonce.zip(sealed).map(|(nonce, sealed)| SealedValue { nonce, sealed }),
        state: document("webhook", &row.get::<_, String>(4)?)?,
    })
}

impl Transaction<'_> {
    /// Keeps a webhook, which is told of what happens from now on: as everyone may see it, with what is sealed beside it.
    pub fn add_webhook(
        &mut self,
        name: &str,
        shown: &Webhook,
        sealed: &SealedValue,
        now_ms: u64,
    ) -> Result<String, CreateError> {
        let state = WebhookState { told: self.last_cursor()?, ..WebhookState::default() };
        let sql =
            "INSERT INTO webhooks (name, created_ms, document, state, nonce, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (kept, kept_state) = (json("webhook", shown)?, json("webhook", &state)?);
        let row = params![name, signed(now_ms), kept, kept_state, sealed.nonce, sealed.sealed];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(numbered::WEBHOOK.write(self.connection.last_insert_rowid()))
    }

    /// Puts what is sealed in the place of what lay open.
    pub fn seal_webhook(&mut self, id: &str, shown: &Webhook, sealed: &SealedValue) -> Result<(), StoreError> {
        let Some(seq) = numbered::WEBHOOK.read(id) else { return Ok(()) };
        let sql = "UPDATE webhooks SET document = ?2, nonce = ?3, sealed = ?4 WHERE seq = ?1";
        let row = params![seq, json("webhook", shown)?, sealed.nonce, sealed.sealed];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Says whether there was one.
    pub fn remove_webhook(&mut self, id: &str) -> Result<bool, StoreError> {
        let Some(seq) = numbered::WEBHOOK.read(id) else { return Ok(false) };
        Ok(self.connection.prepare_cached("DELETE FROM webhooks WHERE seq = ?1")?.execute([seq])? > 0)
    }

    /// Changes how far a webhook has got; nothing of one that is gone. Gives its state as it was.
    pub fn turn_webhook(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut WebhookState),
    ) -> Result<Option<WebhookState>, StoreError> {
        let Some(seq) = numbered::WEBHOOK.read(id) else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT state FROM webhooks WHERE seq = ?1")?;
        let Some(text) = statement.query_row([seq], |row| row.get::<_, String>(0)).optional()? else {
            return Ok(None);
        };
        let before: WebhookState = document("webhook", &text)?;
        let mut state = before.clone();
        change(&mut state);
        self.connection
            .prepare_cached("UPDATE webhooks SET state = ?2 WHERE seq = ?1")?
            .execute(params![seq, json("webhook", &state)?])?;
        Ok(Some(before))
    }
}
