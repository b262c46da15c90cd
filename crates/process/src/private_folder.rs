//! Folders that only their owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Others than its owner may enter a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOpen {
    pub mode: u32,
}

/// The bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// Makes a folder, and those above it that are missing, for this user alone. One that is there stays as it is.
pub fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Whether only its owner may enter a folder that is there.
pub fn check(folder: &Path) -> io::Result<Result<(), TooOpen>> {
    let mode = fs::metadata(folder)?.mode() & 0o7777;
    Ok(if mode & OTHERS == 0 { Ok(()) } else { Err(TooOpen { mode }) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_made_is_private_and_what_is_wider_is_noticed() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("a").join("b");
        make(&folder).unwrap();
        assert_eq!(check(&folder).unwrap(), Ok(()));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        make(&folder).unwrap();
        assert_eq!(check(&folder).unwrap(), Err(TooOpen { mode: 0o750 }));
        assert!(check(&above.path().join("none")).is_err());
    }
}
