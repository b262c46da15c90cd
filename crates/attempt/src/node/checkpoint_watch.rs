//! Looks after this node's checkpoint folder on a thread of its own: a disk that hangs must not hold up the supervisor.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use fermi_domain::checkpoint::{Fence, FenceFinding, LeftBehind, Listing, NodeCheckpoints, complete_steps, fence};
use fermi_process::account::SystemAccount;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::checkpoint_folder::{CheckpointFolder, FenceStamp};
use crate::node_message::{MarkDuty, SharedMark, Survey};

/// How often the fence is looked at while ranks run.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the last look may take when the run is over.
const LAST_LOOK: Duration = Duration::from_millis(500);
/// So many steps of a node are told, the newest ones.
const MOST_STEPS: usize = 1_024;

/// What the watch found out.
#[derive(Debug)]
pub enum CheckpointFinding {
    Surveyed {
        attempt: u32,
        found: NodeCheckpoints,
        mark: Option<SharedMark>,
    },
    Superseded {
        attempt: u32,
        by: Fence,
    },
    Foreign {
        attempt: u32,
        by: Fence,
    },
    /// The last one: nothing is watched any more.
    Left,
}

/// What the watch is asked to do.
#[derive(Debug)]
enum WatchOrder {
    Survey {
        survey: Survey,
        ranks: Range<u32>,
    },
    /// Ranks run: the fence is set where that was not done, and looked at from now on.
    Begin {
        fence: Fence,
        goes_on_from: GoesOnFrom,
    },
    /// No rank runs.
    Rest,
    Leave,
}

/// What an attempt does with the checkpoints that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOnFrom {
    Beginning,
    Step(u64),
    /// Whatever the script finds.
    Any,
}

#[derive(Debug)]
pub struct CheckpointWatch {
    folder: CheckpointFolder,
    /// None until there is something to do: a start does not wait for it.
    orders: Option<Sender<WatchOrder>>,
    sender: Sender<CheckpointFinding>,
    findings: Receiver<CheckpointFinding>,
    bell: Arc<EventFd>,
}

impl CheckpointWatch {
    /// For the run of this name, which keeps checkpoints in this folder as this account.
    pub fn new(folder: PathBuf, writer: &str, account: Option<SystemAccount>) -> std::io::Result<Self> {
        let (sender, findings) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let folder = CheckpointFolder::new(folder, writer).of(account);
        Ok(Self { folder, orders: None, sender, findings, bell })
    }

    /// The folder in words.
    pub fn folder(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// Readable when there is a finding.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub fn findings(&self) -> Vec<CheckpointFinding> {
        let _ = self.bell.read();
        self.findings.try_iter().collect()
    }

    pub fn survey(&mut self, survey: Survey, ranks: Range<u32>) {
        self.order(WatchOrder::Survey { survey, ranks });
    }

    pub fn begin(&mut self, fence: Fence, goes_on_from: GoesOnFrom) {
        self.order(WatchOrder::Begin { fence, goes_on_from });
    }

    pub fn rest(&mut self) {
        if self.orders.is_some() {
            self.order(WatchOrder::Rest);
        }
    }

    /// Leaves the folder as it should be found, if its disk answers in time.
    pub fn leave(&mut self) {
        if self.orders.is_some() {
            self.order(WatchOrder::Leave);
            while let Ok(finding) = self.findings.recv_timeout(LAST_LOOK) {
                if matches!(finding, CheckpointFinding::Left) {
                    break;
                }
            }
        }
    }

    fn order(&mut self, order: WatchOrder) {
        if self.orders.is_none() {
            let (send, orders) = channel();
            let (folder, sender, bell) = (self.folder.clone(), self.sender.clone(), self.bell.clone());
            let watcher = Watcher { folder, sender, bell, watched: None, listing: Listing::default(), mark: None };
            let thread = std::thread::Builder::new().name("checkpoints".into()).stack_size(256 * 1024);
            // Without it a survey goes unanswered, and the coordinator does without the answer.
            if thread.spawn(move || watcher.run(&orders)).is_ok() {
                self.orders = Some(send);
            }
        }
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

/// The attempt that is watched over.
struct Watched {
    fence: Fence,
    stamp: Option<FenceStamp>,
    /// Whether ranks run.
    is_running: bool,
}

/// The thread's own state.
struct Watcher {
    folder: CheckpointFolder,
    sender: Sender<CheckpointFinding>,
    bell: Arc<EventFd>,
    watched: Option<Watched>,
    /// What the last survey saw, before anything was left out.
    listing: Listing,
    mark: Option<(u32, SharedMark)>,
}

impl Watcher {
    fn run(mut self, orders: &Receiver<WatchOrder>) {
        if let Some(account) = &self.folder.account
            && account.see_as_it().is_err()
        {
            return;
        }
        loop {
            let is_running = self.watched.as_ref().is_some_and(|watched| watched.is_running);
            let order = if is_running {
                orders.recv_timeout(LOOK_EVERY)
            } else {
                orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match order {
                Ok(WatchOrder::Survey { survey, ranks }) => self.survey(survey, &ranks),
                Ok(WatchOrder::Begin { fence, goes_on_from }) => self.begin(fence, goes_on_from),
                Ok(WatchOrder::Rest) => {
                    if let Some(watched) = &mut self.watched {
                        watched.is_running = false;
                    }
                }
                Ok(WatchOrder::Leave) => {
                    self.leave();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn tell(&self, finding: CheckpointFinding) {
        let _ = self.sender.send(finding);
        let _ = self.bell.write(1);
    }

    fn survey(&mut self, survey: Survey, ranks: &Range<u32>) {
        let Survey { fence, mark, .. } = survey;
        let (attempt, owner) = (fence.attempt, fence.owner.clone());
        // A folder that cannot be made cannot be written by ranks either, and they say so.
        let _ = self.folder.make();
        if !self.set_fence(fence) {
            return;
        }
        let mark = match mark {
            MarkDuty::Leave => self.leave_mark(attempt),
            MarkDuty::Find(mark) => Some(mark).filter(|mark| self.folder.sees(mark)),
            MarkDuty::Nothing => None,
        };
        self.listing = self.folder.list();
        let holds_anything = !self.listing.entries.is_empty();
        let counted = self.listing.clone().without(&self.folder.left_behind(), &owner);
        let steps = complete_steps(&counted, ranks).into_iter().rev().take(MOST_STEPS).collect();
        let found = NodeCheckpoints { shares: mark.is_some(), holds_anything, steps };
        self.tell(CheckpointFinding::Surveyed { attempt, found, mark });
    }

    /// The same one when it is asked for again: others may be looking for it already.
    fn leave_mark(&mut self, attempt: u32) -> Option<SharedMark> {
        if self.mark.as_ref().is_none_or(|(of, _)| *of != attempt) {
            self.mark = self.folder.leave_mark(attempt).ok().map(|mark| (attempt, mark));
        }
        self.mark.as_ref().map(|(_, mark)| mark.clone())
    }

    /// Says with a fence that this attempt writes here, unless a newer one does.
    fn set_fence(&mut self, ours: Fence) -> bool {
        let found = self.folder.fence();
        let finding = fence::compare(&ours, found.as_ref());
        if let FenceFinding::YieldTo(by) = finding {
            self.tell(CheckpointFinding::Superseded { attempt: ours.attempt, by });
            return false;
        }
        if let FenceFinding::Foreign(by) = &finding {
            self.tell(CheckpointFinding::Foreign { attempt: ours.attempt, by: by.clone() });
        }
        if finding != FenceFinding::Keep {
            // Without a fence nobody is kept away.
            let _ = self.folder.write_fence(&ours);
        }
        self.watched = Some(Watched { fence: ours, stamp: self.folder.fence_stamp(), is_running: false });
        true
    }

    fn begin(&mut self, ours: Fence, goes_on_from: GoesOnFrom) {
        if let Some((_, mark)) = self.mark.take() {
            self.folder.remove_mark(&mark);
        }
        let is_surveyed = self.watched.as_ref().is_some_and(|watched| watched.fence == ours);
        if !is_surveyed && (!self.folder.exists() || !self.set_fence(ours.clone())) {
            return;
        }
        let step = match goes_on_from {
            GoesOnFrom::Beginning => Some(None),
            GoesOnFrom::Step(step) => Some(Some(step)),
            GoesOnFrom::Any => None,
        };
        if let Some(step) = step.filter(|_| is_surveyed) {
            let mut left = LeftBehind::after(&self.listing, &ours.owner, step);
            let before = self.folder.left_behind();
            let stays = |(name, modified): &(String, u64)| {
                self.listing.entries.get(name).is_some_and(|entry| entry.modified_ns == *modified)
            };
            if before.owner == ours.owner {
                left.entries.extend(before.entries.into_iter().filter(stays));
            }
            // Without it a step of a course that was given up may count again.
            let _ = self.folder.write_left_behind(&left);
        }
        if let Some(watched) = &mut self.watched {
            watched.is_running = true;
        }
    }

    fn look(&mut self) {
        let stamp = self.folder.fence_stamp();
        let Some(watched) = &mut self.watched else { return };
        if stamp == watched.stamp {
            return;
        }
        watched.stamp = stamp;
        let attempt = watched.fence.attempt;
        match fence::compare(&watched.fence, self.folder.fence().as_ref()) {
            FenceFinding::YieldTo(by) => {
                watched.is_running = false;
                self.tell(CheckpointFinding::Superseded { attempt, by });
            }
            FenceFinding::Foreign(by) => self.tell(CheckpointFinding::Foreign { attempt, by }),
            FenceFinding::Write | FenceFinding::Keep => {}
        }
    }

    fn leave(&mut self) {
        if let Some((_, mark)) = self.mark.take() {
            self.folder.remove_mark(&mark);
        }
        if let Some(watched) = self.watched.take() {
            self.folder.leave(&watched.fence);
        }
        self.tell(CheckpointFinding::Left);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use super::*;

    fn fence(attempt: u32) -> Fence {
        Fence { owner: "c/task-1".into(), generation: 1, attempt, has_ended: false }
    }

    /// What the watch of a node with rank 0 finds in its folder before this attempt.
    fn surveyed(watch: &mut CheckpointWatch, attempt: u32, mark: MarkDuty) -> (NodeCheckpoints, Option<SharedMark>) {
        watch.survey(Survey { fence: fence(attempt), first_rank: 0, mark }, 0..1);
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            for finding in watch.findings() {
                if let CheckpointFinding::Surveyed { found, mark, .. } = finding {
                    return (found, mark);
                }
            }
            assert!(Instant::now() < deadline, "no answer");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn save(folder: &Path, step: u64, text: &str) {
        fs::write(folder.join(format!("step-{step}.pt")), text).unwrap();
    }

    #[test]
    fn steps_that_an_attempt_went_back_behind_count_again_when_they_are_written_again() {
        let root = tempfile::tempdir().unwrap();
        let mut watch = CheckpointWatch::new(root.path().to_owned(), "n0", None).unwrap();
        [10, 20, 30].into_iter().for_each(|step| save(root.path(), step, "of the first course"));
        assert_eq!(surveyed(&mut watch, 2, MarkDuty::Nothing).0.steps, [10, 20, 30].into());
        watch.begin(fence(2), GoesOnFrom::Step(10));
        watch.rest();
        assert_eq!(surveyed(&mut watch, 3, MarkDuty::Nothing).0.steps, [10].into());
        save(root.path(), 20, "of the second course");
        let (found, _) = surveyed(&mut watch, 3, MarkDuty::Nothing);
        assert_eq!((found.steps, found.holds_anything), ([10, 20].into(), true));
        watch.leave();
        assert!(CheckpointFolder::new(root.path().to_owned(), "n0").fence().is_some_and(|fence| fence.has_ended));
    }

    #[test]
    fn two_nodes_of_one_folder_find_out_and_a_newer_attempt_ends_the_survey_of_an_older() {
        let root = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (
            CheckpointWatch::new(root.path().to_owned(), "n0", None).unwrap(),
            CheckpointWatch::new(root.path().to_owned(), "n1", None).unwrap(),
        );
        let (found, mark) = surveyed(&mut first, 4, MarkDuty::Leave);
        let mark = mark.unwrap();
        assert!(found.shares && surveyed(&mut second, 4, MarkDuty::Find(mark.clone())).0.shares);
        assert_eq!(surveyed(&mut first, 4, MarkDuty::Leave).1, Some(mark), "others may be looking for it already");
        let other = tempfile::tempdir().unwrap();
        let mut elsewhere = CheckpointWatch::new(other.path().to_owned(), "n2", None).unwrap();
        let (_, mark) = surveyed(&mut first, 5, MarkDuty::Leave);
        assert!(!surveyed(&mut elsewhere, 5, MarkDuty::Find(mark.unwrap())).0.shares);
        second.survey(Survey { fence: fence(3), first_rank: 0, mark: MarkDuty::Nothing }, 0..1);
        let finding = second.findings.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(matches!(finding, CheckpointFinding::Superseded { attempt: 3, by } if by == fence(5)));
    }
}
