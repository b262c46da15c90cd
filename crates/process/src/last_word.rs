//! What a warden leaves, when nothing of its run is left, in the file that its launcher gave it: for those who are not its parent.
//!
//! The file has room for it from the beginning ([`reserve`]), since the disk may be full by then.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use fermi_domain::language::Text;
use fermi_domain::verdict::LeaseHolder;

/// Why a warden has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWord {
    /// The supervisor had brought the run to its end, and has recorded how, as far as the disk let it.
    InOrder,
    /// This lease was over.
    LeaseEnded(LeaseHolder),
}

impl LastWord {
    const ALL: [Self; 3] =
        [Self::InOrder, Self::LeaseEnded(LeaseHolder::Coordinator), Self::LeaseEnded(LeaseHolder::Server)];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::InOrder => "ended in order\n",
            Self::LeaseEnded(LeaseHolder::Coordinator) => "lease of the coordinator ended\n",
            Self::LeaseEnded(LeaseHolder::Server) => "lease of the server ended\n",
        }
    }

    /// What the warden that was given this file has left there; none while it lives, or where it was killed.
    pub fn of(file: &Path) -> Option<Self> {
        let mut said = [0; 64];
        let length = File::open(file).and_then(|mut file| file.read(&mut said)).ok()?;
        let said = said[..length].trim_ascii_start();
        Self::ALL.into_iter().find(|word| said == word.text().as_bytes())
    }
}

/// What stands before the reason of keepers that could not start.
const NOT_STARTED: &[u8] = b"not started ";
/// A reason is no longer than this.
const LONGEST_REASON: usize = 4 << 10;

/// Leaves there why the keepers could not start; `file` is open for appending.
pub fn leave_not_started(file: i32, why: &Text) {
    let reason = serde_json::to_vec(why).unwrap_or_default();
    let word = [NOT_STARTED, &reason, b"\n"].concat();
    // SAFETY: the caller keeps the descriptor open. Without room the end goes unexplained.
    unsafe { libc::write(file, word.as_ptr().cast(), word.len()) };
}

/// Why the keepers that were given this file could not start; none where they could.
pub fn not_started(file: &Path) -> Option<Text> {
    let mut said = Vec::new();
    File::open(file).ok()?.take(LONGEST_REASON as u64).read_to_end(&mut said).ok()?;
    serde_json::from_slice(said.trim_ascii().strip_prefix(NOT_STARTED)?).ok()
}

/// Takes the block of the disk in which the word will stand.
pub fn reserve(file: &mut File) -> io::Result<()> {
    match file.metadata()?.len() {
        0 => file.write_all(b"\n"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keepers_that_could_not_start_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keepers.lock");
        let mut opened = File::options().create(true).append(true).open(&file).unwrap();
        reserve(&mut opened).unwrap();
        assert_eq!(not_started(&file), None);
        let why = Text::new("打开的文件过多", "too many open files");
        leave_not_started(std::os::fd::AsRawFd::as_raw_fd(&opened), &why);
        assert_eq!((not_started(&file), LastWord::of(&file)), (Some(why), None));
    }

    #[test]
    fn a_word_is_read_where_room_was_taken_for_it_and_where_it_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keepers.lock");
        assert_eq!(LastWord::of(&file), None);
        for word in LastWord::ALL {
            for is_reserved in [true, false] {
                let _ = std::fs::remove_file(&file);
                let mut opened = File::options().create(true).append(true).open(&file).unwrap();
                if is_reserved {
                    reserve(&mut opened).unwrap();
                    reserve(&mut opened).unwrap();
                }
                assert_eq!(LastWord::of(&file), None);
                opened.write_all(word.text().as_bytes()).unwrap();
                assert_eq!(LastWord::of(&file), Some(word));
            }
        }
    }
}
