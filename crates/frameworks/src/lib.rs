//! Frameworks: from a task and its ranks to everything that its engine needs to start — arguments, variables, files.
//!
//! Pure: sees only the domain, does no I/O. What only a node knows stands as a place in the result. Start reading at
//! [`launch`]; each framework has its folder and one line in [`registry`]. [`training_yaml`]
//! reads people's own settings files.

mod accelerate;
mod backend;
mod batch;
mod ddp;
mod deepspeed;
mod draft;
mod fsdp;
mod horovod;
mod hosts;
mod jax;
mod megatron;
mod network;
mod order;
mod plain;
mod precision;
mod refusal;
pub mod registry;
mod settings;
pub mod training_yaml;
mod work;
mod yaml;

pub use batch::Batch;
pub use order::{KnownModels, LaunchOrder, NodeFacts, ranks_of};
pub use refusal::{LaunchRefusal, Words};
pub use registry::{launch, settings_of, with_training};
pub use settings::Setting;
