//! Code that was sent to the server once and is fetched by every node that runs it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use fermi_domain::language::{Text, reason};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, EntryType};

/// Files, folders and links of one archive.
const MOST_ENTRIES: u64 = 200_000;
/// Of all that is unpacked.
const LARGEST_TREE: u64 = 4 << 30;
/// Of a long name or what else stands before an entry, which is read into memory.
const LARGEST_EXTENSION: u64 = 1 << 20;

/// How much an archive of so many bytes may become: code shrinks to a tenth, not to a thousandth.
fn most_unpacked(packed: u64) -> u64 {
    packed.saturating_mul(20).saturating_add(256 << 20).min(LARGEST_TREE)
}

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
    #[error("the archive holds more than {MOST_ENTRIES} files, or more than {} MiB when it is unpacked", .most >> 20)]
    TooLarge { most: u64 },
    #[error("cannot unpack it")]
    Io(#[from] io::Error),
}

impl SourceError {
    /// As people read it: names in an archive are a stranger's.
    pub fn text(&self) -> Text {
        match self {
            Self::BadDigest(digest) => Text::new(
                format!("“{}” 不是归档的摘要", digest.escape_debug()),
                format!("'{}' is not the digest of an archive", digest.escape_debug()),
            ),
            Self::NotFetched(said) => {
                let why = reason::of_said(said);
                Text::new(format!("服务端没有给出：{}", why.zh), format!("the server does not give it: {}", why.en))
            }
            Self::OtherDigest(digest) => Text::new(
                format!("收到的内容与发送的不同，其摘要为 {digest}"),
                format!("what came is not what was sent: its digest is {digest}"),
            ),
            Self::Escapes(name) => Text::new(
                format!("归档中的 “{}” 会离开其文件夹", name.escape_debug()),
                format!("the archive holds '{}', which would leave its folder", name.escape_debug()),
            ),
            Self::TooLarge { most } => Text::new(
                format!("归档的文件超过 {MOST_ENTRIES} 个，或解开后超过 {} MiB", most >> 20),
                format!(
                    "the archive holds more than {MOST_ENTRIES} files, or more than {} MiB when it is unpacked",
                    most >> 20
                ),
            ),
            Self::Io(error) => {
                let why = reason::of_io(error);
                Text::new(format!("无法解开归档：{}", why.zh), format!("it cannot be unpacked: {}", why.en))
            }
        }
    }
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
    // A launch that was stopped may still be copying: who comes second waits, and finds the first one's copy.
    let lock = File::create(home.with_extension("lock"))?;
    let _ = lock.lock();
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
    let packed = File::open(&path)?;
    let most = most_unpacked(packed.metadata()?.len());
    measure(GzDecoder::new(packed), most)?;
    unpack(GzDecoder::new(File::open(&path)?), &draft.join("tree"), most)
}

/// Adds up what the entries say of themselves, before anything of them is written or kept.
fn measure(archive: impl Read, most: u64) -> Result<(), SourceError> {
    let too_large = || SourceError::TooLarge { most };
    let mut left = most;
    let mut archive = Archive::new(archive);
    for (number, entry) in (0_u64..).zip(archive.entries()?.raw(true)) {
        let entry = entry?;
        let header = entry.header();
        let size = header.entry_size()?;
        let is_extension = matches!(
            header.entry_type(),
            EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName | EntryType::GNULongLink
        );
        if number >= MOST_ENTRIES || is_extension && size > LARGEST_EXTENSION {
            return Err(too_large());
        }
        let whole = header.as_gnu().filter(|_| header.entry_type() == EntryType::GNUSparse);
        let whole = whole.map(|header| header.real_size()).transpose()?.unwrap_or(0);
        left = left.checked_sub(size.max(whole)).ok_or_else(too_large)?;
    }
    Ok(())
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
fn unpack(archive: impl Read, tree: &Path, most: u64) -> Result<(), SourceError> {
    crate::data_folder::make(tree)?;
    let mut left = most;
    let mut archive = Archive::new(archive);
    archive.set_preserve_permissions(true);
    // Whoever unpacks it may be root: no file of it is executed as its owner.
    archive.set_mask(0o7000);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        // An extension may say another size than the header that was measured.
        left = left.checked_sub(entry.size()).ok_or(SourceError::TooLarge { most })?;
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
                // Each becomes a file of its own when the tree is copied for a task.
                let linked = tree.join(&target);
                let about = fs::symlink_metadata(&linked)?;
                left = left.checked_sub(about.len()).ok_or(SourceError::TooLarge { most })?;
                // What is linked may be a link, which leads elsewhere from here.
                if about.is_symlink() && !stays_inside(&fs::read_link(&linked)?, depth.saturating_sub(1)) {
                    return Err(escapes());
                }
            }
            EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName | EntryType::GNULongLink => continue,
            _ => return Err(escapes()),
        }
        if leads_through_link(tree, &path) {
            return Err(escapes());
        }
        // It checks once more on disk that no link of the archive itself leads outside.
        if !entry.unpack_in(tree)? {
            return Err(escapes());
        }
    }
    Ok(())
}

/// Whether a folder above this path is a link, so that the path is elsewhere than it says.
fn leads_through_link(tree: &Path, path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.any(|above| fs::symlink_metadata(tree.join(above)).is_ok_and(|about| about.is_symlink()))
}

/// How many folders deep a plain relative path is; none for one that is absolute or climbs.
fn inner_depth(path: &Path) -> Option<usize> {
    path.components().try_fold(0, |depth, part| match part {
        Component::Normal(_) => Some(depth + 1),
        Component::CurDir => Some(depth),
        _ => None,
    })
}

/// Whether a link in a folder so deep leads to something inside. It climbs before it names anything: what it names may be a link
/// too, and what is above that one is elsewhere than the words say.
pub fn stays_inside(target: &Path, depth: usize) -> bool {
    let climbs = target.components().take_while(|part| matches!(part, Component::ParentDir | Component::CurDir));
    let up = climbs.filter(|part| *part == Component::ParentDir).count();
    let mut rest = target.components().skip_while(|part| matches!(part, Component::ParentDir | Component::CurDir));
    up <= depth && rest.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
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
        Link(&'a str, &'a str),
        Device(&'a str),
    }

    fn archive(items: &[Item<'_>]) -> (Vec<u8>, String) {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for item in items {
            let mut header = Header::new_gnu();
            header.set_mode(0o755);
            let (path, kind) = match item {
                Item::File(path) => (*path, EntryType::Regular),
                Item::Symlink(path, target) | Item::Link(path, target) => {
                    header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
                    let is_hard = matches!(item, Item::Link(..));
                    (*path, if is_hard { EntryType::Link } else { EntryType::Symlink })
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
    fn what_an_archive_holds_is_told_in_both_languages_and_obeyed_by_no_terminal() {
        let text = SourceError::Escapes("../\u{1b}[2J".to_owned()).text();
        assert_eq!(text.en, "the archive holds '../\\u{1b}[2J', which would leave its folder");
        assert_eq!(text.zh, "归档中的 “../\\u{1b}[2J” 会离开其文件夹");
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
        let cases: [&[Item<'_>]; 9] = [
            // Each of the two stays inside by its words; the second lies elsewhere than its words say.
            &[Item::File("a/b/c/f"), Item::Symlink("a/b/c/s", "../../.."), Item::Symlink("a/b/c/s/l", "../../../..")],
            // The same where the second leads through the first.
            &[Item::File("a/b/c/f"), Item::Symlink("a/b/c/s", "../../.."), Item::Symlink("t", "a/b/c/s/..")],
            // A link that stays inside, under a name that is less deep.
            &[Item::File("a/b/f"), Item::Symlink("a/b/s", "../.."), Item::Link("t", "a/b/s")],
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
    fn an_archive_that_grows_beyond_all_measure_is_refused_before_it_is_written() {
        let sources = tempfile::tempdir().unwrap();
        let entry = |kind: EntryType, size: u64| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o4755);
            header.set_path("big").unwrap();
            header.set_size(size);
            header.set_cksum();
            header
        };
        // 10 GB of nothing in a few bytes: the body need not be there for its size to be refused.
        let packed = |header: &Header, body: &[u8]| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(header.as_bytes()).unwrap();
            gzip.write_all(body).unwrap();
            let bytes = gzip.finish().unwrap();
            let digest = copy(Cursor::new(&bytes), &mut io::sink()).unwrap();
            (bytes, digest)
        };
        for header in [
            entry(EntryType::Regular, 10 << 30),
            entry(EntryType::GNULongName, 2 << 20),
            entry(EntryType::XHeader, 10 << 30),
        ] {
            let (bytes, digest) = packed(&header, &[0; 1_024]);
            let refused = get(sources.path(), bytes, &digest);
            assert!(matches!(refused, Err(SourceError::TooLarge { .. })), "{refused:?}");
            assert_eq!(fs::read_dir(sources.path()).unwrap().count(), 0);
        }
        let (bytes, digest) = packed(&entry(EntryType::Regular, 512), &[[7; 512].as_slice(), &[0; 1_024]].concat());
        let home = get(sources.path(), bytes, &digest).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(home.join("big")).unwrap());
        assert_eq!(mode & 0o7777, 0o755, "it is nobody's by being executed");
        assert_eq!((most_unpacked(10 << 20), most_unpacked(1 << 40)), (456 << 20, LARGEST_TREE));
    }

    #[test]
    fn strangers_archives_stay_inside_and_within_their_measure() {
        let packed =
            archive(&[Item::File("a/x"), Item::Symlink("a/l", "x"), Item::File("b/c/y"), Item::Symlink("s", "b/c")]).0;
        let mut plain = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut plain).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (tree, most) = (folder.path().join("tree"), 1 << 20);
        fermi_mutator::try_all(&[&plain, &packed], 400, |case| {
            for mut reader in [Box::new(case) as Box<dyn Read>, Box::new(GzDecoder::new(case))] {
                let mut bytes = Vec::new();
                let _ = reader.by_ref().take(LARGEST_EXTENSION).read_to_end(&mut bytes);
                if measure(bytes.as_slice(), most).is_ok() {
                    let _ = unpack(bytes.as_slice(), &tree, most);
                }
                assert_eq!(
                    fs::read_dir(folder.path())
                        .unwrap()
                        .filter(|it| it.as_ref().unwrap().file_name() != "tree")
                        .count(),
                    0
                );
                let _ = fs::remove_dir_all(&tree);
            }
        });
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
    /// A launch that was stopped while it copied, and the one after it.
    #[test]
    fn whoever_comes_while_a_copy_is_made_finds_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (source, home) = (folder.path().join("sources/x"), folder.path().join("task-1/source"));
        fs::create_dir_all(&source).unwrap();
        fs::create_dir_all(home.parent().unwrap()).unwrap();
        for number in 0..200 {
            fs::write(source.join(number.to_string()), "code").unwrap();
        }
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    own_copy(&source, &home).unwrap();
                    assert_eq!(fs::read_dir(&home).unwrap().count(), 200);
                });
            }
        });
        assert!(!home.with_extension("part").exists());
    }
}
