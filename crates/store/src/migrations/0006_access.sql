-- People. A row stays when its user is removed, so that the name and what belongs to it never become another's.
CREATE TABLE users (
    name       TEXT PRIMARY KEY,
    role       TEXT NOT NULL,
    -- argon2id, as its own format writes it.
    password   TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    removed_ms INTEGER
) WITHOUT ROWID;
-- What is shown instead of a password: sessions of browsers, and tokens of people and programs. Only digests are kept.
CREATE TABLE tokens (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    digest     BLOB NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    -- None: of the one who holds the server's own token.
    user       TEXT REFERENCES users (name),
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    -- The digest of the token that a session was opened with; the session ends with it.
    made_with  BLOB,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER
);
CREATE INDEX tokens_of_user ON tokens (user);
-- Whose a dataset, a model or a group is. A task has its own column.
CREATE TABLE owners (
    thing TEXT PRIMARY KEY,
    user  TEXT NOT NULL
) WITHOUT ROWID;
