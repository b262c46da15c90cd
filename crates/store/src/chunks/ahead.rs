//! Looking ahead in a stream with several threads: where is the first block that has the text?

use std::{
    num::NonZero,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use memchr::memrchr;

use super::{ChunkStore, StreamName, needle::Needle};

/// More threads than these are no faster than the memory that they read, and other requests want some too.
const MOST_THREADS: usize = 4;

/// A part of a stream that is looked through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: u64,
    /// Nothing is read behind it: the stream ends there, or has a gap.
    pub end: u64,
    /// So many blocks are looked at.
    pub blocks: u64,
    pub block: usize,
}

/// What is known of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clear {
    /// The text begins nowhere before it.
    pub to: u64,
    /// Where the last line begins of those that begin before it; none where the stretch has no line ending up to there.
    pub line: Option<u64>,
}

/// How far a stretch has no text that begins in it. It ends before a block that has one, and before one that cannot be read:
/// whoever goes on there finds out which.
pub(super) fn look<S: ChunkStore + ?Sized>(store: &S, name: &StreamName, needle: &Needle, stretch: Stretch) -> Clear {
    look_with(store, name, needle, stretch, threads())
}

fn look_with<S>(store: &S, name: &StreamName, needle: &Needle, stretch: Stretch, threads: usize) -> Clear
where
    S: ChunkStore + ?Sized,
{
    let (next, stop) = (AtomicU64::new(0), AtomicU64::new(stretch.blocks));
    let work = || work(store, name, needle, stretch, &next, &stop);
    let lines = thread::scope(|scope| {
        let most = usize::try_from(stretch.blocks).unwrap_or(usize::MAX);
        // Where there is no thread to be had, there are fewer.
        let spawn = |_| thread::Builder::new().name("fermi-search".to_owned()).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads.min(most)).filter_map(spawn).collect();
        let mut lines = work();
        for other in others {
            lines.extend(other.join().unwrap_or_default());
        }
        lines
    });
    let stop = stop.into_inner();
    let line = lines.into_iter().filter(|(block, _)| *block < stop).map(|(_, line)| line).max();
    Clear { to: stretch.end.min(stretch.begin(stop)), line }
}

/// Takes block after block until there is no further one, or an earlier one stops the search. Each block before the one that
/// stops it has been looked at to its end, because they are handed out in their order. The answer is where the last line of each
/// block begins.
fn work<S>(
    store: &S,
    name: &StreamName,
    needle: &Needle,
    stretch: Stretch,
    next: &AtomicU64,
    stop: &AtomicU64,
) -> Vec<(u64, u64)>
where
    S: ChunkStore + ?Sized,
{
    let (mut bytes, mut lines) = (Vec::new(), Vec::new());
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= stop.load(Relaxed) {
            return lines;
        }
        let begin = stretch.begin(number);
        // A text that begins at a block's end goes on in the next one.
        let wanted = stretch.block + needle.len().saturating_sub(1);
        let wanted = usize::try_from(stretch.end.saturating_sub(begin)).unwrap_or(usize::MAX).min(wanted);
        bytes.resize(wanted, 0);
        let is_whole = store.read_into(name, begin, &mut bytes).is_ok_and(|read| read == wanted);
        if !is_whole || needle.find(&bytes).is_some() {
            stop.fetch_min(number, Relaxed);
            return lines;
        }
        let own = &bytes[..wanted.min(stretch.block)];
        lines.extend(memrchr(b'\n', own).map(|newline| (number, begin + newline as u64 + 1)));
    }
}

impl Stretch {
    fn begin(self, block: u64) -> u64 {
        self.from.saturating_add(block.saturating_mul(self.block as u64))
    }
}

fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS))
}

#[cfg(test)]
mod tests {
    use fermi_domain::ids::TaskId;
    use tempfile::tempdir;

    use super::*;
    use crate::chunks::{Case, LocalChunks, StreamKind};

    #[test]
    fn what_lies_ahead_is_the_same_for_any_number_of_threads() {
        let folder = tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        let name = StreamName { task: TaskId::from("task-1"), attempt: 1, rank: 0, kind: StreamKind::Stdout };
        let mut bytes: Vec<u8> = (0..4_000_u32).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
        let (needle, case) = (b"needle", Case::Ignored);
        let needle = Needle::new(needle, case, &bytes);
        chunks.append(&name, 0, &bytes).unwrap();
        let length = bytes.len() as u64;
        let plain = |bytes: &[u8], to: u64| memrchr(b'\n', &bytes[..to as usize]).map(|newline| newline as u64 + 1);
        let stretch = |blocks: u64| Stretch { from: 0, end: length, blocks, block: 1_000 };
        for threads in 1..=5 {
            let look = |stretch: Stretch| look_with(&chunks, &name, &needle, stretch, threads);
            assert_eq!(look(stretch(1_000)), Clear { to: length, line: Some(length) });
            assert_eq!(look(stretch(3)), Clear { to: 3_000, line: plain(&bytes, 3_000) });
            assert_eq!(look(stretch(0)), Clear { to: 0, line: None });
            let gone = StreamName { rank: 1, ..name.clone() };
            let nothing = Clear { to: 0, line: None };
            assert_eq!(look_with(&chunks, &gone, &needle, stretch(9), threads), nothing, "it was deleted");
        }
        // One over the border of two blocks belongs to the first of them.
        for place in [17_999, 17_994, 18_000] {
            let name = StreamName { rank: place, ..name.clone() };
            let place = place as usize;
            let before = bytes[place..place + 6].to_vec();
            bytes[place..place + 6].copy_from_slice(b"nEEdle");
            chunks.append(&name, 0, &bytes).unwrap();
            let to = place as u64 / 1_000 * 1_000;
            for threads in 1..=5 {
                let found = look_with(&chunks, &name, &needle, stretch(1_000), threads);
                assert_eq!(found, Clear { to, line: plain(&bytes, to) }, "{place}");
            }
            bytes[place..place + 6].copy_from_slice(&before);
        }
    }
}
