//! Where a stream has bytes that were taken and not kept: `<kind>.gaps` beside its segments, three numbers of 64 bits in
//! little endian for each gap. The segments have holes there, which cost no disk.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
};

use fermi_domain::disk::GapReason;

use super::{
    StreamName,
    segment::{Segments, sync_folders},
};

/// A range of a stream that was taken and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub offset: u64,
    pub length: u64,
    pub reason: GapReason,
}

const RECORD: usize = 24;

impl Gap {
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    pub fn contains(self, offset: u64) -> bool {
        (self.offset..self.end()).contains(&offset)
    }

    fn written(self) -> [u8; RECORD] {
        let reason: u64 = match self.reason {
            GapReason::TaskBudget => 0,
            GapReason::Budget => 1,
            GapReason::DiskFull => 2,
        };
        let mut record = [0; RECORD];
        for (at, number) in [self.offset, self.length, reason].into_iter().enumerate() {
            record[at * 8..][..8].copy_from_slice(&number.to_le_bytes());
        }
        record
    }

    fn read(record: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(record.get(at * 8..)?.get(..8)?.try_into().ok()?));
        let reason = match number(2)? {
            0 => GapReason::TaskBudget,
            1 => GapReason::Budget,
            _ => GapReason::DiskFull,
        };
        Some(Self { offset: number(0)?, length: number(1)?, reason })
    }
}

impl Segments<'_> {
    fn gap_file(self, name: &StreamName) -> io::Result<PathBuf> {
        Ok(name.folder(self.root)?.join(format!("{}.gaps", name.kind.as_str())))
    }

    /// The gaps of a stream, in their order.
    pub fn gaps(self, name: &StreamName) -> io::Result<Vec<Gap>> {
        match fs::read(self.gap_file(name)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            bytes => Ok(bytes?.chunks_exact(RECORD).filter_map(Gap::read).collect()),
        }
    }

    /// Notes a gap. One that goes on from the last for the same reason makes that one longer.
    pub fn note_gap(self, name: &StreamName, gap: Gap) -> io::Result<()> {
        let known = self.gaps(name)?;
        let (at, noted) = match known.split_last() {
            Some((last, before)) if last.end() == gap.offset && last.reason == gap.reason => {
                (before.len(), Gap { length: last.length + gap.length, ..*last })
            }
            _ => (known.len(), gap),
        };
        let file: File = OpenOptions::new().create(true).truncate(false).write(true).open(self.gap_file(name)?)?;
        file.write_all_at(&noted.written(), (at * RECORD) as u64)?;
        file.sync_data()?;
        if at == 0 {
            sync_folders(self.root, &name.folder(self.root)?)?;
        }
        Ok(())
    }
}
