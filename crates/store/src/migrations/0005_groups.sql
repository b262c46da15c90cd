-- Named sets of workers; launch is their configuration as JSON, version grows with every change.
CREATE TABLE groups (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    launch     TEXT NOT NULL,
    version    INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
);
-- A worker is a key, so that it is in one group. Who is not here is in none.
CREATE TABLE group_workers (
    worker    TEXT PRIMARY KEY,
    group_seq INTEGER NOT NULL REFERENCES groups (seq) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX group_workers_of ON group_workers (group_seq);
-- Which tasks run on a group.
CREATE INDEX tasks_of_group ON tasks (json_extract(brief, '$.group')) WHERE json_extract(brief, '$.group') IS NOT NULL;
