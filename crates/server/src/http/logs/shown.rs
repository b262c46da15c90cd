//! A stream as it is shown: its bytes, and a line where bytes were not kept.

use std::io;

use fermi_domain::language::Language;
use fermi_store::chunks::{ChunkStore, Gap, StreamName};

/// A part of a stream.
#[derive(Debug)]
pub struct ShownPart {
    pub offset: u64,
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
    gaps: &[Gap],
    offset: u64,
    max: usize,
    language: Language,
) -> io::Result<ShownPart> {
    if let Some(gap) = gaps.iter().find(|gap| gap.contains(offset)) {
        let gap = Gap { offset, length: gap.end() - offset, reason: gap.reason };
        let line = gap.reason.line(gap.length);
        // What was not kept may have begun within a line.
        let bytes = format!("\n{}\n", line.in_language(language)).into_bytes();
        return Ok(ShownPart { offset, next: gap.end(), bytes, gap: Some(gap) });
    }
    let ahead = gaps.iter().map(|gap| gap.offset).filter(|begin| *begin > offset).min();
    let room = ahead.map_or(max, |begin| usize::try_from(begin - offset).map_or(max, |room| room.min(max)));
    let bytes = chunks.read(name, offset, room)?;
    Ok(ShownPart { offset, next: offset + bytes.len() as u64, bytes, gap: None })
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
        let gaps = chunks.gaps(&name).unwrap();
        let (mut at, mut text) = (0, Vec::new());
        loop {
            let part = part(&chunks, &name, &gaps, at, 3, Language::En).unwrap();
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
