//! Data with versions: where a version is, what is stated about it, and whether a node sees the same before ranks start.
//!
//! An agent looks ([`Seen`]); [`prove`] compares that with the [`DatasetExpectation`] that came with the assignment.

mod checksum;
mod expectation;
mod format;
mod location;
mod proof;
mod refusal;
mod sighting;

pub use checksum::{Checksum, ChecksumKind, HEX_LENGTH, LARGEST_HASHED, SAMPLED_BLOCK, SAMPLED_FILES, sampled_places};
pub use expectation::{DatasetExpectation, LookOrder, MOST_FILES};
pub use format::DataFormat;
pub use location::{LocationKind, LocationRefusal, check_location};
pub use proof::prove;
pub use refusal::{DatasetRefusal, Mismatch};
pub use sighting::{ChecksumProof, DatasetSighting, Misnamed, Seen, SeenKind};
