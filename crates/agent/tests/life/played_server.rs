//! A server that keeps what it is given, and is as unreliable as it is told to be.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fermi_api::link::{ABILITY_STARTS, ABILITY_STREAMS_FOLLOW, AgentMessage, LINK_PATH, ServerMessage, Welcome};
use tungstenite::Message;

#[derive(Default)]
struct State {
    messages: Vec<AgentMessage>,
    /// For the agent that is connected.
    outgoing: Vec<ServerMessage>,
    streams: BTreeMap<String, Vec<u8>>,
    arrivals: Vec<(Instant, String)>,
    headers_missing: Vec<String>,
}

#[derive(Clone)]
pub struct PlayedServer {
    pub address: String,
    state: Arc<Mutex<State>>,
    requests: Arc<AtomicU32>,
    /// Every so-manieth request goes wrong, in one of four ways.
    fault_every: u32,
}

impl PlayedServer {
    pub fn start(fault_every: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
            requests: Arc::default(),
            fault_every,
        };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub fn say(&self, message: ServerMessage) {
        self.state.lock().unwrap().outgoing.push(message);
    }

    /// Forgets what was said so far, to hear what is said from now on.
    pub fn take_words(&self) -> Vec<AgentMessage> {
        std::mem::take(&mut self.state.lock().unwrap().messages)
    }

    pub fn heard(&self, is_it: impl Fn(&AgentMessage) -> bool) -> bool {
        self.state.lock().unwrap().messages.iter().any(is_it)
    }

    pub fn stream(&self, path: &str) -> String {
        let path = format!("/api/agent/v1/runs/{path}");
        let state = self.state.lock().unwrap();
        String::from_utf8(state.streams.get(&path).cloned().unwrap_or_default()).unwrap()
    }

    pub fn arrivals(&self, path: &str) -> Vec<Instant> {
        let state = self.state.lock().unwrap();
        state.arrivals.iter().filter(|(_, known)| known.ends_with(path)).map(|(at, _)| *at).collect()
    }

    pub fn headers_missing(&self) -> Vec<String> {
        self.state.lock().unwrap().headers_missing.clone()
    }

    fn fault(&self, number: u32) -> Option<u32> {
        let turn = number.checked_div(self.fault_every)?;
        number.is_multiple_of(self.fault_every).then_some(turn % 4)
    }

    fn serve(&self, stream: TcpStream) {
        let mut head = [0; 512];
        let seen = stream.peek(&mut head).unwrap_or(0);
        let is_link = String::from_utf8_lossy(&head[..seen]).starts_with(&format!("GET {LINK_PATH} "));
        if is_link { self.talk(stream) } else { self.take_pieces(stream) }
    }

    fn talk(&self, stream: TcpStream) {
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        self.state.lock().unwrap().outgoing.clear();
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => {
                    let message: AgentMessage = serde_json::from_str(&text).unwrap();
                    if matches!(message, AgentMessage::Hello(_)) {
                        let welcome = Welcome {
                            epoch: 0,
                            environment: "env-1".into(),
                            cluster: "c1".into(),
                            heartbeat_ms: 100,
                            credential: None,
                            abilities: [ABILITY_STARTS, ABILITY_STREAMS_FOLLOW].map(str::to_owned).into(),
                        };
                        let text = serde_json::to_string(&ServerMessage::Welcome(welcome)).unwrap();
                        socket.send(Message::text(text)).unwrap();
                    }
                    self.state.lock().unwrap().messages.push(message);
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
            let outgoing = std::mem::take(&mut self.state.lock().unwrap().outgoing);
            for message in outgoing {
                if socket.send(Message::text(serde_json::to_string(&message).unwrap())).is_err() {
                    return;
                }
            }
        }
    }

    fn take_pieces(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(()) = self.take_piece(&mut reader, &stream) {}
    }

    fn take_piece(&self, reader: &mut BufReader<TcpStream>, mut stream: &TcpStream) -> Option<()> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let find = |line: &String| {
                let (known, value) = line.split_once(": ")?;
                known.eq_ignore_ascii_case(name).then(|| value.to_owned())
            };
            lines.iter().find_map(find)
        };
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        for (name, value) in [("authorization", "Bearer geheim"), ("x-fermi-environment", "env-1")] {
            if header(name).as_deref() != Some(value) {
                self.state.lock().unwrap().headers_missing.push(format!("{name} in {}", lines[0]));
            }
        }
        let target = lines[0].split(' ').nth(1).unwrap().to_owned();
        let (path, query) = target.split_once('?').map_or((target.as_str(), ""), |(path, query)| (path, query));
        let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let fault = self.fault(number);
        match fault {
            // Never arrived.
            Some(0) => return None,
            Some(1) => return answer(stream, 500, None),
            _ => {}
        }
        let mut state = self.state.lock().unwrap();
        let known = state.streams.entry(path.to_owned()).or_default();
        let status = if lines[0].starts_with("POST ") {
            let offset: usize =
                query.split('&').find_map(|pair| pair.strip_prefix("offset=")).unwrap().parse().unwrap();
            if offset == known.len() && fault != Some(2) {
                known.extend_from_slice(&body);
                200
            } else {
                409
            }
        } else {
            200
        };
        let length = known.len() as u64;
        if status == 200 && lines[0].starts_with("POST ") {
            state.arrivals.push((Instant::now(), path.to_owned()));
        }
        drop(state);
        if fault == Some(3) {
            // It arrived, and the answer is lost.
            return None;
        }
        answer(&mut stream, status, Some(length))
    }
}

fn answer(mut stream: impl Write, status: u16, length: Option<u64>) -> Option<()> {
    let data = length.map_or("null".to_owned(), |length| format!("{{\"length\":{length}}}"));
    let body = format!("{{\"code\":{status},\"message\":\"\",\"data\":{data}}}");
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}
