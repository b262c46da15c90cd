//! Who this agent is to its server: the credential that it was given and the seal that is renewed with each welcome.
//!
//! Both stand in its data folder beside a note on where that folder is at home, so that an agent that starts on a copy of
//! it sees so, and does not speak for the original.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use fermi_process::procfs;
use serde::{Deserialize, Serialize};

use crate::data_folder::{self, PASS, write_private};
use crate::error::AgentError;

/// Where a data folder is at home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// The operating system's name for the machine.
    pub machine: Option<String>,
    pub boot: String,
    /// Of the file that names the instance; a copy of it has another.
    pub inode: u64,
}

impl Home {
    /// As things are now.
    pub fn of(instance_file: &Path) -> io::Result<Self> {
        Ok(Self { machine: machine(), boot: procfs::boot_id()?, inode: fs::metadata(instance_file)?.ino() })
    }

    /// Whether a folder that was at home there is a copy here. Numbers of files are compared within one boot only: not
    /// every file system keeps them for longer.
    pub fn is_copied(&self, here: &Self) -> bool {
        let is_elsewhere = self.machine.as_ref().zip(here.machine.as_ref()).is_some_and(|(then, now)| then != now);
        is_elsewhere || self.boot == here.boot && self.inode != here.inode
    }
}

/// The operating system's name for this machine.
pub fn machine() -> Option<String> {
    let text = fs::read_to_string("/etc/machine-id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// What an agent shows to one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pass {
    pub credential: Option<String>,
    /// Of the last welcome.
    pub seal: Option<String>,
    /// The one that the next welcome confirms.
    pub next_seal: Option<String>,
    /// Those that were proposed before it since the last welcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_seals: Vec<String>,
}

/// So many proposals are kept that no welcome has confirmed; then the last one is made again.
const MOST_PENDING: usize = 64;

/// The passes of a data folder, one for each cluster, and the one that is shown now.
#[derive(Clone, Debug)]
pub struct PassBook {
    root: PathBuf,
    /// Of the last welcome; none before the first.
    cluster: Option<String>,
    pass: Pass,
}

impl PassBook {
    /// The error where a pass is there and cannot be read: another one in its place would lose the credential.
    pub fn open(root: PathBuf, cluster: Option<String>) -> Result<Self, AgentError> {
        let path = path(&root, cluster.as_deref());
        let pass = read(&path).map_err(|source| AgentError::Folder { path, source })?.unwrap_or_default();
        Ok(Self { root, cluster, pass })
    }

    /// What to show at a hello, with another seal for the welcome that is on disk before anyone sees it. On a full disk no
    /// other is proposed, and the old one holds.
    pub fn propose(&mut self) -> &Pass {
        if self.pass.pending_seals.len() < MOST_PENDING
            && let Ok(seal) = random()
        {
            let before = self.pass.clone();
            self.pass.pending_seals.extend(self.pass.next_seal.replace(seal));
            if self.write().is_err() {
                self.pass = before;
            }
        }
        &self.pass
    }

    /// The server of this cluster has welcomed the agent with the proposed seal, and perhaps issued a credential. The
    /// answer is the credential that holds.
    pub fn confirm(&mut self, cluster: &str, credential: Option<String>) -> Option<String> {
        let is_same = self.cluster.as_deref() == Some(cluster);
        let known = std::mem::take(&mut self.pass);
        let credential = credential.or(known.credential.filter(|_| is_same));
        self.pass = Pass { credential, seal: known.next_seal.or(known.seal), ..Pass::default() };
        let is_first = self.cluster.replace(cluster.to_owned()).is_none();
        // Should the disk be full: the proposal stands there, and the server takes it for the seal.
        if self.write().is_ok() && is_first {
            let _ = fs::remove_file(path(&self.root, None));
        }
        self.pass.credential.clone()
    }

    /// Turns to the pass of the cluster that has refused the agent, if there is one and another was shown.
    pub fn turn_to(&mut self, cluster: &str) {
        if self.cluster.as_deref() != Some(cluster)
            && let Ok(Some(pass)) = read(&path(&self.root, Some(cluster)))
        {
            (self.cluster, self.pass) = (Some(cluster.to_owned()), pass);
        }
    }

    fn write(&self) -> io::Result<()> {
        let path = path(&self.root, self.cluster.as_deref());
        if let Some(folder) = path.parent() {
            data_folder::make(folder)?;
        }
        write_private(&path, &serde_json::to_vec(&self.pass)?)
    }
}

fn path(root: &Path, cluster: Option<&str>) -> PathBuf {
    cluster.map_or_else(|| root.to_owned(), |cluster| root.join(cluster)).join(PASS)
}

/// The pass; none where there is none, or one that was torn.
fn read(path: &Path) -> io::Result<Option<Pass>> {
    Ok(data_folder::if_there(fs::read(path))?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// 128 random bits as text.
pub fn random() -> io::Result<String> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(HEXLOWER.encode(&random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_its_machine_and_within_a_boot_by_its_files() {
        let home = Home { machine: Some("m".into()), boot: "b".into(), inode: 7 };
        assert!(!home.is_copied(&home));
        assert!(!home.is_copied(&Home { boot: "later".into(), inode: 8, ..home.clone() }));
        assert!(home.is_copied(&Home { inode: 8, ..home.clone() }));
        assert!(home.is_copied(&Home { machine: Some("other".into()), ..home.clone() }));
        assert!(!home.is_copied(&Home { machine: None, ..home.clone() }));
    }

    #[test]
    fn another_seal_is_proposed_at_each_hello_and_those_without_a_welcome_survive_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let root = || folder.path().to_owned();
        let lost = PassBook::open(root(), None).unwrap().propose().next_seal.clone();
        let mut book = PassBook::open(root(), None).unwrap();
        let shown = book.propose();
        assert_eq!(shown.pending_seals.first(), lost.as_ref(), "the welcome may have been lost");
        let proposed = shown.next_seal.clone();
        assert_ne!(proposed, lost);
        assert_eq!(book.confirm("c", Some("k".into())).as_deref(), Some("k"));
        let mut book = PassBook::open(root(), Some("c".into())).unwrap();
        let shown = book.propose().clone();
        assert_eq!((shown.credential.as_deref(), &shown.seal), (Some("k"), &proposed));
        assert!(shown.next_seal != proposed && shown.pending_seals.is_empty());
        assert_eq!(book.confirm("c", None).as_deref(), Some("k"));
    }

    #[test]
    fn each_cluster_has_its_own_pass() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = PassBook::open(folder.path().to_owned(), None).unwrap();
        book.propose();
        book.confirm("a", Some("of a".into()));
        book.propose();
        assert_eq!(book.confirm("b", Some("of b".into())).as_deref(), Some("of b"));
        book.turn_to("unknown");
        assert_eq!(book.propose().credential.as_deref(), Some("of b"));
        book.turn_to("a");
        assert_eq!(book.propose().credential.as_deref(), Some("of a"));
    }

    #[test]
    fn a_pass_that_cannot_be_read_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        // Reading a folder as a file fails, as a bad sector does.
        fs::create_dir(folder.path().join(PASS)).unwrap();
        assert!(matches!(PassBook::open(folder.path().to_owned(), None), Err(AgentError::Folder { .. })));
    }
}
