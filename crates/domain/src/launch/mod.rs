//! The launch of a task: everything that is decided before anything starts.
//!
//! [`TaskLaunch`] is what a framework makes of a task and its ranks, over all nodes; [`NodeLaunch`] is what one node gets
//! of it, with the [`RunPolicy`] by which its ranks live. What only the node itself knows (its folders, its Python, the
//! port that rank 0 got) stands as a [`Placeholder`] in a [`Template`] and is filled in there.

mod node;
mod policy;
mod task;
mod template;

pub use node::NodeLaunch;
pub use policy::RunPolicy;
pub use task::{LaunchFile, NodePart, RankLaunch, Serves, TaskLaunch};
pub use template::{Placeholder, Template};
