//! Hears from the kernel which folders have news, so that a line is on its way within a millisecond.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use fermi_domain::task::RunKey;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

use super::set::WatchedFolder;

/// A flood must not keep us reading news for ever.
const MOST_READS: usize = 32;

#[derive(Debug)]
pub struct Watch {
    inotify: Inotify,
    folders: HashMap<WatchDescriptor, (RunKey, Range<usize>)>,
}

/// Which watched folders have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderChange {
    At(RunKey, Range<usize>),
    /// Too much happened for the kernel to list it.
    Everywhere,
}

impl Watch {
    /// None where the kernel has no watches left; looking now and then must do.
    pub fn open() -> Option<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
        Some(Self { inotify, folders: HashMap::new() })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    pub fn add(&mut self, run: &RunKey, watched: WatchedFolder) {
        let flags = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
        // A folder that cannot be watched is looked at now and then.
        if let Ok(descriptor) = self.inotify.add_watch(&watched.folder, flags | AddWatchFlags::IN_ONLYDIR) {
            self.folders.insert(descriptor, (run.clone(), watched.files));
        }
    }

    pub fn forget(&mut self, run: &RunKey) {
        let inotify = &self.inotify;
        self.folders.retain(|descriptor, (known, _)| {
            let stays = known != run;
            if !stays {
                // A folder that is gone took its watch with it.
                let _ = inotify.rm_watch(*descriptor);
            }
            stays
        });
    }

    pub fn changes(&self) -> Vec<FolderChange> {
        let mut news = Vec::new();
        for _ in 0..MOST_READS {
            let Ok(events) = self.inotify.read_events() else { break };
            for event in events {
                let heard = if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                    Some(FolderChange::Everywhere)
                } else {
                    self.folders.get(&event.wd).map(|(run, files)| FolderChange::At(run.clone(), files.clone()))
                };
                if let Some(heard) = heard.filter(|heard| !news.contains(heard)) {
                    news.push(heard);
                }
            }
        }
        news
    }
}
