//! The last lines of a stream, read from its end.

use std::io;

use memchr::memrchr_iter;

use super::{ChunkStore, StreamName};

const BLOCK: u64 = 64 << 10;
/// However many lines are asked for, no more bytes than this are given.
pub(super) const MOST: u64 = 8 << 20;

pub(super) fn tail<S: ChunkStore + ?Sized>(store: &S, name: &StreamName, lines: usize) -> io::Result<(u64, Vec<u8>)> {
    let mut end = store.length(name)?;
    if lines == 0 {
        return Ok((end, Vec::new()));
    }
    let mut gaps = store.gaps(name)?;
    while let Some(last) = gaps.pop_if(|gap| gap.end() >= end) {
        end = end.min(last.offset);
    }
    let floor = end.saturating_sub(MOST).max(gaps.last().map_or(0, |gap| gap.end()));
    let mut begin = end;
    let mut missing = lines;
    // Blocks from the last one to the first; put together once it is known where to begin.
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    while begin > floor {
        let from = begin.saturating_sub(BLOCK).max(floor);
        let mut block = store.read(name, from, usize::try_from(begin - from).unwrap_or(0))?;
        for at in memrchr_iter(b'\n', &block) {
            // The newline that ends the stream ends its last line and begins none.
            if from + at as u64 + 1 == end {
                continue;
            }
            missing -= 1;
            if missing == 0 {
                begin = from + at as u64 + 1;
                blocks.push(block.split_off(at + 1));
                return Ok((begin, joined(blocks)));
            }
        }
        blocks.push(block);
        begin = from;
    }
    Ok((begin, joined(blocks)))
}

fn joined(blocks: Vec<Vec<u8>>) -> Vec<u8> {
    blocks.into_iter().rev().flatten().collect()
}
