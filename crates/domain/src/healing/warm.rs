//! Parked ranks: whether there is memory for them, whether a parked process can become the rank that is to start, and why
//! a rank starts cold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract;
use crate::language::{Text, reason};
use crate::pulse::ParkedEnd;

/// So many times what the parked processes may need has to be free before they are started.
const ROOM: u64 = 4;
/// Imports alone do not take more, however much the rank has.
const MOST_FOR_IMPORTS: u64 = 2 << 30;
/// What an attempt is told beyond what its rank is: these may differ from what a parked process was started with.
const OF_ATTEMPT: [&str; 7] = [
    contract::FERMI_ATTEMPT,
    contract::FERMI_PROGRESS_FILE,
    contract::FERMI_RESUME,
    contract::FERMI_RESUME_STEP,
    contract::FERMI_CHECKPOINT_SHARED,
    contract::TORCHELASTIC_RESTART_COUNT,
    contract::TORCHELASTIC_ERROR_FILE,
];

/// Whether so much free memory is enough to park beside ranks of these sizes; else what is needed. All in bytes.
pub fn memory_needed(available: u64, resident: &[u64]) -> Result<(), u64> {
    let needed = resident.iter().map(|rank| (*rank).min(MOST_FOR_IMPORTS)).sum::<u64>() * ROOM;
    if available >= needed { Ok(()) } else { Err(needed) }
}

/// What makes the variables of a parked process those of the rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VariableChange {
    pub environ: BTreeMap<String, String>,
    pub unset: Vec<String>,
}

impl VariableChange {
    /// Or the names of variables that modules may have read while they were imported, and that are not the same.
    pub fn between(parked: &[(String, String)], wanted: &[(String, String)]) -> Result<Self, Vec<String>> {
        let parked: BTreeMap<&String, &String> = parked.iter().map(|(name, value)| (name, value)).collect();
        let wanted: BTreeMap<&String, &String> = wanted.iter().map(|(name, value)| (name, value)).collect();
        let differs = |name: &&String| parked.get(*name) != wanted.get(*name);
        let names = parked.keys().copied().filter(|name| !wanted.contains_key(name)).chain(wanted.keys().copied());
        let (of_attempt, fixed): (Vec<&String>, Vec<&String>) =
            names.filter(differs).partition(|name| OF_ATTEMPT.contains(&name.as_str()));
        if !fixed.is_empty() {
            return Err(fixed.into_iter().cloned().collect());
        }
        let mut change = Self::default();
        for name in of_attempt {
            match wanted.get(name) {
                Some(value) => {
                    change.environ.insert(name.clone(), (*value).clone());
                }
                None => change.unset.push(name.clone()),
            }
        }
        Ok(change)
    }
}

/// Why a rank of a run with `--warm on` starts cold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ColdReason {
    /// Its attempt had made no step, so that it was not known what to import.
    NoStep,
    StillImporting,
    ParkedEnded,
    /// A signal or a debugger has stopped it.
    ParkedStopped,
    /// It did not take its order.
    ParkedSilent,
    TooLittleMemory {
        needed: u64,
        available: u64,
    },
    VariablesDiffer {
        names: Vec<String>,
    },
    CommandDiffers,
    PackagesChanged,
    NotRestored,
    OwnModule,
    DeviceTaken,
    CannotPark {
        error: String,
    },
}

impl ColdReason {
    /// Of a parked process that has ended, or started from scratch; none for one that became the rank as it should.
    pub fn of_end(end: Option<ParkedEnd>) -> Option<Self> {
        match end {
            None => Some(Self::ParkedEnded),
            Some(ParkedEnd::Released) => None,
            Some(ParkedEnd::PackagesChanged) => Some(Self::PackagesChanged),
            Some(ParkedEnd::NotRestored) => Some(Self::NotRestored),
            Some(ParkedEnd::OwnModule) => Some(Self::OwnModule),
            Some(ParkedEnd::DeviceTaken) => Some(Self::DeviceTaken),
        }
    }

    pub fn text(&self) -> Text {
        match self {
            Self::NoStep => Text::new(
                "上一次启动还没有走完一步，不知道该预先导入什么",
                "the attempt before had made no step, so it was not known what to import",
            ),
            Self::StillImporting => Text::new("待命进程还没有导入完", "the parked interpreter was still importing"),
            Self::ParkedEnded => Text::new("待命进程已经退出", "the parked interpreter had ended"),
            Self::ParkedStopped => Text::new(
                "待命进程被暂停（SIGSTOP 之类的信号，或调试器）",
                "the parked interpreter was stopped, by a signal such as SIGSTOP or a debugger",
            ),
            Self::ParkedSilent => Text::new(
                "待命进程没有回应，可能被暂停或冻结",
                "the parked interpreter did not answer: it may be frozen or starved",
            ),
            Self::TooLittleMemory { needed, available } => {
                let (needed, available) = (needed >> 20, available >> 20);
                Text::new(
                    format!("空闲内存不足以待命：需要 {needed} MiB，只有 {available} MiB"),
                    format!("too little free memory to park: {needed} MiB wanted, {available} MiB there"),
                )
            }
            Self::VariablesDiffer { names } => {
                let names = names.join(", ");
                Text::new(format!("环境变量变了：{names}"), format!("these variables have changed: {names}"))
            }
            Self::CommandDiffers => Text::new("启动命令变了", "the command has changed"),
            Self::PackagesChanged => {
                Text::new("期间安装或删除过软件包", "packages were installed or removed meanwhile")
            }
            Self::NotRestored => {
                Text::new("待命进程无法变成正常的 rank", "the parked interpreter could not be made what a rank is")
            }
            Self::OwnModule => Text::new(
                "有软件包会导入用户自己的模块，不能预先导入",
                "a package imports a module of the user's own, which is not imported ahead",
            ),
            Self::DeviceTaken => Text::new(
                "有软件包在导入时就占用 GPU，不能预先导入",
                "a package takes a GPU while it is imported, which is not done ahead",
            ),
            Self::CannotPark { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("待命进程无法启动：{}", why.zh),
                    format!("no interpreter could be parked: {}", why.en),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_an_attempt_is_told_may_differ_and_nothing_else() {
        let parked = variables(&[("RANK", "1"), ("FERMI_ATTEMPT", "2"), ("FERMI_RESUME", "1"), ("A", "x")]);
        let wanted = variables(&[("RANK", "1"), ("FERMI_ATTEMPT", "3"), ("FERMI_RESUME_STEP", "9"), ("A", "x")]);
        let change = VariableChange::between(&parked, &wanted).unwrap();
        let environ = variables(&[("FERMI_ATTEMPT", "3"), ("FERMI_RESUME_STEP", "9")]).into_iter().collect();
        assert_eq!(change, VariableChange { environ, unset: vec!["FERMI_RESUME".to_owned()] });
        assert_eq!(VariableChange::between(&parked, &parked), Ok(VariableChange::default()));

        let moved = variables(&[("RANK", "0"), ("FERMI_ATTEMPT", "3"), ("FERMI_RESUME", "1"), ("B", "y")]);
        let names = ["A", "B", "RANK"].map(str::to_owned).to_vec();
        assert_eq!(VariableChange::between(&parked, &moved), Err(names));
    }

    #[test]
    fn memory_has_to_be_there_four_times_over_and_a_large_rank_does_not_count_whole() {
        const GIB: u64 = 1 << 30;
        for (available, resident, expected) in [
            (8 * GIB, vec![GIB, GIB], Ok(())),
            (8 * GIB - 1, vec![GIB, GIB], Err(8 * GIB)),
            (8 * GIB, vec![500 * GIB], Ok(())),
            (0, vec![], Ok(())),
        ] {
            assert_eq!(memory_needed(available, &resident), expected, "{available} {resident:?}");
        }
    }
}
