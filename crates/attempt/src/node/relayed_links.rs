//! Links with somebody between the two machines, who hears everything and changes what passes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::peers::{PeerNews, Peers};
use crate::frame::{self, Inbox, Reading};
use crate::frame_signature::{Direction, ForgedFrame, SIGNATURE};
use crate::greeting::Greeting;
use crate::handshake::Challenge;
use crate::join_refusal::JoinRefusal;
use crate::link::{self, JoinAnswer, JoinError, LARGEST_GREETING, Link};
use crate::node_message::{NodeCommand, NodeReport};

const SECRET: &str = "correct horse battery staple";
const PATIENCE: Duration = Duration::from_secs(20);
/// Both sides say so many frames that are not signed: greeting and proof, challenge and proof.
const UNSIGNED: usize = 2;

fn peers(secret: &str) -> (Peers, u16) {
    let mut peers = Peers::new(2, "gn6".into(), secret.into()).unwrap();
    // Another test may take the port in between.
    let port = (0..100).find_map(|_| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        peers.listen(port).is_ok().then_some(port)
    });
    (peers, port.unwrap())
}

/// Looks until there is news of which something can be made.
fn news<T>(peers: &mut Peers, make: impl Fn(PeerNews) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(made) = peers.look().into_iter().find_map(&make) {
            return made;
        }
        assert!(Instant::now() < deadline, "no news");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Where the frames of one direction go instead, by their number in it.
type Meddler = fn(Direction, usize, Vec<u8>) -> Vec<(Direction, Vec<u8>)>;

fn pass(direction: Direction, _: usize, frame: Vec<u8>) -> Vec<(Direction, Vec<u8>)> {
    vec![(direction, frame)]
}

/// Stands before a port; the answers are its own port and all that it hears.
fn relay(port: u16, meddled: Direction, meddle: Meddler) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    thread::spawn(move || {
        let (node, _) = listener.accept().unwrap();
        let coordinator = TcpStream::connect(("127.0.0.1", port)).unwrap();
        node.set_nodelay(true).unwrap();
        coordinator.set_nodelay(true).unwrap();
        let ends = Arc::new(Mutex::new((node.try_clone().unwrap(), coordinator.try_clone().unwrap())));
        for (mut from, direction) in [(node, Direction::ToCoordinator), (coordinator, Direction::ToNode)] {
            let (ends, hears) = (ends.clone(), hears.clone());
            thread::spawn(move || {
                for number in 0.. {
                    let Some(frame) = next_frame(&mut from, number >= UNSIGNED) else { break };
                    hears.lock().unwrap().extend_from_slice(&frame);
                    let mut ends = ends.lock().unwrap();
                    let meddle = if direction == meddled { meddle } else { pass };
                    for (direction, frame) in meddle(direction, number, frame) {
                        let to = if direction == Direction::ToNode { &mut ends.0 } else { &mut ends.1 };
                        let _ = to.write_all(&frame);
                    }
                }
                let ends = ends.lock().unwrap();
                let _ = ends.0.shutdown(std::net::Shutdown::Write);
                let _ = ends.1.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    (own, heard)
}

fn next_frame(from: &mut TcpStream, is_signed: bool) -> Option<Vec<u8>> {
    let mut frame = vec![0; 4];
    from.read_exact(&mut frame).ok()?;
    let length = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
    let mut rest = vec![0; length + if is_signed { 2 * SIGNATURE } else { 0 }];
    from.read_exact(&mut rest).ok()?;
    frame.extend(rest);
    Some(frame)
}

/// A node in its own thread, since joining waits.
fn joining(port: u16, secret: &'static str) -> thread::JoinHandle<Result<Link, JoinError>> {
    thread::spawn(move || link::join("127.0.0.1", port, &Greeting::sample(), secret))
}

fn welcome(peers: &mut Peers) {
    let pending = news(peers, |news| match news {
        PeerNews::Greeted(pending, greeting) => Some((pending, greeting)),
        _ => None,
    });
    let answer =
        JoinAnswer::Welcome { coordinator: "gn6".into(), lets_leave: true, answers_pings: true, hears_standings: true };
    peers.welcome(*pending.0, 1, pending.1.name, &answer).unwrap();
}

/// The two ends of a link through a relay.
fn linked(meddled: Direction, meddle: Meddler) -> (Peers, Link, Arc<Mutex<Vec<u8>>>) {
    let (mut peers, port) = peers(SECRET);
    let (port, heard) = relay(port, meddled, meddle);
    let node = joining(port, SECRET);
    welcome(&mut peers);
    (peers, node.join().unwrap().unwrap(), heard)
}

fn next_at_node(link: &mut Link) -> std::io::Result<Vec<NodeCommand>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match link.receive()? {
            (commands, _) if !commands.is_empty() => return Ok(commands),
            (_, Reading::Closed) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => thread::sleep(Duration::from_millis(1)),
        }
        assert!(Instant::now() < deadline, "nothing came");
    }
}

#[test]
fn who_listens_never_sees_the_secret_and_messages_pass() {
    let (mut peers, mut link, heard) = linked(Direction::ToNode, pass);
    link.send(&NodeReport::Swept).unwrap();
    let reports = news(&mut peers, |news| match news {
        PeerNews::Reported { reports, .. } if !reports.is_empty() => Some(reports),
        _ => None,
    });
    assert_eq!(reports, [NodeReport::Swept]);
    peers.send(1, &NodeCommand::Sweep);
    assert_eq!(next_at_node(&mut link).unwrap(), [NodeCommand::Sweep]);
    let heard = heard.lock().unwrap();
    assert!(heard.windows(3).any(|part| part == b"gn7"), "it does listen");
    for word in SECRET.split(' ') {
        assert!(!heard.windows(word.len()).any(|part| part == word.as_bytes()), "{word} was sent");
    }
}

/// The first signed frame of a coordinator is its welcome, so that number 3 comes when the node is linked.
const MEDDLED: usize = 3;

const MEDDLERS: [(&str, Meddler); 4] = [
    ("changed", |direction, number, mut frame| {
        if number == MEDDLED {
            *frame.last_mut().unwrap() ^= 1;
        }
        pass(direction, number, frame)
    }),
    ("made longer", |direction, number, mut frame| {
        if number == MEDDLED {
            frame[2] ^= 1;
        }
        pass(direction, number, frame)
    }),
    ("repeated", |direction, number, frame| {
        let times = if number == MEDDLED { 2 } else { 1 };
        vec![(direction, frame); times]
    }),
    ("left out", |direction, number, frame| {
        let times = if number == MEDDLED { 0 } else { 1 };
        vec![(direction, frame); times]
    }),
];

fn send_back(direction: Direction, number: usize, frame: Vec<u8>) -> Vec<(Direction, Vec<u8>)> {
    pass(if number == MEDDLED { direction.opposite() } else { direction }, number, frame)
}

fn closes_as_forged(peers: &mut Peers) -> bool {
    news(peers, |news| match news {
        PeerNews::Closed { number: 1, is_forged, .. } => Some(is_forged),
        _ => None,
    })
}

fn node_finds_forged(link: &mut Link) -> bool {
    loop {
        if let Err(error) = next_at_node(link) {
            return ForgedFrame::is_cause_of(&error);
        }
    }
}

#[test]
fn what_a_node_says_and_somebody_meddles_with_closes_the_link_and_is_told() {
    for (what, meddle) in MEDDLERS {
        let (mut peers, mut link, _) = linked(Direction::ToCoordinator, meddle);
        for _ in 0..4 {
            link.send(&NodeReport::Swept).unwrap();
        }
        assert!(closes_as_forged(&mut peers), "{what}");
        let told = next_at_node(&mut link).unwrap();
        let is_told = |command: &NodeCommand| format!("{command:?}").contains("does not fit its signature");
        assert!(told.iter().any(is_told), "{what}: {told:?}");
    }
}

#[test]
fn what_a_coordinator_says_and_somebody_meddles_with_is_not_obeyed() {
    for (what, meddle) in MEDDLERS {
        let (mut peers, mut link, _) = linked(Direction::ToNode, meddle);
        for _ in 0..4 {
            peers.send(1, &NodeCommand::Sweep);
        }
        assert!(node_finds_forged(&mut link), "{what}");
    }
}

#[test]
fn a_coordinator_hears_of_a_node_that_was_told_what_it_did_not_say() {
    let (mut peers, mut link, _) = linked(Direction::ToNode, pass);
    link.send(&NodeReport::LinkForged).unwrap();
    assert!(closes_as_forged(&mut peers));
}

#[test]
fn what_is_sent_back_to_its_sender_closes_the_link() {
    let (_peers, mut link, _) = linked(Direction::ToCoordinator, send_back);
    for _ in 0..2 {
        link.send(&NodeReport::Swept).unwrap();
    }
    assert!(node_finds_forged(&mut link));
    let (mut peers, _link, _) = linked(Direction::ToNode, send_back);
    peers.send(1, &NodeCommand::Sweep);
    assert!(closes_as_forged(&mut peers));
}

#[test]
fn a_greeting_that_was_changed_on_its_way_proves_nothing() {
    let (mut peers, port) = peers(SECRET);
    let (port, _) = relay(port, Direction::ToCoordinator, |direction, number, mut frame| {
        if let Some(place) = frame.windows(3).position(|part| part == b"gn7").filter(|_| number == 0) {
            frame[place + 2] = b'8';
        }
        pass(direction, number, frame)
    });
    let node = joining(port, SECRET);
    refuses_wrong_secret(&mut peers, "gn8");
    assert!(matches!(node.join().unwrap(), Err(JoinError::Refused(JoinRefusal::WrongSecret))));
}

fn refuses_wrong_secret(peers: &mut Peers, name: &str) {
    let (pending, greeting, refusal) = news(peers, |news| match news {
        PeerNews::Unproven(pending, greeting, refusal) => Some((pending, greeting, refusal)),
        PeerNews::Greeted(..) => panic!("it was let in"),
        _ => None,
    });
    assert_eq!((greeting.name.as_str(), &refusal), (name, &JoinRefusal::WrongSecret));
    pending.refuse(&JoinAnswer::Refused(refusal));
}

#[test]
fn another_secret_or_none_is_refused() {
    for (of_run, of_node) in [(SECRET, "guess"), (SECRET, ""), ("", SECRET)] {
        let (mut peers, port) = peers(of_run);
        let node = joining(port, of_node);
        refuses_wrong_secret(&mut peers, "gn7");
        assert!(matches!(node.join().unwrap(), Err(JoinError::Refused(JoinRefusal::WrongSecret))), "{of_node}");
    }
}

#[test]
fn without_a_secret_nodes_are_taken_in_as_before() {
    let (mut peers, port) = peers("");
    let node = joining(port, "");
    welcome(&mut peers);
    let mut link = node.join().unwrap().unwrap();
    peers.send(1, &NodeCommand::Sweep);
    assert_eq!(next_at_node(&mut link).unwrap(), [NodeCommand::Sweep]);
}

#[test]
fn a_node_is_not_welcomed_by_one_who_does_not_know_the_secret() {
    let welcome =
        JoinAnswer::Welcome { coordinator: "gn6".into(), lets_leave: true, answers_pings: true, hears_standings: true };
    let challenge = JoinAnswer::Challenge(Challenge { coordinator: "gn6".into(), nonce: [7; 32] });
    let proven = JoinAnswer::Proven { proof: [7; 32] };
    let scripts = [
        vec![welcome.clone()],
        vec![proven.clone()],
        vec![challenge.clone(), welcome],
        vec![challenge.clone(), proven],
        vec![challenge.clone(), challenge],
    ];
    for script in scripts {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = joining(listener.local_addr().unwrap().port(), SECRET);
        let (mut impostor, _) = listener.accept().unwrap();
        for answer in &script {
            frame::write(&mut impostor, answer).unwrap();
        }
        assert!(matches!(node.join().unwrap(), Err(JoinError::Unproven { .. })), "{script:?}");
    }
}

/// What a stranger is answered that says these bytes.
fn answer_to(peers: &mut Peers, port: u16, bytes: &[u8]) -> (Option<JoinRefusal>, Option<JoinAnswer>) {
    let mut stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stranger.write_all(bytes).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let (mut refused, mut inbox, deadline) = (None, Inbox::default(), Instant::now() + PATIENCE);
    loop {
        for news in peers.look() {
            match news {
                PeerNews::Unproven(pending, greeting, refusal) => {
                    refused = Some(refusal.clone());
                    pending.refuse(&JoinAnswer::Refused(refusal.as_known_to(greeting.version)));
                }
                other => panic!("{other:?}"),
            }
        }
        let reading = inbox.fill(&mut stranger).unwrap_or(Reading::Closed);
        if let Some(answer) = inbox.take().unwrap() {
            return (refused, Some(answer));
        }
        if reading == Reading::Closed {
            return (refused, None);
        }
        assert!(Instant::now() < deadline, "no answer");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_node_of_version_1_is_told_to_update_where_a_secret_is_set() {
    let (mut peers, port) = peers(SECRET);
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &Greeting { version: 1, fermi: "0".into(), secret: SECRET.into(), ..Greeting::sample() })
        .unwrap();
    let (refused, answer) = answer_to(&mut peers, port, &bytes);
    let ours = env!("CARGO_PKG_VERSION").to_owned();
    assert_eq!(refused, Some(JoinRefusal::ProvesNothing { ours: ours.clone(), theirs: "0".into() }));
    // It does not know the newer refusal.
    assert_eq!(answer, Some(JoinAnswer::Refused(JoinRefusal::OtherVersion { ours, theirs: "0".into() })));
}

#[test]
fn no_more_than_four_kibibytes_are_read_before_the_proof() {
    const { assert!(LARGEST_GREETING == 4 * 1024) };
    let (mut peers, port) = peers(SECRET);
    let too_long = u32::try_from(LARGEST_GREETING + 1).unwrap().to_le_bytes();
    assert_eq!(answer_to(&mut peers, port, &too_long), (None, None));
    // Nor are they read in several pieces: a greeting with its nonce, and then whatever comes.
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &Greeting { nonce: Some([7; 32]), ..Greeting::sample() }).unwrap();
    let mut stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stranger.write_all(&bytes).unwrap();
    let left = u32::try_from(LARGEST_GREETING - 4).unwrap();
    stranger.write_all(&left.to_le_bytes()).unwrap();
    let _ = stranger.write_all(&vec![b' '; LARGEST_GREETING]);
    stranger.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let is_gone = |read: std::io::Result<usize>| match read {
        Ok(length) => length == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    while !is_gone(stranger.read(&mut [0; 1024])) {
        assert!(peers.look().is_empty());
        assert!(Instant::now() < deadline, "it is still there");
    }
}

#[test]
fn a_node_whose_greeting_would_not_be_read_says_so_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let long = Greeting { run: "r".repeat(LARGEST_GREETING), ..Greeting::sample() };
    let joined = link::join("127.0.0.1", listener.local_addr().unwrap().port(), &long, SECRET);
    assert!(matches!(joined, Err(JoinError::GreetingTooLong { .. })));
}
