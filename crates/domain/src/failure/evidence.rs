//! What is known of a rank that ended.

use crate::exit::Exit;

/// Everything that a diagnosis may look at; gathered by the supervisor before the stop ladder begins.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How the process ended.
    pub exit: &'a Exit,
    /// The last lines of stdout and stderr together, newest last.
    pub tail: &'a [String],
    /// The message in torchelastic's `error.json`, when the script wrote one.
    pub error_file: Option<&'a str>,
    /// The kernel's counter says that the out-of-memory killer struck this rank's cgroup.
    pub oom_killed: bool,
    /// How long the process lived.
    pub lived_ms: u64,
    /// Whether a training step was seen: an error after progress is less likely to be a mistake in the command.
    pub made_progress: bool,
}
