//! Faults on order, so that tests and demonstrations can see a cluster heal.

/// Strikes one rank right before it computes one step. It strikes in every attempt that reaches the step: who wants it
/// only once passes it only to the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub rank: usize,
    /// Steps count from 1.
    pub step: u64,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// `train` returns `TrainError::InjectedFault`, as a bug in a script would end it.
    Error,
    /// The process aborts (SIGABRT) without a word.
    Abort,
    /// The rank stops for ever without dying, as a stuck driver would.
    Hang,
}
