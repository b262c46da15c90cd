//! A node whose coordinator is elsewhere: it comes, obeys, reports, and when the coordinator is gone it ends its ranks.

mod joining;
mod not_joined;

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fermi_domain::contract;
use fermi_domain::healing::standstill::Standstill;
use fermi_domain::language::{Explained, Setting, Text};
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::lease;
use joining::{Join, JoinNews, SeenRun};
use not_joined::cut_off;

use super::local_node::Node;
use crate::frame::Reading;
use crate::frame_signature::ForgedFrame;
use crate::link::{self, Link};
use crate::node_message::{NodeCommand, NodeReport};
use fermi_domain::event::{Outcome, RunEvent};

/// What looks around several times a second and has not done so for that long stood still.
const STANDS_STILL_FROM_MS: u64 = 1_500;
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
    /// When this process last looked around, by that clock too.
    looked_ms: u64,
    /// For how long at most it had not, since the coordinator was last known to have heard it.
    stood_still_ms: u64,
    /// When it had last stood still until, by that clock: what was sent later and heard there means that it was not given up.
    stood_still_until_ms: u64,
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
            state: State::Joining(Join::start(node, SeenRun::default())?),
            pinged: None,
            heard_there_ms: lease::boot_ms(),
            looked_ms: lease::boot_ms(),
            stood_still_ms: 0,
            stood_still_until_ms: 0,
            over: false,
        })
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Readable when there is news of the coordinator.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Joining(join) => Some(join.as_fd()),
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
        let now_ms = lease::boot_ms();
        let unlooked_ms = now_ms.saturating_sub(std::mem::replace(&mut self.looked_ms, now_ms));
        if unlooked_ms >= STANDS_STILL_FROM_MS {
            // What is done about it may take long, too.
            self.stood_still_ms = self.stood_still_ms.max(unlooked_ms);
            self.stood_still_until_ms = now_ms;
        }
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
                    if sent_ms >= self.stood_still_until_ms {
                        self.stood_still_ms = 0;
                    }
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
        let still = self.standstill(node).filter(|_| is_nothing_left);
        let text = still.map_or_else(|| cut_off(is_nothing_left), Standstill::connects_again);
        node.record(RunEvent::Waiting { text });
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
        self.stood_still_ms = 0;
        // It has been a part of the run: one that answers no more is over, or about to restart.
        let seen = SeenRun::of(&node.bundle().gathering.run);
        match Join::start(node, seen) {
            Ok(join) => self.state = State::Joining(join),
            Err(_) => self.coordinator_lost(node),
        }
    }

    fn give_up_coordinator(&mut self, node: &mut Node) {
        let verdict = match self.standstill(node) {
            Some(still) => still.verdict(&node.bundle().node_name),
            None => Verdict::of(VerdictKind::NodeLost { node: node.bundle().master_addr.clone() }),
        };
        self.end(Outcome::Failed, verdict, node);
    }

    /// What has made this node silent, where it was the node itself.
    fn standstill(&self, node: &Node) -> Option<Standstill> {
        // It may have stood still in the midst of something.
        let unlooked_ms = lease::boot_ms().saturating_sub(self.looked_ms);
        Standstill::of(self.stood_still_ms.max(unlooked_ms), node.bundle().gathering.node_lost_after_ms)
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
