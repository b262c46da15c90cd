//! How the two ends of a link show each other that they know the secret of the run, which is never sent.
//!
//! The node greets with a nonce, the coordinator answers with its own, and each shows a proof that only the secret yields
//! from both. All that was said up to there goes into the proofs and into the key of the frames: nothing of it can be
//! changed on its way, and nothing of another link fits. The node proves first: a port that is open to everybody gives
//! strangers nothing by which they could try words.

use std::fmt;
use std::io;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::frame_signature::{Direction, FrameSignature, SIGNATURE};
use crate::greeting::{Greeting, LINK_VERSION};
use crate::join_refusal::JoinRefusal;
use crate::strangers_words::legible;

/// What was never said before.
pub type Nonce = [u8; 32];
/// What shows that its sender knows the secret.
pub type Proof = [u8; SIGNATURE];

pub fn nonce() -> io::Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    Ok(nonce)
}

/// The coordinator's answer to a greeting where the run has a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    pub coordinator: String,
    pub nonce: Nonce,
}

/// What a node says to a [`Challenge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeProof {
    pub proof: Proof,
}

/// What a coordinator makes of a greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The run has no secret, and neither has the node.
    Believe,
    Challenge,
    Refuse(JoinRefusal),
}

/// Where a secret is set, nobody is let in without a proof, whatever version it claims to speak.
pub fn reception(greeting: &Greeting, secret: &str) -> Reception {
    if let Err(refusal) = greeting.check_version() {
        return Reception::Refuse(refusal);
    }
    let names_secret = greeting.nonce.is_some() || !greeting.secret.is_empty();
    match (secret.is_empty(), names_secret) {
        (true, false) => Reception::Believe,
        (false, true) if greeting.version < LINK_VERSION => Reception::Refuse(JoinRefusal::ProvesNothing {
            ours: env!("CARGO_PKG_VERSION").to_owned(),
            theirs: legible(&greeting.fermi),
        }),
        (false, true) if greeting.nonce.is_some() => Reception::Challenge,
        _ => Reception::Refuse(JoinRefusal::WrongSecret),
    }
}

/// What the secret yields for one link.
pub struct Session {
    key: Hmac<Sha256>,
}

impl Session {
    /// Of the greeting and the challenge as they were sent, byte for byte: they hold both nonces, and who is who.
    pub fn new(secret: &str, greeting: &[u8], challenge: &[u8]) -> io::Result<Self> {
        let mut of_both = keyed(secret.as_bytes())?;
        of_both.update(b"fermi link 2");
        for said in [greeting, challenge] {
            // Lengths keep the two apart.
            of_both.update(&(said.len() as u64).to_le_bytes());
            of_both.update(said);
        }
        Ok(Self { key: keyed(&of_both.finalize().into_bytes())? })
    }

    pub fn prove(&self, role: LinkRole) -> Proof {
        self.yielded(role.name()).finalize().into_bytes().into()
    }

    /// Whether this is the proof of the other side, in a time that says nothing of where it differs.
    pub fn is_proven(&self, role: LinkRole, proof: &Proof) -> bool {
        self.yielded(role.name()).verify_slice(proof).is_ok()
    }

    /// Signs what goes in one direction.
    pub fn signature(&self, direction: Direction) -> io::Result<FrameSignature> {
        FrameSignature::new(&self.yielded("frames").finalize().into_bytes().into(), direction)
    }

    fn yielded(&self, purpose: &str) -> Hmac<Sha256> {
        let mut yielded = self.key.clone();
        yielded.update(purpose.as_bytes());
        yielded
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRole {
    Node,
    Coordinator,
}

impl LinkRole {
    fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Coordinator => "coordinator",
        }
    }

    /// Which way its frames go.
    pub fn sends(self) -> Direction {
        match self {
            Self::Node => Direction::ToCoordinator,
            Self::Coordinator => Direction::ToNode,
        }
    }
}

fn keyed(key: &[u8]) -> io::Result<Hmac<Sha256>> {
    Hmac::new_from_slice(key).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Explained;

    use super::*;
    use crate::frame::Inbox;
    use crate::link::{JoinAnswer, LARGEST_GREETING};

    fn greeting(version: u32, secret: &str, nonce: Option<Nonce>) -> Greeting {
        Greeting { version, fermi: "0".into(), secret: secret.into(), nonce, ..Greeting::sample() }
    }

    #[test]
    fn a_proof_holds_for_its_secret_its_role_and_what_was_said() {
        let session = Session::new("secret", b"greeting", b"challenge").unwrap();
        let proof = session.prove(LinkRole::Node);
        assert!(Session::new("secret", b"greeting", b"challenge").unwrap().is_proven(LinkRole::Node, &proof));
        assert!(!session.is_proven(LinkRole::Coordinator, &proof), "it was sent back");
        let others = [
            ("secres", "greeting", "challenge"),
            ("", "greeting", "challenge"),
            ("secret", "greetinG", "challenge"),
            ("secret", "greeting", "challengE"),
            ("secret", "greetingc", "hallenge"),
        ];
        for (secret, greeting, challenge) in others {
            let other = Session::new(secret, greeting.as_bytes(), challenge.as_bytes()).unwrap();
            assert!(!other.is_proven(LinkRole::Node, &proof), "{secret} {greeting} {challenge}");
        }
        assert!(!session.is_proven(LinkRole::Node, &Proof::default()));
    }

    #[test]
    fn what_is_never_said_again_is_new_each_time() {
        assert_ne!(nonce().unwrap(), nonce().unwrap());
    }

    #[test]
    fn nobody_is_let_in_without_a_proof_where_a_secret_is_set() {
        let wrong = Reception::Refuse(JoinRefusal::WrongSecret);
        let table = [
            (greeting(2, "", Some([7; 32])), Reception::Challenge),
            (greeting(2, "", None), wrong.clone()),
            (greeting(2, "s", None), wrong.clone()),
            (greeting(1, "", None), wrong.clone()),
        ];
        for (greeting, reception_of_it) in table {
            assert_eq!(reception(&greeting, "s"), reception_of_it, "{greeting:?}");
        }
        for greeting in [greeting(1, "s", None), greeting(1, "guess", None), greeting(1, "", Some([7; 32]))] {
            let refused = reception(&greeting, "s");
            assert!(matches!(refused, Reception::Refuse(JoinRefusal::ProvesNothing { .. })), "{greeting:?}");
        }
    }

    #[test]
    fn without_a_secret_nodes_of_both_versions_are_believed_and_one_with_a_secret_is_not() {
        for version in [1, 2] {
            assert_eq!(reception(&greeting(version, "", None), ""), Reception::Believe);
        }
        for greeting in [greeting(1, "s", None), greeting(2, "", Some([7; 32]))] {
            assert_eq!(reception(&greeting, ""), Reception::Refuse(JoinRefusal::WrongSecret));
        }
        let later = reception(&greeting(3, "", None), "");
        assert!(matches!(later, Reception::Refuse(JoinRefusal::OtherVersion { .. })));
    }

    #[test]
    fn strangers_proofs_and_answers_are_read_or_refused() {
        let refused = JoinRefusal::OtherRun { ours: "\u{1b}[2Jours".into(), theirs: "theirs".into() };
        let challenge = Challenge { coordinator: "gn6".into(), nonce: [7; 32] };
        let samples = [
            serde_json::to_vec(&JoinAnswer::Challenge(challenge)).unwrap(),
            serde_json::to_vec(&JoinAnswer::Proven { proof: [9; 32] }).unwrap(),
            serde_json::to_vec(&JoinAnswer::Refused(refused)).unwrap(),
            serde_json::to_vec(&JoinAnswer::UnderWay { run: "r".into() }).unwrap(),
            serde_json::to_vec(&NodeProof { proof: [1; 32] }).unwrap(),
        ];
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let session = Session::new("secret", b"greeting", b"challenge").unwrap();
        fermi_mutator::try_all(&samples, 4_000, |case| {
            if let Ok(JoinAnswer::Refused(refusal)) = serde_json::from_slice(case) {
                assert!(!refusal.legible().text().en.contains(char::is_control), "it is shown on a terminal");
            }
            if let Ok(NodeProof { proof }) = serde_json::from_slice(case) {
                assert!(!session.is_proven(LinkRole::Node, &proof));
            }
            // Nothing that was not signed is a message, wherever it ends.
            let mut inbox = Inbox::for_stranger(LARGEST_GREETING);
            inbox.check(session.signature(Direction::ToNode).unwrap());
            let mut said = case;
            let _ = inbox.fill(&mut said);
            assert!(!matches!(inbox.take_body(), Ok(Some(_))));
        });
    }

    #[test]
    fn a_refusal_is_told_in_words_that_version_1_knows() {
        let refusal = JoinRefusal::ProvesNothing { ours: "2".into(), theirs: "1".into() };
        let told = refusal.clone().as_known_to(1);
        assert_eq!(told, JoinRefusal::OtherVersion { ours: "2".into(), theirs: "1".into() });
        assert_eq!(refusal.clone().as_known_to(2), refusal);
    }
}
