//! The launch of a task: everything that is decided before anything starts.
//!
//! [`TaskLaunch`] is what a framework makes of a task and its ranks, over all nodes; [`NodeLaunch`] is what one node gets
//! of it, with the [`RunPolicy`] by which its ranks live; a [`StartRecord`] keeps what came of it. What only the node itself knows (its folders, its Python, the
//! port that rank 0 got) stands as a [`Placeholder`] in a [`Template`] and is filled in there.

mod node;
mod policy;
mod start_record;
mod task;
mod template;

pub use node::NodeLaunch;
pub use policy::RunPolicy;
pub use start_record::{LONGEST as LONGEST_START_RECORD, RankStart, StartRecord, StartedNode, Withheld};
pub use task::{LaunchFile, NodePart, RankLaunch, Serves, TaskLaunch};
pub use template::{Placeholder, Template};
