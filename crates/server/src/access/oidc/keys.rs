//! The keys with which the service signs, as they were last fetched.

use std::time::{Duration, Instant};

use fermi_domain::access::oidc::{IdClaims, IdTokenFault};

use super::signature::{PublicKey, SignedToken};

/// Keys that are older are fetched again before they are used.
const FRESH_FOR: Duration = Duration::from_secs(60 * 60);
/// So often in a row keys are fetched for a token whose key is not among them; then only after a while.
const MOST_IN_VAIN: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct KnownKeys {
    keys: Vec<PublicKey>,
    fetched: Option<Instant>,
    in_vain: u32,
}

impl KnownKeys {
    /// What a token says, if one of the keys has signed it.
    pub fn open(&mut self, token: &SignedToken) -> Result<IdClaims, IdTokenFault> {
        let is_meant = |key: &&PublicKey| token.key.is_none() || token.key == key.id;
        let mut found = false;
        for key in self.keys.iter().filter(is_meant) {
            found = true;
            if let Some(claims) = token.opened_by(key) {
                self.in_vain = 0;
                return Ok(claims.clone());
            }
        }
        // Without a name any of them could have been it, and one that is not known yet.
        Err(if found && token.key.is_some() { IdTokenFault::Signature } else { IdTokenFault::UnknownKey })
    }

    /// Whether they are to be fetched before they are used.
    pub fn are_old(&self, now: Instant) -> bool {
        self.fetched.is_none_or(|fetched| now.duration_since(fetched) >= FRESH_FOR)
    }

    /// Whether they may be fetched because a key was not among them.
    pub fn may_ask_again(&self, now: Instant) -> bool {
        let waited = self.fetched.is_none_or(|fetched| now.duration_since(fetched) >= PAUSE);
        self.in_vain < MOST_IN_VAIN || waited
    }

    pub fn asked_again(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    pub fn take(&mut self, keys: Vec<PublicKey>, now: Instant) {
        (self.keys, self.fetched) = (keys, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_fetched_again_now_and_then_and_not_for_every_token() {
        let (mut keys, now) = (KnownKeys::default(), Instant::now());
        assert!(keys.are_old(now) && keys.may_ask_again(now));
        keys.take(Vec::new(), now);
        assert!(!keys.are_old(now + FRESH_FOR / 2) && keys.are_old(now + FRESH_FOR));
        for _ in 0..MOST_IN_VAIN {
            assert!(keys.may_ask_again(now));
            keys.asked_again();
        }
        assert!(!keys.may_ask_again(now + PAUSE / 2) && keys.may_ask_again(now + PAUSE));
    }
}
