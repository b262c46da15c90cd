//! Whether something of a run lives, from what can be asked: the lock that its keepers hold, the note that they left, and
//! the mark in the environment of its processes.

/// What one of them says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    Alive,
    Dead,
    /// It could not be asked: no file, no permission, no descriptor left, a file system without locks.
    Silent,
}

/// What follows from all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Alive,
    Dead,
    /// Not to be told, which must be taken for alive.
    Unknown,
}

/// One that says alive suffices; dead needs two, since each of them can be deceived: a lock file is deleted by a purge of
/// old files, a note is lost with a full disk, the environment of another user's process cannot be read.
pub fn judge(lock: Witness, note: Witness, mark: Witness) -> Life {
    let all = [lock, note, mark];
    let count = |said: Witness| all.iter().filter(|witness| **witness == said).count();
    match (count(Witness::Alive), count(Witness::Dead)) {
        (1.., _) => Life::Alive,
        (0, 2..) => Life::Dead,
        (0, _) => Life::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::Witness::{Alive, Dead, Silent};
    use super::*;

    #[test]
    fn one_witness_of_life_outweighs_all_others_and_two_are_needed_for_death() {
        let cases = [
            ((Alive, Dead, Dead), Life::Alive),
            ((Silent, Alive, Silent), Life::Alive),
            ((Dead, Dead, Alive), Life::Alive),
            ((Dead, Dead, Dead), Life::Dead),
            ((Silent, Dead, Dead), Life::Dead),
            ((Dead, Silent, Silent), Life::Unknown),
            ((Silent, Silent, Dead), Life::Unknown),
            ((Silent, Silent, Silent), Life::Unknown),
        ];
        for ((lock, note, mark), expected) in cases {
            assert_eq!(judge(lock, note, mark), expected, "{lock:?} {note:?} {mark:?}");
        }
    }
}
