//! Dumps of ranks that others have made: who stands where, and who has not come to where the others wait.
//!
//! [`Dump::read`] takes the text of one file, whatever wrote it; [`DumpReport::of`] compares those of all ranks.

mod flight_record;
mod pickle;
mod read;
mod report;

pub use flight_record::{Collectives, FlightRecord, GroupStatus, NewestCollective};
pub use read::{Dump, DumpFormat, DumpProblem, rank_of_name};
pub use report::{DumpReport, DumpVerdict};
