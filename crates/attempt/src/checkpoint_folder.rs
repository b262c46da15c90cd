//! A checkpoint folder on this node's disk, and Fermi's own small files beside the checkpoints.
//!
//! Only lists, reads and writes; what it means is decided in [`fermi_domain::checkpoint`]. Files appear whole, by rename.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fermi_domain::checkpoint::{Entry, EntryKind, Fence, LeftBehind, Listing, OWN_FOLDER, step_in_name};
use fermi_process::account::SystemAccount;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::node_message::SharedMark;

/// So much is listed at most, the folders with the highest numbers first.
const MOST_ENTRIES: usize = 16_384;
/// More than any of the small files has.
const LARGEST_NOTE: u64 = 1 << 20;
const FENCE: &str = "fence";
const LEFT_BEHIND: &str = "left-behind";
/// What the name of a [`SharedMark`] begins with.
const MARK: &str = "shared-";

/// By which a change of the fence shows without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceStamp {
    inode: u64,
    modified: (i64, i64),
}

#[derive(Clone, Debug)]
pub struct CheckpointFolder {
    path: PathBuf,
    /// Makes the names of drafts differ where several nodes write into one folder.
    writer: String,
    /// Who keeps checkpoints there. Its links must lead nowhere that it may not go itself, so that [`CheckpointFolder`] is
    /// used by a thread that acts as the account.
    pub account: Option<SystemAccount>,
}

impl CheckpointFolder {
    /// The folder as the run of this name uses it.
    pub fn new(path: PathBuf, writer: &str) -> Self {
        Self { path, writer: writer.replace('/', "-"), account: None }
    }

    /// The same, as this account keeps it.
    #[must_use]
    pub fn of(self, account: Option<SystemAccount>) -> Self {
        Self { account, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    pub fn make(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)
    }

    /// What lies there, two levels deep.
    pub fn list(&self) -> Listing {
        let mut names: Vec<String> =
            entries(&self.path).filter_map(|entry| entry.file_name().into_string().ok()).take(MOST_ENTRIES).collect();
        names.retain(|name| name != OWN_FOLDER);
        names.sort_by_key(|name| std::cmp::Reverse(step_in_name(name)));
        let mut left = MOST_ENTRIES.saturating_sub(names.len());
        let mut listing = Listing {
            latest: self.note("latest"),
            latest_iteration: self.note("latest_checkpointed_iteration.txt"),
            ..Listing::default()
        };
        for name in names {
            if let Some(entry) = self.entry(&name, &mut left) {
                listing.entries.insert(name, entry);
            }
        }
        listing
    }

    fn entry(&self, name: &str, left: &mut usize) -> Option<Entry> {
        let path = self.path.join(name);
        let metadata = fs::metadata(&path).ok()?;
        let kind = if metadata.is_dir() {
            let inside = entries(&path).filter_map(|entry| entry.file_name().into_string().ok());
            let names: BTreeSet<String> = inside.take(*left).collect();
            *left -= names.len();
            EntryKind::Folder { names }
        } else {
            EntryKind::File { bytes: metadata.len() }
        };
        Some(Entry { modified_ns: modified_ns(&metadata), kind })
    }

    fn note(&self, name: &str) -> Option<String> {
        String::from_utf8(read_small(&self.path.join(name))?).ok()
    }

    /// Leaves a mark for the other nodes to find.
    pub fn leave_mark(&self, attempt: u32) -> io::Result<SharedMark> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let nonce = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mark = SharedMark { name: format!("{MARK}{}-{attempt}", self.writer), nonce };
        self.write(&mark.name, mark.nonce.as_bytes())?;
        Ok(mark)
    }

    /// Whether the mark of the first node is here. Its name is new to this node, so that no cached answer of a shared disk
    /// says that there is no such file.
    pub fn sees(&self, mark: &SharedMark) -> bool {
        let is_a_mark = mark.name.starts_with(MARK) && !mark.name.contains('/');
        is_a_mark && read_small(&self.own(&mark.name)).is_some_and(|text| text == mark.nonce.as_bytes())
    }

    pub fn remove_mark(&self, mark: &SharedMark) {
        // Whatever stays is small, and the next attempt has another name.
        let _ = fs::remove_file(self.own(&mark.name));
    }

    pub fn fence(&self) -> Option<Fence> {
        self.read(FENCE)
    }

    pub fn fence_stamp(&self) -> Option<FenceStamp> {
        let metadata = fs::metadata(self.own(FENCE)).ok()?;
        Some(FenceStamp { inode: metadata.ino(), modified: (metadata.mtime(), metadata.mtime_nsec()) })
    }

    pub fn write_fence(&self, fence: &Fence) -> io::Result<()> {
        self.write_json(FENCE, fence)
    }

    pub fn left_behind(&self) -> LeftBehind {
        self.read(LEFT_BEHIND).unwrap_or_default()
    }

    pub fn write_left_behind(&self, left: &LeftBehind) -> io::Result<()> {
        if left.entries.is_empty() && !self.own(LEFT_BEHIND).exists() {
            return Ok(());
        }
        self.write_json(LEFT_BEHIND, left)
    }

    /// Takes Fermi's own files away where there is nothing else, so that an empty folder can go; else the fence says that
    /// its writer has ended.
    pub fn leave(&self, fence: &Fence) {
        let is_ours = self.fence().is_some_and(|found| Fence { has_ended: false, ..found } == *fence);
        if !is_ours {
            return;
        }
        if entries(&self.path).all(|entry| entry.file_name() == OWN_FOLDER) {
            // What cannot be removed stays.
            let _ = fs::remove_file(self.own(FENCE));
            let _ = fs::remove_file(self.own(LEFT_BEHIND));
            let _ = fs::remove_dir(self.path.join(OWN_FOLDER));
        } else {
            // A fence that does not say so makes the next run warn.
            let _ = self.write_fence(&Fence { has_ended: true, ..fence.clone() });
        }
    }

    fn own(&self, name: &str) -> PathBuf {
        self.path.join(OWN_FOLDER).join(name)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&read_small(&self.own(name))?).ok()
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.write(name, &serde_json::to_vec(value)?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match fs::create_dir(self.path.join(OWN_FOLDER)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
            Ok(()) => self.widen(&self.path.join(OWN_FOLDER), 0o777)?,
        }
        let draft = self.own(&format!(".{name}-{}", self.writer));
        fs::write(&draft, bytes)?;
        self.widen(&draft, 0o666)?;
        fs::rename(draft, self.own(name))
    }

    /// Who may read checkpoints may read these notes: the supervisor's own files are narrower.
    fn widen(&self, path: &Path, widest: u32) -> io::Result<()> {
        self.account.as_ref().map_or(Ok(()), |account| fs::set_permissions(path, account.mode(widest)))
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    u64::try_from(nanoseconds).unwrap_or(0)
}

/// Reads a file that is small; one that is not is none of ours.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LARGEST_NOTE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, CheckpointFolder) {
        let root = tempfile::tempdir().unwrap();
        let folder = CheckpointFolder::new(root.path().join("checkpoints"), "c-task-1-g1-n0-i1");
        folder.make().unwrap();
        (root, folder)
    }

    fn fence(attempt: u32) -> Fence {
        Fence { owner: "c/task-1".into(), generation: 1, attempt, has_ended: false }
    }

    #[test]
    fn a_listing_has_names_of_two_levels_and_the_small_notes() {
        let (_root, folder) = folder();
        fs::write(folder.path().join("step-000032.pt"), "x").unwrap();
        fs::create_dir_all(folder.path().join("global_step10/deeper")).unwrap();
        fs::write(folder.path().join("global_step10/deeper/still"), "x").unwrap();
        fs::write(folder.path().join("latest"), "global_step10").unwrap();
        folder.write_fence(&fence(1)).unwrap();
        let listing = folder.list();
        assert_eq!(listing.entries.keys().collect::<Vec<_>>(), ["global_step10", "latest", "step-000032.pt"]);
        assert_eq!(listing.entries["step-000032.pt"].kind, EntryKind::File { bytes: 1 });
        assert_eq!(listing.entries["global_step10"].kind, EntryKind::Folder { names: ["deeper".to_owned()].into() });
        assert_eq!(listing.latest.as_deref(), Some("global_step10"));
        assert_eq!(CheckpointFolder::new("/no/such/folder".into(), "x").list(), Listing::default());
    }

    #[test]
    fn a_mark_is_seen_in_its_folder_alone_and_only_with_its_nonce() {
        let (_root, first) = folder();
        let (_other_root, other) = folder();
        let mark = first.leave_mark(2).unwrap();
        let here_too = CheckpointFolder::new(first.path().to_owned(), "c-task-1-g1-n1-i1");
        assert!(here_too.sees(&mark) && !other.sees(&mark));
        let old = SharedMark { nonce: "0".into(), ..mark.clone() };
        let outside = SharedMark { name: "shared-../../x".into(), ..mark.clone() };
        assert!(!here_too.sees(&old) && !here_too.sees(&outside));
        first.remove_mark(&mark);
        assert!(!here_too.sees(&mark));
    }

    #[test]
    fn an_end_leaves_nothing_in_an_empty_folder_and_else_says_that_it_has_ended() {
        let (_root, folder) = folder();
        folder.write_fence(&fence(1)).unwrap();
        folder.leave(&fence(2));
        assert_eq!(folder.fence(), Some(fence(1)), "it was not ours");
        folder.leave(&fence(1));
        fs::remove_dir(folder.path()).unwrap();
        folder.make().unwrap();
        folder.write_fence(&fence(1)).unwrap();
        let stamp = folder.fence_stamp();
        assert!(stamp.is_some() && folder.fence_stamp() == stamp);
        fs::write(folder.path().join("step-1.pt"), "x").unwrap();
        folder.leave(&fence(1));
        assert_eq!(folder.fence(), Some(Fence { has_ended: true, ..fence(1) }));
        assert_ne!(folder.fence_stamp(), stamp);
    }
}
