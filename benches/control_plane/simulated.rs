//! One agent that is played: the link of a real one, word for word, and no machine behind it.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::time::{Duration, Instant};

use fermi_api::link::{
    AgentMessage, CREDENTIAL_HEADER, Hello, KnownRun, LINK_PATH, LINK_VERSION, ServerMessage, Welcome,
};
use fermi_domain::environment::{EnvironmentKind, Gpus, Versions};
use fermi_domain::task::RunKey;
use fermi_domain::units::Bytes;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::client::ClientHandshake;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

pub const GPUS: u32 = 8;
/// As a real agent asks its server whether it is there.
const ASK_AFTER: Duration = Duration::from_secs(2);
/// As long as a real one waits to be let in.
const PATIENCE: Duration = Duration::from_secs(10);
/// There are thousands of them in one process.
const SMALL: usize = 2 << 10;

/// What has happened to an agent.
#[derive(Debug)]
pub enum Heard {
    Welcomed,
    Launch(RunKey),
    /// It was asked to end a run, gently or not.
    End(RunKey),
    /// The server has taken in what was said this long ago.
    Answered(Duration),
    Lost(String),
}

enum Link {
    Away,
    Opening(MidHandshake<ClientHandshake<TcpStream>>),
    Greeting(WebSocket<TcpStream>),
    Here(WebSocket<TcpStream>),
}

pub struct SimulatedAgent {
    number: usize,
    link: Link,
    began: Instant,
    dialled: Instant,
    asked: Instant,
    /// Dials since it was last welcomed.
    pub tries: u32,
    /// When it says next that it lives.
    pub next_beat: Option<Instant>,
    pub welcome: Option<Welcome>,
    pub credential: Option<String>,
    seal: Option<String>,
    proposed: Vec<String>,
    seals: u64,
    runs: Vec<KnownRun>,
}

impl SimulatedAgent {
    pub fn new(number: usize) -> Self {
        let now = Instant::now();
        Self {
            number,
            link: Link::Away,
            began: now,
            dialled: now,
            asked: now,
            tries: 0,
            next_beat: None,
            welcome: None,
            credential: None,
            seal: None,
            proposed: Vec::new(),
            seals: 0,
            runs: Vec::new(),
        }
    }

    pub fn name(number: usize) -> String {
        format!("gn{number}")
    }

    pub fn is_here(&self) -> bool {
        matches!(self.link, Link::Here(_))
    }

    /// Whether it waits for its welcome.
    pub fn is_coming(&self) -> bool {
        matches!(self.link, Link::Opening(_) | Link::Greeting(_))
    }

    /// Whether it has waited for its welcome for longer than a real one would.
    pub fn is_out_of_patience(&self) -> bool {
        self.is_coming() && self.dialled.elapsed() > PATIENCE
    }

    /// What to watch.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(match &self.link {
            Link::Away => return None,
            Link::Opening(opening) => opening.get_ref().get_ref().as_fd(),
            Link::Greeting(line) | Link::Here(line) => line.get_ref().as_fd(),
        })
    }

    /// Begins to connect; what comes of it is told by [`Self::go_on`].
    pub fn dial(&mut self, server: SocketAddr) -> Result<(), String> {
        self.tries += 1;
        self.dialled = Instant::now();
        let stream = begin_connect(server).map_err(|error| error.to_string())?;
        let mut request = format!("ws://{server}{LINK_PATH}").into_client_request().map_err(|it| it.to_string())?;
        if let Some(credential) = self.credential.as_ref().and_then(|word| word.parse().ok()) {
            request.headers_mut().insert(CREDENTIAL_HEADER, credential);
        }
        let config = WebSocketConfig::default().read_buffer_size(SMALL).write_buffer_size(SMALL);
        match tungstenite::client::client_with_config(request, stream, Some(config)) {
            Ok((line, _)) => self.greet(line),
            Err(HandshakeError::Interrupted(opening)) => {
                self.link = Link::Opening(opening);
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn greet(&mut self, line: WebSocket<TcpStream>) -> Result<(), String> {
        self.link = Link::Greeting(line);
        self.seals += 1;
        let seal = format!("seal-{}-{}", self.number, self.seals);
        let hello = Hello {
            credential: self.credential.clone(),
            seal: self.seal.clone(),
            pending_seals: self.proposed.clone(),
            next_seal: Some(seal.clone()),
            cluster: self.welcome.as_ref().map(|welcome| welcome.cluster.clone()),
            seen: self.welcome.as_ref().map(|_| Vec::new()),
            runs: self.runs.clone(),
            ..hello(self.number)
        };
        self.proposed.push(seal);
        self.say(&AgentMessage::Hello(Box::new(hello)))
    }

    pub fn say(&mut self, message: &AgentMessage) -> Result<(), String> {
        let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
        self.write(Message::text(text))
    }

    fn write(&mut self, message: Message) -> Result<(), String> {
        let (Link::Greeting(line) | Link::Here(line)) = &mut self.link else { return Err("it is away".to_owned()) };
        match line.write(message).and_then(|()| line.flush()) {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome.map_err(|error| error.to_string()),
        }
    }

    /// Says that it lives, and asks whether the server does as often as a real one.
    pub fn beat(&mut self, heartbeat: &str) -> Result<(), String> {
        let Link::Here(line) = &mut self.link else { return Ok(()) };
        let mut sent = line.write(Message::text(heartbeat.to_owned()));
        if sent.is_ok() && self.asked.elapsed() >= ASK_AFTER {
            self.asked = Instant::now();
            let since = self.began.elapsed().as_nanos() as u64;
            sent = line.write(Message::Ping(since.to_le_bytes().to_vec().into()));
        }
        match sent.and_then(|()| line.flush()) {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome.map_err(|error| error.to_string()),
        }
    }

    /// Takes what has come.
    pub fn go_on(&mut self, heard: &mut Vec<Heard>) {
        if let Err(reason) = self.take(heard) {
            self.hang_up();
            heard.push(Heard::Lost(reason));
        }
    }

    pub fn hang_up(&mut self) {
        self.next_beat = None;
        self.link = Link::Away;
    }

    fn take(&mut self, heard: &mut Vec<Heard>) -> Result<(), String> {
        if let Link::Opening(_) = self.link {
            let Link::Opening(opening) = std::mem::replace(&mut self.link, Link::Away) else { return Ok(()) };
            match opening.handshake() {
                Ok((line, _)) => self.greet(line)?,
                Err(HandshakeError::Interrupted(opening)) => self.link = Link::Opening(opening),
                Err(error) => return Err(error.to_string()),
            }
        }
        loop {
            let (Link::Greeting(line) | Link::Here(line)) = &mut self.link else { return Ok(()) };
            match line.read() {
                Ok(Message::Text(text)) => {
                    let message = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    self.hear(message, heard)?;
                }
                Ok(Message::Pong(payload)) => {
                    let then = payload.as_ref().try_into().map(u64::from_le_bytes).unwrap_or(0);
                    let since = self.began.elapsed().saturating_sub(Duration::from_nanos(then));
                    heard.push(Heard::Answered(since));
                }
                Ok(Message::Close(_)) => return Err("the server closed the link".to_owned()),
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        // Answers to the server's own questions wait in the socket.
        let (Link::Greeting(line) | Link::Here(line)) = &mut self.link else { return Ok(()) };
        match line.flush() {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome.map_err(|error| error.to_string()),
        }
    }

    fn hear(&mut self, message: ServerMessage, heard: &mut Vec<Heard>) -> Result<(), String> {
        match message {
            ServerMessage::Welcome(welcome) => {
                let Link::Greeting(line) = std::mem::replace(&mut self.link, Link::Away) else {
                    return Err("it was welcomed twice".to_owned());
                };
                self.link = Link::Here(line);
                self.seal = self.proposed.pop();
                self.proposed.clear();
                self.credential = welcome.credential.clone().or(self.credential.take());
                self.welcome = Some(welcome);
                heard.push(Heard::Welcomed);
            }
            ServerMessage::Refused { reason, .. } => return Err(format!("refused: {}", reason.en)),
            ServerMessage::Launch(assignment) => {
                let run = assignment.run.clone();
                if self.runs.iter().all(|known| known.run != run) {
                    self.runs.push(KnownRun { run: run.clone(), alive: true });
                    heard.push(Heard::Launch(run));
                }
            }
            ServerMessage::Stop { run } | ServerMessage::Kill { run } => {
                let known = self.runs.iter_mut().find(|known| known.run == run);
                known.into_iter().for_each(|known| known.alive = false);
                heard.push(Heard::End(run));
            }
            ServerMessage::Forget { run } => self.runs.retain(|known| known.run != run),
            _ => {}
        }
        Ok(())
    }
}

/// Connects without waiting: a real agent waits in a process of its own.
fn begin_connect(server: SocketAddr) -> io::Result<TcpStream> {
    let SocketAddr::V4(server) = server else { return Err(io::Error::other("the bench speaks IPv4")) };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    match connect(socket.as_raw_fd(), &SockaddrIn::from(server)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    // SAFETY: the descriptor is ours alone, and given away here.
    let stream = unsafe { TcpStream::from_raw_fd(socket.into_raw_fd()) };
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn hello(number: usize) -> Hello {
    Hello {
        abilities: Vec::new(),
        pending_seals: Vec::new(),
        version: LINK_VERSION,
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        instance: format!("bench-{number}"),
        machine: None,
        process: Some(format!("process-{number}")),
        credential: None,
        seal: None,
        next_seal: None,
        name: SimulatedAgent::name(number),
        kind: EnvironmentKind::Ssh,
        zone: Some("bench".to_owned()),
        image: None,
        labels: Default::default(),
        cpu_workers: 0,
        gpus: vec![Gpus { model: "A100".to_owned(), memory: Bytes(80 << 30), count: GPUS }],
        cpu_cores: 96,
        memory: Bytes(1 << 40),
        declared: false,
        address: None,
        versions: Versions::default(),
        boot: format!("boot-{number}"),
        runs: Vec::new(),
        cluster: None,
        seen: None,
        newest_task: None,
    }
}
