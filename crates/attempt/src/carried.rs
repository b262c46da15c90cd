//! Files of Python that the binary carries and writes where interpreters can read them.

use std::fs;
use std::io;
use std::path::Path;

/// Paths below a folder, each with its text.
pub(crate) struct CarriedFiles(pub &'static [(&'static str, &'static str)]);

impl CarriedFiles {
    /// A name for a folder with these very files: other contents have another one.
    pub fn fingerprint(&self) -> String {
        let bytes = self.0.iter().flat_map(|(path, text)| path.bytes().chain(text.bytes()));
        let fnv =
            bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        format!("{fnv:016x}")
    }

    /// Writes the files, unless they are there as they should be; others may do the same at the same time.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        if self.are_intact(folder) {
            return Ok(());
        }
        for (path, text) in self.0 {
            let path = folder.join(path);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let new = path.with_file_name(format!(".{name}.{}", std::process::id()));
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&new, text)?;
            fs::rename(&new, &path)?;
        }
        Ok(())
    }

    /// Whether the files are as they should be.
    pub fn are_intact(&self, folder: &Path) -> bool {
        self.0.iter().all(|(path, text)| fs::read(folder.join(path)).is_ok_and(|read| read == text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: CarriedFiles = CarriedFiles(&[("one.py", "1"), ("below/two.py", "2")]);

    #[test]
    fn they_are_written_once_and_again_where_they_were_changed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!FILES.are_intact(folder.path()));
        FILES.write(folder.path()).unwrap();
        assert!(FILES.are_intact(folder.path()));
        fs::write(folder.path().join("below/two.py"), "raise SystemExit").unwrap();
        assert!(!FILES.are_intact(folder.path()));
        FILES.write(folder.path()).unwrap();
        assert!(FILES.are_intact(folder.path()));
        assert_eq!(fs::read_dir(folder.path().join("below")).unwrap().count(), 1);
    }

    #[test]
    fn other_contents_have_another_folder() {
        let moved = CarriedFiles(&[("one.py", "1"), ("below/three.py", "2")]);
        assert_ne!(FILES.fingerprint(), moved.fingerprint());
    }
}
