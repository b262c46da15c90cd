//! All files of one run that a shipper carries, as they come into being.

use std::path::{Path, PathBuf};

use fermi_attempt::run_folder::{RankFolder, attempt_folder};
use fermi_domain::task::RunKey;
use fermi_process::journal;

use super::Cargo;
use super::parcel::Parcel;
use super::tail::Tail;

/// What is to be carried of a run.
#[derive(Clone, Debug)]
pub struct Consignment {
    pub run: RunKey,
    pub folder: PathBuf,
    /// Global ranks, in the order of local ranks.
    pub ranks: Vec<u32>,
    pub first_attempt: u32,
    /// Nothing of it can have been sent before.
    pub is_fresh: bool,
}

#[derive(Debug)]
pub struct Shipment {
    pub what: Consignment,
    cargo: Cargo,
    next_attempt: u32,
    pub parcels: Vec<Parcel>,
    /// Nobody writes to the files any more.
    pub ends: bool,
    pub unwanted: bool,
}

/// A folder that is worth watching, and the parcels that lie in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    pub parcels: std::ops::Range<usize>,
}

impl Shipment {
    pub fn new(what: Consignment, cargo: Cargo) -> Self {
        let next_attempt = what.first_attempt;
        Self { what, cargo, next_attempt, parcels: Vec::new(), ends: false, unwanted: false }
    }

    /// Looks for files that were not there before, and says which folders to watch for them.
    pub fn discover(&mut self) -> Vec<Place> {
        match self.cargo {
            Cargo::Journal => self.discover_journal(),
            Cargo::Streams => self.discover_streams(),
        }
    }

    fn discover_journal(&mut self) -> Vec<Place> {
        if !self.parcels.is_empty() {
            return Vec::new();
        }
        let path = format!("/api/agent/v1/runs/{}/journal", self.what.run);
        self.add(path, self.what.folder.join(journal::FILE_NAME));
        vec![Place { folder: self.what.folder.clone(), parcels: 0..1 }]
    }

    fn discover_streams(&mut self) -> Vec<Place> {
        let mut places = Vec::new();
        if self.next_attempt == self.what.first_attempt && self.parcels.is_empty() {
            // New attempts show here.
            places.push(Place { folder: self.what.folder.clone(), parcels: 0..0 });
        }
        while attempt_is_whole(&self.what, self.next_attempt, self.ends) {
            let attempt = self.next_attempt;
            self.next_attempt += 1;
            for (local_rank, rank) in (0..).zip(self.what.ranks.clone()) {
                let folder = RankFolder::of(&self.what.folder, attempt, local_rank);
                let begin = self.parcels.len();
                for (stream, file) in [
                    ("stdout", folder.path.join("stdout.log")),
                    ("stderr", folder.path.join("stderr.log")),
                    ("progress", folder.progress_file()),
                ] {
                    let path = format!("/api/agent/v1/runs/{}/streams/{attempt}/{rank}/{stream}", self.what.run);
                    self.add(path, file);
                }
                places.push(Place { folder: folder.path, parcels: begin..self.parcels.len() });
            }
        }
        let begun = attempt_folder(&self.what.folder, self.next_attempt);
        if begun.is_dir() {
            // The folders of its ranks show here.
            places.push(Place { folder: begun, parcels: 0..0 });
        }
        places
    }

    fn add(&mut self, path: String, file: PathBuf) {
        self.parcels.push(Parcel::new(path, Tail::new(file), self.what.is_fresh));
    }

    pub fn look_at(&mut self, parcels: std::ops::Range<usize>) {
        for parcel in self.parcels.get_mut(parcels).into_iter().flatten() {
            parcel.is_open = true;
        }
    }

    pub fn look_at_all(&mut self) {
        self.look_at(0..self.parcels.len());
    }

    /// Whether all has arrived that ever will.
    pub fn is_done(&self) -> bool {
        self.ends && (self.unwanted || self.parcels.iter().all(|parcel| !parcel.is_open))
    }
}

/// The folders of an attempt's ranks are made one after the other as the ranks start; with the last one, all can be
/// watched. At the end whatever there is counts.
fn attempt_is_whole(what: &Consignment, attempt: u32, ends: bool) -> bool {
    if ends {
        return attempt_folder(&what.folder, attempt).is_dir();
    }
    let last = u32::try_from(what.ranks.len()).unwrap_or(u32::MAX).saturating_sub(1);
    rank_folder(&what.folder, attempt, last).is_dir()
}

fn rank_folder(run: &Path, attempt: u32, local_rank: u32) -> PathBuf {
    RankFolder::of(run, attempt, local_rank).path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipment(folder: &Path, cargo: Cargo) -> Shipment {
        let what = Consignment {
            run: "task-1-g1-n1-i1".parse().unwrap(),
            folder: folder.to_owned(),
            ranks: vec![4, 5],
            first_attempt: 3,
            is_fresh: true,
        };
        Shipment::new(what, cargo)
    }

    #[test]
    fn streams_are_named_by_attempt_and_global_rank() {
        let folder = tempfile::tempdir().unwrap();
        let mut shipment = shipment(folder.path(), Cargo::Streams);
        assert_eq!(shipment.discover().len(), 1, "the run's folder is watched for attempts");
        std::fs::create_dir_all(folder.path().join("attempt_2/0")).unwrap();
        assert_eq!(shipment.discover().iter().filter(|place| !place.parcels.is_empty()).count(), 0);
        std::fs::create_dir_all(folder.path().join("attempt_2/1")).unwrap();
        let places = shipment.discover();
        let last = places.last().unwrap();
        assert_eq!((last.folder.clone(), last.parcels.clone()), (folder.path().join("attempt_2/1"), 3..6));
        assert_eq!(shipment.parcels[5].path, "/api/agent/v1/runs/task-1-g1-n1-i1/streams/3/5/progress");
        assert!(shipment.discover().is_empty());
    }

    #[test]
    fn at_the_end_an_attempt_that_was_begun_counts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("attempt_2/0")).unwrap();
        let mut shipment = shipment(folder.path(), Cargo::Streams);
        shipment.ends = true;
        shipment.discover();
        assert_eq!(shipment.parcels.len(), 6);
        assert!(!shipment.is_done());
        shipment.unwanted = true;
        assert!(shipment.is_done());
    }
}
