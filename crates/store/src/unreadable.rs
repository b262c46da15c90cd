//! Rows that this release cannot read: of a later one, or damaged. They are left alone, and those who look after the server
//! are told which.

use fermi_domain::language::{Text, reason};
use rusqlite::types::Type;

use crate::{StoreError, View, environments, numbered, tasks};

/// A row that is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRow {
    /// The id of the task, or the name of the environment.
    pub name: String,
    pub why: Text,
}

impl UnreadableRow {
    /// For those who look after the server.
    pub fn text(&self) -> Text {
        let Self { name, why } = self;
        Text::new(
            format!("{name} 无法读取，已搁置（其占用不变）：{}", why.zh),
            format!("{name} cannot be read and is set aside, with what it holds: {}", why.en),
        )
    }
}

impl View<'_> {
    /// The environments and the tasks that are not over of which nothing can be made.
    pub fn unreadable(&self) -> Result<Vec<UnreadableRow>, StoreError> {
        let mut found = Vec::new();
        let mut statement =
            self.connection.prepare_cached("SELECT revision, document, seq FROM tasks WHERE standing IN (1, 2)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(error) = tasks::read_task(row) {
                found.push(UnreadableRow { name: numbered::TASK.write(row.get(2)?), why: why(&error) });
            }
        }
        let sql = format!("SELECT {}, name FROM environments", environments::COLUMNS);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let name_at = statement.column_count() - 1;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(error) = environments::read(row) {
                let name = match row.get_ref(name_at)?.data_type() {
                    Type::Text => row.get(name_at)?,
                    _ => numbered::ENVIRONMENT.write(row.get(0)?),
                };
                found.push(UnreadableRow { name, why: why(&error) });
            }
        }
        Ok(found)
    }
}

fn why(error: &StoreError) -> Text {
    match error {
        StoreError::Document { source, .. } => reason::of_json(source),
        StoreError::Value { value, .. } => {
            Text::new(format!("“{value}”没有意义"), format!("it holds \"{value}\", which means nothing"))
        }
        other => reason::of_said(&other.to_string()),
    }
}
