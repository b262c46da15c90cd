//! The disk that a training writes to: room, speed, kind.

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::facts::{DiskFacts, WriteTest};
use crate::{Finding, Topic};

const GIB: u64 = 1 << 30;
const NONE: u64 = GIB;
const FEW: u64 = 20 * GIB;
/// Bytes per second below which checkpoints take minutes.
const SLOW: f64 = 100e6;
/// A disk that is said to rotate and writes faster than this is none that rotates; virtual machines say so at times.
const FASTER_THAN_ROTATING: f64 = 250e6;
const FEW_ENTRIES: f64 = 0.02;

pub fn check(disk: &DiskFacts) -> Vec<Finding> {
    // Of a folder that is not there, or behind a mount that is gone, nothing is known but that it cannot be written to.
    let mut findings: Vec<Finding> = (disk.total > 0).then(|| room(disk)).into_iter().collect();
    findings.extend(entries(disk));
    findings.push(write(disk));
    findings.extend(kind(disk));
    findings
}

fn room(disk: &DiskFacts) -> Finding {
    let (free, total) = (Bytes(disk.free).rounded(), Bytes(disk.total).rounded());
    let folder = &disk.folder;
    let text = Text::new(format!("{folder}：剩余 {free} / {total}"), format!("{folder}: {free} of {total} are free"));
    let fix = Text::new(
        "清出空间，或把检查点放到别处（FERMI_CHECKPOINT_DIR）",
        "make room, or put checkpoints elsewhere (FERMI_CHECKPOINT_DIR)",
    );
    let command = format!("du -xh --max-depth=1 '{folder}' | sort -h | tail");
    match disk.free {
        free if free < NONE => Finding::error("disk.room", Topic::Disk, text).fix(fix, command),
        free if free < FEW => Finding::warning("disk.room", Topic::Disk, text).fix(fix, command),
        _ => Finding::ok("disk.room", Topic::Disk, text),
    }
}

fn entries(disk: &DiskFacts) -> Option<Finding> {
    let free = disk.free_entries.filter(|free| *free < FEW_ENTRIES)?;
    let text = Text::new(
        format!("文件条目（inode）只剩 {:.1}%，有空间也建不了文件", free * 100.0),
        format!(
            "only {:.1} % of file entries (inodes) are free: no file can be made although there is room",
            free * 100.0
        ),
    );
    let fix = Text::new("删除大量小文件", "delete folders of many small files");
    Some(Finding::warning("disk.entries", Topic::Disk, text).fix(fix, format!("df -i '{}'", disk.folder)))
}

fn write(disk: &DiskFacts) -> Finding {
    let folder = &disk.folder;
    let speed = match &disk.write {
        WriteTest::Failed(reason) => {
            let text = Text::new(format!("{folder} 不能写入"), format!("{folder} cannot be written to"));
            let fix = Text::new("检查目录的权限与挂载", "look at its permissions and its mount");
            return Finding::error("disk.write", Topic::Disk, text)
                .seen(reason.text())
                .fix(fix, format!("ls -ld '{folder}'; findmnt -T '{folder}'"));
        }
        written @ WriteTest::Done { .. } => written.speed().unwrap_or_default(),
    };
    let shown = format!("{:.0} MB/s", speed / 1e6);
    if speed < SLOW {
        let text = Text::new(
            format!("写入只有 {shown}，保存检查点会很慢"),
            format!("writes only {shown}: saving checkpoints will take long"),
        );
        let advice = Text::new("把检查点与数据放到更快的盘（SSD）", "put checkpoints and data on a faster disk (SSD)");
        return Finding::warning("disk.write", Topic::Disk, text).advice(advice);
    }
    Finding::ok(
        "disk.write",
        Topic::Disk,
        Text::new(format!("写入 {shown}（含落盘）"), format!("writes {shown}, flushed")),
    )
}

fn kind(disk: &DiskFacts) -> Option<Finding> {
    let system = disk.file_system.as_deref().unwrap_or("?");
    match disk.is_rotating {
        Some(true) if disk.write.speed().is_some_and(|speed| speed < FASTER_THAN_ROTATING) => {
            let text = Text::new(
                format!("数据在机械硬盘上（{system}），推荐 SSD"),
                format!("the disk rotates ({system}); an SSD is advised"),
            );
            let fix = Text::new("把数据集放到 SSD", "put the dataset on an SSD");
            Some(Finding::warning("disk.kind", Topic::Disk, text).fix(fix, "lsblk -d -o NAME,ROTA,SIZE,MODEL"))
        }
        Some(true) => Some(Finding::ok(
            "disk.kind",
            Topic::Disk,
            Text::new(
                format!("{system}；内核称其为机械硬盘，但写入速度像 SSD"),
                format!("{system}; the kernel says that it rotates, but it writes like an SSD"),
            ),
        )),
        Some(false) => Some(Finding::ok(
            "disk.kind",
            Topic::Disk,
            Text::new(format!("SSD（{system}）"), format!("SSD ({system})")),
        )),
        None => Some(Finding::skipped(
            "disk.kind",
            Topic::Disk,
            Text::new(
                format!("{system}：看不到背后的盘，是否 SSD 不得而知"),
                format!("{system}: its device cannot be seen, so whether it is an SSD is not known"),
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::states;
    use super::*;
    use crate::State::{self, Error, Ok, Skipped, Warning};
    use crate::facts::Reason;

    fn disk(change: impl FnOnce(&mut DiskFacts)) -> Vec<(&'static str, State)> {
        let mut disk = DiskFacts {
            folder: "/data".into(),
            file_system: Some("ext4".into()),
            total: 1000 * GIB,
            free: 500 * GIB,
            free_entries: Some(0.9),
            is_rotating: Some(false),
            write: WriteTest::Done { bytes: 64 << 20, seconds: 0.1 },
        };
        change(&mut disk);
        states(&check(&disk)).into_iter().filter(|(_, state)| *state != Ok).collect()
    }

    #[test]
    fn room_speed_and_kind_are_judged() {
        assert_eq!(disk(|_| ()), []);
        assert_eq!(disk(|it| it.free = 5 * GIB), [("disk.room", Warning)]);
        assert_eq!(disk(|it| it.free = GIB / 2), [("disk.room", Error)]);
        assert_eq!(disk(|it| it.free_entries = Some(0.01)), [("disk.entries", Warning)]);
        let slow = WriteTest::Done { bytes: 64 << 20, seconds: 2.0 };
        assert_eq!(disk(|it| it.write = slow.clone()), [("disk.write", Warning)]);
        assert_eq!(
            disk(|it| (it.write, it.is_rotating) = (slow, Some(true))),
            [("disk.write", Warning), ("disk.kind", Warning)]
        );
        // A virtual disk that says it rotates, and writes 640 MB/s.
        assert_eq!(disk(|it| it.is_rotating = Some(true)), []);
        assert_eq!(disk(|it| it.is_rotating = None), [("disk.kind", Skipped)]);
        assert_eq!(disk(|it| it.write = WriteTest::Failed(Reason::said("read-only"))), [("disk.write", Error)]);
        // A mount that is gone has no room to speak of.
        let gone = |it: &mut DiskFacts| {
            (it.total, it.free, it.free_entries) = (0, 0, None);
            it.write = WriteTest::Failed(Reason::said("not connected"));
        };
        assert_eq!(disk(gone), [("disk.write", Error)]);
    }
}
