//! Small files that are allocated while the disk has room and overwritten in place later, so that they can be written when the
//! disk is full.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Writes a text with blanks behind it: so much room is the file's from now on.
pub fn reserve(path: &Path, text: &[u8], room: usize) -> io::Result<()> {
    let mut bytes = text.to_vec();
    bytes.resize(room.max(text.len()), b' ');
    let file = File::options().create(true).write(true).truncate(false).open(path)?;
    file.write_all_at(&bytes, 0)
}

/// Replaces the text of a file in the room that it has, without asking the disk for more.
pub fn overwrite(path: &Path, text: &[u8]) -> io::Result<()> {
    let file = File::options().create(true).write(true).truncate(false).open(path)?;
    file.write_all_at(text, 0)?;
    file.set_len(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_text_takes_the_place_of_the_one_before_and_of_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        reserve(&path, b"{\"a\":1}", 64).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 64);
        let found: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["a"], 1);
        overwrite(&path, b"{}").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }
}
