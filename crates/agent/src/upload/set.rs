//! All files of one run that an uploader sends, as they come into being.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use fermi_attempt::run_folder::{RankFolder, attempt_folder, attempt_of, hang_file};
use fermi_domain::fleet::JournalSent;
use fermi_domain::task::RunKey;
use fermi_process::journal;

use super::UploadKind;
use super::file::UploadFile;
use super::tail::Tail;

/// The stream of what ranks were started with.
const START: &str = "start";

/// What is to be sent of a run.
#[derive(Clone, Debug)]
pub struct UploadPlan {
    pub run: RunKey,
    pub folder: PathBuf,
    /// Global ranks, in the order of local ranks.
    pub ranks: Vec<u32>,
    pub first_attempt: u32,
    /// Nothing of it can have been sent before.
    pub is_fresh: bool,
}

/// The files of one run, with how far each has been sent.
#[derive(Debug)]
pub struct UploadSet {
    pub what: UploadPlan,
    kind: UploadKind,
    next_attempt: u32,
    pub files: Vec<UploadFile<Tail>>,
    /// All attempts were seen when they were last looked for.
    is_listed: bool,
    /// Nobody writes to the files any more.
    pub ends: bool,
    pub unwanted: bool,
    journal: JournalSent,
    takes_starts: bool,
}

/// A folder that is worth watching, and the files that lie in it.
#[derive(Debug, PartialEq, Eq)]
pub struct WatchedFolder {
    pub folder: PathBuf,
    pub files: std::ops::Range<usize>,
}

impl UploadSet {
    pub fn new(what: UploadPlan, kind: UploadKind) -> Self {
        let next_attempt = what.first_attempt;
        Self {
            what,
            kind,
            next_attempt,
            files: Vec::new(),
            is_listed: true,
            ends: false,
            unwanted: false,
            journal: JournalSent::Partly,
            takes_starts: false,
        }
    }

    /// Looks for files that were not there before, and says which folders to watch for them.
    pub fn discover(&mut self) -> Vec<WatchedFolder> {
        match self.kind {
            UploadKind::Journal => self.discover_journal(),
            UploadKind::Streams => self.discover_streams(),
        }
    }

    fn discover_journal(&mut self) -> Vec<WatchedFolder> {
        if !self.files.is_empty() {
            return Vec::new();
        }
        let path = format!("/api/agent/v1/runs/{}/journal", self.what.run);
        self.add(path, self.what.folder.join(journal::FILE_NAME), None);
        vec![WatchedFolder { folder: self.what.folder.clone(), files: 0..1 }]
    }

    fn discover_streams(&mut self) -> Vec<WatchedFolder> {
        let mut places = Vec::new();
        if self.next_attempt == self.what.first_attempt && self.files.is_empty() {
            // New attempts show here.
            places.push(WatchedFolder { folder: self.what.folder.clone(), files: 0..0 });
        }
        let attempts = attempts_from(&self.what.folder, self.next_attempt);
        self.is_listed = attempts.is_ok();
        let attempts = attempts.unwrap_or_default();
        let newest = attempts.last().copied();
        for attempt in attempts {
            let is_last = newest == Some(attempt);
            if is_last && !self.ends && !is_whole(&self.what, attempt) {
                // The folders of its ranks show here.
                let begun = attempt_folder(&self.what.folder, attempt);
                places.push(WatchedFolder { folder: begun, files: 0..0 });
                break;
            }
            self.next_attempt = attempt.saturating_add(1);
            for (local_rank, rank) in (0..).zip(self.what.ranks.clone()) {
                let folder = RankFolder::of(&self.what.folder, attempt, local_rank);
                let begin = self.files.len();
                // What all ranks were started with lies with the first.
                let of_node = (local_rank == 0).then(|| (START, folder.start_file()));
                let of_rank = [
                    ("stdout", folder.path.join("stdout.log")),
                    ("stderr", folder.path.join("stderr.log")),
                    ("progress", folder.progress_file()),
                ];
                for (stream, file) in of_rank.into_iter().chain(of_node) {
                    let path = format!("/api/agent/v1/runs/{}/streams/{attempt}/{rank}/{stream}", self.what.run);
                    self.add(path, file, Some((attempt, rank)));
                }
                places.push(WatchedFolder { folder: folder.path, files: begin..self.files.len() });
            }
            places.extend(self.add_evidence(attempt));
            self.withhold();
        }
        places
    }

    /// The stacks of a hang are of all ranks of this node, and go with the first.
    fn add_evidence(&mut self, attempt: u32) -> Option<WatchedFolder> {
        let rank = *self.what.ranks.first()?;
        let begin = self.files.len();
        let path = format!("/api/agent/v1/runs/{}/streams/{attempt}/{rank}/hang", self.what.run);
        self.add(path, hang_file(&self.what.folder, attempt), Some((attempt, rank)));
        Some(WatchedFolder { folder: attempt_folder(&self.what.folder, attempt), files: begin..self.files.len() })
    }

    /// Whether the server takes what ranks were started with: one may be replaced by an older one and back.
    pub fn server_takes_starts(&mut self, takes_starts: bool) {
        self.takes_starts = takes_starts;
        self.withhold();
    }

    fn withhold(&mut self) {
        let is_start = |path: &str| path.rsplit('/').next() == Some(START);
        for file in self.files.iter_mut().filter(|file| is_start(&file.path)) {
            file.is_withheld = !self.takes_starts;
        }
    }

    fn add(&mut self, path: String, file: PathBuf, of_rank: Option<(u32, u32)>) {
        let mut file = UploadFile::new(path, Tail::new(file), self.what.is_fresh);
        (file.of_rank, file.journal) = (of_rank, self.journal);
        self.files.push(file);
    }

    /// What the journal has not told by now it never will.
    pub fn journal_is_taken(&mut self) {
        self.journal = JournalSent::Whole;
        self.files.iter_mut().for_each(|file| file.journal = JournalSent::Whole);
    }

    pub fn look_at(&mut self, files: std::ops::Range<usize>) {
        for file in self.files.get_mut(files).into_iter().flatten() {
            file.is_open = true;
        }
    }

    pub fn look_at_all(&mut self) {
        self.look_at(0..self.files.len());
    }

    /// Whether all has arrived that ever will.
    pub fn is_done(&self) -> bool {
        // Streams are taken once the journal has told of their attempt; one that was deleted never will.
        let has_journal = self.what.folder.join(journal::FILE_NAME).try_exists().unwrap_or(true);
        let all_sent = self.is_listed && !self.files.iter().any(UploadFile::has_more);
        self.ends && (self.unwanted || !has_journal || all_sent)
    }
}

/// The folders of an attempt's ranks are made one after the other as the ranks start; with the last one, all can be
/// watched. Of an attempt that another one has followed, and at the end, whatever there is counts.
fn is_whole(what: &UploadPlan, attempt: u32) -> bool {
    let last = u32::try_from(what.ranks.len()).unwrap_or(u32::MAX).saturating_sub(1);
    rank_folder(&what.folder, attempt, last).is_dir()
}

/// The attempts of which this node has a folder, from this one on. One may be missing that could not be made, or in which the
/// node had no part.
fn attempts_from(run: &Path, first: u32) -> io::Result<BTreeSet<u32>> {
    let entries = match run.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        let attempt = attempt_of(&entry?.file_name()).filter(|attempt| (first..u32::MAX).contains(attempt));
        found.extend(attempt.filter(|attempt| attempt_folder(run, *attempt).is_dir()));
    }
    Ok(found)
}

fn rank_folder(run: &Path, attempt: u32, local_rank: u32) -> PathBuf {
    RankFolder::of(run, attempt, local_rank).path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(folder: &Path, kind: UploadKind) -> UploadSet {
        let what = UploadPlan {
            run: "task-1-g1-n1-i1".parse().unwrap(),
            folder: folder.to_owned(),
            ranks: vec![4, 5],
            first_attempt: 3,
            is_fresh: true,
        };
        UploadSet::new(what, kind)
    }

    #[test]
    fn streams_are_named_by_attempt_and_global_rank() {
        let folder = tempfile::tempdir().unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        assert_eq!(set.discover().len(), 1, "the run's folder is watched for attempts");
        std::fs::create_dir_all(folder.path().join("attempt_2/0")).unwrap();
        assert_eq!(set.discover().iter().filter(|place| !place.files.is_empty()).count(), 0);
        std::fs::create_dir_all(folder.path().join("attempt_2/1")).unwrap();
        let places = set.discover();
        let last = &places[places.len() - 2..];
        assert_eq!((last[0].folder.clone(), last[0].files.clone()), (folder.path().join("attempt_2/1"), 4..7));
        assert_eq!((last[1].folder.clone(), last[1].files.clone()), (folder.path().join("attempt_2"), 7..8));
        assert_eq!(set.files[3].path, "/api/agent/v1/runs/task-1-g1-n1-i1/streams/3/4/start");
        assert_eq!(set.files[7].path, "/api/agent/v1/runs/task-1-g1-n1-i1/streams/3/4/hang");
        assert_eq!(set.files[6].path, "/api/agent/v1/runs/task-1-g1-n1-i1/streams/3/5/progress");
        assert!(set.discover().is_empty());
    }

    #[test]
    fn at_the_end_an_attempt_that_was_begun_counts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("attempt_2/0")).unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        set.ends = true;
        set.discover();
        assert_eq!(set.files.len(), 8);
        assert!(set.is_done(), "without a journal nothing of it is ever taken");
        std::fs::write(folder.path().join(journal::FILE_NAME), "").unwrap();
        assert!(!set.is_done());
        set.unwanted = true;
        assert!(set.is_done());
    }

    #[test]
    fn an_attempt_without_a_folder_hides_none_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        std::fs::create_dir_all(folder.path().join("attempt_4/1")).unwrap();
        set.discover();
        assert_eq!(set.files.len(), 8);
        assert!(set.files[0].path.ends_with("/streams/5/4/stdout"), "{}", set.files[0].path);
        assert!(set.discover().is_empty());
    }

    #[test]
    fn a_folder_with_a_number_that_no_attempt_has_takes_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        std::fs::create_dir_all(folder.path().join("attempt_2/1")).unwrap();
        std::fs::create_dir_all(folder.path().join(format!("attempt_{}", u32::MAX - 2))).unwrap();
        std::fs::write(folder.path().join("attempt_3"), "no folder").unwrap();
        let watched = set.discover().pop().unwrap().folder;
        assert_eq!((set.files.len(), watched), (8, folder.path().join(format!("attempt_{}", u32::MAX - 2))));
        set.ends = true;
        set.discover();
        assert_eq!(set.files.len(), 16);
        assert!(set.discover().is_empty(), "it is there already");
    }

    #[test]
    fn an_attempt_that_was_followed_counts_as_far_as_it_came() {
        let folder = tempfile::tempdir().unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        std::fs::create_dir_all(folder.path().join("attempt_2/0")).unwrap();
        set.discover();
        assert_eq!(set.files.len(), 0, "the other rank's folder is still to come");
        std::fs::create_dir_all(folder.path().join("attempt_3/1")).unwrap();
        set.discover();
        assert_eq!(set.files.len(), 16);
    }

    #[test]
    fn what_an_older_server_does_not_know_is_neither_sent_to_it_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("attempt_2/1")).unwrap();
        std::fs::write(folder.path().join(journal::FILE_NAME), "").unwrap();
        let mut set = set(folder.path(), UploadKind::Streams);
        set.ends = true;
        set.discover();
        let now = std::time::Instant::now();
        let due = |set: &UploadSet| -> Vec<String> {
            let due = set.files.iter().filter(|file| file.is_due(now));
            due.filter_map(|file| file.path.rsplit('/').next().map(str::to_owned)).collect()
        };
        assert!(!due(&set).contains(&"start".to_owned()), "before a server has said that it takes it");
        set.server_takes_starts(true);
        assert_eq!(due(&set).iter().filter(|name| *name == "start").count(), 1);
        set.files.iter_mut().filter(|file| !file.path.ends_with("/start")).for_each(|file| file.is_open = false);
        assert!(!set.is_done());
        set.server_takes_starts(false);
        assert!(set.is_done() && due(&set).is_empty());
        std::fs::create_dir_all(folder.path().join("attempt_3/1")).unwrap();
        set.discover();
        assert!(!due(&set).contains(&"start".to_owned()), "of a later attempt neither");
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        std::fs::write(&run, "a file in its place").unwrap();
        let mut set = set(&run, UploadKind::Streams);
        set.ends = true;
        set.discover();
        assert!(!set.is_listed);
        std::fs::remove_file(&run).unwrap();
        set.discover();
        assert!(set.is_listed && set.is_done());
    }
}
