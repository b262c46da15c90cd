CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The number is the task's id; phase and standing are the codes of tasks/columns.rs.
-- The document is the last column, so that lists need not read past it.
CREATE TABLE tasks (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    phase       INTEGER NOT NULL,
    standing    INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    ended_ms    INTEGER,
    wake_at_ms  INTEGER,
    brief       TEXT NOT NULL,
    document    TEXT NOT NULL
);
CREATE INDEX tasks_by_phase ON tasks (phase);
CREATE INDEX tasks_by_updated ON tasks (updated_ms);
CREATE INDEX tasks_by_name ON tasks (name_folded);
CREATE INDEX tasks_by_priority ON tasks (priority);
CREATE INDEX tasks_queued ON tasks (priority DESC) WHERE standing = 1;
CREATE INDEX tasks_live ON tasks (seq) WHERE standing = 2;
CREATE INDEX tasks_due ON tasks (wake_at_ms) WHERE wake_at_ms IS NOT NULL;

-- Counting a hundred thousand rows for every page would cost more than the page.
CREATE TABLE task_counts (
    phase  INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
);
CREATE TRIGGER task_came AFTER INSERT ON tasks BEGIN
    INSERT INTO task_counts (phase, number) VALUES (new.phase, 1)
        ON CONFLICT (phase) DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER task_went AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET number = number - 1 WHERE phase = old.phase;
END;
CREATE TRIGGER task_turned AFTER UPDATE OF phase ON tasks WHEN old.phase <> new.phase BEGIN
    UPDATE task_counts SET number = number - 1 WHERE phase = old.phase;
    INSERT INTO task_counts (phase, number) VALUES (new.phase, 1)
        ON CONFLICT (phase) DO UPDATE SET number = number + 1;
END;

CREATE TABLE task_nodes (
    environment_id TEXT NOT NULL,
    task_seq       INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    PRIMARY KEY (environment_id, task_seq)
) WITHOUT ROWID;
CREATE INDEX task_nodes_by_task ON task_nodes (task_seq);

CREATE TABLE task_labels (
    key      TEXT NOT NULL,
    value    TEXT NOT NULL,
    task_seq INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    PRIMARY KEY (task_seq, key)
) WITHOUT ROWID;

-- No reference to tasks: the end of a task is itself something to tell.
CREATE TABLE events (
    cursor         INTEGER PRIMARY KEY AUTOINCREMENT,
    time_ms        INTEGER NOT NULL,
    task_seq       INTEGER,
    environment_id TEXT,
    kind           TEXT NOT NULL,
    attempt        INTEGER,
    rank           INTEGER,
    text_zh        TEXT NOT NULL,
    text_en        TEXT NOT NULL,
    data           TEXT
);
CREATE INDEX events_of_task ON events (task_seq) WHERE task_seq IS NOT NULL;
CREATE INDEX events_of_environment ON events (environment_id) WHERE environment_id IS NOT NULL;

CREATE TABLE environments (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE,
    instance      TEXT,
    boot          TEXT,
    labels        TEXT NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    last_seen_ms  INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    document      TEXT NOT NULL
);

CREATE TABLE leases (
    worker         TEXT PRIMARY KEY,
    environment_id TEXT NOT NULL,
    task_seq       INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    generation     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX leases_of_task ON leases (task_seq);
CREATE INDEX leases_of_environment ON leases (environment_id);

CREATE TABLE runs (
    key            TEXT PRIMARY KEY,
    task_seq       INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    environment_id TEXT NOT NULL,
    gone           INTEGER NOT NULL,
    journal_length INTEGER NOT NULL,
    tail           BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_of_task ON runs (task_seq);
CREATE INDEX runs_of_environment ON runs (environment_id) WHERE gone = 0;

CREATE TABLE datasets (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    name_folded TEXT NOT NULL,
    description TEXT,
    labels      TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    path TEXT
);
CREATE TABLE dataset_versions (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    dataset_seq INTEGER NOT NULL REFERENCES datasets (seq) ON DELETE CASCADE,
    version     TEXT NOT NULL,
    path        TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    UNIQUE (dataset_seq, version)
);
CREATE TABLE models (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    name_folded TEXT NOT NULL,
    description TEXT,
    labels      TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    path TEXT
);

CREATE TABLE idempotency (
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    status     INTEGER NOT NULL,
    body       BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_ms);

CREATE TABLE snapshots (
    digest     TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) WITHOUT ROWID;
