-- Who is told how tasks end.
CREATE TABLE webhooks (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    -- Address, format, topics, secret.
    document   TEXT NOT NULL,
    -- How far it has got.
    state      TEXT NOT NULL
);
-- What webhooks may be told of. A query uses it only if it lists the same kinds in the same words.
CREATE INDEX events_for_webhooks ON events (cursor)
    WHERE kind IN ('task.succeeded', 'task.failed', 'task.stopped', 'task.waits_long');
