//! One WebSocket connection to the server.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fermi_api::client::{ServerAddress, ServerStream, TlsRefusal};
use fermi_api::link::{AgentMessage, CREDENTIAL_HEADER, Hello, LINK_PATH, ServerMessage, Welcome};
use fermi_domain::access::Fingerprint;
use fermi_domain::language::{Explained, FrontEnd, Text};
use fermi_domain::task::RunKey;
use fermi_process::lease;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::http::HeaderValue;
use tungstenite::{Error, Message, WebSocket};

/// How long the server may take to let us in.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// The server is asked this often whether it is there: what it says of itself does not show that it hears us.
const ASK_AFTER: Duration = Duration::from_secs(2);
/// After so long a silence it is not.
const SILENCE: Duration = Duration::from_secs(10);

/// Why there is no connection, or none any more.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("{0}")]
    Lost(String),
    #[error("refused")]
    Refused(Box<Refused>),
}

/// What a server has answered that does not take this agent in.
#[derive(Debug)]
pub struct Refused {
    pub reason: Text,
    pub hint: Text,
    pub cluster: Option<String>,
    /// Runs here that count as ended there.
    pub end: Vec<RunKey>,
}

impl Refused {
    /// By what can be told without the server's word.
    fn here(reason: Text, hint: Text) -> ConnectionError {
        Self { reason, hint, cluster: None, end: Vec::new() }.into()
    }
}

impl From<Refused> for ConnectionError {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl ConnectionError {
    fn lost(error: impl std::fmt::Display) -> Self {
        Self::Lost(error.to_string())
    }
}

#[derive(Debug)]
pub struct ServerConnection {
    socket: WebSocket<ServerStream>,
    heard: Instant,
    asked: Instant,
    has_unsent: bool,
    /// The newest question that the server has answered, until it is taken: when it was asked, by [`lease::boot_ms`].
    answered_ms: Option<u64>,
}

impl ServerConnection {
    /// Connects, says hello and waits for the welcome.
    pub fn open(
        server: &ServerAddress,
        fingerprint: Option<Fingerprint>,
        token: Option<&str>,
        hello: Hello,
    ) -> Result<(Self, Welcome), ConnectionError> {
        let stream = server.connect().map_err(ConnectionError::lost)?;
        stream.set_nodelay(true).map_err(ConnectionError::lost)?;
        stream.set_read_timeout(Some(HANDSHAKE_PATIENCE)).map_err(ConnectionError::lost)?;
        stream.set_write_timeout(Some(HANDSHAKE_PATIENCE)).map_err(ConnectionError::lost)?;
        let stream = ServerStream::over(stream, server, fingerprint).map_err(|error| match TlsRefusal::of(&error) {
            Some(refusal) => not_proved(&refusal),
            None => ConnectionError::lost(error),
        })?;
        let mut request = server.websocket(LINK_PATH).into_client_request().map_err(ConnectionError::lost)?;
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| bad_token())?;
            request.headers_mut().insert("Authorization", value);
        }
        if let Some(credential) = &hello.credential {
            let value = HeaderValue::from_str(credential).map_err(ConnectionError::lost)?;
            request.headers_mut().insert(CREDENTIAL_HEADER, value);
        }
        let (socket, _) = tungstenite::client(request, stream).map_err(|error| match error {
            HandshakeError::Failure(Error::Http(response)) => not_let_in(response.status().as_u16()),
            HandshakeError::Failure(error) => ConnectionError::lost(error),
            HandshakeError::Interrupted(_) => ConnectionError::Lost("the server does not answer".to_owned()),
        })?;
        let now = Instant::now();
        let mut connection = Self { socket, heard: now, asked: now, has_unsent: false, answered_ms: None };
        connection.send(&AgentMessage::Hello(Box::new(hello)))?;
        let welcome = connection.await_welcome()?;
        connection.socket.get_ref().socket().set_nonblocking(true).map_err(ConnectionError::lost)?;
        Ok((connection, welcome))
    }

    fn await_welcome(&mut self) -> Result<Welcome, ConnectionError> {
        let deadline = Instant::now() + HANDSHAKE_PATIENCE;
        while Instant::now() < deadline {
            match self.socket.read().map_err(ConnectionError::lost)? {
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(ServerMessage::Welcome(welcome)) => return Ok(welcome),
                    Ok(ServerMessage::Refused { reason, hint, cluster, end }) => {
                        return Err(Refused { reason, hint, cluster, end }.into());
                    }
                    // Nothing else can be meant for us yet.
                    Ok(_) | Err(_) => {}
                },
                Message::Close(_) => return Err(ConnectionError::Lost("the server closed the connection".to_owned())),
                _ => {}
            }
        }
        Err(ConnectionError::Lost("the server does not answer".to_owned()))
    }

    /// Sends a message; what the network does not take now is sent later.
    pub fn send(&mut self, message: &AgentMessage) -> Result<(), ConnectionError> {
        let text = serde_json::to_string(message).map_err(ConnectionError::lost)?;
        self.write(Message::text(text))
    }

    fn write(&mut self, message: Message) -> Result<(), ConnectionError> {
        let sent = self.socket.write(message).and_then(|()| self.socket.flush());
        self.judge(sent)
    }

    fn judge(&mut self, sent: Result<(), Error>) -> Result<(), ConnectionError> {
        match sent {
            Ok(()) => self.has_unsent = false,
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => self.has_unsent = true,
            Err(error) => return Err(ConnectionError::lost(error)),
        }
        Ok(())
    }

    /// Waits for messages of the server, for the bell, or for time to pass.
    pub fn wait(&mut self, bell: &EventFd) -> Result<Vec<ServerMessage>, ConnectionError> {
        let flags = if self.has_unsent { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let mut fds = [PollFd::new(self.socket.get_ref().as_fd(), flags), PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, self.until_silence_counts());
        let _ = bell.read();
        let messages = self.receive()?;
        self.mind_silence()?;
        // Answers to the server's own questions wait in the socket.
        let flushed = self.socket.flush();
        self.judge(flushed)?;
        Ok(messages)
    }

    fn receive(&mut self) -> Result<Vec<ServerMessage>, ConnectionError> {
        let mut messages = Vec::new();
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    self.heard = Instant::now();
                    // A message that we do not know is of a newer server, which does without an answer.
                    messages.extend(serde_json::from_str::<ServerMessage>(&text));
                }
                Ok(Message::Close(_)) => {
                    return Err(ConnectionError::Lost("the server closed the connection".to_owned()));
                }
                Ok(Message::Pong(payload)) => {
                    self.heard = Instant::now();
                    self.answered_ms = payload.as_ref().try_into().ok().map(u64::from_le_bytes).or(self.answered_ms);
                }
                Ok(_) => self.heard = Instant::now(),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(messages),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was heard before it broke counts.
                Err(_) if !messages.is_empty() => return Ok(messages),
                Err(error) => return Err(ConnectionError::lost(error)),
            }
        }
    }

    /// How long nothing has to be done about silence.
    fn until_silence_counts(&self) -> PollTimeout {
        let next = (self.asked + ASK_AFTER).min(self.heard + SILENCE);
        let left = next.saturating_duration_since(Instant::now()).as_millis() + 1;
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    fn mind_silence(&mut self) -> Result<(), ConnectionError> {
        let silence = self.heard.elapsed();
        if silence >= SILENCE {
            return Err(ConnectionError::Lost(format!("nothing was heard of the server for {} s", silence.as_secs())));
        }
        if self.asked.elapsed() >= ASK_AFTER {
            self.asked = Instant::now();
            self.write(Message::Ping(lease::boot_ms().to_le_bytes().to_vec().into()))?;
        }
        Ok(())
    }

    /// When the newest question was asked that the server has answered since the last call.
    pub fn take_answered(&mut self) -> Option<u64> {
        self.answered_ms.take()
    }

    /// Says that we leave, if that is possible at once.
    pub fn close(mut self) {
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }
}

fn bad_token() -> ConnectionError {
    Refused::here(
        Text::new("令牌含有不能发送的字符", "the token has characters that cannot be sent"),
        Text::new("重新复制令牌", "copy the token again"),
    )
}

/// What the server has shown does not prove who it is.
fn not_proved(refusal: &TlsRefusal) -> ConnectionError {
    let reason = refusal.text();
    let hint = refusal.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
    let hint = hint.unwrap_or_else(|| reason.clone());
    Refused::here(reason, hint)
}

fn not_let_in(status: u16) -> ConnectionError {
    match status {
        401 | 403 => Refused::here(
            Text::new("服务器不接受这个令牌", "the server does not accept this token"),
            Text::new(
                "令牌可能已过期或被撤销；请运维运行 fermi env join，它会给出带新令牌的命令",
                "it may have ended or been revoked; ask an operator to run `fermi env join`, which prints a command with a \
                 new one",
            ),
        ),
        426 => not_proved(&TlsRefusal::Required),
        404 => Refused::here(
            Text::new("该地址没有 Fermi 服务器", "there is no Fermi server at this address"),
            Text::new("检查 --server 的地址和端口", "check address and port of --server"),
        ),
        _ => ConnectionError::Lost(format!("the server answered {status}")),
    }
}
