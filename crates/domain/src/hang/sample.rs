//! What is seen of a rank at one time.

use serde::{Deserialize, Serialize};

use super::connections::Unanswered;
use super::stack::Frame;
use super::standing::GroupStanding;
use crate::pulse::{Phase, Pulse};

/// A rank that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSample {
    pub rank: u32,
    pub pid: i32,
    /// None where no hook keeps a page.
    pub pulse: Option<Pulse>,
    /// The letter of its main thread in `/proc`: R, S, D, T …
    pub state: u8,
    /// Who traces it, where that has stopped it and is known.
    pub tracer: Option<Tracer>,
    /// Looked at once things are quiet.
    pub work: Option<Work>,
}

/// A process that stands still, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedProcess {
    pub pid: i32,
    pub by: StoppedBy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    Signal,
    /// A debugger; which one is not known of those in other containers.
    Tracer(Option<Tracer>),
}

/// A process that traces another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracer {
    pub pid: i32,
    /// The name of its program.
    pub name: String,
}

/// What a rank and its children have done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// When this was looked at; a sample may repeat it.
    pub seen_ms: u64,
    pub cpu_ms: u64,
    pub io_bytes: u64,
    /// A child that is stopped.
    pub stopped_child: Option<StoppedProcess>,
    /// The file that a read or write which does not return is about.
    pub waits_for_file: Option<String>,
    /// The last collectives, oldest first; those that have ended too once that was asked for.
    pub collectives: Vec<Collective>,
    /// How far it is in each of its process groups.
    pub groups: Vec<GroupStanding>,
    /// How often the main thread has waited or touched new memory: a loop in native code does neither.
    pub pauses: u64,
    /// The lines at which the main thread was at the last tick of its interpreter, the innermost first.
    pub place: Vec<Frame>,
    /// The program that the rank has become by an exec: what its page says is the one's before.
    pub other_program: Option<String>,
    /// Connections on which nobody answers what this rank sends.
    pub unanswered: Vec<Unanswered>,
}

/// A collective that a rank has entered, as its hook tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Its number in its group.
    pub seq: u64,
    /// Such as `all_reduce`.
    pub name: String,
    pub sizes: String,
    pub group: String,
    /// Whether the rank has left it.
    #[serde(default)]
    pub done: bool,
}

impl RankSample {
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// The process that stands still of it: its own, else a child.
    pub(super) fn stopped(&self) -> Option<StoppedProcess> {
        let by = match self.state {
            b't' => StoppedBy::Tracer(self.tracer.clone()),
            b'T' => StoppedBy::Signal,
            _ => return self.stopped_child().cloned(),
        };
        Some(StoppedProcess { pid: self.pid, by })
    }

    pub fn phase(&self) -> Option<Phase> {
        self.pulse.and_then(|pulse| pulse.phase)
    }

    pub(super) fn enqueued(&self) -> u64 {
        self.pulse.map_or(0, |pulse| pulse.enqueued)
    }

    pub(super) fn waits_in_collective(&self) -> bool {
        self.pulse.is_some_and(|pulse| pulse.completed < pulse.enqueued)
    }

    /// The collective in which it waits.
    pub(super) fn pending(&self) -> Option<&Collective> {
        self.collectives().iter().rev().find(|collective| !collective.done)
    }

    pub(super) fn collectives(&self) -> &[Collective] {
        self.work.as_ref().map_or(&[], |work| &work.collectives)
    }

    pub(super) fn groups(&self) -> &[GroupStanding] {
        self.work.as_ref().map_or(&[], |work| &work.groups)
    }

    /// Whether its script has come to its end.
    pub(super) fn is_ending(&self) -> bool {
        self.pulse.is_some_and(|pulse| pulse.ending_ns > 0)
    }

    /// Whether somebody steps through its script, who knows why it does not go on.
    pub(super) fn is_debugged(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.place.iter().any(Frame::is_of_debugger))
    }

    pub(super) fn stopped_child(&self) -> Option<&StoppedProcess> {
        self.work.as_ref().and_then(|work| work.stopped_child.as_ref())
    }
}
