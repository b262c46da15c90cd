//! Courses of a store, played without sockets.

use proptest::prelude::*;

use super::*;

/// A store and what its clients were answered.
#[derive(Default)]
struct Play {
    store: Store,
}

impl Play {
    /// Everything that is answered to one command, with the client that hears it.
    fn say(&mut self, client: u64, request: Request<'_>) -> Vec<(u64, Vec<u8>)> {
        let mut heard = Vec::new();
        self.store.take(client, &request, &mut |client, bytes| heard.push((client, bytes.to_vec()))).unwrap();
        heard
    }

    /// What the client alone is answered, in however many pieces.
    fn one(&mut self, request: Request<'_>) -> Vec<u8> {
        let heard = self.say(1, request);
        assert!(!heard.is_empty() && heard.iter().all(|(client, _)| *client == 1), "{heard:?}");
        heard.into_iter().flat_map(|(_, bytes)| bytes).collect()
    }
}

fn number(value: i64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

const K: &[u8] = b"/k";

#[test]
fn values_are_set_read_counted_listed_and_deleted() {
    let mut play = Play::default();
    assert!(play.say(1, Request::Set { key: K, value: b"v" }).is_empty());
    assert_eq!(play.one(Request::Get { key: K }), framed(b"v"));
    assert!(play.say(1, Request::Append { key: K, value: b"w" }).is_empty());
    assert_eq!(play.one(Request::Get { key: K }), framed(b"vw"));
    assert_eq!(play.one(Request::Get { key: b"/other" }), framed(b""));
    assert!(play.say(1, Request::MultiSet { pairs: vec![(b"/a", b"1"), (b"/b", b"22")] }).is_empty());
    assert_eq!(play.one(Request::MultiGet { keys: vec![b"/b", b"/a"] }), [framed(b"22"), framed(b"1")].concat());
    assert_eq!(play.one(Request::CountKeys), number(3));
    assert_eq!(play.one(Request::ListKeys).len(), 8 + 3 * 8 + 6);
    assert_eq!(play.one(Request::Delete { key: K }), number(1));
    assert_eq!(play.one(Request::Delete { key: K }), number(0));
    assert_eq!(play.one(Request::Check { keys: vec![K, b"/a"] }), [NOT_READY]);
    assert_eq!(play.one(Request::Check { keys: vec![] }), [READY]);
    assert_eq!(play.one(Request::Ping { nonce: 7 }), 7u32.to_le_bytes());
}

#[test]
fn compare_set_answers_as_torch_does() {
    let mut play = Play::default();
    let table: [(&[u8], &[u8], &[u8]); 5] =
        [(b"x", b"v", b"x"), (b"", b"v1", b"v1"), (b"zz", b"v2", b"v1"), (b"v1", b"v2", b"v2"), (b"", b"v3", b"v2")];
    for (expected, desired, answer) in table {
        assert_eq!(play.one(Request::CompareSet { key: K, expected, desired }), framed(answer));
    }
}

#[test]
fn numbers_are_decimal_texts() {
    let mut play = Play::default();
    assert_eq!(play.one(Request::Add { key: K, amount: 3 }), number(3));
    assert_eq!(play.one(Request::Add { key: K, amount: -5 }), number(-2));
    assert_eq!(play.one(Request::Get { key: K }), framed(b"-2"));
    play.say(1, Request::Set { key: K, value: b"12x" });
    assert_eq!(play.one(Request::Add { key: K, amount: 1 }), number(13));
    play.say(1, Request::Set { key: K, value: b"abc" });
    let refused = play.store.take(1, &Request::Add { key: K, amount: 1 }, &mut |_, _| {});
    assert_eq!(refused, Err(Full::NotANumber));
}

#[test]
fn those_who_wait_are_told_when_the_last_key_comes_and_once() {
    let mut play = Play::default();
    assert!(play.say(1, Request::Wait { keys: vec![b"/a", b"/b"] }).is_empty());
    assert!(play.say(2, Request::Wait { keys: vec![b"/b"] }).is_empty());
    assert!(play.say(3, Request::Set { key: b"/a", value: b"" }).is_empty());
    let mut told: Vec<u64> =
        play.say(3, Request::Add { key: b"/b", amount: 1 })[1..].iter().map(|(to, _)| *to).collect();
    told.sort_unstable();
    assert_eq!(told, [1, 2]);
    assert!(play.say(3, Request::Set { key: b"/b", value: b"" }).is_empty());
    assert!(play.store.waits.is_empty() && play.store.waiting_for.is_empty());
    assert_eq!(play.one(Request::Wait { keys: vec![b"/a", b"/b"] }), [STOP_WAITING]);
}

#[test]
fn who_gives_up_waiting_hears_only_that() {
    let mut play = Play::default();
    assert!(play.say(1, Request::Wait { keys: vec![K] }).is_empty());
    assert_eq!(play.one(Request::CancelWait), [WAIT_CANCELED]);
    assert!(play.say(2, Request::Set { key: K, value: b"v" }).is_empty());
    // The key came while the client was about to give up: it hears both, in this order.
    assert_eq!(play.one(Request::Wait { keys: vec![K] }), [STOP_WAITING]);
    assert_eq!(play.one(Request::CancelWait), [WAIT_CANCELED]);
}

#[test]
fn a_client_that_is_gone_is_waited_for_by_nothing() {
    let mut play = Play::default();
    play.say(1, Request::Wait { keys: vec![b"/a", b"/b"] });
    play.store.forget(1);
    assert!(play.say(2, Request::MultiSet { pairs: vec![(b"/a", b""), (b"/b", b"")] }).is_empty());
    assert!(play.store.waiting_for.is_empty());
}

#[test]
fn queues_are_first_in_first_out_and_no_keys() {
    let mut play = Play::default();
    assert!(play.say(1, Request::Wait { keys: vec![K] }).is_empty());
    assert_eq!(play.say(2, Request::QueuePush { key: K, value: b"a" }), [(1, vec![STOP_WAITING])]);
    play.say(2, Request::QueuePush { key: K, value: b"b" });
    assert_eq!(play.one(Request::QueueLength { key: K }), number(2));
    assert_eq!(play.one(Request::CountKeys), number(0));
    assert_eq!(play.one(Request::Delete { key: K }), number(0));
    assert_eq!(play.one(Request::QueuePop { key: K }), [number(1), framed(b"a")].concat());
    assert_eq!(play.one(Request::QueuePop { key: K }), [number(1), framed(b"b")].concat());
    assert_eq!(play.one(Request::QueuePop { key: K }), number(0));
    assert_eq!(play.one(Request::Check { keys: vec![K] }), [NOT_READY]);
}

#[test]
fn a_barrier_opens_for_all_when_the_last_one_comes() {
    let mut play = Play::default();
    let come = Request::Barrier { key: K, world_size: 3 };
    assert!(play.say(1, come.clone()).is_empty());
    assert!(play.say(2, come.clone()).is_empty());
    let mut opened: Vec<u64> = play.say(3, come).into_iter().map(|(client, _)| client).collect();
    opened.sort_unstable();
    assert_eq!(opened, [1, 2, 3]);
    assert!(play.store.waits.is_empty());
}

#[test]
fn a_full_store_refuses_and_what_is_overwritten_or_taken_makes_room() {
    let mut play = Play::default();
    play.store.bytes = MOST_BYTES - 100;
    play.say(1, Request::Set { key: b"/a", value: b"v" });
    let set = Request::Set { key: b"/b", value: b"v" };
    assert_eq!(play.store.take(1, &set, &mut |_, _| {}), Err(Full::Full));
    assert_eq!(play.one(Request::Delete { key: b"/a" }), number(1));
    assert_eq!(play.store.take(1, &set, &mut |_, _| {}), Ok(()));
}

proptest! {
    /// What is counted is what is there, whatever clients do.
    #[test]
    fn the_account_of_bytes_is_right(steps in proptest::collection::vec((0u8..8, 0u8..4, 0u8..6), 0..120)) {
        let mut play = Play::default();
        for (what, key, size) in steps {
            let (key, value) = ([b'k', key], vec![b'1'; usize::from(size)]);
            let request = match what {
                0 => Request::Set { key: &key, value: &value },
                1 => Request::Append { key: &key, value: &value },
                2 => Request::Delete { key: &key },
                3 => Request::QueuePush { key: &key, value: &value },
                4 => Request::QueuePop { key: &key },
                5 => Request::Wait { keys: vec![&key] },
                6 => Request::CancelWait,
                _ => Request::CompareSet { key: &key, expected: b"", desired: &value },
            };
            play.say(u64::from(size), request);
        }
        let values: usize = play.store.values.iter().map(|(key, value)| cost(key, value)).sum();
        let queued: usize =
            play.store.queues.iter().flat_map(|(key, queue)| queue.iter().map(move |value| cost(key, value))).sum();
        prop_assert_eq!(play.store.bytes, values + queued);
        let watched: usize = play.store.waiting_for.values().map(HashSet::len).sum();
        prop_assert!(watched <= play.store.waits.len());
    }
}
