//! A node's tries to join the run, one after the other, until it is let in or there is no hope.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fermi_domain::contract;
use fermi_domain::language::{Setting, Text};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::super::local_node::Node;
use super::master_port;
use super::not_joined::{no_more, why_not_joined};
use crate::greeting::Greeting;
use crate::join_refusal::JoinRefusal;
use crate::link::{self, JoinError, Link};

/// Nodes that are started together meet within milliseconds; a first node that is late is not hammered.
const FIRST_RETRY_AFTER: Duration = Duration::from_millis(2);
const RETRY_EVERY: Duration = Duration::from_millis(200);
const REMIND_EVERY: Duration = Duration::from_secs(5);
/// A run that was under way and at whose port nobody listens for so long is over: between two attempts less time passes.
const OVER_AFTER: Duration = Duration::from_secs(90);

/// What came of a try to join.
#[derive(Debug)]
pub(super) enum JoinNews {
    Waiting(Text),
    Joined(Link),
    Refused(JoinRefusal),
    /// With what its user would set differently.
    GaveUp(Text, Vec<Setting>),
}

/// A thread that tries to join until it is let in: connecting blocks, and the event loop must not.
#[derive(Debug)]
pub(super) struct Join {
    news: Receiver<JoinNews>,
    bell: Arc<EventFd>,
}

impl Join {
    pub(super) fn start(node: &Node, seen: SeenRun) -> std::io::Result<Self> {
        let (send, news) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let greeting = Greeting::of(node.bundle());
        let secret = node.bundle().gathering.secret.clone();
        let (address, port) = (node.bundle().master_addr.clone(), master_port(node));
        let deadline = Instant::now() + Duration::from_millis(node.bundle().gathering.join_timeout_ms);
        // The next attempt may be held back for the lease of a node that was lost, and nobody listens meanwhile.
        let over_after = OVER_AFTER.max(Duration::from_millis(2 * node.bundle().gathering.node_lost_after_ms));
        let ring = bell.clone();
        std::thread::Builder::new().name("join".into()).stack_size(256 * 1024).spawn(move || {
            let try_once = || link::join(&address, port, &greeting, &secret);
            join(&address, port, try_once, seen, (deadline, over_after), |news| {
                let heard = send.send(news).is_ok();
                let _ = ring.write(1);
                heard
            });
        })?;
        Ok(Self { news, bell })
    }

    /// Readable when there is news.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub(super) fn news(&self) -> Option<JoinNews> {
        let _ = self.bell.read();
        self.news.try_recv().ok()
    }
}

fn join(
    address: &str,
    port: u16,
    try_once: impl Fn() -> Result<Link, JoinError>,
    mut seen: SeenRun,
    (deadline, over_after): (Instant, Duration),
    mut tell: impl FnMut(JoinNews) -> bool,
) {
    let mut reminded = Some(Instant::now());
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
pub(super) struct SeenRun {
    /// The run that has said that it is under way.
    under_way: Option<String>,
    /// Since when nobody listens there any more.
    gone_since: Option<Instant>,
}

impl SeenRun {
    /// Of a node that was a part of it.
    pub(super) fn of(run: &str) -> Self {
        Self { under_way: Some(run.to_owned()), gone_since: None }
    }

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
    fn told(errors: &[fn() -> JoinError], seen: SeenRun, over_after: Duration) -> Vec<JoinNews> {
        let turn = Cell::new(0);
        let try_once = || {
            let at = turn.replace(turn.get() + 1);
            Err(errors[at.min(errors.len() - 1)]())
        };
        let mut said = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        join("gn6", 29_500, try_once, seen, (deadline, over_after), |news| {
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
        let said = told(&[under_way, refused], SeenRun::default(), Duration::from_millis(20));
        let [JoinNews::Waiting(first), JoinNews::GaveUp(last, settings)] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!(first.en, "the run 'job' at gn6:29500 no longer answers: it is over, or about to restart");
        assert_eq!(last.en, "the run 'job' at gn6:29500 is over; this node was not taken in");
        assert!(settings.is_empty());
    }

    #[test]
    fn a_node_that_was_a_part_of_the_run_knows_that_it_was_under_way() {
        let seen = SeenRun::of("job");
        let said = told(&[refused], seen, Duration::from_millis(20));
        let [JoinNews::Waiting(first), JoinNews::GaveUp(last, _)] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!(first.en, "the run 'job' at gn6:29500 no longer answers: it is over, or about to restart");
        assert_eq!(last.en, "the run 'job' at gn6:29500 is over; this node was not taken in");
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
