//! The shape of the database, as the steps that lead to it. `PRAGMA user_version` says how many have been taken.
//!
//! A step that has been released never changes; a new shape is a new step.

use rusqlite::Connection;

/// All steps, in order.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_principals.sql"),
    include_str!("migrations/0003_identity.sql"),
    include_str!("migrations/0004_history.sql"),
    include_str!("migrations/0005_groups.sql"),
    include_str!("migrations/0006_access.sql"),
    include_str!("migrations/0007_webhooks.sql"),
    include_str!("migrations/0008_secrets.sql"),
    include_str!("migrations/0009_join.sql"),
    include_str!("migrations/0010_registries.sql"),
    include_str!("migrations/0011_spent.sql"),
    include_str!("migrations/0012_identities.sql"),
    include_str!("migrations/0013_ended.sql"),
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_first_release_are_kept() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(STEPS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection
            .execute_batch(
                "INSERT INTO tasks (name, name_folded, phase, standing, priority, generation, revision, created_ms, \
                 updated_ms, wake_at_ms, brief, document) VALUES ('a', 'a', 0, 1, 0, 0, 1, 5, 5, 9, '{}', '{}'); \
                 INSERT INTO events (time_ms, task_seq, kind, text_zh, text_en) VALUES (5, 1, 'task.created', '', ''); \
                 INSERT INTO environments (name, labels, first_seen_ms, last_seen_ms, revision, document) \
                 VALUES ('gn6', '{}', 5, 7, 1, '{}'); \
                 INSERT INTO runs (key, task_seq, environment_id, gone, journal_length, tail) \
                 VALUES ('task-1-g1-n0-i1', 1, 'env-001', 1, 42, x'');",
            )
            .unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), NEWEST);
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).unwrap();
        assert_eq!(one("SELECT created_ms FROM tasks WHERE created_by IS NULL"), Some(5));
        assert_eq!(one("SELECT time_ms FROM events WHERE principal IS NULL"), Some(5));
        assert_eq!(one("SELECT registered_ms FROM environments"), Some(7));
        assert_eq!(one("SELECT journal_length FROM runs"), Some(42));
    }
}
