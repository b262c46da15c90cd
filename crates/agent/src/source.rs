//! Code that was sent to the server once and is fetched by every node that runs it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, EntryType};

/// Why the code is not here.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("`{0}` is not the digest of an archive")]
    BadDigest(String),
    #[error("the server does not give it: {0}")]
    NotFetched(String),
    #[error("what came is not what was sent: its digest is {0}")]
    OtherDigest(String),
    #[error("the archive holds `{0}`, which would leave its folder")]
    Escapes(String),
    #[error("cannot unpack it")]
    Io(#[from] io::Error),
}

/// The folder with the code of this digest; fetched with `open` when it is not here yet.
pub fn folder(
    sources: &Path,
    digest: &str,
    open: impl FnOnce() -> Result<Box<dyn Read>, SourceError>,
) -> Result<PathBuf, SourceError> {
    let name = digest.strip_prefix("sha256:").unwrap_or(digest);
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(SourceError::BadDigest(digest.to_owned()));
    }
    let name = name.to_ascii_lowercase();
    let home = sources.join(&name);
    if home.is_dir() {
        // By this time the retention sees that it is used.
        let _ = File::open(&home).and_then(|folder| folder.set_modified(SystemTime::now()));
        return Ok(home);
    }
    crate::data_folder::make(sources)?;
    // Two runs may fetch the same code at once: each in its own draft, and the second finds the first one's.
    let draft = sources.join(format!(".{name}-{:?}", std::thread::current().id()));
    let done = fetch(open, &draft, &name).and_then(|()| match fs::rename(draft.join("tree"), &home) {
        Err(_) if home.is_dir() => Ok(()),
        done => Ok(done?),
    });
    let _ = fs::remove_dir_all(&draft);
    done.map(|()| home)
}

/// A task's own copy of the code, which its ranks may write to: two tasks of one source must not see each other's files.
/// Made once; what the ranks of earlier launches left there stays.
pub fn own_copy(source: &Path, home: &Path) -> io::Result<PathBuf> {
    if home.is_dir() {
        return Ok(home.to_owned());
    }
    let draft = home.with_extension("part");
    let _ = fs::remove_dir_all(&draft);
    copy_tree(source, &draft)?;
    fs::rename(&draft, home)?;
    Ok(home.to_owned())
}

/// Copies files (sharing their blocks where the file system can), folders and links as they are.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    crate::data_folder::make(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn fetch(
    open: impl FnOnce() -> Result<Box<dyn Read>, SourceError>,
    draft: &Path,
    digest: &str,
) -> Result<(), SourceError> {
    let _ = fs::remove_dir_all(draft);
    crate::data_folder::make(draft)?;
    let path = draft.join("archive");
    let mut file = File::create(&path)?;
    let found = copy(open()?, &mut file)?;
    if found != digest {
        return Err(SourceError::OtherDigest(found));
    }
    unpack(File::open(&path)?, &draft.join("tree"))
}

/// Writes down what comes and says its digest.
fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match from.read(&mut chunk)? {
            0 => break,
            n => {
                hash.update(&chunk[..n]);
                to.write_all(&chunk[..n])?;
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Unpacks files, folders and links that stay inside; anything else is refused before it is written.
fn unpack(archive: impl Read, tree: &Path) -> Result<(), SourceError> {
    crate::data_folder::make(tree)?;
    let mut archive = Archive::new(GzDecoder::new(archive));
    archive.set_preserve_permissions(true);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let escapes = || SourceError::Escapes(path.display().to_string());
        let depth = inner_depth(&path).ok_or_else(escapes)?;
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Directory | EntryType::GNUSparse | EntryType::Continuous => {}
            EntryType::Symlink => {
                let target = entry.link_name()?.ok_or_else(escapes)?;
                if !stays_inside(&target, depth.saturating_sub(1)) {
                    return Err(escapes());
                }
            }
            EntryType::Link => {
                let target = entry.link_name()?.ok_or_else(escapes)?;
                inner_depth(&target).ok_or_else(escapes)?;
            }
            EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName | EntryType::GNULongLink => continue,
            _ => return Err(escapes()),
        }
        // It checks once more on disk that no link of the archive itself leads outside.
        if !entry.unpack_in(tree)? {
            return Err(escapes());
        }
    }
    Ok(())
}

/// How many folders deep a plain relative path is; none for one that is absolute or climbs.
fn inner_depth(path: &Path) -> Option<usize> {
    path.components().try_fold(0, |depth, part| match part {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        _ => None,
    })
}

/// Whether a link in a folder so deep leads to something inside.
pub fn stays_inside(target: &Path, depth: usize) -> bool {
    let end = target.components().try_fold(depth, |depth, part| match part {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        Component::ParentDir => depth.checked_sub(1),
        Component::RootDir | Component::Prefix(_) => None,
    });
    end.is_some()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    enum Item<'a> {
        File(&'a str),
        Symlink(&'a str, &'a str),
        Device(&'a str),
    }

    fn archive(items: &[Item<'_>]) -> (Vec<u8>, String) {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for item in items {
            let mut header = Header::new_gnu();
            header.set_mode(0o755);
            let (path, kind) = match item {
                Item::File(path) => (*path, EntryType::Regular),
                Item::Symlink(path, target) => {
                    header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
                    (*path, EntryType::Symlink)
                }
                Item::Device(path) => (*path, EntryType::Char),
            };
            header.set_entry_type(kind);
            // Written by hand: the library would refuse to write what we want to see refused.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            let body: &[u8] = if kind == EntryType::Regular { b"x" } else { b"" };
            header.set_size(body.len() as u64);
            header.set_cksum();
            builder.append(&header, body).unwrap();
        }
        let bytes = builder.into_inner().unwrap().finish().unwrap();
        let digest = copy(Cursor::new(&bytes), &mut io::sink()).unwrap();
        (bytes, digest)
    }

    fn get(sources: &Path, bytes: Vec<u8>, digest: &str) -> Result<PathBuf, SourceError> {
        folder(sources, digest, || Ok(Box::new(Cursor::new(bytes))))
    }

    #[test]
    fn code_is_unpacked_once_and_found_again() {
        let sources = tempfile::tempdir().unwrap();
        let (bytes, digest) = archive(&[Item::File("a/train 训.py"), Item::Symlink("a/link", "../a/train 训.py")]);
        let home = get(sources.path(), bytes, &digest).unwrap();
        assert_eq!(fs::read_to_string(home.join("a/link")).unwrap(), "x");
        let again = folder(sources.path(), &format!("sha256:{digest}"), || panic!("it is here")).unwrap();
        assert_eq!(again, home);
        assert_eq!(fs::read_dir(sources.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn what_would_leave_the_folder_is_refused_and_nothing_stays() {
        let sources = tempfile::tempdir().unwrap();
        let cases: [&[Item<'_>]; 6] = [
            &[Item::File("../evil")],
            &[Item::File("/tmp/fermi-evil")],
            &[Item::Symlink("out", "/etc")],
            &[Item::Symlink("a/out", "../../x")],
            &[Item::Symlink("out", ".."), Item::File("out/evil")],
            &[Item::Device("null")],
        ];
        for items in cases {
            let (bytes, digest) = archive(items);
            let refused = get(sources.path(), bytes, &digest);
            assert!(matches!(refused, Err(SourceError::Escapes(_))), "{refused:?}");
            assert_eq!(fs::read_dir(sources.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn other_bytes_than_those_that_were_sent_are_refused() {
        let sources = tempfile::tempdir().unwrap();
        let (mut bytes, digest) = archive(&[Item::File("a")]);
        bytes.push(0);
        assert!(matches!(get(sources.path(), bytes.clone(), &digest), Err(SourceError::OtherDigest(_))));
        assert!(matches!(get(sources.path(), bytes, "../x"), Err(SourceError::BadDigest(_))));
    }

    #[test]
    fn a_task_writes_to_a_copy_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("sources/x");
        fs::create_dir_all(source.join("sub")).unwrap();
        fs::write(source.join("sub/train.py"), "code").unwrap();
        std::os::unix::fs::symlink("sub/train.py", source.join("link.py")).unwrap();
        let homes = ["task-1", "task-2"].map(|task| folder.path().join(task).join("source"));
        for home in &homes {
            fs::create_dir_all(home.parent().unwrap()).unwrap();
            assert_eq!(own_copy(&source, home).unwrap(), *home);
        }
        fs::write(homes[0].join("sub/train.py"), "changed").unwrap();
        fs::write(homes[0].join("result"), "1").unwrap();
        assert_eq!(fs::read_to_string(homes[1].join("link.py")).unwrap(), "code");
        assert_eq!(fs::read_to_string(source.join("sub/train.py")).unwrap(), "code");
        own_copy(&source, &homes[0]).unwrap();
        assert_eq!(fs::read_to_string(homes[0].join("result")).unwrap(), "1", "what earlier launches left stays");
    }
}
