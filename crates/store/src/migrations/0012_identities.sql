-- Which user somebody is whom a provider of OpenID Connect names. Links are by subject; a name never makes one.
CREATE TABLE oidc_links (
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    user      TEXT NOT NULL REFERENCES users (name),
    linked_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, user)
) WITHOUT ROWID;
-- Whose things are that are made with a token which is no user's; none of tokens of before, whose things are `token`'s.
ALTER TABLE tokens ADD COLUMN owner TEXT;
-- When the credential of a name was last revoked: tokens of before bring no machine in under it, also when its environment
-- was deleted.
CREATE TABLE revoked_names (
    name       TEXT PRIMARY KEY,
    revoked_ms INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO revoked_names (name, revoked_ms)
    SELECT name, json_extract(identity, '$.revokedMs') FROM environments
    WHERE json_extract(identity, '$.revokedMs') IS NOT NULL;
-- Address and secret of a webhook, XChaCha20-Poly1305, bound to its name; none in rows of before, whose document has both.
ALTER TABLE webhooks ADD COLUMN nonce BLOB;
ALTER TABLE webhooks ADD COLUMN sealed BLOB;
