//! `--json`: every event of the run, one object per line on stdout.

use fermi_domain::event::Record;

use crate::speech;

/// Prints the event; a reader that went away does not stop the training.
pub fn print(record: &Record) {
    if let Ok(mut line) = serde_json::to_string(record) {
        line.push('\n');
        speech::print(&line);
    }
}
