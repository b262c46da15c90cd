//! Texts that others write, changed in every way: none makes a reader panic or grow.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fermi_domain::access::{AccountMap, AddressRange, Fingerprint, RunAs};
use fermi_domain::checkpoint::step_in_name;
use fermi_domain::hang::dumps::{Dump, DumpReport};
use fermi_domain::principal::Principal;
use fermi_domain::slurm::hostlist;
use fermi_domain::task::RunKey;
use fermi_mutator::try_all;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn names_of_runs() {
    try_all(&[b"task-12-g1-n0-i1", b"a-b-c-g18-n4294967295-i1"], 5_000, |case| {
        if let Ok(key) = text(case).parse::<RunKey>() {
            assert_eq!(key.to_string().parse::<RunKey>().unwrap(), key);
            assert!(!key.to_string().contains(['/', '\0']), "it is the name of a folder");
        }
    });
}

#[test]
fn lists_of_hosts_and_of_counts() {
    let samples: [&[u8]; 4] =
        [b"node[1-3,07-12],a[1-2]b[3]", b"gpu-[098-101].lan", b"2(x3),1", b"1,2(x18446744073709551615)"];
    try_all(&samples, 3_000, |case| {
        let list = text(case);
        assert!(hostlist::expand(&list).is_none_or(|hosts| hosts.len() <= 100_000));
        assert!(hostlist::expand_counts(&list).is_none_or(|counts| counts.len() <= 100_000));
    });
    // Each would have filled the memory.
    let (long, wide) = (format!("{}[1-99999]", "x".repeat(60_000)), format!("n[{}1-99999]", "0".repeat(60_000)));
    for list in [&long, &wide, "n[0-99999,0-99999,0-99999]"] {
        assert_eq!(hostlist::expand(list), None);
    }
}

#[test]
fn who_somebody_is() {
    let samples: [&[u8]; 6] = [
        b"user:member:ann",
        b"agent:env-001",
        b"ann li\n* guest # all\n",
        b"map:/etc/x",
        b"10.0.0.0/8",
        b"2001:db8::/32",
    ];
    try_all(&samples, 5_000, |case| {
        let text = text(case);
        if let Ok(principal) = text.parse::<Principal>() {
            assert_eq!(principal.to_string().parse(), Ok(principal));
        }
        if let Ok(map) = AccountMap::parse(&text) {
            for rule in text.parse::<RunAs>().into_iter().chain([RunAs::Map("x".into())]) {
                let _ = rule.account_of(text.parse().ok().as_ref(), &map);
            }
        }
        let _ = (text.parse::<AddressRange>(), text.parse::<Fingerprint>(), step_in_name(&text));
    });
}

#[test]
fn strangers_flight_records() {
    let samples: [&[u8]; 4] = [
        include_bytes!("../src/hang/dumps/samples/flight_record_rank_0.pickle"),
        b"\x80\x02}(X\x07\x00\x00\x00entriesq\x00](}(X\x05\x00\x00\x00pg_idK\x01ueu.",
        b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.",
        br#"{"version": "2.10", "pg_status": {"0": {"last_enqueued_collective": "7"}}, "entries": [{"pg_id": 0}]}"#,
    ];
    try_all(&samples, 3_000, |case| {
        let Ok(dumps) = Dump::read(case) else { return };
        let by_rank = dumps.into_iter().enumerate().map(|(rank, dump)| (rank as u32, vec![dump])).collect();
        let _ = DumpReport::of(&by_rank);
    });
    // Each would have filled the memory, or the stack of whoever drops it.
    for case in [vec![b'('; 8 << 20], [&b"N"[..], &vec![0x85; 8 << 20]].concat()] {
        assert!(Dump::read(&[b"\x80\x02", case.as_slice()].concat()).is_err());
    }
}
