//! A stream as it is shown: its bytes, and a line where bytes were not kept.

use std::io;

use fermi_domain::language::Language;
use fermi_store::chunks::{ChunkStore, Gap, StreamName};

/// A part of a stream.
#[derive(Debug)]
pub struct ShownPart {
    /// Where the next part begins.
    pub next: u64,
    /// The bytes themselves, or the line that stands for a gap.
    pub bytes: Vec<u8>,
    pub gap: Option<Gap>,
}

/// What stands at an offset: bytes up to the next gap, or a gap. Nothing at the end of the stream.
pub fn part(
    chunks: &dyn ChunkStore,
    name: &StreamName,
    offset: u64,
    max: usize,
    language: Language,
) -> io::Result<ShownPart> {
    let mut bytes = chunks.read(name, offset, max)?;
    // Gaps read as zeros, which logs hardly have: most streams are never asked for theirs.
    let gaps = if bytes.contains(&0) { chunks.gaps(name)? } else { Vec::new() };
    if let Some(gap) = gaps.iter().find(|gap| gap.contains(offset)) {
        let gap = Gap { offset, length: gap.end() - offset, reason: gap.reason };
        let line = gap.reason.line(gap.length);
        // What was not kept may have begun within a line.
        let bytes = format!("\n{}\n", line.in_language(language)).into_bytes();
        return Ok(ShownPart { next: gap.end(), bytes, gap: Some(gap) });
    }
    if let Some(ahead) = gaps.iter().map(|gap| gap.offset).filter(|begin| *begin > offset).min() {
        bytes.truncate(usize::try_from(ahead - offset).unwrap_or(usize::MAX));
    }
    Ok(ShownPart { next: offset + bytes.len() as u64, bytes, gap: None })
}

#[cfg(test)]
mod tests {
    use fermi_domain::disk::GapReason;
    use fermi_domain::ids::TaskId;
    use fermi_store::chunks::{LocalChunks, StreamKind};

    use super::*;

    #[test]
    fn a_stream_with_a_gap_is_shown_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        let name = StreamName { task: TaskId::from("task-1"), attempt: 1, rank: 0, kind: StreamKind::Stdout };
        chunks.append(&name, 0, b"one\n").unwrap();
        chunks.skip(&name, 4, 1 << 30, GapReason::DiskFull).unwrap();
        chunks.append(&name, 4 + (1 << 30), b"two\n").unwrap();
        let (mut at, mut text) = (0, Vec::new());
        loop {
            let part = part(&chunks, &name, at, 3, Language::En).unwrap();
            if part.bytes.is_empty() {
                break;
            }
            at = part.next;
            text.extend(part.bytes);
        }
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "one\n\n[fermi: 1073741824 bytes were not kept here, the server's disk is full]\ntwo\n"
        );
    }
}
