//! The protocol as Horovod's ranks speak it, on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::KeyValueServer;

fn server() -> KeyValueServer {
    KeyValueServer::start(TcpListener::bind("127.0.0.1:0").unwrap()).unwrap()
}

/// Sends bytes and reads the whole answer: status and body.
fn ask(server: &KeyValueServer, request: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), answer[end + 4..].to_vec())
}

fn get(server: &KeyValueServer, path: &str) -> (u16, Vec<u8>) {
    ask(server, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
}

fn put(server: &KeyValueServer, path: &str, value: &[u8]) -> u16 {
    let mut request = format!("PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", value.len()).into_bytes();
    request.extend_from_slice(value);
    ask(server, &request).0
}

#[test]
fn a_key_is_missing_until_it_is_put_and_then_whole() {
    let server = server();
    let value: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    assert_eq!(get(&server, "/global/0").0, 404);
    assert_eq!(put(&server, "/global/0", &value), 200);
    assert_eq!(get(&server, "/global/0"), (200, value));
    assert_eq!(get(&server, "/local_gn6/0").0, 404, "scopes are apart");
    assert_eq!(put(&server, "/global/0", b""), 200);
    assert_eq!(get(&server, "/global/0"), (200, vec![]), "the later value wins, an empty one is a value");
}

#[test]
fn deleting_is_answered_and_keeps_the_value() {
    let server = server();
    put(&server, "/cross_0/rank/1", b"address");
    let delete = b"DELETE /cross_0/rank/1 HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(ask(&server, delete).0, 200);
    assert_eq!(ask(&server, delete).0, 200);
    assert_eq!(get(&server, "/cross_0/rank/1"), (200, b"address".to_vec()));
}

#[test]
fn ranks_that_wait_for_each_other_meet() {
    let server = server();
    const RANKS: usize = 16;
    std::thread::scope(|scope| {
        for rank in 0..RANKS {
            let server = &server;
            scope.spawn(move || {
                assert_eq!(put(server, &format!("/global/{rank}"), rank.to_string().as_bytes()), 200);
                let deadline = Instant::now() + Duration::from_secs(20);
                for other in 0..RANKS {
                    let found = loop {
                        match get(server, &format!("/global/{other}")) {
                            (200, value) => break value,
                            _ => assert!(Instant::now() < deadline, "rank {other} never came"),
                        }
                    };
                    assert_eq!(found, other.to_string().as_bytes());
                }
            });
        }
    });
}

#[test]
fn what_is_no_request_is_refused_and_does_no_harm() {
    let server = server();
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(20_000));
    let cases: [(&[u8], u16); 8] = [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /scope HTTP/1.1\r\n\r\n", 400),
        (b"GET //key HTTP/1.1\r\n\r\n", 400),
        (b"PATCH /a/b HTTP/1.1\r\n\r\n", 405),
        (b"nonsense\r\n\r\n", 405),
        (b"PUT /a/b HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"PUT /a/b HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"PUT /a/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ];
    for (request, status) in cases {
        assert_eq!(ask(&server, request).0, status, "{}", String::from_utf8_lossy(request));
    }
    assert_eq!(ask(&server, long.as_bytes()).0, 431);
    // A peer that sends nothing holds up no rank.
    let _silent = TcpStream::connect(server.address).unwrap();
    assert_eq!(put(&server, "/global/1", b"x"), 200);
}

#[test]
fn the_port_is_free_when_the_server_is_gone() {
    let server = server();
    let address = server.address;
    drop(server);
    let deadline = Instant::now() + Duration::from_secs(5);
    while TcpListener::bind(address).is_err() {
        assert!(Instant::now() < deadline, "{address} is still taken");
        std::thread::yield_now();
    }
}
