//! Keeps a connection to the server open, for ever.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fermi_api::client::ServerAddress;
use fermi_api::link::{AgentMessage, Hello, KnownRun, ServerMessage, Welcome};
use fermi_domain::language::Text;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;

use super::Outbox;
use super::connection::{ConnectionError, ServerConnection};
use crate::options::StopFlag;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What the link tells.
#[derive(Debug)]
pub enum LinkNews {
    Welcomed(Welcome),
    Message(ServerMessage),
    Lost { reason: String, retry_in: Duration },
    Refused { reason: Text, hint: Text },
}

/// What the thread needs.
#[derive(Debug)]
pub struct Dialer {
    pub server: ServerAddress,
    pub token: Option<String>,
    /// All but the runs, which change.
    pub hello: Hello,
    pub runs: Arc<Mutex<Vec<KnownRun>>>,
    pub stop: StopFlag,
}

/// Starts the thread.
pub fn start(dialer: Dialer, tell: impl Fn(LinkNews) + Send + 'static) -> std::io::Result<(Outbox, JoinHandle<()>)> {
    let (messages, outgoing) = channel();
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let ring = bell.clone();
    let thread = thread::Builder::new().name("link".into()).stack_size(512 * 1024).spawn(move || {
        dialer.dial(&outgoing, &ring, &tell);
    })?;
    Ok((Outbox { messages, bell }, thread))
}

impl Dialer {
    fn dial(&self, outgoing: &Receiver<AgentMessage>, bell: &EventFd, tell: &impl Fn(LinkNews)) {
        let mut pause = FIRST_PAUSE;
        while !self.stop.is_raised() {
            let mut hello = self.hello.clone();
            hello.runs.clone_from(&self.runs.lock().unwrap_or_else(PoisonError::into_inner));
            let error = match ServerConnection::open(&self.server, self.token.as_deref(), hello) {
                Ok((connection, welcome)) => {
                    pause = FIRST_PAUSE;
                    // Said to a connection that is gone; what still counts is said again after the welcome.
                    while outgoing.try_recv().is_ok() {}
                    tell(LinkNews::Welcomed(welcome));
                    match self.talk(connection, outgoing, bell, tell) {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let wait = match error {
                ConnectionError::Lost(reason) => {
                    let wait = with_jitter(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    tell(LinkNews::Lost { reason, retry_in: wait });
                    wait
                }
                ConnectionError::Refused { reason, hint } => {
                    tell(LinkNews::Refused { reason, hint });
                    LONGEST_PAUSE
                }
            };
            self.rest(wait, bell);
            while outgoing.try_recv().is_ok() {}
        }
    }

    /// Talks until the connection breaks, or until the agent ends.
    fn talk(
        &self,
        mut connection: ServerConnection,
        outgoing: &Receiver<AgentMessage>,
        bell: &EventFd,
        tell: &impl Fn(LinkNews),
    ) -> Result<(), ConnectionError> {
        while !self.stop.is_raised() {
            for message in outgoing.try_iter() {
                connection.send(&message)?;
            }
            for message in connection.wait(bell)? {
                if let ServerMessage::Refused { reason, hint } = message {
                    return Err(ConnectionError::Refused { reason, hint });
                }
                tell(LinkNews::Message(message));
            }
        }
        connection.close();
        Ok(())
    }

    /// Sleeps, unless the agent ends.
    fn rest(&self, wait: Duration, bell: &EventFd) {
        let until = Instant::now() + wait;
        while !self.stop.is_raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX));
            let _ = bell.read();
        }
    }
}

/// A quarter more or less, so that agents that lost their server together do not come back together.
fn with_jitter(pause: Duration) -> Duration {
    let mut random = [0u8; 1];
    // Were there no randomness, the pause is just shorter.
    let _ = getrandom::fill(&mut random);
    pause.mul_f32(0.75 + f32::from(random[0]) / 510.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_by_a_quarter_at_most() {
        for _ in 0..100 {
            let pause = with_jitter(Duration::from_secs(4));
            assert!((Duration::from_secs(3)..=Duration::from_secs(5)).contains(&pause), "{pause:?}");
        }
    }
}
