//! Looks at the dataset of a task before its ranks start: is it there, how large, of which format, with which checksum.
//!
//! Decides nothing: [`prove`] compares what is found with what is stated. The disk may hang, so that the look has a thread
//! of its own and a deadline.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use fermi_domain::dataset::{
    Checksum, ChecksumKind, DataFormat, DatasetExpectation, DatasetRefusal, DatasetSighting, LARGEST_HASHED, LookOrder,
    MOST_FILES, Mismatch, Misnamed, SAMPLED_BLOCK, Seen, SeenKind, prove, sampled_places,
};
use fermi_domain::language::reason::{self, NeitherFileNorFolder};
use fermi_process::account::SystemAccount;
use sha2::{Digest, Sha256};

/// A disk that has not answered by then does not.
const PATIENCE: Duration = Duration::from_secs(120);
/// A folder is not counted for longer.
const COUNTING: Duration = Duration::from_secs(30);
/// A tar file says what it is behind its first name.
const FIRST_BYTES: u64 = 512;

/// So many looks may be under way at once, with those that hang on a disk.
const MOST_LOOKS: usize = 8;
static LOOKS: AtomicUsize = AtomicUsize::new(0);
/// How often one that has found no room looks for it again.
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(50);

/// Room for one look, given back when it is over.
struct Turn;

impl Turn {
    /// Waits for room, for as long as a look may take.
    fn wait() -> Option<Self> {
        let deadline = Instant::now() + PATIENCE;
        let take = |taken: usize| (taken < MOST_LOOKS).then_some(taken + 1);
        while LOOKS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            if Instant::now() > deadline {
                return None;
            }
            thread::sleep(LOOK_AGAIN_EVERY);
        }
        Some(Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LOOKS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks, as the account of the ranks where they have one, and compares with what is stated.
pub fn check(expected: &DatasetExpectation, account: Option<SystemAccount>) -> Result<DatasetSighting, DatasetRefusal> {
    let (path, order) = (PathBuf::from(&expected.path), expected.order());
    let (tell, told) = mpsc::channel();
    let turn = Turn::wait().ok_or_else(|| expected.refused(Mismatch::Crowded))?;
    let started = thread::Builder::new().name("dataset".into()).stack_size(256 * 1024).spawn(move || {
        let is_seen = account.map_or(Ok(()), |account| account.see_as_it());
        let _ = tell.send(is_seen.and_then(|()| look(&path, order)));
        drop(turn);
    });
    let found = match started {
        Ok(_) => told.recv_timeout(PATIENCE).map_err(|_| Mismatch::Silent { seconds: PATIENCE.as_secs() }),
        Err(error) => Ok(Err(error)),
    };
    let seen = found.and_then(|found| {
        found.map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Mismatch::Missing,
            _ if NeitherFileNorFolder::is_why(&error) => Mismatch::NeitherFileNorFolder,
            _ => Mismatch::Unreadable { why: reason::of_io(&error) },
        })
    });
    prove(expected, &seen.map_err(|mismatch| expected.refused(mismatch))?)
}

/// What is at a path.
pub fn look(path: &Path, order: LookOrder) -> io::Result<Seen> {
    let metadata = fs::metadata(path)?;
    let (kind, listing) = if metadata.is_dir() {
        (SeenKind::Folder, Listing::of_folder(path, Instant::now() + COUNTING)?)
    } else if metadata.is_file() {
        (SeenKind::File, Listing::of_file(path, metadata.len()))
    } else {
        // A pipe would be read for ever.
        return Err(NeitherFileNorFolder.into());
    };
    let base = if kind == SeenKind::Folder { path } else { Path::new("") };
    let mut seen = Seen {
        kind,
        bytes: listing.files.iter().map(|file| file.bytes).sum(),
        files: listing.files.len() as u64,
        is_whole: listing.is_whole,
        formats: listing.formats(),
        misnamed: None,
        checksum: None,
    };
    if let Some(largest) = listing.largest(seen.formats.first().copied()) {
        let first = first_bytes(&base.join(&largest.name))?;
        match largest.format {
            Some(said) if !said.agrees_with(&first) => {
                let (file, found) = (largest.name.display().to_string(), DataFormat::of_bytes(&first));
                seen.misnamed = Some(Misnamed { file, said, found });
            }
            Some(_) => {}
            None => seen.formats.extend(DataFormat::of_bytes(&first)),
        }
    }
    seen.checksum = match order.checksum {
        Some(ChecksumKind::Sha256) if kind == SeenKind::File && seen.bytes <= LARGEST_HASHED => Some(sha256(path)?),
        Some(ChecksumKind::Sampled) if listing.is_whole => Some(sampled(base, &listing)?),
        _ => None,
    };
    Ok(seen)
}

/// The files of a path, in the order of their names.
struct Listing {
    files: Vec<ListedFile>,
    is_whole: bool,
}

struct ListedFile {
    /// Inside the folder; the whole path of a single file.
    name: PathBuf,
    bytes: u64,
    format: Option<DataFormat>,
}

impl ListedFile {
    fn new(name: PathBuf, bytes: u64) -> Self {
        let format = name.file_name().and_then(|name| DataFormat::of_name(&name.to_string_lossy()));
        Self { name, bytes, format }
    }
}

impl Listing {
    fn of_file(path: &Path, bytes: u64) -> Self {
        Self { files: vec![ListedFile::new(path.to_owned(), bytes)], is_whole: true }
    }

    /// Links to files count as these, as caches of hubs have them; links to folders are not followed, which may go round.
    fn of_folder(folder: &Path, deadline: Instant) -> io::Result<Self> {
        let mut listing = Self { files: Vec::new(), is_whole: true };
        let mut folders = vec![PathBuf::new()];
        while let Some(inside) = folders.pop() {
            let entries = match fs::read_dir(folder.join(&inside)) {
                Ok(entries) => entries,
                Err(error) if inside.as_os_str().is_empty() => return Err(error),
                // Such as lost+found: what is in it is not counted.
                Err(_) => {
                    listing.is_whole = false;
                    continue;
                }
            };
            for entry in entries {
                let entry = entry?;
                let (name, kind) = (inside.join(entry.file_name()), entry.file_type()?);
                if kind.is_dir() {
                    folders.push(name);
                } else if let Some(found) = fs::metadata(entry.path()).ok().filter(fs::Metadata::is_file) {
                    listing.files.push(ListedFile::new(name, found.len()));
                }
                if listing.files.len() as u64 >= MOST_FILES || Instant::now() > deadline {
                    listing.is_whole = false;
                    folders.clear();
                    break;
                }
            }
        }
        listing.files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    /// Those of the files, the one with the most bytes first.
    fn formats(&self) -> Vec<DataFormat> {
        let mut bytes: BTreeMap<DataFormat, u64> = BTreeMap::new();
        for file in &self.files {
            if let Some(format) = file.format {
                *bytes.entry(format).or_default() += file.bytes;
            }
        }
        let mut formats: Vec<(DataFormat, u64)> = bytes.into_iter().collect();
        formats.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        formats.into_iter().map(|(format, _)| format).collect()
    }

    /// The largest file of the format that most of the data has.
    fn largest(&self, format: Option<DataFormat>) -> Option<&ListedFile> {
        self.files.iter().filter(|file| file.format == format && file.bytes > 0).max_by_key(|file| file.bytes)
    }
}

/// Opens a file, and nothing else: a pipe that has taken its place would be waited for.
fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(NeitherFileNorFolder.into()) }
}

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    open(path)?.take(FIRST_BYTES).read_to_end(&mut first)?;
    Ok(first)
}

fn sha256(path: &Path) -> io::Result<Checksum> {
    let mut hash = Sha256::new();
    let mut file = open(path)?.take(LARGEST_HASHED);
    let mut buffer = vec![0_u8; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(Checksum { kind: ChecksumKind::Sha256, hex: HEXLOWER.encode(&hash.finalize()) })
}

/// Names and sizes of all files, then the beginning, the middle and the end of some. A single file has no name here, so that
/// it may be called otherwise elsewhere.
fn sampled(base: &Path, listing: &Listing) -> io::Result<Checksum> {
    let mut hash = Sha256::new();
    let is_folder = !base.as_os_str().is_empty();
    for file in &listing.files {
        if is_folder {
            hash.update(file.name.as_os_str().as_encoded_bytes());
        }
        hash.update(b"\0");
        hash.update(file.bytes.to_le_bytes());
    }
    for place in sampled_places(listing.files.len()) {
        let Some(file) = listing.files.get(place) else { continue };
        let mut opened = open(&base.join(&file.name))?;
        let last = file.bytes.saturating_sub(SAMPLED_BLOCK);
        for at in [0, last / 2, last] {
            opened.seek(SeekFrom::Start(at))?;
            let mut block = Vec::new();
            (&mut opened).take(SAMPLED_BLOCK).read_to_end(&mut block)?;
            hash.update(&block);
        }
    }
    Ok(Checksum { kind: ChecksumKind::Sampled, hex: HEXLOWER.encode(&hash.finalize()) })
}

#[cfg(test)]
mod tests {
    use fermi_domain::dataset::ChecksumProof;
    use fermi_domain::language::{Explained, FrontEnd};

    use super::*;

    fn expected(path: &Path) -> DatasetExpectation {
        DatasetExpectation {
            version_id: "version-001".into(),
            dataset: "corpus".into(),
            version: "v1".into(),
            path: path.display().to_string(),
            size: None,
            checksum: None,
            format: None,
        }
    }

    #[test]
    fn a_file_is_proven_by_size_format_and_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "{\"text\": 1}\n").unwrap();
        // As `sha256sum` prints it.
        let digest = HEXLOWER.encode(&Sha256::digest(b"{\"text\": 1}\n"));
        let stated = DatasetExpectation {
            size: Some(12),
            checksum: Some(digest.clone()),
            format: Some("jsonl".into()),
            ..expected(&path)
        };
        let seen = check(&stated, None).unwrap();
        assert_eq!((seen.bytes, seen.files, seen.checksum), (12, 1, ChecksumProof::Matches));
        fs::write(&path, "{\"text\": 2}\n").unwrap();
        assert_eq!(check(&stated, None).unwrap_err().id(), "dataset_checksum");
        fs::write(&path, "{}").unwrap();
        assert_eq!(check(&stated, None).unwrap_err().id(), "dataset_size");
        fs::write(&path, "PAR1 and 7b").unwrap();
        let disguised = DatasetExpectation { format: Some("jsonl".into()), ..expected(&path) };
        assert_eq!(check(&disguised, None).unwrap_err().id(), "dataset_format");
    }

    #[test]
    fn a_folder_is_counted_with_what_is_in_it_and_a_changed_file_changes_its_samples() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("train")).unwrap();
        for number in 0..200 {
            fs::write(folder.path().join(format!("train/{number:03}.jsonl")), vec![b'a'; 100]).unwrap();
        }
        fs::write(folder.path().join("info.json"), "{}").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("round")).unwrap();
        std::os::unix::fs::symlink("info.json", folder.path().join("link.json")).unwrap();
        let order = LookOrder { checksum: Some(ChecksumKind::Sampled) };
        let seen = look(folder.path(), order).unwrap();
        assert_eq!((seen.kind, seen.files, seen.bytes, seen.is_whole), (SeenKind::Folder, 202, 20_004, true));
        assert_eq!(seen.formats, [DataFormat::Jsonl, DataFormat::Json]);
        assert_eq!(look(folder.path(), order).unwrap(), seen);
        fs::write(folder.path().join("train/199.jsonl"), vec![b'b'; 100]).unwrap();
        assert_ne!(look(folder.path(), order).unwrap().checksum, seen.checksum);
        // A digest of a whole file says nothing of a folder.
        let whole = LookOrder { checksum: Some(ChecksumKind::Sha256) };
        assert_eq!(look(folder.path(), whole).unwrap().checksum, None);
    }

    #[test]
    fn what_is_not_there_is_missing_and_an_empty_folder_is_no_data() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&expected(&folder.path().join("no")), None).unwrap_err().id(), "dataset_missing");
        assert_eq!(check(&expected(folder.path()), None).unwrap_err().id(), "dataset_empty");
        let file = folder.path().join("f");
        fs::write(&file, "PAR1").unwrap();
        assert_eq!(check(&expected(&file.join("below")), None).unwrap_err().id(), "dataset_missing");
        // Known by its first bytes where its name says nothing.
        assert_eq!(check(&expected(&file), None).unwrap().format.as_deref(), Some("parquet"));
    }

    #[test]
    fn a_device_a_pipe_and_a_socket_are_no_data_and_are_told_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [Path::new("/dev/zero"), &pipe, &socket] {
            let refused = check(&expected(path), None).unwrap_err();
            assert_eq!(refused.mismatch, Mismatch::NeitherFileNorFolder, "{path:?}");
            let (said, hint) = (refused.text().en, refused.hint().unwrap().spelled(FrontEnd::CommandLine).en);
            assert!(
                said.contains("a device, a pipe or a socket") && hint.contains("a file or a folder"),
                "{said} {hint}"
            );
            let why = reason::of_io(&look(path, LookOrder { checksum: None }).unwrap_err());
            assert!(why.en.contains("neither a file nor a folder") && why.zh.contains("不是文件或目录"), "{why:?}");
        }
    }
}
