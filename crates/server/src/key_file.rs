//! Secrets, each in a file that only its owner can read, and the folder that no one else may enter.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use data_encoding::HEXLOWER;

/// Others than its owner may enter a folder or read a file that holds secrets.
#[derive(Debug, PartialEq, Eq)]
pub struct TooOpen {
    pub mode: u32,
}

/// The bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// Whether only its owner gets at a file or folder; one that is not there is fine.
pub fn check_private(path: &Path) -> io::Result<Result<(), TooOpen>> {
    match fs::metadata(path) {
        Ok(found) if found.mode() & OTHERS != 0 => Ok(Err(TooOpen { mode: found.mode() & 0o7777 })),
        Ok(_) => Ok(Ok(())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ok(())),
        Err(error) => Err(error),
    }
}

/// Makes a folder that only its owner may enter, with those above it as usual.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        outcome => outcome.and_then(|()| keep_name(path)),
    }
}

/// The word of the file, which is made with a random one where it is not there.
pub fn read_or_make(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => make(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path),
        Err(error) => Err(error),
    }
}

/// The file holds something else than a key, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub struct NoKey;

/// The key of the file, made where it is not there. What is damaged is not replaced: what was sealed with it would never open
/// again. Whoever writes a key of their own writes no shorter one than [`make`] does.
pub fn key(path: &Path) -> io::Result<Result<String, NoKey>> {
    match fs::read(path) {
        Ok(bytes) => {
            let word = bytes.trim_ascii();
            let is_whole = word.len() >= 2 * KEY_BYTES && word.iter().all(u8::is_ascii_graphic);
            Ok(if is_whole { Ok(String::from_utf8_lossy(word).into_owned()) } else { Err(NoKey) })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path).map(Ok),
        Err(error) => Err(error),
    }
}

const KEY_BYTES: usize = 24;

fn make(path: &Path) -> io::Result<String> {
    let mut bytes = [0_u8; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let word = HEXLOWER.encode(&bytes);
    write_private(path, &format!("{word}\n"))?;
    Ok(word)
}

/// Writes a file for its owner alone: aside and renamed, so that a crash leaves no half of it.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let aside = path.with_extension("new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    keep_name(path)
}

/// What is in the place of a file of the server's own is no file: a pipe, in which nobody may ever write, or a device.
#[derive(Debug, PartialEq, Eq)]
pub struct NotPlain;

/// Whether it can be read as a file; one that is not there is fine.
pub fn check_plain(path: &Path) -> io::Result<Result<(), NotPlain>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(Ok(())),
        Ok(_) => Ok(Err(NotPlain)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ok(())),
        Err(error) => Err(error),
    }
}

/// Waits until the name of a file survives a power cut, as its bytes do.
pub fn keep_name(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| {
        // A name alone is in the working folder.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = read_or_make(&path).unwrap();
        assert_eq!(made.len(), 48);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(check_private(&path).unwrap(), Ok(()));
        assert_eq!(read_or_make(&path).unwrap(), made);
    }

    #[test]
    fn what_is_no_whole_key_is_neither_taken_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        let made = key(&path).unwrap().unwrap();
        assert_eq!((key(&path).unwrap(), read_or_make(&path).unwrap()), (Ok(made.clone()), made.clone()));
        for damaged in [&b""[..], b"\n", &made.as_bytes()[..20], b"not a key", &[b' '; 48], &[0; 100], &[0xff; 48]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(key(&path).unwrap(), Err(NoKey), "{damaged:?}");
            assert_eq!(fs::read(&path).unwrap(), damaged);
        }
        fs::write(&path, "F0".repeat(32)).unwrap();
        assert_eq!(key(&path).unwrap(), Ok("F0".repeat(32)), "somebody's own");
    }

    #[test]
    fn what_is_no_plain_file_is_noticed_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(check_plain(&path).unwrap(), Ok(()));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(check_plain(&path).unwrap(), Err(NotPlain));
        assert_eq!(check_plain(folder.path()).unwrap(), Err(NotPlain));
        fs::remove_file(&path).unwrap();
        key(&path).unwrap().unwrap();
        assert_eq!(check_plain(&path).unwrap(), Ok(()));
    }

    #[test]
    fn what_others_may_read_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("data");
        assert_eq!(check_private(&path).unwrap(), Ok(()));
        make_private_folder(&path).unwrap();
        make_private_folder(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        for (mode, is_private) in [(0o700, true), (0o500, true), (0o750, false), (0o701, false), (0o755, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_private(&path).unwrap().is_ok(), is_private, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
