//! The text that the built-in trainer learns: short pieces about machines that train together, written for Fermi.

use crate::random::{Purpose, random};

static TEXT: &[u8] = include_bytes!("../data/corpus.txt");

/// Beyond this, attention's square of the length would make one step last minutes.
const LONGEST_SEQUENCE: usize = 1024;

pub(crate) fn longest_sequence() -> usize {
    LONGEST_SEQUENCE.min(TEXT.len() - 1)
}

/// Sample `index` of the global batch of `step`: the bytes to read, and the same moved by one, to predict. It depends on
/// nothing else, so that any number of ranks shares out the same batch.
pub(crate) fn sample(seed: u64, step: u64, index: usize, length: usize) -> (&'static [u8], &'static [u8]) {
    let starts = (TEXT.len() - length) as u64;
    let start = (random(seed, Purpose::Sample { step }, index as u64) % starts) as usize;
    (&TEXT[start..start + length], &TEXT[start + 1..start + 1 + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_inputs_moved_by_one() {
        for index in 0..100 {
            let (inputs, targets) = sample(7, 3, index, 64);
            assert_eq!((inputs.len(), targets.len()), (64, 64));
            assert_eq!(inputs[1..], targets[..63]);
        }
        assert_eq!(sample(7, 3, 0, 64), sample(7, 3, 0, 64));
        assert_ne!(sample(7, 3, 0, 64), sample(7, 4, 0, 64));
    }

    #[test]
    fn the_text_is_large_enough_for_the_longest_sequence() {
        assert_eq!(longest_sequence(), LONGEST_SEQUENCE);
        assert!(std::str::from_utf8(TEXT).is_ok());
        let _ = sample(1, 1, 1, LONGEST_SEQUENCE);
    }
}
