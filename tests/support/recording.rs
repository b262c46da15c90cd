//! What a server has done to its disk, call by call (`tests/syscalls/faults.c` records it), and what a power cut would leave of
//! it: only what was synced, files and names of files alike.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Place;
use super::faults::library;

/// How much of what was not synced a power cut leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing, as POSIX allows.
    Synced,
    /// The names of files and none of their bytes, as a file system does that writes its own journal first.
    Names,
    /// The names, the first half of the bytes, and half of the last write of these.
    Torn,
}

/// The record of one server.
pub struct Recording {
    file: PathBuf,
    folder: PathBuf,
}

/// How much was recorded at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Recording {
    /// What servers do that are started in this place from now on is recorded.
    pub fn of(place: &mut Place) -> Self {
        let (file, folder) = (place.home().join("record"), place.path().canonicalize().unwrap());
        place.set("LD_PRELOAD", library());
        place.set("FERMI_TEST_RECORD", file.clone());
        place.set("FERMI_TEST_RECORDED", folder.clone());
        Self { file, folder }
    }

    /// Everything that is done by now is before this.
    pub fn mark(&self) -> Mark {
        Mark(fs::metadata(&self.file).map_or(0, |about| about.len()))
    }

    /// Makes what the disk has after a power cut at this moment.
    pub fn leave(&self, at: Mark, cut: Cut, to: &Path) {
        let bytes = fs::read(&self.file).unwrap();
        let mut disk = Disk::default();
        let mut rest = &bytes[..usize::try_from(at.0).unwrap()];
        while let Some((call, after)) = Call::read(rest, &self.folder) {
            disk.apply(call);
            rest = after;
        }
        write(&disk.root.borrow(), cut, to);
    }
}

/// One call. Paths are below the recorded folder.
enum Call {
    Create(PathBuf),
    Write(PathBuf, u64, Vec<u8>),
    Resize(PathBuf, u64),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    MakeFolder(PathBuf),
}

const HEAD: usize = 32;

impl Call {
    /// The first call, and what follows it.
    fn read<'a>(bytes: &'a [u8], folder: &Path) -> Option<(Self, &'a [u8])> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let (length, operation, path_length, other_length) = (number(0)?, number(4)?, number(8)?, number(12)?);
        let offset = u64::from_le_bytes(bytes.get(16..24)?.try_into().ok()?);
        let (record, rest) = bytes.split_at_checked(length)?;
        let (path, data) = record[HEAD..].split_at(path_length);
        let (other, data) = data.split_at(other_length);
        let below = |bytes: &[u8]| {
            let path = PathBuf::from(std::str::from_utf8(bytes).unwrap());
            path.strip_prefix(folder).map_or_else(|_| PathBuf::from(".."), Path::to_owned)
        };
        let path = below(path);
        let call = match operation {
            1 => Self::Create(path),
            2 => Self::Write(path, offset, data.to_vec()),
            3 => Self::Resize(path, offset),
            4 => Self::Sync(path),
            5 => Self::Rename(path, below(other)),
            6 | 8 => Self::Remove(path),
            7 => Self::MakeFolder(path),
            other => panic!("there is no operation {other}"),
        };
        Some((call, rest))
    }
}

#[derive(Default)]
struct Disk {
    root: Rc<RefCell<Folder>>,
}

#[derive(Clone)]
enum Entry {
    File(Rc<RefCell<Content>>),
    Folder(Rc<RefCell<Folder>>),
}

#[derive(Default)]
struct Folder {
    now: BTreeMap<String, Entry>,
    synced: BTreeMap<String, Entry>,
}

#[derive(Default)]
struct Content {
    synced: Vec<u8>,
    /// Since then: where, and what; nothing where the file was cut or made longer.
    since: Vec<(u64, Option<Vec<u8>>)>,
}

impl Content {
    fn now(&self, since: &[(u64, Option<Vec<u8>>)]) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        for (at, data) in since {
            let at = usize::try_from(*at).unwrap();
            match data {
                None => bytes.resize(at, 0),
                Some(data) => {
                    bytes.resize(bytes.len().max(at + data.len()), 0);
                    bytes[at..][..data.len()].copy_from_slice(data);
                }
            }
        }
        bytes
    }

    fn left(&self, cut: Cut) -> Vec<u8> {
        match cut {
            Cut::Synced | Cut::Names => self.synced.clone(),
            Cut::Torn => {
                let mut half = self.since[..self.since.len().div_ceil(2)].to_vec();
                if let Some((_, Some(last))) = half.last_mut() {
                    last.truncate(last.len() / 2);
                }
                self.now(&half)
            }
        }
    }
}

impl Disk {
    fn find(&self, path: &Path) -> Option<Entry> {
        let mut found = Entry::Folder(self.root.clone());
        for name in path.iter() {
            let Entry::Folder(folder) = found else { return None };
            found = folder.borrow().now.get(name.to_str()?)?.clone();
        }
        Some(found)
    }

    /// The folder of a path, and its name there.
    fn place(&self, path: &Path) -> Option<(Rc<RefCell<Folder>>, String)> {
        let Entry::Folder(folder) = self.find(path.parent()?)? else { return None };
        Some((folder, path.file_name()?.to_str()?.to_owned()))
    }

    fn put(&self, path: &Path, entry: Entry) {
        if let Some((folder, name)) = self.place(path) {
            folder.borrow_mut().now.insert(name, entry);
        }
    }

    fn take(&self, path: &Path) -> Option<Entry> {
        let (folder, name) = self.place(path)?;
        folder.borrow_mut().now.remove(&name)
    }

    /// What is done to files that are not recorded, or deleted, is of no interest.
    fn apply(&mut self, call: Call) {
        match call {
            Call::Create(path) => self.put(&path, Entry::File(Rc::default())),
            Call::MakeFolder(path) => self.put(&path, Entry::Folder(Rc::default())),
            Call::Write(path, at, data) => self.change(&path, (at, Some(data))),
            Call::Resize(path, length) => self.change(&path, (length, None)),
            Call::Rename(from, to) => {
                if let Some(entry) = self.take(&from) {
                    self.put(&to, entry);
                }
            }
            Call::Remove(path) => drop(self.take(&path)),
            Call::Sync(path) => match self.find(&path) {
                Some(Entry::File(file)) => {
                    let now = file.borrow().now(&file.borrow().since);
                    *file.borrow_mut() = Content { synced: now, since: Vec::new() };
                }
                Some(Entry::Folder(folder)) => {
                    let now = folder.borrow().now.clone();
                    folder.borrow_mut().synced = now;
                }
                None => {}
            },
        }
    }

    fn change(&self, path: &Path, change: (u64, Option<Vec<u8>>)) {
        if let Some(Entry::File(file)) = self.find(path) {
            file.borrow_mut().since.push(change);
        }
    }
}

fn write(folder: &Folder, cut: Cut, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    let entries = if cut == Cut::Synced { &folder.synced } else { &folder.now };
    for (name, entry) in entries {
        let path = to.join(name);
        match entry {
            Entry::Folder(folder) => write(&folder.borrow(), cut, &path),
            // Memory that processes share by a name; it is made anew.
            Entry::File(_) if name.ends_with("-shm") => {}
            Entry::File(file) => {
                fs::write(&path, file.borrow().left(cut)).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_synced_is_left_names_and_bytes() {
        let path = PathBuf::from;
        let mut disk = Disk::default();
        for call in [
            Call::MakeFolder(path("d")),
            Call::Create(path("d/a")),
            Call::Write(path("d/a"), 0, b"safe".to_vec()),
            Call::Sync(path("d/a")),
            Call::Sync(path("d")),
            Call::Sync(path("")),
            Call::Write(path("d/a"), 4, b" lost".to_vec()),
            Call::Create(path("d/b")),
            Call::Write(path("d/b"), 0, b"nobody knows its name".to_vec()),
            Call::Sync(path("d/b")),
            Call::Rename(path("d/a"), path("d/c")),
        ] {
            disk.apply(call);
        }
        let left = |cut: Cut| {
            let to = tempfile::tempdir().unwrap();
            write(&disk.root.borrow(), cut, to.path());
            let read = |name: &str| fs::read_to_string(to.path().join("d").join(name)).ok();
            ["a", "b", "c"].map(read)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(left(Cut::Synced), [text("safe"), None, None]);
        assert_eq!(left(Cut::Names), [None, text("nobody knows its name"), text("safe")]);
        assert_eq!(left(Cut::Torn), [None, text("nobody knows its name"), text("safe l")]);
    }
}
