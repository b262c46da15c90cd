-- Runs that this database has never launched: an older state of it was put back while they ran.
CREATE TABLE strays (
    key            TEXT NOT NULL,
    environment_id TEXT NOT NULL,
    alive          INTEGER NOT NULL,
    -- An operator has asked for its end.
    ending         INTEGER NOT NULL,
    found_ms       INTEGER NOT NULL,
    PRIMARY KEY (key, environment_id)
) WITHOUT ROWID;
