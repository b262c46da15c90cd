//! Whether an agent that says hello is the one that speaks for its environment.
//!
//! The server issues a credential at the first registration, and each welcome renews the seal that goes with it. The agent
//! proposes the next seal in its hello and saves it first, beside those that no welcome has confirmed yet, so a lost welcome
//! does no harm. A copied data folder still shows an old seal, and is found out as soon as the original says hello again; so
//! is a copy that was made between a hello and its welcome.

use serde::{Deserialize, Serialize};

use crate::access::FixedPlace;

/// What the server keeps of the agent that speaks for an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// Drawn by the agent when its data folder was made.
    pub instance: String,
    /// The operating system's name for the machine.
    pub machine: Option<String>,
    /// The kernel's boot id at the last hello.
    pub boot: String,
    /// A digest of the credential; none where only agents of a release without credentials have come.
    pub credential: Option<String>,
    pub seal: Option<String>,
    /// An operator wants another credential: one is issued at the next hello.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub must_renew: bool,
    /// When an operator has revoked it, in Unix milliseconds: its name is for who comes with a token of later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_ms: Option<u64>,
    /// What the token with which it joined has said of it.
    #[serde(skip_serializing_if = "FixedPlace::is_free")]
    pub place: FixedPlace,
    /// Digests of credentials of agents in whose place another machine was put, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
}

/// How many replaced agents of a name are known.
const MOST_REPLACED: usize = 16;

/// What an agent says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Introduction<'a> {
    pub instance: &'a str,
    pub machine: Option<&'a str>,
    pub boot: &'a str,
    /// A digest of the credential that it shows.
    pub credential: Option<&'a str>,
    /// The seal of its last welcome.
    pub seal: Option<&'a str>,
    /// The one that it proposes; the server has it already where the last welcome was lost on its way, and the agent is of a
    /// release that proposes one until it is confirmed.
    pub next_seal: Option<&'a str>,
    /// Those that it has proposed since its last welcome: the server has one of them where a welcome was lost.
    pub pending_seals: &'a [String],
}

/// How things stand with an environment when somebody comes under its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// Another process than the one that says hello is connected and was heard within [`super::SUSPECT_AFTER`].
    pub is_answering: bool,
    /// Runs of open tasks may live there.
    pub may_have_runs: bool,
    /// An older state of the database was put back, and its agent has not come since: the seal that is known is an old one.
    pub is_restored: bool,
    /// Who comes has a token that brings machines in and does nothing else: an operator says first that a machine is replaced.
    pub is_by_join_token: bool,
    /// An operator has said that its machine is lost.
    pub is_lost: bool,
}

/// What becomes of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A new name, or one whose earlier agent has left nothing behind: it gets a credential.
    Register,
    /// The agent that was here before.
    Return {
        /// Its machine has been started anew since, so that no process of before can live.
        is_new_boot: bool,
    },
    Refuse(Impostor),
}

/// Why an agent may not speak for the environment that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impostor {
    /// An operator has put another machine in its place: it gets the name no more, and what it runs counts as ended.
    Replaced,
    /// Another agent answers under this name.
    NameTaken,
    /// Another agent had this name, and what it started may still run.
    NameHeld,
    /// Another agent has this name and is away; nothing of it runs.
    NameKept,
    /// Its data folder is a copy of the one that belongs to the environment.
    Copy,
    /// It would be given a credential, and its disk takes none: it has proposed no seal, though it has had one before.
    CannotKeep,
}

/// Decides who speaks for an environment.
pub fn admit(known: Option<&Identity>, standing: Standing, hello: &Introduction<'_>) -> Admission {
    let Some(known) = known.filter(|known| !known.is_vacant()) else { return register(hello) };
    if hello.credential.is_some_and(|shown| known.has_replaced(shown)) {
        return Admission::Refuse(Impostor::Replaced);
    }
    // The agent that was restarted in place of one that was killed comes a moment later: its connection ends with it.
    if standing.is_answering {
        return Admission::Refuse(Impostor::NameTaken);
    }
    let is_same = is_same(known, hello);
    let is_elsewhere = known.machine.as_deref().zip(hello.machine).is_some_and(|(ours, theirs)| ours != theirs);
    let is_same = is_same || standing.is_restored && is_as_before(known, hello);
    if is_same && !is_elsewhere && (standing.is_restored || is_sealed(known, hello)) {
        let is_known = !known.boot.is_empty() && !hello.boot.is_empty();
        return Admission::Return { is_new_boot: is_known && known.boot != hello.boot };
    }
    // What an environment runs that has not come since a restore is not known.
    match (standing.may_have_runs || standing.is_restored, is_same) {
        (false, false) if standing.is_by_join_token && !standing.is_lost && known.is_kept() => {
            Admission::Refuse(Impostor::NameKept)
        }
        (false, _) => register(hello),
        (true, true) => Admission::Refuse(Impostor::Copy),
        (true, false) => Admission::Refuse(Impostor::NameHeld),
    }
}

/// A new agent under a name. What it is given with the welcome must outlive its next start: were it told of a credential that
/// it cannot write down, it would come back with the one of before and be taken for another.
fn register(hello: &Introduction<'_>) -> Admission {
    match hello.seal.is_some() && hello.next_seal.is_none() {
        true => Admission::Refuse(Impostor::CannotKeep),
        false => Admission::Register,
    }
}

/// Whether it shows the last seal, or the one that it proposed at a hello whose welcome was lost; of an agent of a release
/// without seals none is known.
fn is_sealed(known: &Identity, hello: &Introduction<'_>) -> bool {
    let kept = known.seal.as_deref();
    kept.is_none() || kept == hello.seal || hello.has_proposed(kept)
}

fn is_same(known: &Identity, hello: &Introduction<'_>) -> bool {
    // The welcome that issued its credential was lost; but the server has the seal that it proposed then.
    if hello.has_proposed(known.seal.as_deref()) {
        return true;
    }
    match (known.credential.as_deref(), hello.credential) {
        (Some(ours), theirs) => theirs == Some(ours),
        // Until now only agents of a release without credentials have come.
        (None, _) => known.instance == hello.instance,
    }
}

/// Whether it can be the agent that a database of before speaks of: its credential may have been issued since. One that was
/// given any shows it, and names the machine that it has named before.
fn is_as_before(known: &Identity, hello: &Introduction<'_>) -> bool {
    let has_credential = known.credential.is_none() || hello.credential.is_some();
    let is_there = known.machine.is_none() || known.machine.as_deref() == hello.machine;
    known.instance == hello.instance && has_credential && is_there
}

impl Introduction<'_> {
    /// Whether this seal is one that it has proposed and that no welcome has confirmed.
    fn has_proposed(&self, seal: Option<&str>) -> bool {
        seal.is_some_and(|seal| self.next_seal == Some(seal) || self.pending_seals.iter().any(|known| known == seal))
    }

    /// Whether a credential is to be issued to an agent that was admitted: it can keep one, which it has shown by a proposal
    /// that is on its disk, and does not show the one that is known, or shall have another. Should the welcome be lost, or the
    /// disk be full by then, the proposal is what it is known by.
    pub fn needs_credential(&self, known: Option<&Identity>, admission: Admission) -> bool {
        let is_shown =
            self.credential.is_some() && known.and_then(|known| known.credential.as_deref()) == self.credential;
        let must_renew = known.is_some_and(|known| known.must_renew);
        self.next_seal.is_some() && (admission == Admission::Register || !is_shown || must_renew)
    }
}

impl Identity {
    /// As it is kept once the agent has been admitted with this credential.
    pub fn after(hello: &Introduction<'_>, credential: Option<String>) -> Self {
        Self {
            instance: hello.instance.to_owned(),
            machine: hello.machine.map(str::to_owned),
            boot: hello.boot.to_owned(),
            credential,
            seal: hello.next_seal.or(hello.seal).map(str::to_owned),
            ..Self::default()
        }
    }

    /// As it is kept once an operator has revoked it: no credential, seal or folder is the one that is known, so that its
    /// agent is a stranger, while what it started is still its own.
    pub fn revoked(now_ms: u64) -> Self {
        Self { credential: Some(String::new()), revoked_ms: Some(now_ms), ..Self::default() }
    }

    /// As it is kept once an operator lets another machine take the name of this one.
    #[must_use]
    pub fn replaced(self) -> Self {
        let mut replaced = self.replaced;
        // The digest of nothing is that of one that was revoked.
        replaced.extend(self.credential.filter(|digest| !digest.is_empty()));
        replaced.drain(..replaced.len().saturating_sub(MOST_REPLACED));
        let of_before = Self { replaced, ..Self::default() };
        match self.revoked_ms {
            // Tokens that were made before a revocation bring no other machine in either.
            Some(revoked_ms) => Self { replaced: of_before.replaced, ..Self::revoked(revoked_ms) },
            None => of_before,
        }
    }

    /// Keeps in mind whom it has replaced, but for itself: nobody has come until it did.
    #[must_use]
    pub fn in_place_of(mut self, before: Option<&Self>, shown: Option<&str>) -> Self {
        let before = before.map(|before| before.replaced.as_slice()).unwrap_or_default();
        self.replaced = before.iter().filter(|digest| shown != Some(digest.as_str())).cloned().collect();
        self
    }

    /// Whether this credential was that of an agent in whose place another machine was put.
    pub fn has_replaced(&self, credential: &str) -> bool {
        self.replaced.iter().any(|digest| digest == credential)
    }

    /// Whether the name is free: nobody has taken it since its agent was replaced.
    pub fn is_vacant(&self) -> bool {
        self.instance.is_empty() && self.credential.is_none() && self.revoked_ms.is_none()
    }

    /// Whether the name is that of an agent which has a credential, so that no other takes it without an operator's word.
    fn is_kept(&self) -> bool {
        self.credential.is_some() && self.revoked_ms.is_none()
    }

    /// Whether a token that was made then brings a machine in under this name.
    pub fn is_open_to(&self, token_made_ms: Option<u64>) -> bool {
        self.revoked_ms.is_none_or(|revoked_ms| token_made_ms.is_some_and(|made_ms| made_ms > revoked_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Introduction<'_> = Introduction {
        instance: "i",
        machine: Some("m"),
        boot: "b1",
        credential: Some("c"),
        seal: Some("s1"),
        next_seal: Some("s2"),
        pending_seals: &[],
    };

    fn known() -> Identity {
        Identity { seal: Some("s1".into()), ..Identity::after(&HELLO, Some("c".into())) }
    }

    #[test]
    fn an_agent_comes_back_also_when_its_last_welcome_was_lost() {
        let known = known();
        let returns = |hello: &Introduction<'_>| admit(Some(&known), Standing::default(), hello);
        assert_eq!(returns(&HELLO), Admission::Return { is_new_boot: false });
        assert_eq!(returns(&Introduction { boot: "b2", ..HELLO }), Admission::Return { is_new_boot: true });
        let lost = Identity { seal: Some("s2".into()), ..known.clone() };
        let again = admit(Some(&lost), Standing::default(), &HELLO);
        assert_eq!(again, Admission::Return { is_new_boot: false });
    }

    /// The machine was cloned between a hello and its welcome; then the original has come once more.
    #[test]
    fn a_copy_that_has_the_proposal_of_a_lost_welcome_is_told_by_the_next_one() {
        let pending = ["s2".to_owned()];
        let lost = Identity { seal: Some("s2".into()), ..known() };
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        let original = Introduction { next_seal: Some("s3"), pending_seals: &pending, ..HELLO };
        assert_eq!(admit(Some(&lost), busy, &original), Admission::Return { is_new_boot: false });
        let kept = Identity::after(&original, Some("c".into()));
        let copy = Introduction { next_seal: Some("mine"), ..original };
        assert_eq!(admit(Some(&kept), busy, &copy), Admission::Refuse(Impostor::Copy));
        assert_eq!(admit(Some(&kept), busy, &original), Admission::Return { is_new_boot: false });
    }

    /// It had a credential of before, another agent took its name for a while, and then it was registered anew.
    #[test]
    fn an_agent_whose_registration_was_lost_on_its_way_is_known_by_the_seal_that_it_proposed() {
        let kept = Identity::after(&HELLO, Some("new".into()));
        let again = admit(Some(&kept), Standing { may_have_runs: true, ..Standing::default() }, &HELLO);
        assert_eq!(again, Admission::Return { is_new_boot: false });
        assert!(HELLO.needs_credential(Some(&kept), again));
        let shown = Introduction { credential: Some("new"), ..HELLO };
        assert!(
            !shown.needs_credential(Some(&kept), again) && shown.needs_credential(Some(&kept), Admission::Register)
        );
    }

    #[test]
    fn a_copy_is_told_by_its_machine_by_its_seal_and_by_the_original_that_answers() {
        let known = known();
        let copy = Admission::Refuse(Impostor::Copy);
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        let answering = Standing { is_answering: true, may_have_runs: true, ..Standing::default() };
        assert_eq!(admit(Some(&known), busy, &Introduction { machine: Some("other"), ..HELLO }), copy);
        let old = Introduction { seal: Some("s0"), next_seal: Some("mine"), ..HELLO };
        assert_eq!(admit(Some(&known), busy, &old), copy);
        assert_eq!(admit(Some(&known), Standing::default(), &old), Admission::Register, "nothing can be doubled");
        assert_eq!(admit(Some(&known), answering, &HELLO), Admission::Refuse(Impostor::NameTaken));
    }

    /// It has come since the backup, and perhaps was registered anew.
    #[test]
    fn after_a_restore_an_agent_is_known_without_its_seal() {
        let known = known();
        let restored = Standing { may_have_runs: true, is_restored: true, ..Standing::default() };
        let later = Introduction { seal: Some("s8"), next_seal: Some("s9"), ..HELLO };
        assert_eq!(admit(Some(&known), restored, &later), Admission::Return { is_new_boot: false });
        let anew = Introduction { credential: Some("other"), ..later };
        assert_eq!(admit(Some(&known), restored, &anew), Admission::Return { is_new_boot: false });
        let elsewhere = Introduction { machine: Some("other"), ..later };
        assert_eq!(admit(Some(&known), restored, &elsewhere), Admission::Refuse(Impostor::Copy));
        let idle = Standing { is_restored: true, ..Standing::default() };
        for stranger in [
            Introduction { instance: "other", credential: None, ..later },
            Introduction { credential: None, ..later },
            Introduction { credential: Some("other"), machine: None, ..later },
        ] {
            assert_eq!(admit(Some(&known), idle, &stranger), Admission::Refuse(Impostor::NameHeld), "{stranger:?}");
        }
    }

    #[test]
    fn a_stranger_gets_a_name_only_where_nothing_is_left_of_its_holder() {
        let known = known();
        let stranger = Introduction { instance: "other", credential: None, seal: None, ..HELLO };
        let cases = [
            (Standing { is_answering: true, ..Standing::default() }, Admission::Refuse(Impostor::NameTaken)),
            (Standing { may_have_runs: true, ..Standing::default() }, Admission::Refuse(Impostor::NameHeld)),
            (Standing::default(), Admission::Register),
        ];
        for (standing, expected) in cases {
            assert_eq!(admit(Some(&known), standing, &stranger), expected, "{standing:?}");
        }
        assert_eq!(admit(None, Standing::default(), &stranger), Admission::Register);
    }

    #[test]
    fn an_agent_in_whose_place_another_machine_was_put_gets_its_name_no_more() {
        let vacant = known().replaced();
        let anybody = Introduction { instance: "new", credential: None, seal: None, ..HELLO };
        for standing in [Standing::default(), Standing { is_by_join_token: true, is_lost: true, ..Standing::default() }]
        {
            assert_eq!(admit(Some(&vacant), standing, &anybody), Admission::Register);
            assert_eq!(admit(Some(&vacant), standing, &HELLO), Admission::Register, "nobody has come until now");
        }
        let taken = Identity::after(&anybody, Some("new".into())).in_place_of(Some(&vacant), None);
        let replaced = Admission::Refuse(Impostor::Replaced);
        for standing in [
            Standing::default(),
            Standing { is_answering: true, ..Standing::default() },
            Standing { may_have_runs: true, ..Standing::default() },
            Standing { is_restored: true, ..Standing::default() },
        ] {
            assert_eq!(admit(Some(&taken), standing, &HELLO), replaced, "{standing:?}");
        }
        let own = Introduction { credential: Some("new"), seal: Some("s2"), next_seal: Some("s3"), ..anybody };
        assert_eq!(admit(Some(&taken), Standing::default(), &own), Admission::Return { is_new_boot: false });
        let again = taken.replaced();
        assert_eq!(again.replaced, ["c", "new"]);
        let back = Identity::after(&HELLO, Some("newer".into())).in_place_of(Some(&again), Some("c"));
        assert_eq!(back.replaced, ["new"], "it came first after all");
        assert_eq!(Identity::revoked(7).replaced().revoked_ms, Some(7));
        let many = (0..40)
            .fold(known(), |known, number| Identity { credential: Some(number.to_string()), ..known }.replaced());
        assert_eq!(many.replaced.len(), MOST_REPLACED);
    }

    #[test]
    fn a_join_token_alone_takes_no_name_of_an_agent_that_has_a_credential() {
        let stranger = Introduction { instance: "other", credential: None, seal: None, ..HELLO };
        let away = Standing { is_by_join_token: true, ..Standing::default() };
        let old = Introduction { credential: None, seal: None, next_seal: None, ..HELLO };
        let kept = Admission::Refuse(Impostor::NameKept);
        for hello in [stranger, old, Introduction { credential: Some("other"), ..HELLO }] {
            assert_eq!(admit(Some(&known()), away, &hello), kept, "{hello:?}");
            assert_eq!(admit(Some(&known()), Standing::default(), &hello), Admission::Register, "an operator's token");
            assert_eq!(admit(Some(&known()), Standing { is_lost: true, ..away }, &hello), Admission::Register);
            assert_eq!(admit(Some(&Identity::revoked(1)), away, &hello), Admission::Register);
        }
        let of_before = Identity::after(&old, None);
        assert_eq!(admit(Some(&of_before), away, &stranger), Admission::Register, "it never had a credential");
        let copy = Introduction { seal: Some("s0"), next_seal: Some("mine"), ..HELLO };
        assert_eq!(admit(Some(&known()), away, &copy), Admission::Register, "it shows the credential");
        let back = admit(Some(&known()), away, &HELLO);
        assert_eq!(back, Admission::Return { is_new_boot: false });
    }

    #[test]
    fn who_shows_no_credential_is_not_the_one_that_was_given_one() {
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        let old = Introduction { credential: None, seal: None, next_seal: None, machine: None, ..HELLO };
        for hello in
            [old, Introduction { credential: None, ..HELLO }, Introduction { credential: None, seal: None, ..HELLO }]
        {
            assert_eq!(admit(Some(&known()), busy, &hello), Admission::Refuse(Impostor::NameHeld), "{hello:?}");
        }
        let unsealed = Introduction { seal: None, next_seal: None, ..HELLO };
        assert_eq!(admit(Some(&known()), busy, &unsealed), Admission::Refuse(Impostor::Copy));
        let lost = Introduction { credential: None, seal: None, next_seal: Some("s1"), ..HELLO };
        let again = admit(Some(&known()), busy, &lost);
        assert_eq!(again, Admission::Return { is_new_boot: false }, "its first welcome was lost");
    }

    #[test]
    fn another_credential_is_issued_when_an_operator_wants_so_and_again_if_its_welcome_was_lost() {
        let known = Identity { must_renew: true, ..known() };
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        let back = admit(Some(&known), busy, &HELLO);
        assert_eq!(back, Admission::Return { is_new_boot: false });
        assert!(HELLO.needs_credential(Some(&known), back));
        let kept = Identity::after(&HELLO, Some("new".into()));
        assert!(!kept.must_renew);
        let again = admit(Some(&kept), busy, &HELLO);
        assert_eq!(again, Admission::Return { is_new_boot: false });
        assert!(HELLO.needs_credential(Some(&kept), again));
    }

    /// Its credential of before is not the one that is known, and after its next start it would show that one again.
    #[test]
    fn an_agent_that_cannot_keep_a_credential_is_registered_once_it_can() {
        let full = Introduction { credential: Some("of before"), next_seal: None, ..HELLO };
        let cannot = Admission::Refuse(Impostor::CannotKeep);
        for known in [None, Some(&known()), Some(&Identity::revoked(1))] {
            assert_eq!(admit(known, Standing::default(), &full), cannot, "{known:?}");
            let later = Introduction { next_seal: Some("s2"), ..full };
            assert_eq!(admit(known, Standing::default(), &later), Admission::Register, "{known:?}");
            let old = Introduction { credential: None, seal: None, next_seal: None, ..HELLO };
            assert_eq!(admit(known, Standing::default(), &old), Admission::Register, "of a release without seals");
        }
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        assert_eq!(admit(Some(&known()), busy, &full), Admission::Refuse(Impostor::NameHeld));
        let own = Introduction { next_seal: None, ..HELLO };
        let back = admit(Some(&known()), busy, &own);
        assert_eq!(back, Admission::Return { is_new_boot: false }, "the old seal holds");
        let renewed = Identity { must_renew: true, ..known() };
        assert!(!own.needs_credential(Some(&renewed), back), "another one is issued when the disk takes it");
        assert!(HELLO.needs_credential(Some(&renewed), back));
    }

    #[test]
    fn a_revoked_agent_is_a_stranger() {
        let revoked = Identity::revoked(1_000);
        for (token_made_ms, is_open) in [(None, false), (Some(999), false), (Some(1_000), false), (Some(1_001), true)] {
            assert_eq!(revoked.is_open_to(token_made_ms), is_open, "{token_made_ms:?}");
            assert!(known().is_open_to(token_made_ms));
        }
        let busy = Standing { may_have_runs: true, ..Standing::default() };
        let old = Introduction { credential: None, seal: None, next_seal: None, ..HELLO };
        for hello in [HELLO, old, Introduction { seal: None, ..HELLO }] {
            assert_eq!(admit(Some(&revoked), busy, &hello), Admission::Refuse(Impostor::NameHeld), "{hello:?}");
            assert_eq!(admit(Some(&revoked), Standing::default(), &hello), Admission::Register, "{hello:?}");
        }
    }

    #[test]
    fn agents_of_a_release_without_credentials_are_known_by_their_folder() {
        let old = Introduction { credential: None, seal: None, next_seal: None, machine: None, ..HELLO };
        let kept = Identity::after(&old, None);
        assert_eq!(admit(Some(&kept), Standing::default(), &old), Admission::Return { is_new_boot: false });
        assert_eq!(admit(Some(&kept), Standing::default(), &HELLO), Admission::Return { is_new_boot: false });
    }
}
