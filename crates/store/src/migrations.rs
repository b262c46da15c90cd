//! The shape of the database, as the steps that lead to it. `PRAGMA user_version` says how many have been taken.
//!
//! A step that has been released never changes; a new shape is a new step.

use rusqlite::Connection;

/// All steps, in order.
const STEPS: &[&str] = &[include_str!("migrations/0001_first.sql")];

/// The version that this binary writes.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing, each whole or not at all.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let taken = usize::try_from(version(connection)?).unwrap_or(0);
    for (number, step) in STEPS.iter().enumerate().skip(taken) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", number as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
