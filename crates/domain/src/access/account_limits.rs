//! The limits of a system account, as a log-in sets them: by `limits.conf`, read as pam_limits reads it.
//!
//! Never asks what limits a process has: what the files do not name stays as it is.

use serde::{Deserialize, Serialize};

/// What can be limited; numbered as the kernel of Linux does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limited {
    Cpu = 0,
    FileSize = 1,
    Data = 2,
    Stack = 3,
    Core = 4,
    ResidentSet = 5,
    Processes = 6,
    OpenFiles = 7,
    LockedMemory = 8,
    AddressSpace = 9,
    Locks = 10,
    PendingSignals = 11,
    MessageQueues = 12,
    Nice = 13,
    RealtimePriority = 14,
}

impl Limited {
    /// By its name in the file; log-ins at a time and the like limit no process.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "cpu" => Self::Cpu,
            "fsize" => Self::FileSize,
            "data" => Self::Data,
            "stack" => Self::Stack,
            "core" => Self::Core,
            "rss" => Self::ResidentSet,
            "nproc" => Self::Processes,
            "nofile" => Self::OpenFiles,
            "memlock" => Self::LockedMemory,
            "as" => Self::AddressSpace,
            "locks" => Self::Locks,
            "sigpending" => Self::PendingSignals,
            "msgqueue" => Self::MessageQueues,
            "nice" => Self::Nice,
            "rtprio" => Self::RealtimePriority,
            _ => return None,
        })
    }

    /// What a value of the file means to the kernel.
    fn value(self, text: &str) -> Option<u64> {
        if self == Self::Nice {
            // From 20 for the lowest niceness to 0 for the highest.
            return text.parse::<i64>().ok().map(|nice| 20_u64.saturating_sub_signed(nice.clamp(-20, 19)));
        }
        if ["-1", "unlimited", "infinity"].contains(&text) {
            return Some(UNLIMITED);
        }
        let unit = match self {
            Self::Cpu => 60,
            Self::FileSize
            | Self::Data
            | Self::Stack
            | Self::Core
            | Self::ResidentSet
            | Self::LockedMemory
            | Self::AddressSpace => 1_024,
            _ => 1,
        };
        text.parse::<u64>().ok().map(|number| number.saturating_mul(unit))
    }
}

/// As the kernel writes it.
pub const UNLIMITED: u64 = u64::MAX;

/// One limit of an account; what is not said stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLimit {
    pub limited: Limited,
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

impl AccountLimit {
    /// Soft and hard, of a process that has these; a soft limit is never above the hard one.
    pub fn over(&self, soft: u64, hard: u64) -> (u64, u64) {
        let hard = self.hard.unwrap_or(hard);
        (self.soft.unwrap_or(soft).min(hard), hard)
    }
}

/// Of whom lines speak.
#[derive(Clone, Debug, Default)]
pub struct LimitedAccount<'a> {
    pub name: &'a str,
    pub uid: u32,
    /// Its own group.
    pub gid: u32,
    /// All groups that it is in, by number and by name.
    pub gids: &'a [u32],
    pub groups: &'a [String],
}

/// How closely a line names an account; a closer one wins, and of equal ones the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    Anyone,
    Group,
    Account,
}

/// All limits of an account. The texts are those of the files, in the order in which they are read; a line that says nothing of
/// limits is passed over, as at a log-in.
pub fn limits_of(account: &LimitedAccount<'_>, files: &[String]) -> Vec<AccountLimit> {
    let mut found: Vec<Found> = Vec::new();
    for line in files.iter().flat_map(|text| text.lines()) {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words[..] {
            // Nothing limits it.
            [domain, "-"] if account.named_by(domain).is_some_and(|closeness| closeness > Closeness::Anyone) => {
                return Vec::new();
            }
            [domain, kind, item, value] => {
                let Some(closeness) = account.named_by(domain) else { continue };
                let Some((is_soft, is_hard)) = kind_of(kind) else { continue };
                let Some(limited) = Limited::named(&item.to_ascii_lowercase()) else { continue };
                let Some(value) = limited.value(&value.to_ascii_lowercase()) else { continue };
                let at = found.iter().position(|it| it.limited == limited).unwrap_or_else(|| {
                    found.push(Found { limited, soft: None, hard: None });
                    found.len() - 1
                });
                found[at].take(closeness, value, is_soft, is_hard);
            }
            _ => {}
        }
    }
    found.sort_by_key(|it| it.limited);
    let value = |found: Option<(Closeness, u64)>| found.map(|(_, value)| value);
    found.iter().map(|it| AccountLimit { limited: it.limited, soft: value(it.soft), hard: value(it.hard) }).collect()
}

struct Found {
    limited: Limited,
    soft: Option<(Closeness, u64)>,
    hard: Option<(Closeness, u64)>,
}

impl Found {
    /// A line for both that is not close enough for the soft limit is not looked at for the hard one either.
    fn take(&mut self, closeness: Closeness, value: u64, is_soft: bool, is_hard: bool) {
        let is_closer = |before: Option<(Closeness, u64)>| before.is_none_or(|(before, _)| closeness >= before);
        if is_soft && !is_closer(self.soft) {
            return;
        }
        if is_soft {
            self.soft = Some((closeness, value));
        }
        if is_hard && is_closer(self.hard) {
            self.hard = Some((closeness, value));
        }
    }
}

/// Whether a line is of soft limits, and of hard ones.
fn kind_of(kind: &str) -> Option<(bool, bool)> {
    match kind.to_ascii_lowercase().as_str() {
        "soft" => Some((true, false)),
        "hard" => Some((false, true)),
        "-" => Some((true, true)),
        _ => None,
    }
}

impl LimitedAccount<'_> {
    /// A name, `@group`, `*`, or a range of numbers such as `1000:` and `@100:200`.
    fn named_by(&self, domain: &str) -> Option<Closeness> {
        // Root is limited by lines that name it, and by no others, as where Debian's patch is in.
        let is_root = self.uid == 0;
        if domain == "*" {
            return (!is_root).then_some(Closeness::Anyone);
        }
        if let Some(group) = domain.strip_prefix('@') {
            let is_in = match range(group) {
                _ if is_root => false,
                // One number is looked for among all groups, a range is held against the own one.
                Some(only) if group.starts_with(':') => self.gids.contains(only.start()),
                Some(range) => range.contains(&self.gid),
                None => self.groups.iter().any(|name| name == group),
            };
            return is_in.then_some(Closeness::Group);
        }
        let is_it = range(domain).map_or(domain == self.name, |range| range.contains(&self.uid));
        is_it.then_some(Closeness::Account)
    }
}

/// `MIN:MAX`, of which one may be absent; `:MAX` is that number alone.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (from, to) = text.split_once(':')?;
    let number = |text: &str| text.parse::<u32>().ok();
    match (from, to) {
        ("", to) => number(to).map(|only| only..=only),
        (from, "") => number(from).map(|from| from..=u32::MAX),
        (from, to) => number(from).zip(number(to)).map(|(from, to)| from..=to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is limited, softly and hard.
    type Row = (Limited, Option<u64>, Option<u64>);

    fn limits(files: &[&str]) -> Vec<Row> {
        let groups = ["ann".to_owned(), "ml".to_owned()];
        let ann = LimitedAccount { name: "ann", uid: 1_001, gid: 1_001, gids: &[1_001, 200], groups: &groups };
        let files: Vec<String> = files.iter().map(|&text| text.to_owned()).collect();
        limits_of(&ann, &files).into_iter().map(|it| (it.limited, it.soft, it.hard)).collect()
    }

    #[test]
    fn lines_are_read_as_at_a_log_in() {
        use Limited::{Core, Cpu, LockedMemory, Nice, OpenFiles, Processes};
        let cases: [(&[&str], &[Row]); 21] = [
            (&[""], &[]),
            (&["# ann - nofile 1\n* soft"], &[]),
            (&["ann - nofile 4096 # files"], &[(OpenFiles, Some(4_096), Some(4_096))]),
            (&["* soft nofile 1024\n* hard nofile 4096"], &[(OpenFiles, Some(1_024), Some(4_096))]),
            (&["@ml - memlock unlimited"], &[(LockedMemory, Some(UNLIMITED), Some(UNLIMITED))]),
            (&["@ml HARD MemLock Infinity"], &[(LockedMemory, None, Some(UNLIMITED))]),
            (&["* - memlock 64"], &[(LockedMemory, Some(65_536), Some(65_536))]),
            (&["* soft cpu 2", "* hard core 0"], &[(Cpu, Some(120), None), (Core, None, Some(0))]),
            // The closer one wins, wherever it stands; of equal ones the last.
            (&["ann - nproc 10\n@ml - nproc 20\n* - nproc 30"], &[(Processes, Some(10), Some(10))]),
            (&["* - nproc 30", "@ml soft nproc 20"], &[(Processes, Some(20), Some(30))]),
            (&["ann soft nproc 10\n* - nproc 30"], &[(Processes, Some(10), None)]),
            (&["@ml - nproc 20\n@ann - nproc 25"], &[(Processes, Some(25), Some(25))]),
            (&["1000:2000 - nproc 5\n@1001:1001 - nproc 6"], &[(Processes, Some(5), Some(5))]),
            (
                &[":1001 - nproc 5", "2000: - nproc 6", "@:1001 - nofile 9", "@:300 - nofile 8", "@100:300 - nofile 7"],
                &[(Processes, Some(5), Some(5)), (OpenFiles, Some(9), Some(9))],
            ),
            (&["@:200 - nofile 8", "@2000: - nofile 7"], &[(OpenFiles, Some(8), Some(8))]),
            (&["ann - nice -5\nann soft nice 40"], &[(Nice, Some(1), Some(25))]),
            (&["bob - nproc 1\n@wheel - nproc 1\n%ml - nproc 1\nann - maxlogins 4\nann - nproc many"], &[]),
            // Nothing limits it, whatever else is said.
            (&["* - nproc 30\nann -"], &[]),
            (&["* - nproc 30\n@ml -"], &[]),
            (&["* -\n* - nproc 30"], &[(Processes, Some(30), Some(30))]),
            (&["bob -\n* - nproc 30"], &[(Processes, Some(30), Some(30))]),
        ];
        for (files, expected) in cases {
            assert_eq!(limits(files), expected, "{files:?}");
        }
    }

    #[test]
    fn root_is_limited_by_lines_that_name_it_alone() {
        let groups = ["root".to_owned()];
        let root = LimitedAccount { name: "root", uid: 0, gid: 0, gids: &[0], groups: &groups };
        let limits = |line: &str| limits_of(&root, &[line.to_owned()]).len();
        assert_eq!(["* - nproc 5", "@root - nproc 5", "@0:10 - nproc 5", "@:0 - nproc 5"].map(limits), [0; 4]);
        assert_eq!(["root - nproc 5", "0:10 - nproc 5"].map(limits), [1; 2]);
    }

    #[test]
    fn what_is_not_said_stays_and_the_soft_one_is_within_the_hard_one() {
        let limit = |soft, hard| AccountLimit { limited: Limited::OpenFiles, soft, hard };
        assert_eq!(limit(Some(9), None).over(4, 20), (9, 20));
        assert_eq!(limit(Some(90), None).over(4, 20), (20, 20));
        assert_eq!(limit(None, Some(3)).over(4, 20), (3, 3));
        assert_eq!(limit(None, Some(UNLIMITED)).over(4, 20), (4, UNLIMITED));
    }

    #[test]
    fn strangers_files_of_limits_make_no_more_than_there_are_limits() {
        let sample =
            b"# comment\n* soft nofile 1024\n@ml - memlock unlimited\n1000:2000 hard nproc 5\nann - nice -5\nann -\n";
        fermi_mutator::try_all(&[sample], 3_000, |case| {
            let text = String::from_utf8_lossy(case);
            assert!(limits(&[&text]).len() <= 15);
        });
    }
}
