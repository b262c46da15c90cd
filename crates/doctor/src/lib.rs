//! The doctor: looks at a machine and at the wire between machines, and says what would hinder a training.
//!
//! [`facts`] is what can be known of a machine, as plain values. [`look`] collects them, each step on a thread of its own
//! with a deadline, so that a hanging disk, driver or resolver is a finding and not a wait. [`check`] judges facts without
//! touching anything and gives [`Finding`]s: what holds, what was seen, and the command that mends it.
//!
//! [`nodes`] does the same with several machines and measures the wire between them; [`check::wire`] judges that.
//!
//! It changes nothing on the machine, needs no Python and no server. Start reading at
//! [`check::machine`] and [`check::wire::nodes`].

pub mod check;
pub mod facts;
pub mod look;
pub mod nodes;

pub use fermi_domain::finding::{Finding, FindingCounts as Counts, FindingState as State, FindingTopic as Topic, Fix};
