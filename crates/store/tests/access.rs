//! Users, tokens, secrets, owners, and who is behind an event.
#![allow(clippy::unwrap_used)]

mod support;

use fermi_domain::{
    access::{JoinTerms, SecretHolder, TokenKind, TokenScope},
    language::Text,
    principal::{Principal, Role},
};
use fermi_store::{
    Store,
    events::{ActorFilter, EventFilter, NewEvent},
    secrets::SealedValue,
    tokens::NewToken,
};
use support::{read, registration, write};
use tempfile::tempdir;

fn token(digest: u8, kind: TokenKind, expires_ms: Option<u64>) -> NewToken {
    NewToken {
        digest: [digest; 32],
        kind,
        owner: None,
        user: Some("ann".to_owned()),
        name: "a test".to_owned(),
        role: Role::Member,
        scope: TokenScope::Agent,
        made_with: (digest == 3).then_some([1; 32]),
        created_ms: 5,
        expires_ms,
        join: JoinTerms::default(),
    }
}

#[test]
fn secrets_are_replaced_listed_by_holder_and_removed_with_their_user() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (all, ann) = (SecretHolder::Shared, SecretHolder::User("ann".to_owned()));
    let value = |byte: u8| SealedValue { nonce: [byte; 24], sealed: vec![byte, 0, byte] };
    write(&store, |tx| tx.add_user("ann", Role::Member, "hash", 5));
    for (holder, name, byte) in [(&ann, "b", 1), (&ann, "a", 2), (&all, "b", 3), (&ann, "b", 4)] {
        let holder = holder.clone();
        write(&store, move |tx| tx.set_secret(&holder, name, &value(byte), u64::from(byte)));
    }
    let rows = read(&store, |v| v.secrets());
    let rows: Vec<_> = rows.iter().map(|row| (row.holder.user(), row.name.as_str(), row.updated_ms)).collect();
    assert_eq!(rows, [(None, "b", 3), (Some("ann"), "a", 2), (Some("ann"), "b", 4)]);
    let of_ann = ann.clone();
    assert_eq!(read(&store, move |v| v.secret(&of_ann, "b")), Some(value(4)));
    let of_ann = ann.clone();
    assert!(write(&store, move |tx| tx.remove_secret(&of_ann, "b")));
    assert!(!write(&store, move |tx| tx.remove_secret(&ann, "b")));
    write(&store, |tx| tx.remove_user("ann", 7));
    assert_eq!(read(&store, |v| v.secrets()).len(), 1);
    assert_eq!(read(&store, move |v| v.secret(&all, "b")), Some(value(3)));
}

#[test]
fn a_user_who_is_removed_keeps_the_name_and_loses_every_token() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(write(&store, |tx| tx.add_user("ann", Role::Member, "hash", 5)));
    assert!(!write(&store, |tx| tx.add_user("ann", Role::Viewer, "other", 6)));
    write(&store, |tx| tx.add_token(&token(1, TokenKind::Personal, None)));
    assert!(write(&store, |tx| tx.remove_user("ann", 7)));
    assert!(!write(&store, |tx| tx.remove_user("ann", 8)));
    let (users, tokens, hash) = read(&store, |v| Ok((v.users()?, v.tokens()?, v.password_of("ann")?)));
    assert!(users.is_empty() && tokens.is_empty() && hash.is_none());
    assert!(!write(&store, |tx| tx.set_role("ann", Role::Administrator)));

    assert!(write(&store, |tx| tx.add_user("ann", Role::Viewer, "new", 9)));
    let (user, hash) = read(&store, |v| Ok((v.user("ann")?, v.password_of("ann")?)));
    assert_eq!((user.unwrap().role, hash.as_deref()), (Role::Viewer, Some("new")));
}

#[test]
fn tokens_are_read_back_revoked_and_forgotten_when_they_are_over() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    write(&store, |tx| tx.add_user("ann", Role::Member, "hash", 5));
    let all = [(1, TokenKind::Personal, None), (2, TokenKind::Session, Some(100)), (3, TokenKind::Session, Some(900))];
    for (digest, kind, expires) in all {
        write(&store, move |tx| tx.add_token(&token(digest, kind, expires)));
    }
    let kept = read(&store, |v| v.tokens());
    assert_eq!(kept[2].token, token(3, TokenKind::Session, Some(900)));
    assert_eq!(kept.iter().map(|kept| kept.id.as_str()).collect::<Vec<_>>(), ["token-1", "token-2", "token-3"]);
    assert_eq!(write(&store, |tx| tx.remove_expired_sessions(100)), 1);
    assert_eq!(write(&store, |tx| tx.end_sessions("ann", Some(&[3; 32]))), 0);
    assert_eq!(write(&store, |tx| tx.end_sessions("ann", None)), 1);
    assert!(write(&store, |tx| tx.remove_token("token-1")));
    assert!(!write(&store, |tx| tx.remove_token("token-1")));
}

#[test]
fn events_are_found_by_who_asked_and_when() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let user = |role, name: &str| Principal::User { role, name: name.to_owned() };
    let who = [
        Principal::System,
        user(Role::Member, "ann"),
        user(Role::Operator, "ann"),
        user(Role::Member, "joann"),
        Principal::agent_of("ann".into()),
    ];
    for (time, principal) in (10..).zip(who.clone()) {
        let event = NewEvent::new(time, "test", Text::new("", ""), principal);
        write(&store, move |tx| tx.append_event(event));
    }
    let ann = Some(ActorFilter::User("ann".to_owned()));
    let table = [
        (EventFilter { by: Some(ActorFilter::Users), ..Default::default() }, vec![11, 12, 13]),
        (EventFilter { by: ann.clone(), ..Default::default() }, vec![11, 12]),
        (EventFilter { by: ann, since_ms: Some(12), ..Default::default() }, vec![12]),
        (EventFilter { since_ms: Some(11), until_ms: Some(13), ..Default::default() }, vec![11, 12]),
    ];
    for (filter, times) in table {
        let asked = filter.clone();
        let found = read(&store, move |v| v.events(0, &asked, 100));
        assert_eq!(found.iter().map(|found| found.event.time_ms).collect::<Vec<_>>(), times, "{filter:?}");
        assert!(found.iter().all(|found| filter.matches(&found.event)));
        let all = read(&store, |v| v.events(0, &EventFilter::default(), 100));
        assert_eq!(all.iter().filter(|one| filter.matches(&one.event)).count(), times.len(), "{filter:?}");
    }
}

#[test]
fn a_thing_has_the_owner_that_it_was_given() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    write(&store, |tx| tx.set_owner("model-001", "ann"));
    assert_eq!(read(&store, |v| v.owner("model-001")).as_deref(), Some("ann"));
    assert_eq!(read(&store, |v| v.owner("model-002")), None);
    write(&store, |tx| tx.forget_owner("model-001"));
    assert_eq!(read(&store, |v| v.owner("model-001")), None);
}

#[test]
fn a_company_account_is_one_user_until_that_user_is_added_anew() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let found = |subject: &'static str| read(&store, move |view| view.linked_user("https://id.example", subject));
    for name in ["ann", "bob"] {
        write(&store, move |tx| tx.add_user(name, Role::Member, "", 5));
    }
    for (subject, name) in [("u1", "ann"), ("u2", "bob"), ("u3", "ann"), ("u2", "ann")] {
        write(&store, move |tx| tx.link_user("https://id.example", subject, name, 6));
    }
    assert_eq!((found("u1"), found("u3")), (None, None));
    let ann = found("u2").unwrap();
    assert_eq!((ann.name.as_str(), ann.role, ann.is_removed), ("ann", Role::Member, false));
    assert_eq!(read(&store, |view| view.linked_user("https://other.example", "u2")), None);
    assert_eq!(read(&store, |view| view.linked_names()), ["ann"]);
    write(&store, |tx| tx.remove_user("ann", 7));
    assert!(found("u2").unwrap().is_removed && read(&store, |view| view.is_name_known("ann")));
    write(&store, |tx| tx.add_user("ann", Role::Member, "hash", 8));
    assert_eq!(found("u2"), None);
}

#[test]
fn a_token_has_an_owner_and_a_name_stays_revoked_without_its_environment() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let new = NewToken { user: None, owner: Some("token:nightly".to_owned()), ..token(1, TokenKind::Personal, None) };
    let kept = new.clone();
    write(&store, move |tx| tx.add_token(&kept));
    assert_eq!(read(&store, |view| view.tokens()).remove(0).token, new);
    let row = write(&store, |tx| tx.register_environment(&registration("gn6"), 5));
    write(&store, |tx| tx.note_revoked("gn6", 6));
    store.write_blocking(move |tx| tx.delete_environment(&row.environment.id)).unwrap();
    assert_eq!(read(&store, |view| view.name_revoked_ms("gn6")), Some(6));
    assert_eq!(read(&store, |view| view.name_revoked_ms("gn7")), None);
}
