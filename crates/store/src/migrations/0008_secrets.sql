-- What tasks are given and no one reads. The key is in a file beside the database, never in it.
CREATE TABLE secrets (
    -- Empty: everyone's.
    user       TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- XChaCha20-Poly1305, bound to user and name.
    nonce      BLOB NOT NULL,
    sealed     BLOB NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (user, name)
) WITHOUT ROWID;
