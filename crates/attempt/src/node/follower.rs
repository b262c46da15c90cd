//! A node whose coordinator is elsewhere: it comes, obeys, reports, and when the coordinator is gone it ends its ranks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fermi_domain::contract;
use fermi_domain::language::{Explained, Setting, Text, reason};
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::lease;
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::local_node::Node;
use crate::assembly::{Greeting, JoinRefusal};
use crate::frame::Reading;
use crate::frame_signature::ForgedFrame;
use crate::link::{self, JoinError, Link};
use crate::node_message::{NodeCommand, NodeReport};
use fermi_domain::event::{Outcome, RunEvent};

/// Nodes that are started together meet within milliseconds; a first node that is late is not hammered.
const FIRST_RETRY_AFTER: Duration = Duration::from_millis(2);
const RETRY_EVERY: Duration = Duration::from_millis(200);
const REMIND_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct FollowerNode {
    state: State,
    /// When the coordinator was last asked for a sign of life.
    pinged: Option<Instant>,
    over: bool,
}

#[derive(Debug)]
enum State {
    Joining(Join),
    Linked(Link),
    Gone,
}

impl FollowerNode {
    pub fn new(node: &Node) -> std::io::Result<Self> {
        Ok(Self { state: State::Joining(Join::start(node)?), pinged: None, over: false })
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Readable when there is news of the coordinator.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Joining(join) => Some(join.bell.as_fd()),
            State::Linked(link) => Some(link.as_fd()),
            State::Gone => None,
        }
    }

    /// Whether there is something to send when the coordinator takes it.
    pub fn has_waiting(&self) -> bool {
        matches!(&self.state, State::Linked(link) if link.has_waiting())
    }

    pub fn wake_in(&self) -> Option<Duration> {
        Some(link::HEARTBEAT / 2)
    }

    pub fn stop_asked(&mut self, signal: i32, node: &mut Node) {
        match &mut self.state {
            State::Linked(link) => {
                let may_leave = link.lets_leave && node.bundle().gathering.is_elastic();
                let report = match may_leave {
                    true => NodeReport::LeaveAsked { signal },
                    false => NodeReport::StopAsked { signal },
                };
                let _ = link.send(&report);
            }
            State::Joining(_) | State::Gone => {
                self.end(Outcome::Stopped { signal }, Verdict::of(VerdictKind::StoppedByUser), node);
            }
        }
    }

    /// The second signal does not wait for the coordinator's consent.
    pub fn kill_asked(&mut self, node: &mut Node) {
        if let State::Linked(link) = &mut self.state
            && !(link.lets_leave && node.bundle().gathering.is_elastic())
        {
            let _ = link.send(&NodeReport::KillAsked);
        }
        node.end_at_once();
        self.end(Outcome::Stopped { signal: libc::SIGKILL }, Verdict::of(VerdictKind::StoppedByUser), node);
    }

    /// One look at everything outside: the link, ranks, time.
    pub fn turn(&mut self, is_ready: bool, node: &mut Node) {
        match &self.state {
            State::Joining(_) => self.take_join_news(node),
            State::Linked(_) if is_ready => self.serve_link(node),
            State::Linked(_) | State::Gone => {}
        }
        let reports = node.look();
        self.report(reports);
        self.mind_silence(node);
    }

    /// The bell rings once for all that has come.
    fn take_join_news(&mut self, node: &mut Node) {
        while let State::Joining(join) = &self.state
            && let Some(news) = join.news()
        {
            self.take_one(news, node);
        }
    }

    fn take_one(&mut self, news: JoinNews, node: &mut Node) {
        let address = contract::endpoint(&node.bundle().master_addr, master_port(node));
        match news {
            JoinNews::Waiting(text) => node.record(RunEvent::Waiting { text }),
            JoinNews::Joined(mut link) => {
                node.record(RunEvent::NodeLinked { address });
                // The last node to come is told to start right after it is welcomed.
                let commands = link.left_over::<NodeCommand>().unwrap_or_default();
                self.state = State::Linked(link);
                self.obey(commands, node);
            }
            JoinNews::Refused(refusal) => self.refuse(refusal.text(), refusal.settings(), node),
            JoinNews::GaveUp(text, settings) => self.refuse(text, settings, node),
        }
    }

    fn refuse(&mut self, reason: Text, settings: Vec<Setting>, node: &mut Node) {
        self.end(Outcome::Failed, Verdict::of(VerdictKind::LaunchRefused { reason, settings }), node);
    }

    fn serve_link(&mut self, node: &mut Node) {
        let State::Linked(link) = &mut self.state else { return };
        // A link that cannot be written is cut, which shows when it is read.
        let _ = link.flush();
        let received = link.receive::<NodeCommand>();
        if received.as_ref().is_err_and(ForgedFrame::is_cause_of) {
            // What claims to come from the coordinator is not obeyed, and ranks do not go on without it.
            let _ = link.send(&NodeReport::LinkForged);
            node.end_at_once();
            node.record(RunEvent::Waiting { text: link::forged() });
            let lost = VerdictKind::NodeLost { node: node.bundle().master_addr.clone() };
            self.end(Outcome::Failed, Verdict::of(lost), node);
            return;
        }
        let (commands, reading) = received.unwrap_or((Vec::new(), Reading::Closed));
        self.obey(commands, node);
        if reading == Reading::Closed && !self.over {
            node.end_at_once();
            self.coordinator_lost(node);
        }
    }

    fn obey(&mut self, commands: Vec<NodeCommand>, node: &mut Node) {
        for command in commands {
            match command {
                NodeCommand::Over => {
                    self.over = true;
                    return;
                }
                NodeCommand::Pong { sent_ms } => renew_lease(sent_ms, node),
                _ => {}
            }
            let reports = node.obey(command);
            self.report(reports);
        }
    }

    fn report(&mut self, reports: Vec<NodeReport>) {
        if let State::Linked(link) = &mut self.state {
            for report in reports {
                // A link that cannot be written is cut, which shows when it is read.
                let _ = link.send(&report);
            }
        }
    }

    fn mind_silence(&mut self, node: &mut Node) {
        let State::Linked(link) = &mut self.state else { return };
        let gathering = &node.bundle().gathering;
        if !link.answers_pings && link.owes_heartbeat() {
            let _ = link.send(&NodeReport::Alive);
        }
        let ping_every = link::HEARTBEAT.min(Duration::from_millis(gathering.node_lost_after_ms / 6));
        if link.answers_pings && self.pinged.is_none_or(|at| at.elapsed() >= ping_every) {
            self.pinged = Some(Instant::now());
            let _ = link.send(&NodeReport::Ping { sent_ms: lease::boot_ms() });
        }
        if link.silence().max(link.stuck_for()) >= Duration::from_millis(gathering.coordinator_lost_after_ms()) {
            // Cut off: the others go on without us or wait for us. Our ranks must not go on alone.
            node.end_at_once();
            node.lease.drop_coordinator();
            if node.bundle().restarts.max_restarts == 0 {
                let lost = VerdictKind::NodeLost { node: node.bundle().master_addr.clone() };
                self.end(Outcome::Failed, Verdict::of(lost), node);
                return;
            }
            let text = Text::new(
                "长时间没有收到主节点的消息，已终止本节点的 rank，正在重新连接",
                "nothing was heard of the first node for too long: this node's ranks were ended, connecting again",
            );
            node.record(RunEvent::Waiting { text });
            match Join::start(node) {
                Ok(join) => self.state = State::Joining(join),
                Err(_) => self.coordinator_lost(node),
            }
        }
    }

    fn coordinator_lost(&mut self, node: &mut Node) {
        let lost = VerdictKind::supervisor_lost(&node.bundle().master_addr);
        self.end(Outcome::Failed, Verdict::of(lost), node);
    }

    fn end(&mut self, outcome: Outcome, verdict: Verdict, node: &mut Node) {
        if !self.over {
            self.over = true;
            self.state = State::Gone;
            node.record(RunEvent::RunEnded { outcome, attempts: 0, verdict: Box::new(verdict) });
        }
    }
}

/// The coordinator has heard what was sent then: it does not give this node up before its patience has passed from there.
fn renew_lease(sent_ms: u64, node: &Node) {
    if let Some(length) = node.bundle().gathering.member_lease_ms() {
        node.lease.renew_coordinator(sent_ms.saturating_add(length));
    }
}

fn master_port(node: &Node) -> u16 {
    match node.bundle().master_port {
        crate::bundle::MasterPort::Exactly(port) | crate::bundle::MasterPort::Elsewhere(port) => port,
        crate::bundle::MasterPort::Any => crate::port::FIRST,
    }
}

/// What came of a try to join.
#[derive(Debug)]
enum JoinNews {
    Waiting(Text),
    Joined(Link),
    Refused(JoinRefusal),
    /// With what its user would set differently.
    GaveUp(Text, Vec<Setting>),
}

/// A thread that tries to join until it is let in: connecting blocks, and the event loop must not.
#[derive(Debug)]
struct Join {
    news: Receiver<JoinNews>,
    bell: Arc<EventFd>,
}

impl Join {
    fn start(node: &Node) -> std::io::Result<Self> {
        let (send, news) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let greeting = Greeting::of(node.bundle());
        let secret = node.bundle().gathering.secret.clone();
        let (address, port) = (node.bundle().master_addr.clone(), master_port(node));
        let deadline = Instant::now() + Duration::from_millis(node.bundle().gathering.join_timeout_ms);
        let ring = bell.clone();
        std::thread::Builder::new().name("join".into()).stack_size(256 * 1024).spawn(move || {
            let try_once = || link::join(&address, port, &greeting, &secret);
            join(&address, port, try_once, deadline, |news| {
                let heard = send.send(news).is_ok();
                let _ = ring.write(1);
                heard
            });
        })?;
        Ok(Self { news, bell })
    }

    fn news(&self) -> Option<JoinNews> {
        let _ = self.bell.read();
        self.news.try_recv().ok()
    }
}

fn join(
    address: &str,
    port: u16,
    try_once: impl Fn() -> Result<Link, JoinError>,
    deadline: Instant,
    mut tell: impl FnMut(JoinNews) -> bool,
) {
    let mut reminded = Instant::now();
    let mut pause = FIRST_RETRY_AFTER;
    loop {
        let error = match try_once() {
            Ok(link) => {
                tell(JoinNews::Joined(link));
                return;
            }
            Err(JoinError::Refused(refusal)) => {
                tell(JoinNews::Refused(refusal));
                return;
            }
            Err(error) => error,
        };
        let text = why_not_joined(address, port, &error);
        // Another try would end in the same way.
        let final_settings = match error {
            JoinError::Unproven { .. } => Some(vec![Setting::RendezvousSecret]),
            JoinError::GreetingTooLong { .. } => Some(vec![Setting::RendezvousId]),
            _ => (Instant::now() >= deadline).then(|| vec![Setting::MasterAddress, Setting::MasterPort]),
        };
        if let Some(settings) = final_settings {
            tell(JoinNews::GaveUp(text, settings));
            return;
        }
        if reminded.elapsed() >= REMIND_EVERY {
            reminded = Instant::now();
            if !tell(JoinNews::Waiting(text)) {
                return;
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(RETRY_EVERY);
    }
}

fn why_not_joined(address: &str, port: u16, error: &JoinError) -> Text {
    let endpoint = contract::endpoint(address, port);
    match error {
        JoinError::Unresolved { name, .. } => Text::new(
            format!("无法解析主机名 {name}；可改用 IP 地址"),
            format!("the host name {name} does not resolve; an IP address would do"),
        ),
        // The machine answers, so no firewall swallows what is sent there.
        JoinError::Unreachable { tried, source } if source.kind() == std::io::ErrorKind::ConnectionRefused => {
            let why = reason::of_io(source);
            Text::new(
                format!(
                    "主节点 {endpoint} 上还没有程序在监听（尝试 {tried}：{}）：它还没有启动，或者运行已经开始，要到下次重启才接纳节点",
                    why.zh
                ),
                format!(
                    "the first node {endpoint} cannot be reached (tried {tried}: {}): it is not started yet, or its run has begun and takes nodes in at its next restart",
                    why.en
                ),
            )
        }
        JoinError::Unreachable { tried, source } => {
            let why = reason::of_io(source);
            Text::new(
                format!(
                    "连接不到主节点 {endpoint}（尝试 {tried}：{}）；主节点启动了吗？防火墙放行该端口了吗？",
                    why.zh
                ),
                format!(
                    "the first node {endpoint} cannot be reached (tried {tried}: {}); is it started, and does the firewall let the port through?",
                    why.en
                ),
            )
        }
        JoinError::NotACoordinator { source, .. } if ForgedFrame::is_cause_of(source) => link::forged(),
        JoinError::Unproven { tried } => Text::new(
            format!(
                "{tried} 上的程序没有证明自己知道集合口令，本节点没有加入；那里的 fermi 可能是旧版本（请更新），也可能不是您的主节点"
            ),
            format!(
                "what listens at {tried} has not proved that it knows the rendezvous secret, and this node has not joined; it is an older fermi (update it), or not your first node"
            ),
        ),
        JoinError::GreetingTooLong { length, most } => Text::new(
            format!("本节点的自我介绍有 {length} 字节，最多允许 {most} 字节；请缩短 --rdzv-id 或 --role"),
            format!(
                "what this node says of itself has {length} bytes, at most {most} are allowed; shorten --rdzv-id or --role"
            ),
        ),
        JoinError::NotACoordinator { tried, .. } => Text::new(
            format!("{tried} 上有程序在监听，但不是在等待节点的 fermi run（也许有另一个任务正在使用该端口）"),
            format!(
                "something listens at {tried}, but it is no fermi run that waits for nodes (perhaps another run uses this port)"
            ),
        ),
        JoinError::UnderWay { run } if run.is_empty() => Text::new(
            format!("{endpoint} 上的运行已经开始；它下次重启时会接纳本节点"),
            format!("the run at {endpoint} is under way; this node can be taken in at its next restart"),
        ),
        JoinError::UnderWay { run } => Text::new(
            format!("{endpoint} 上的运行 “{run}” 已经开始；它下次重启时会接纳本节点"),
            format!("the run '{run}' at {endpoint} is under way; this node can be taken in at its next restart"),
        ),
        JoinError::Refused(refusal) => refusal.text(),
    }
}
