use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

fn server(options: Options) -> (StoreServer, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (StoreServer::start(listener, options).unwrap(), port)
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn client(port: u16) -> TcpStream {
    let mut stream = connect(port);
    stream.write_all(&[&[0][..], &MAGIC.to_le_bytes()].concat()).unwrap();
    stream
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

fn heard<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn clients_meet_and_one_that_waits_is_told() {
    let (_server, port) = server(Options::default());
    let (mut one, mut other) = (client(port), client(port));
    one.write_all(&[&[6][..], &1u64.to_le_bytes(), &text(b"/k")].concat()).unwrap();
    other.write_all(&[&[1][..], &text(b"/k"), &text(&vec![7; 1 << 20])].concat()).unwrap();
    assert_eq!(heard::<1>(&mut one), [0]);
    one.write_all(&[&[3][..], &text(b"/k")].concat()).unwrap();
    assert_eq!(u64::from_le_bytes(heard(&mut one)), 1 << 20);
}

#[test]
fn what_comes_byte_by_byte_or_all_at_once_is_the_same() {
    let (_server, port) = server(Options::default());
    let words = [&[4][..], &text(b"/n"), &1i64.to_le_bytes()].concat();
    let mut slow = client(port);
    for byte in &words {
        slow.write_all(&[*byte]).unwrap();
    }
    assert_eq!(i64::from_le_bytes(heard(&mut slow)), 1);
    slow.write_all(&words.repeat(100)).unwrap();
    let last = (0..100).map(|_| i64::from_le_bytes(heard(&mut slow))).last();
    assert_eq!(last, Some(101));
}

#[test]
fn many_commands_at_once_are_answered_in_their_order_up_to_one_that_is_none() {
    let (_server, port) = server(Options::default());
    let mut one = client(port);
    let set = |key: &[u8], value: &[u8]| [&[1][..], &text(key), &text(value)].concat();
    let get = |key: &[u8]| [&[3][..], &text(key)].concat();
    let large = vec![7; 100 << 10];
    let all = [set(b"/a", b"1"), get(b"/a"), set(b"/b", &large), get(b"/b"), get(b"/a"), get(b"/b")].concat();
    one.write_all(&all).unwrap();
    let expected = [text(b"1"), text(&large), text(b"1"), text(&large)].concat();
    let mut answered = vec![0; expected.len()];
    one.read_exact(&mut answered).unwrap();
    assert!(answered == expected);
    one.write_all(&[get(b"/a"), vec![200]].concat()).unwrap();
    assert_eq!(heard::<9>(&mut one).to_vec(), text(b"1"));
    assert!(matches!(one.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn strangers_are_sent_away_and_frames_are_answered() {
    let (_server, port) = server(Options { answer_to_frames: b"busy".to_vec(), ..Options::default() });
    let mut all = Vec::new();
    let mut stranger = connect(port);
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stranger.read_to_end(&mut all).unwrap_or(0), 0);
    let mut node = connect(port);
    node.write_all(&[&2u32.to_le_bytes()[..], b"{}"].concat()).unwrap();
    assert_eq!(&heard::<4>(&mut node), b"busy");
    let mut wrong = client(port);
    wrong.write_all(&[200]).unwrap();
    assert!(matches!(wrong.read(&mut [0]), Ok(0) | Err(_)));
    let mut fine = client(port);
    fine.write_all(&[7]).unwrap();
    assert_eq!(i64::from_le_bytes(heard(&mut fine)), 0);
}

#[test]
fn more_clients_than_allowed_are_sent_away_and_the_others_go_on() {
    let (_server, port) = server(Options { most_clients: 2, ..Options::default() });
    let mut first = client(port);
    first.write_all(&[7]).unwrap();
    heard::<8>(&mut first);
    let mut second = client(port);
    second.write_all(&[7]).unwrap();
    heard::<8>(&mut second);
    let mut third = client(port);
    assert!(matches!(third.read(&mut [0]), Ok(0) | Err(_)));
    drop(second);
    first.write_all(&[7]).unwrap();
    heard::<8>(&mut first);
}

#[test]
fn who_waits_is_seen_with_its_process_and_its_key() {
    let (server, port) = server(Options::default());
    let (mut waits, mut sets) = (client(port), client(port));
    waits.write_all(&[&[13][..], &4711u32.to_le_bytes()].concat()).unwrap();
    heard::<4>(&mut waits);
    waits.write_all(&[&[6][..], &2u64.to_le_bytes(), &text(b"/there"), &text(b"/pg//0/7")].concat()).unwrap();
    sets.write_all(&[&[1][..], &text(b"/there"), &text(b"x"), &[7]].concat()).unwrap();
    heard::<8>(&mut sets);
    let see = |expected: &[WaitingClient]| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while server.waiting() != expected {
            assert!(Instant::now() < deadline, "{:?}", server.waiting());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let address = "127.0.0.1".parse().unwrap();
    see(&[WaitingClient { address, process: Some(4711), key: "/pg//0/7".to_owned() }]);
    sets.write_all(&[&[1][..], &text(b"/pg//0/7"), &text(b"x")].concat()).unwrap();
    assert_eq!(heard::<1>(&mut waits), [0]);
    see(&[]);
    // A key that is long is cut, and one that is no text is shown all the same.
    waits.write_all(&[&[6][..], &1u64.to_le_bytes(), &text(&[0xff; 8_000])].concat()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.waiting().is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(server.waiting()[0].key.chars().count() < 300);
}

#[test]
fn the_port_is_free_when_the_server_is_gone() {
    let (server, port) = server(Options::default());
    let mut one = client(port);
    one.write_all(&[7]).unwrap();
    heard::<8>(&mut one);
    drop(server);
    assert!(matches!(one.read(&mut [0]), Ok(0) | Err(_)));
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[test]
fn a_client_that_does_not_read_holds_up_no_other() {
    let (_server, port) = server(Options::default());
    let mut greedy = client(port);
    greedy.write_all(&[&[1][..], &text(b"/k"), &text(&vec![7; 4 << 20]), &[7]].concat()).unwrap();
    assert_eq!(i64::from_le_bytes(heard(&mut greedy)), 1);
    let get = [&[3][..], &text(b"/k")].concat();
    // Its connection ends once too much waits for it.
    greedy.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..64 {
        if greedy.write_all(&get).is_err() {
            break;
        }
    }
    let mut other = client(port);
    other.write_all(&[7]).unwrap();
    assert_eq!(i64::from_le_bytes(heard(&mut other)), 1);
}
