//! A node whose coordinator is elsewhere: it comes, obeys, reports, and when the coordinator is gone it ends its ranks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fermi_domain::language::{Explained, Setting, Text};
use fermi_domain::verdict::{Verdict, VerdictKind};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::chief::own_greeting;
use super::hands::Hands;
use super::teller::Teller;
use crate::assembly::{Greeting, Refusal};
use crate::frame::Reading;
use crate::link::{self, JoinError, Link};
use crate::word::{Report, Word};
use fermi_domain::event::{Outcome, RunEvent};

/// Nodes that are started together meet within milliseconds; a first node that is late is not hammered.
const FIRST_KNOCK_AFTER: Duration = Duration::from_millis(2);
const KNOCK_EVERY: Duration = Duration::from_millis(200);
const REMIND_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Membership {
    state: State,
    over: bool,
}

#[derive(Debug)]
enum State {
    Knocking(Knock),
    Linked(Link),
    Gone,
}

impl Membership {
    pub fn new(hands: &Hands) -> std::io::Result<Self> {
        Ok(Self { state: State::Knocking(Knock::start(hands)?), over: false })
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Readable when there is news of the coordinator.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Knocking(knock) => Some(knock.bell.as_fd()),
            State::Linked(link) => Some(link.as_fd()),
            State::Gone => None,
        }
    }

    pub fn wake_in(&self) -> Option<Duration> {
        Some(link::HEARTBEAT / 2)
    }

    pub fn stop_asked(&mut self, signal: i32, teller: &mut Teller) {
        match &mut self.state {
            State::Linked(link) => {
                let _ = link.say(&Report::StopAsked { signal });
            }
            State::Knocking(_) | State::Gone => {
                self.end(Outcome::Stopped { signal }, Verdict::of(VerdictKind::StoppedByUser), teller);
            }
        }
    }

    /// The second signal does not wait for the coordinator's consent.
    pub fn kill_asked(&mut self, hands: &mut Hands, teller: &mut Teller) {
        if let State::Linked(link) = &mut self.state {
            let _ = link.say(&Report::KillAsked);
        }
        hands.end_at_once(teller);
        self.end(Outcome::Stopped { signal: libc::SIGKILL }, Verdict::of(VerdictKind::StoppedByUser), teller);
    }

    /// One look at everything outside: the link, ranks, time.
    pub fn turn(&mut self, is_readable: bool, hands: &mut Hands, teller: &mut Teller) {
        match &self.state {
            State::Knocking(_) => self.hear_knock(hands, teller),
            State::Linked(_) if is_readable => self.read_link(hands, teller),
            State::Linked(_) | State::Gone => {}
        }
        let reports = hands.look(teller);
        self.report(reports);
        self.mind_silence(hands, teller);
    }

    /// The bell rings once for all that has come.
    fn hear_knock(&mut self, hands: &mut Hands, teller: &mut Teller) {
        while let State::Knocking(knock) = &self.state
            && let Some(news) = knock.news()
        {
            self.knocked(news, hands, teller);
        }
    }

    fn knocked(&mut self, news: News, hands: &mut Hands, teller: &mut Teller) {
        let address = format!("{}:{}", hands.bundle.master_addr, master_port(hands));
        match news {
            News::Waiting(text) => teller.tell(RunEvent::Waiting { text }),
            News::Joined(mut link) => {
                teller.tell(RunEvent::NodeLinked { address });
                // The last node to come is told to start in the same breath as it is welcomed.
                let words = link.left_over::<Word>().unwrap_or_default();
                self.state = State::Linked(link);
                self.obey(words, hands, teller);
            }
            News::Refused(refusal) => self.refuse(refusal.text(), refusal.settings(), teller),
            News::GaveUp(text) => self.refuse(text, vec![Setting::MasterAddress, Setting::MasterPort], teller),
        }
    }

    fn refuse(&mut self, reason: Text, settings: Vec<Setting>, teller: &mut Teller) {
        self.end(Outcome::Failed, Verdict::of(VerdictKind::LaunchRefused { reason, settings }), teller);
    }

    fn read_link(&mut self, hands: &mut Hands, teller: &mut Teller) {
        let State::Linked(link) = &mut self.state else { return };
        let (words, reading) = link.hear::<Word>().unwrap_or((Vec::new(), Reading::Closed));
        self.obey(words, hands, teller);
        if reading == Reading::Closed && !self.over {
            hands.end_at_once(teller);
            self.coordinator_lost(hands, teller);
        }
    }

    fn obey(&mut self, words: Vec<Word>, hands: &mut Hands, teller: &mut Teller) {
        for word in words {
            if word == Word::Over {
                self.over = true;
                return;
            }
            let reports = hands.obey(word, teller);
            self.report(reports);
        }
    }

    fn report(&mut self, reports: Vec<Report>) {
        if let State::Linked(link) = &mut self.state {
            for report in reports {
                // A link that breaks is noticed when it is read.
                let _ = link.say(&report);
            }
        }
    }

    fn mind_silence(&mut self, hands: &mut Hands, teller: &mut Teller) {
        let State::Linked(link) = &mut self.state else { return };
        if link.owes_heartbeat() {
            let _ = link.say(&Report::Alive);
        }
        if link.silence() >= Duration::from_millis(hands.bundle.gathering.node_lost_after_ms) {
            // Cut off: the others go on without us or wait for us. Our ranks must not go on alone.
            hands.end_at_once(teller);
            if hands.bundle.restarts.max_restarts == 0 {
                let node = hands.bundle.master_addr.clone();
                self.end(Outcome::Failed, Verdict::of(VerdictKind::NodeLost { node }), teller);
                return;
            }
            let text = Text::new(
                "长时间没有收到主节点的消息，已终止本节点的 rank，正在重新连接",
                "nothing was heard of the first node for too long: this node's ranks were ended, connecting again",
            );
            teller.tell(RunEvent::Waiting { text });
            match Knock::start(hands) {
                Ok(knock) => self.state = State::Knocking(knock),
                Err(_) => self.coordinator_lost(hands, teller),
            }
        }
    }

    fn coordinator_lost(&mut self, hands: &Hands, teller: &mut Teller) {
        let node = hands.bundle.master_addr.clone();
        self.end(Outcome::Failed, Verdict::of(VerdictKind::SupervisorLost { node }), teller);
    }

    fn end(&mut self, outcome: Outcome, verdict: Verdict, teller: &mut Teller) {
        if !self.over {
            self.over = true;
            self.state = State::Gone;
            teller.tell(RunEvent::RunEnded { outcome, attempts: 0, verdict: Box::new(verdict) });
        }
    }
}

fn master_port(hands: &Hands) -> u16 {
    match hands.bundle.master_port {
        crate::bundle::MasterPort::Exactly(port) | crate::bundle::MasterPort::Elsewhere(port) => port,
        crate::bundle::MasterPort::Any => crate::port::FIRST,
    }
}

/// What came of knocking.
#[derive(Debug)]
enum News {
    Waiting(Text),
    Joined(Link),
    Refused(Refusal),
    GaveUp(Text),
}

/// A thread that knocks until it is let in: connecting blocks, and the ranks' keeper must not.
#[derive(Debug)]
struct Knock {
    news: Receiver<News>,
    bell: Arc<EventFd>,
}

impl Knock {
    fn start(hands: &Hands) -> std::io::Result<Self> {
        let (send, news) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let greeting = own_greeting(&hands.bundle);
        let (address, port) = (hands.bundle.master_addr.clone(), master_port(hands));
        let deadline = Instant::now() + Duration::from_millis(hands.bundle.gathering.join_timeout_ms);
        let ring = bell.clone();
        std::thread::Builder::new().name("knock".into()).stack_size(256 * 1024).spawn(move || {
            knock(&address, port, &greeting, deadline, |news| {
                let heard = send.send(news).is_ok();
                let _ = ring.write(1);
                heard
            });
        })?;
        Ok(Self { news, bell })
    }

    fn news(&self) -> Option<News> {
        let _ = self.bell.read();
        self.news.try_recv().ok()
    }
}

fn knock(address: &str, port: u16, greeting: &Greeting, deadline: Instant, mut tell: impl FnMut(News) -> bool) {
    let mut reminded = Instant::now();
    let mut pause = FIRST_KNOCK_AFTER;
    loop {
        let error = match link::join(address, port, greeting) {
            Ok(link) => {
                tell(News::Joined(link));
                return;
            }
            Err(JoinError::Refused(refusal)) => {
                tell(News::Refused(refusal));
                return;
            }
            Err(error) => error,
        };
        let text = why_not_joined(address, port, &error);
        if Instant::now() >= deadline {
            tell(News::GaveUp(text));
            return;
        }
        if reminded.elapsed() >= REMIND_EVERY {
            reminded = Instant::now();
            if !tell(News::Waiting(text)) {
                return;
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(KNOCK_EVERY);
    }
}

fn why_not_joined(address: &str, port: u16, error: &JoinError) -> Text {
    match error {
        JoinError::Unresolved { name, .. } => Text::new(
            format!("无法解析主机名 {name}；可改用 IP 地址"),
            format!("the host name {name} does not resolve; an IP address would do"),
        ),
        JoinError::Unreachable { tried, source } => Text::new(
            format!(
                "连接不到主节点 {address}:{port}（尝试 {tried}：{source}）；主节点启动了吗？防火墙放行该端口了吗？"
            ),
            format!(
                "the first node {address}:{port} cannot be reached (tried {tried}: {source}); is it started, and does the firewall let the port through?"
            ),
        ),
        JoinError::NotACoordinator { tried, .. } => Text::new(
            format!("{tried} 上有程序在监听，但不是在等待节点的 fermi run（也许有另一个任务正在使用该端口）"),
            format!(
                "something listens at {tried}, but it is no fermi run that waits for nodes (perhaps another run uses this port)"
            ),
        ),
        JoinError::Refused(refusal) => refusal.text(),
    }
}
