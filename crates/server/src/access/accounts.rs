//! Users, sessions and tokens in memory, as the store has them: a request costs a digest and a look-up.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use fermi_domain::access::{Throttle, TokenKind, TokenScope};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::principal::{Principal, Role, token_owner};
use fermi_store::tokens::{NewToken, Token, TokenDigest};
use fermi_store::users::User;
use tokio::sync::watch;

/// Who holds a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub principal: Principal,
    pub scope: TokenScope,
    /// The id of the token; the server's own has none.
    pub token: Option<String>,
    pub digest: TokenDigest,
}

/// A chain of tokens, each made with the one before, that is longer is no one's.
const MOST_MAKERS: usize = 16;

/// All that are known.
#[derive(Debug, Default)]
pub struct Accounts {
    /// None where everyone may do everything.
    server_token: OnceLock<TokenDigest>,
    port: OnceLock<u16>,
    known: RwLock<Known>,
    /// Counts how often they have changed.
    changes: watch::Sender<u64>,
    /// The environments by the digests of their agents' credentials.
    credentials: RwLock<HashMap<String, EnvironmentId>>,
    /// Those in whose place another machine was put, by the same.
    replaced: RwLock<HashMap<String, EnvironmentId>>,
    throttle: Mutex<Throttle>,
}

#[derive(Debug, Default)]
struct Known {
    roles: HashMap<String, Role>,
    tokens: HashMap<TokenDigest, Token>,
}

impl Accounts {
    /// From now on a token is asked for.
    pub fn close(&self, server_token: TokenDigest) {
        // It is set once, when the server starts.
        let _ = self.server_token.set(server_token);
    }

    /// Whether everyone who reaches the server may do everything.
    pub fn is_open(&self) -> bool {
        self.server_token.get().is_none()
    }

    /// The port by which sessions are told from those of another server on the machine.
    pub fn port(&self) -> u16 {
        self.port.get().copied().unwrap_or(0)
    }

    pub fn set_port(&self, port: u16) {
        let _ = self.port.set(port);
    }

    /// Takes what the store has.
    pub fn take(&self, users: Vec<User>, tokens: Vec<Token>) {
        let roles = users.into_iter().map(|user| (user.name, user.role)).collect();
        let mut tokens: HashMap<TokenDigest, Token> =
            tokens.into_iter().map(|token| (token.token.digest, token)).collect();
        let owners: Vec<(TokenDigest, String)> = tokens
            .values()
            .filter_map(|token| Some((token.token.digest, missing_owner(&token.token, &tokens)?)))
            .collect();
        for (digest, owner) in owners {
            if let Some(token) = tokens.get_mut(&digest) {
                token.token.owner = Some(owner);
            }
        }
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known { roles, tokens };
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Changes whenever users or tokens do.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes the digests of what agents show, by environment.
    pub fn take_credentials(&self, of: &HashMap<EnvironmentId, String>) {
        let known = of.iter().filter(|(_, digest)| !digest.is_empty());
        let known = known.map(|(environment, digest)| (digest.clone(), environment.clone())).collect();
        *self.credentials.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Takes the digests of what agents have shown in whose place another machine was put.
    pub fn take_replaced(&self, known: HashMap<String, EnvironmentId>) {
        *self.replaced.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Whose agent it was that shows a credential of this digest, if another machine was put in its place.
    pub fn replaced_of(&self, digest: &str) -> Option<EnvironmentId> {
        self.replaced.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// Whose agent shows a credential of this digest.
    pub fn environment_of(&self, digest: &str) -> Option<EnvironmentId> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    pub fn throttle<T>(&self, work: impl FnOnce(&mut Throttle) -> T) -> T {
        work(&mut self.throttle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is known of a token; nothing of the server's own.
    pub fn token(&self, digest: &TokenDigest) -> Option<NewToken> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.tokens.get(digest).map(|token| token.token.clone())
    }

    /// All tokens that are not over, the oldest first.
    pub fn tokens(&self, now_ms: u64) -> Vec<Token> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let living = known.tokens.values().filter(|token| known.living(&token.token.digest, now_ms).is_some());
        let mut tokens: Vec<Token> = living.cloned().collect();
        tokens.sort_by_key(|token| token.token.created_ms);
        tokens
    }

    /// Who shows this, if it is known and not over.
    pub fn holder(&self, digest: &TokenDigest, now_ms: u64) -> Option<Holder> {
        if self.server_token.get() == Some(digest) {
            let principal = Principal::token_holder(Role::Administrator);
            return Some(Holder { principal, scope: TokenScope::Api, token: None, digest: *digest });
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let token = known.living(digest, now_ms)?;
        self.ask_makers(&known, token, now_ms)?;
        let role = token.token.role;
        let principal = match (&token.token.user, &token.token.owner) {
            (Some(name), _) => Principal::User { role: role.min(*known.roles.get(name)?), name: name.clone() },
            (None, Some(owner)) => Principal::User { role, name: owner.clone() },
            (None, None) => Principal::token_holder(role),
        };
        Some(Holder { principal, scope: token.token.scope, token: Some(token.id.clone()), digest: *digest })
    }
}

impl Accounts {
    /// A token is worth nothing without the one that it was made with, and that one without its own.
    fn ask_makers(&self, known: &Known, token: &Token, now_ms: u64) -> Option<()> {
        let mut made_with = token.token.made_with;
        for _ in 0..MOST_MAKERS {
            match made_with {
                None => return Some(()),
                Some(maker) if self.server_token.get() == Some(&maker) => return Some(()),
                Some(maker) => made_with = known.living(&maker, now_ms)?.token.made_with,
            }
        }
        None
    }
}

/// Whose things are that are made with a token for a smaller role which an earlier release has made with the server's own: it wrote down
/// none, and they would be those of the administrator. A session is its token's.
fn missing_owner(token: &NewToken, all: &HashMap<TokenDigest, Token>) -> Option<String> {
    let is_nobodys = token.user.is_none() && token.owner.is_none();
    if !is_nobodys || token.role == Role::Administrator || token.scope == TokenScope::Agent {
        return None;
    }
    let maker = token.made_with.and_then(|maker| all.get(&maker)).filter(|_| token.kind == TokenKind::Session);
    Some(token_owner(maker.map_or(&token.name, |maker| &maker.token.name)))
}

impl Known {
    fn living(&self, digest: &TokenDigest, now_ms: u64) -> Option<&Token> {
        self.tokens.get(digest).filter(|token| token.token.expires_ms.is_none_or(|end| now_ms < end))
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::access::JoinTerms;

    use super::*;

    fn token(digest: u8, user: Option<&str>, role: Role, made_with: Option<u8>) -> Token {
        Token {
            id: format!("token-{digest}"),
            token: NewToken {
                digest: [digest; 32],
                kind: TokenKind::Personal,
                user: user.filter(|name| !name.contains(':')).map(str::to_owned),
                owner: user.filter(|name| name.contains(':')).map(str::to_owned),
                name: format!("t{digest}"),
                role,
                scope: TokenScope::Api,
                made_with: made_with.map(|digest| [digest; 32]),
                created_ms: 0,
                expires_ms: Some(1_000),
                join: JoinTerms::default(),
            },
        }
    }

    fn session_of(maker: u8) -> Token {
        let mut session = token(maker + 1, None, Role::Member, Some(maker));
        (session.token.kind, session.token.name) = (TokenKind::Session, String::new());
        session
    }

    #[test]
    fn a_token_is_worth_what_its_user_is_until_it_ends() {
        let accounts = Accounts::default();
        assert!(accounts.is_open());
        accounts.close([9; 32]);
        let ann = User { name: "ann".to_owned(), role: Role::Member, created_ms: 0 };
        let tokens = vec![
            token(1, Some("ann"), Role::Administrator, None),
            token(2, Some("ann"), Role::Viewer, None),
            token(3, Some("gone"), Role::Viewer, None),
            token(4, None, Role::Administrator, Some(9)),
            token(5, None, Role::Administrator, Some(8)),
            token(6, Some("ann"), Role::Member, Some(2)),
            token(10, Some("ann"), Role::Member, Some(6)),
            token(11, None, Role::Administrator, Some(5)),
            token(12, None, Role::Administrator, Some(12)),
            token(13, Some("token:nightly"), Role::Member, Some(9)),
            token(14, None, Role::Member, Some(9)),
            session_of(14),
        ];
        accounts.take(vec![ann], tokens);
        let who = |digest: u8, now| accounts.holder(&[digest; 32], now).map(|holder| holder.principal.to_string());
        let word = |text: &str| Some(text.to_owned());
        assert_eq!(who(9, 5_000), word("user:administrator:token"));
        assert_eq!(who(1, 0), word("user:member:ann"));
        assert_eq!(who(2, 0), word("user:viewer:ann"));
        assert_eq!(who(2, 1_000), None);
        assert_eq!(who(3, 0), None);
        assert_eq!(who(4, 0), word("user:administrator:token"));
        assert_eq!(who(5, 0), None, "the server's token is another now");
        assert_eq!(who(6, 0), word("user:member:ann"));
        assert_eq!(who(7, 0), None);
        assert_eq!(who(10, 0), word("user:member:ann"));
        assert_eq!(who(11, 0), None, "made with one that was made with the old token of the server");
        assert_eq!(who(12, 0), None, "made with itself");
        assert_eq!(who(13, 0), word("user:member:token:nightly"));
        assert_eq!(who(14, 0), word("user:member:token:t14"), "made by a release that wrote no owner down");
        assert_eq!(who(15, 0), word("user:member:token:t14"), "a session that was opened with it");
    }
}
