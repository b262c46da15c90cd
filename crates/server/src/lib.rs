//! The control plane: one place that knows all environments and tasks.
//!
//! [`http`] is the public API, one file per resource; [`agents`] is what agents say and send; [`reconcilers`] act on the
//! difference between what is wanted and what is, as loops of the [`background`]; [`lifecycle`] is the one way in which a task
//! changes; [`guard`] says on whose behalf a request comes, by what `access` knows. Every rule is in `fermi-domain`. Start reading at [`serve::run`].

mod access;
pub mod agents;
mod assignment;
pub mod background;
mod caller;
pub mod connection;
pub mod connections;
pub mod core;
pub mod disk;
mod envelope;
pub mod guard;
mod heartbeat_pace;
pub mod http;
mod hub;
mod kept;
mod key_file;
mod lifecycle;
mod model_numbers;
pub mod openapi;
mod plan;
mod preflights;
mod probing;
mod questions;
mod reconcilers;
mod refreshes;
mod restored;
mod run_secret;
mod sample_files;
mod samples;
mod serve;
mod tls;
mod webhooks;

pub use access::{Vault, oidc};
pub use fermi_store::backup;
pub use reconcilers::start as start_reconcilers;
#[doc(hidden)]
pub use serve::start_at_the_door;
pub use serve::{Door, ServerError, ServerKey, ServerNews, ServerOptions, ServerToken, run};
pub use tls::Encryption;
