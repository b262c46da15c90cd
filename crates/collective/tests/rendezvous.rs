//! Who is let in at the rendezvous, who is turned away, and what each side says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers beside the tests are tests too")]

mod world;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use fermi_collective::{Communicator, ConnectError, Rendezvous};
use world::{hold_port, rendezvous};

fn knock(port: u16) -> TcpStream {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Both ranks of a world of two, with whatever the test makes of them.
fn meet(
    timeout: Duration,
    change: impl FnOnce(&mut Rendezvous, &mut Rendezvous),
) -> (Result<Communicator, ConnectError>, Result<Communicator, ConnectError>) {
    let held = hold_port();
    let mut zero = Rendezvous { timeout, ..rendezvous(held.port, 0, 2) };
    let mut one = Rendezvous { timeout, ..rendezvous(held.port, 1, 2) };
    change(&mut zero, &mut one);
    thread::scope(|scope| {
        let zero = scope.spawn(move || Communicator::connect(&zero));
        let one = scope.spawn(move || Communicator::connect(&one));
        (zero.join().unwrap(), one.join().unwrap())
    })
}

#[test]
fn ranks_that_start_before_rank_0_wait_for_it() {
    let held = hold_port();
    thread::scope(|scope| {
        let early = scope.spawn(|| Communicator::connect(&rendezvous(held.port, 1, 2)).map(|world| world.rank()));
        thread::sleep(Duration::from_millis(300));
        assert!(!early.is_finished());
        let _zero = Communicator::connect(&rendezvous(held.port, 0, 2)).unwrap();
        assert_eq!(early.join().unwrap().unwrap(), 1);
    });
}

#[test]
fn strangers_neither_break_nor_stall_the_rendezvous() {
    let held = hold_port();
    let start = Instant::now();
    thread::scope(|scope| {
        let zero = scope.spawn(|| Communicator::connect(&rendezvous(held.port, 0, 2)).map(|_| ()));
        let _silent: Vec<TcpStream> = (0..5).map(|_| knock(held.port)).collect();
        let mut browser = knock(held.port);
        browser.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut boaster = knock(held.port);
        boaster.write_all(b"FRMC\x01\x00\xff\xff\xff\xff").unwrap();
        drop(knock(held.port));
        // The browser is answered with a refusal and shown the door.
        browser.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut answer = Vec::new();
        let _ = browser.read_to_end(&mut answer);
        assert!(String::from_utf8_lossy(&answer).contains("spoke no Fermi"));
        let one = Communicator::connect(&rendezvous(held.port, 1, 2));
        assert!(one.is_ok(), "{one:?}");
        zero.join().unwrap().unwrap();
    });
    assert!(start.elapsed() < Duration::from_secs(4), "silent strangers must not cost their whole patience");
}

#[test]
fn a_rank_of_another_run_is_turned_away_and_the_run_goes_on() {
    let held = hold_port();
    thread::scope(|scope| {
        let zero = scope.spawn(|| Communicator::connect(&rendezvous(held.port, 0, 2)).map(|_| ()));
        let stray = Rendezvous { run_id: "other".into(), ..rendezvous(held.port, 1, 2) };
        let error = Communicator::connect(&stray).unwrap_err();
        assert_eq!(error.to_string(), "rank 0 turned this rank away: belongs to run `other`, and this is run `test`");
        Communicator::connect(&rendezvous(held.port, 1, 2)).unwrap();
        zero.join().unwrap().unwrap();
    });
}

#[test]
fn a_different_world_size_ends_both_sides_with_the_reason() {
    let (zero, one) = meet(Duration::from_secs(10), |_, one| one.world_size = 3);
    let reason = "rank 1 expects a world of 3 and rank 0 one of 2";
    assert_eq!(zero.unwrap_err().to_string(), format!("the ranks of this run contradict each other: {reason}"));
    assert_eq!(one.unwrap_err().to_string(), format!("rank 0 turned this rank away: {reason}"));
}

#[test]
fn two_processes_with_one_rank_end_everybody_with_the_reason() {
    let held = hold_port();
    let connect = |rank| {
        let port = held.port;
        move || Communicator::connect(&rendezvous(port, rank, 3)).unwrap_err().to_string()
    };
    let sentences = thread::scope(|scope| {
        let ranks = [connect(0), connect(1), connect(1)].map(|rank| scope.spawn(rank));
        ranks.map(|rank| rank.join().unwrap())
    });
    for sentence in sentences {
        assert!(sentence.ends_with("two processes call themselves rank 1"), "{sentence}");
    }
}

#[test]
fn ranks_that_never_come_are_named_on_every_rank_that_did() {
    let held = hold_port();
    let connect = |rank| {
        let late = Rendezvous { timeout: Duration::from_secs(1), ..rendezvous(held.port, rank, 4) };
        move || Communicator::connect(&late).unwrap_err().to_string()
    };
    let (zero, two) = thread::scope(|scope| {
        let zero = scope.spawn(connect(0));
        let two = scope.spawn(connect(2));
        (zero.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(zero, "ranks 1, 3 never came within 1 s");
    assert_eq!(two, "rank 0 turned this rank away: ranks 1, 3 never came within 1 s");
}

#[test]
fn a_rank_0_that_never_comes_is_said_to_be_unreachable() {
    let held = hold_port();
    let lonely = Rendezvous { timeout: Duration::from_millis(300), ..rendezvous(held.port, 1, 2) };
    let error = Communicator::connect(&lonely).unwrap_err();
    assert!(error.to_string().starts_with("rank 0 could not be reached at 127.0.0.1:"), "{error}");
}

#[test]
fn a_rank_that_died_while_waiting_may_come_again() {
    let held = hold_port();
    thread::scope(|scope| {
        let zero = scope.spawn(|| Communicator::connect(&rendezvous(held.port, 0, 3)).map(|_| ()));
        let mut victim = knock(held.port);
        let hello = br#"{"runId":"test","rank":1,"worldSize":3,"errand":{"join":{"ringPort":9}}}"#;
        let length = (hello.len() as u32).to_le_bytes();
        victim.write_all(&[&b"FRMC\x01\x00"[..], &length, hello].concat()).unwrap();
        thread::sleep(Duration::from_millis(100));
        drop(victim);
        let ranks = [1, 2].map(|rank| {
            let rendezvous = rendezvous(held.port, rank, 3);
            scope.spawn(move || Communicator::connect(&rendezvous).map(|_| ()))
        });
        for rank in ranks {
            rank.join().unwrap().unwrap();
        }
        zero.join().unwrap().unwrap();
    });
}

#[test]
fn a_port_where_something_else_listens_is_an_error_of_rank_0() {
    let other = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let error = Communicator::connect(&rendezvous(port, 0, 2)).unwrap_err();
    assert_eq!(error.to_string(), format!("rank 0 cannot listen on port {port}"));
}

#[test]
fn a_name_that_leads_over_both_protocols_works() {
    let (zero, one) = meet(Duration::from_secs(10), |zero, one| {
        zero.master_addr = "localhost".to_owned();
        one.master_addr = "localhost".to_owned();
    });
    assert!(zero.is_ok() && one.is_ok(), "{zero:?} {one:?}");
}

#[test]
fn a_rank_outside_its_world_is_refused_before_any_socket_opens() {
    let error = Communicator::connect(&rendezvous(1, 2, 2)).unwrap_err();
    assert_eq!(error.to_string(), "rank 2 does not exist in a world of 2; ranks count from 0");
}

#[test]
fn a_world_of_one_needs_no_port() {
    let mut alone = Communicator::connect(&rendezvous(0, 0, 1)).unwrap();
    let mut values = [1.0, 2.0];
    alone.all_reduce_sum(&mut values).unwrap();
    alone.barrier().unwrap();
    assert_eq!((values, alone.all_gather(b"x").unwrap()), ([1.0, 2.0], vec![b"x".to_vec()]));
}

#[test]
fn a_time_out_beyond_all_clocks_is_as_good_as_for_ever() {
    let (zero, one) = meet(Duration::MAX, |_, _| {});
    for rank in [zero, one] {
        rank.unwrap().set_operation_timeout(Duration::MAX);
    }
}
