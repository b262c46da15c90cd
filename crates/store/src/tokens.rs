//! Sessions and tokens, by the digest of what is shown.

use fermi_domain::{
    access::{FixedPlace, JoinTerms, TokenKind, TokenScope},
    principal::Role,
};
use rusqlite::{Row, params};

use crate::{
    StoreError, Transaction, View, numbered,
    row::{document, json, signed, unsigned},
    users::read_role,
};

/// The SHA-256 of a token.
pub type TokenDigest = [u8; 32];

/// A token before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    pub digest: TokenDigest,
    pub kind: TokenKind,
    /// None: of the one who holds the server's own token.
    pub user: Option<String>,
    /// Whose things are that are made with it, where it is no user's.
    pub owner: Option<String>,
    /// What it is for, as its maker says.
    pub name: String,
    /// The most that its holder may do with it.
    pub role: Role,
    pub scope: TokenScope,
    /// The token that a session was opened with.
    pub made_with: Option<TokenDigest>,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
    /// What machines get that come with it.
    pub join: JoinTerms,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: String,
    pub token: NewToken,
}

const COLUMNS: &str =
    "seq, digest, kind, user, name, role, scope, made_with, created_ms, expires_ms, uses_left, place, owner";

impl View<'_> {
    /// All of them, the oldest first.
    pub fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM tokens ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        let mut tokens = Vec::new();
        while let Some(row) = rows.next()? {
            tokens.push(read(row)?);
        }
        Ok(tokens)
    }
}

impl Transaction<'_> {
    /// Keeps a token. Gives its id.
    pub fn add_token(&mut self, new: &NewToken) -> Result<String, StoreError> {
        let sql = "INSERT INTO tokens (digest, kind, user, name, role, scope, made_with, created_ms, expires_ms, \
                   uses_left, place, owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let place = (!new.join.place.is_free()).then(|| json("token", &new.join.place)).transpose()?;
        self.connection.prepare_cached(sql)?.execute(params![
            new.digest,
            new.kind.as_str(),
            new.user,
            new.name,
            new.role.as_str(),
            new.scope.as_str(),
            new.made_with,
            signed(new.created_ms),
            new.expires_ms.map(signed),
            new.join.uses_left,
            place,
            new.owner,
        ])?;
        Ok(numbered::TOKEN.write(self.connection.last_insert_rowid()))
    }

    /// One more machine comes with a token; false where it has brought in as many as it may, or is none any more.
    pub fn use_token(&mut self, id: &str) -> Result<bool, StoreError> {
        let Some(seq) = numbered::TOKEN.read(id) else { return Ok(false) };
        let sql = "UPDATE tokens SET uses_left = uses_left - 1 WHERE seq = ?1 AND (uses_left IS NULL OR uses_left > 0)";
        Ok(self.connection.prepare_cached(sql)?.execute([seq])? > 0)
    }

    /// Says whether there was one.
    pub fn remove_token(&mut self, id: &str) -> Result<bool, StoreError> {
        let Some(seq) = numbered::TOKEN.read(id) else { return Ok(false) };
        Ok(self.connection.prepare_cached("DELETE FROM tokens WHERE seq = ?1")?.execute([seq])? > 0)
    }

    /// Ends every session and log-in of a user but one.
    pub fn end_sessions(&mut self, user: &str, but: Option<&TokenDigest>) -> Result<usize, StoreError> {
        let sql = "DELETE FROM tokens WHERE user = ?1 AND kind IN (?2, ?3) AND digest IS NOT ?4";
        let [session, log_in] = [TokenKind::Session, TokenKind::LogIn].map(TokenKind::as_str);
        Ok(self.connection.prepare_cached(sql)?.execute(params![user, session, log_in, but])?)
    }

    /// Ends all sessions of a holder in this role but the newest so many: a token for a smaller role ends none of a greater one.
    pub fn end_oldest_sessions(&mut self, of: &NewToken, keep: u32) -> Result<usize, StoreError> {
        let sql = "DELETE FROM tokens WHERE seq IN (SELECT seq FROM tokens WHERE user IS ?1 AND owner IS ?2 AND kind = ?3 \
                   AND role IS ?5 ORDER BY seq DESC LIMIT -1 OFFSET ?4)";
        let session = TokenKind::Session.as_str();
        Ok(self.connection.prepare_cached(sql)?.execute(params![of.user, of.owner, session, keep, of.role.as_str()])?)
    }

    /// How many tokens a holder has that are not over, sessions aside.
    pub fn count_tokens(&mut self, of: &NewToken, now_ms: u64) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM tokens WHERE user IS ?1 AND owner IS ?2 AND kind != ?3 \
                   AND (expires_ms IS NULL OR expires_ms > ?4)";
        let session = TokenKind::Session.as_str();
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![of.user, of.owner, session, signed(now_ms)], |row| row.get(0))?)
    }

    /// Forgets sessions that are over; how many. Other tokens stay, in case it is the clock that is wrong.
    pub fn remove_expired_sessions(&mut self, now_ms: u64) -> Result<usize, StoreError> {
        let sql = "DELETE FROM tokens WHERE expires_ms <= ?1 AND kind = ?2";
        Ok(self.connection.prepare_cached(sql)?.execute(params![signed(now_ms), TokenKind::Session.as_str()])?)
    }
}

fn read(row: &Row<'_>) -> Result<Token, StoreError> {
    let place: Option<String> = row.get(11)?;
    let place: FixedPlace = place.map(|json| document("token", &json)).transpose()?.unwrap_or_default();
    let (kind, role, scope): (String, String, String) = (row.get(2)?, row.get(5)?, row.get(6)?);
    Ok(Token {
        id: numbered::TOKEN.write(row.get(0)?),
        token: NewToken {
            digest: row.get(1)?,
            kind: kind.parse().map_err(|_| StoreError::Value { noun: "token", value: kind })?,
            user: row.get(3)?,
            owner: row.get(12)?,
            name: row.get(4)?,
            role: read_role(&role)?,
            scope: scope.parse().map_err(|_| StoreError::Value { noun: "token", value: scope })?,
            made_with: row.get(7)?,
            created_ms: unsigned(row.get(8)?),
            expires_ms: row.get::<_, Option<i64>>(9)?.map(unsigned),
            join: JoinTerms { uses_left: row.get(10)?, place },
        },
    })
}
