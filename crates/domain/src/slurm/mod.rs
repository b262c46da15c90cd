//! Slurm, as far as it can be understood from its variables and texts alone: node lists, a task's place in its step, the
//! states of a job, and the batch script that starts one launcher per node.

pub mod hostlist;
pub mod job;
pub mod position;
pub mod script;
pub mod time;

pub use job::{JobLook, JobState};
pub use position::{SlurmPosition, Tasks};
pub use script::{BatchScript, StopLeadTime};
