//! A node whose coordinator is elsewhere: it comes, obeys, reports, and when the coordinator is gone it ends its ranks.

mod not_joined;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fermi_domain::contract;
use fermi_domain::language::{Explained, Setting, Text};
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::lease;
use nix::sys::eventfd::{EfdFlags, EventFd};
use not_joined::{cut_off, no_more, why_not_joined};

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
/// A run that was under way and at whose port nobody listens for so long is over: between two attempts less time passes.
const OVER_AFTER: Duration = Duration::from_secs(90);
/// How long the coordinator's machine has to take the word that nothing is left here.
const LAST_WORD: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct FollowerNode {
    state: State,
    /// When the coordinator was last asked for a sign of life.
    pinged: Option<Instant>,
    /// When that was sent of which is known that the coordinator has heard it, by the clock that goes on while the machine
    /// sleeps.
    heard_there_ms: u64,
    over: bool,
}

#[derive(Debug)]
enum State {
    Joining(Join),
    Linked(Link),
    /// What cannot be killed is waited for until then, before this node joins again.
    Clearing {
        until: Instant,
    },
    Gone,
}

impl FollowerNode {
    pub fn new(node: &Node) -> std::io::Result<Self> {
        Ok(Self {
            state: State::Joining(Join::start(node)?),
            pinged: None,
            heard_there_ms: lease::boot_ms(),
            over: false,
        })
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Readable when there is news of the coordinator.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Joining(join) => Some(join.bell.as_fd()),
            State::Linked(link) => Some(link.as_fd()),
            State::Clearing { .. } | State::Gone => None,
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
            State::Joining(_) | State::Clearing { .. } | State::Gone => {
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
        self.end_at_once(node);
        self.end(Outcome::Stopped { signal: libc::SIGKILL }, Verdict::of(VerdictKind::StoppedByUser), node);
    }

    /// Ends all that runs here without asking, and tells the coordinator, which would otherwise have to wait until it must have
    /// ended. Answers whether nothing is left.
    pub fn end_at_once(&mut self, node: &mut Node) -> bool {
        let is_nothing_left = node.end_at_once();
        if let State::Linked(link) = &mut self.state
            && is_nothing_left
        {
            let _ = link.send(&NodeReport::NothingLeft);
            let since = Instant::now();
            while link.is_on_its_way() && since.elapsed() < LAST_WORD {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        is_nothing_left
    }

    /// One look at everything outside: the link, ranks, time.
    pub fn turn(&mut self, is_ready: bool, node: &mut Node) {
        match &self.state {
            State::Joining(_) => self.take_join_news(node),
            State::Linked(_) if is_ready => self.serve_link(node),
            State::Linked(_) | State::Clearing { .. } | State::Gone => {}
        }
        let reports = node.look();
        self.mind_clearing(reports.contains(&NodeReport::Swept), node);
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
                self.heard_there_ms = lease::boot_ms();
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
        let settings = node.bundle().gathering.as_named(settings);
        self.end(Outcome::Failed, Verdict::of(VerdictKind::LaunchRefused { reason, settings }), node);
    }

    fn serve_link(&mut self, node: &mut Node) {
        let State::Linked(link) = &mut self.state else { return };
        // A link that cannot be written is cut, which shows when it is read.
        let _ = link.flush();
        // What was sent before this node stood still is read first, and ends the silence.
        let was_silent = link.silence() >= silence_allowed(node);
        let answers_pings = link.answers_pings;
        let received = link.receive::<NodeCommand>();
        if received.as_ref().is_err_and(ForgedFrame::is_cause_of) {
            // What claims to come from the coordinator is not obeyed, and ranks do not go on without it. It closes the link when
            // it hears this, so that nothing could be said after it.
            self.end_at_once(node);
            self.report(vec![NodeReport::LinkForged]);
            node.record(RunEvent::Waiting { text: link::forged() });
            self.give_up_coordinator(node);
            return;
        }
        let (commands, reading) = received.unwrap_or((Vec::new(), Reading::Closed));
        self.obey(commands, node);
        if reading != Reading::Closed || self.over {
            return;
        }
        // Who was not heard for so long, of a stopped process, a machine that slept or a network that lost what it sent, was
        // given up by the coordinator, which closed the link and lives.
        let unheard_ms = lease::boot_ms().saturating_sub(self.heard_there_ms);
        if was_silent || (answers_pings && unheard_ms >= node.bundle().gathering.node_lost_after_ms) {
            self.part_from_coordinator(node);
        } else {
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
                NodeCommand::Pong { sent_ms } => {
                    self.heard_there_ms = self.heard_there_ms.max(sent_ms);
                    renew_lease(sent_ms, node);
                }
                _ => {}
            }
            let reports = node.obey(command);
            self.report(reports);
        }
    }

    fn report(&mut self, reports: Vec<NodeReport>) {
        if let State::Linked(link) = &mut self.state {
            let known =
                |report: NodeReport| if link.hears_standings { Some(report) } else { report.without_standing() };
            let reports: Vec<_> = reports.into_iter().filter_map(known).collect();
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
        if link.silence().max(link.stuck_for()) >= silence_allowed(node) {
            self.part_from_coordinator(node);
        }
    }

    /// Cut off: the others go on without us or wait for us. Our ranks must not go on alone.
    fn part_from_coordinator(&mut self, node: &mut Node) {
        let is_nothing_left = self.end_at_once(node);
        node.lease.drop_coordinator();
        if node.bundle().restarts.max_restarts == 0 {
            self.give_up_coordinator(node);
            return;
        }
        node.record(RunEvent::Waiting { text: cut_off(is_nothing_left) });
        if is_nothing_left {
            self.join_again(node);
        } else {
            let patience = Duration::from_millis(node.bundle().gathering.join_timeout_ms);
            self.state = State::Clearing { until: Instant::now() + patience };
        }
    }

    /// The others take a node that joins again for one without ranks.
    fn mind_clearing(&mut self, is_swept: bool, node: &mut Node) {
        match self.state {
            State::Clearing { .. } if is_swept => self.join_again(node),
            State::Clearing { until } if Instant::now() >= until => self.give_up_coordinator(node),
            _ => {}
        }
    }

    fn join_again(&mut self, node: &mut Node) {
        match Join::start(node) {
            Ok(join) => self.state = State::Joining(join),
            Err(_) => self.coordinator_lost(node),
        }
    }

    fn give_up_coordinator(&mut self, node: &mut Node) {
        let lost = VerdictKind::NodeLost { node: node.bundle().master_addr.clone() };
        self.end(Outcome::Failed, Verdict::of(lost), node);
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

fn silence_allowed(node: &Node) -> Duration {
    Duration::from_millis(node.bundle().gathering.coordinator_lost_after_ms())
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
            join(&address, port, try_once, (deadline, OVER_AFTER), |news| {
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
    (deadline, over_after): (Instant, Duration),
    mut tell: impl FnMut(JoinNews) -> bool,
) {
    let mut reminded = Some(Instant::now());
    let mut pause = FIRST_RETRY_AFTER;
    let mut seen = SeenRun::default();
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
        let was_gone = seen.gone_for().is_some();
        seen.look(&error);
        let text = match (&seen.under_way, seen.gone_for()) {
            (Some(run), Some(gone)) => no_more(&contract::endpoint(address, port), run, gone >= over_after),
            _ => why_not_joined(address, port, &error),
        };
        if !was_gone && seen.gone_for().is_some() {
            reminded = None;
        }
        // Another try would end in the same way.
        let final_settings = match error {
            _ if seen.gone_for().is_some_and(|gone| gone >= over_after) => Some(Vec::new()),
            JoinError::Unproven { .. } => Some(vec![Setting::RendezvousSecret]),
            JoinError::GreetingTooLong { .. } => Some(vec![Setting::RendezvousId]),
            _ => (Instant::now() >= deadline).then(|| vec![Setting::MasterAddress, Setting::MasterPort]),
        };
        if let Some(settings) = final_settings {
            tell(JoinNews::GaveUp(text, settings));
            return;
        }
        if reminded.is_none_or(|reminded| reminded.elapsed() >= REMIND_EVERY) {
            reminded = Some(Instant::now());
            if !tell(JoinNews::Waiting(text)) {
                return;
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(RETRY_EVERY);
    }
}

/// What a node that comes late has seen of the run.
#[derive(Debug, Default)]
struct SeenRun {
    /// The run that has said that it is under way.
    under_way: Option<String>,
    /// Since when nobody listens there any more.
    gone_since: Option<Instant>,
}

impl SeenRun {
    fn look(&mut self, error: &JoinError) {
        match error {
            JoinError::UnderWay { run } => *self = Self { under_way: Some(run.clone()), gone_since: None },
            JoinError::Unreachable { source, .. } if source.kind() == std::io::ErrorKind::ConnectionRefused => {
                if self.under_way.is_some() {
                    self.gone_since.get_or_insert_with(Instant::now);
                }
            }
            _ => self.gone_since = None,
        }
    }

    fn gone_for(&self) -> Option<Duration> {
        self.gone_since.map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// What a node says that finds these in turn, the last one again and again.
    fn told(errors: &[fn() -> JoinError], over_after: Duration) -> Vec<JoinNews> {
        let turn = Cell::new(0);
        let try_once = || {
            let at = turn.replace(turn.get() + 1);
            Err(errors[at.min(errors.len() - 1)]())
        };
        let mut said = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        join("gn6", 29_500, try_once, (deadline, over_after), |news| {
            said.push(news);
            said.len() < 2
        });
        said
    }

    fn under_way() -> JoinError {
        JoinError::UnderWay { run: "job".to_owned() }
    }

    fn refused() -> JoinError {
        JoinError::Unreachable {
            tried: "10.0.0.1:29500".to_owned(),
            source: std::io::ErrorKind::ConnectionRefused.into(),
        }
    }

    #[test]
    fn a_late_node_is_told_at_once_that_the_run_no_longer_answers_and_ends_when_it_is_over() {
        let said = told(&[under_way, refused], Duration::from_millis(20));
        let [JoinNews::Waiting(first), JoinNews::GaveUp(last, settings)] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!(first.en, "the run 'job' at gn6:29500 no longer answers: it is over, or about to restart");
        assert_eq!(last.en, "the run 'job' at gn6:29500 is over; this node was not taken in");
        assert!(settings.is_empty());
    }

    #[test]
    fn a_run_that_answers_again_is_not_over() {
        let mut seen = SeenRun::default();
        seen.look(&refused());
        assert_eq!(seen.gone_for(), None, "nothing was seen of it yet");
        seen.look(&under_way());
        seen.look(&refused());
        assert!(seen.gone_for().is_some());
        seen.look(&under_way());
        assert_eq!(seen.gone_for(), None);
    }
}
