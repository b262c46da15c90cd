//! What an agent makes of a run that it finds in its folder when it starts.

use fermi_domain::fleet::Life;

use crate::run_registry::FoundRun;

/// What is left of a run on disk, and whether something of it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traces {
    pub life: Life,
    /// An earlier agent has promised never to start it.
    pub is_refused: bool,
    /// A supervisor makes it before it starts anything.
    pub has_journal: bool,
}

/// How the run is taken over; none for one that was never started, of which the server hears nothing and asks again.
pub fn adopt(traces: Traces) -> Option<FoundRun> {
    match traces {
        Traces { life: Life::Alive | Life::Unknown, .. } => Some(FoundRun::Alive),
        Traces { is_refused: true, .. } => Some(FoundRun::Never),
        Traces { has_journal: true, .. } => Some(FoundRun::Over),
        Traces { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_live_is_alive_and_what_never_began_is_not_over() {
        let dead = Traces { life: Life::Dead, is_refused: false, has_journal: true };
        let cases = [
            (Traces { life: Life::Alive, ..dead }, Some(FoundRun::Alive)),
            (Traces { life: Life::Unknown, has_journal: false, ..dead }, Some(FoundRun::Alive)),
            (dead, Some(FoundRun::Over)),
            (Traces { is_refused: true, ..dead }, Some(FoundRun::Never)),
            (Traces { has_journal: false, ..dead }, None),
        ];
        for (traces, expected) in cases {
            assert_eq!(adopt(traces), expected, "{traces:?}");
        }
    }
}
