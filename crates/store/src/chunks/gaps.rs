//! Where bytes of a stream were lost: one line `<at> <missing>` each, beside the stream's segments.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

/// Bytes that a rank wrote and that never came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The offset of the byte that came next.
    pub at: u64,
    pub missing_bytes: u64,
}

/// A torn last line is no gap yet.
pub(super) fn read(path: &Path) -> io::Result<(Vec<Gap>, u64)> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        text => text?,
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let gap = |line: &str| {
        let (at, missing) = line.split_once(' ')?;
        Some(Gap { at: at.parse().ok()?, missing_bytes: missing.parse().ok()? })
    };
    Ok((text[..whole].lines().filter_map(gap).collect(), whole as u64))
}

/// Adds a gap behind the whole lines and waits until it is safe.
pub(super) fn append(path: &Path, whole: u64, gap: Gap) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.set_len(whole)?;
    writeln!(file, "{} {}", gap.at, gap.missing_bytes)?;
    file.sync_data()
}
