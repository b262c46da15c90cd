//! What Slurm's programs print about a job, read from their plain text: `--json` is missing or different in many
//! releases.

use crate::language::Text;

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Pending,
    Running,
    /// On its way between two of the others; the word is Slurm's.
    Moving(String),
    Requeued,
    Completed,
    Failed,
    TimedOut,
    Cancelled,
    NodeFailed,
    /// Over for a reason that has no name here; the word is Slurm's.
    Over(String),
}

impl JobState {
    /// Reads `RUNNING`, `CANCELLED by 0`, `OUT_OF_MEMORY+`.
    pub fn read(word: &str) -> Self {
        let name = word.trim().trim_end_matches('+').split([' ', ',']).next().unwrap_or_default();
        match name {
            "PENDING" => Self::Pending,
            "RUNNING" => Self::Running,
            "REQUEUED" | "REQUEUE_FED" | "SPECIAL_EXIT" | "REQUEUE_HOLD" => Self::Requeued,
            "COMPLETED" => Self::Completed,
            "FAILED" => Self::Failed,
            "TIMEOUT" | "DEADLINE" => Self::TimedOut,
            "CANCELLED" | "REVOKED" => Self::Cancelled,
            "NODE_FAIL" | "BOOT_FAIL" => Self::NodeFailed,
            "OUT_OF_MEMORY" | "PREEMPTED" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => Self::Over(name.to_owned()),
            _ => Self::Moving(name.to_owned()),
        }
    }

    /// Slurm's own word, which is what people search for.
    pub fn word(&self) -> &str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Requeued => "REQUEUED",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::TimedOut => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::NodeFailed => "NODE_FAIL",
            Self::Moving(word) | Self::Over(word) => word,
        }
    }

    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Moving(_) | Self::Requeued)
    }
}

/// What one look at a job showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLook {
    pub state: JobState,
    /// Why it waits or ended, in Slurm's words; empty where Slurm gives none.
    pub reason: String,
    pub nodes: String,
}

impl JobLook {
    /// The format that [`JobLook::read`] understands, for `squeue -o`.
    pub const FORMAT: &str = "%T|%r|%N";

    pub fn read(line: &str) -> Option<Self> {
        let mut fields = line.trim().splitn(3, '|');
        let state = JobState::read(fields.next().filter(|word| !word.is_empty())?);
        let reason = fields.next().filter(|reason| *reason != "None").unwrap_or_default().to_owned();
        Some(Self { state, reason, nodes: fields.next().unwrap_or_default().to_owned() })
    }

    /// Said when it changes.
    pub fn text(&self, job: &str) -> Text {
        let word = self.state.word();
        let mut detail = [self.nodes.as_str(), self.reason.as_str()];
        if matches!(self.state, JobState::Pending) {
            detail = [self.reason.as_str(), ""];
        }
        let detail: Vec<&str> = detail.into_iter().filter(|text| !text.is_empty()).collect();
        let detail = if detail.is_empty() { String::new() } else { format!(" ({})", detail.join(", ")) };
        Text::new(format!("作业 {job}：{word}{detail}"), format!("job {job}: {word}{detail}"))
    }
}

/// How a batch script ended: Slurm's `3:0` is exit code 3, `0:15` signal 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobExit {
    pub code: u8,
    pub signal: u8,
}

impl JobExit {
    pub fn read(text: &str) -> Option<Self> {
        let (code, signal) = text.trim().split_once(':')?;
        Some(Self { code: code.parse().ok()?, signal: signal.parse().ok()? })
    }

    /// Finds `ExitCode=` in the line of `scontrol -o show job`.
    pub fn in_show_job(line: &str) -> Option<Self> {
        line.split_whitespace().find_map(|word| word.strip_prefix("ExitCode=")).and_then(Self::read)
    }
}

/// Finds the state in the line of `scontrol -o show job`, for clusters where squeue has forgotten the job.
pub fn look_in_show_job(line: &str) -> Option<JobLook> {
    let value = |name: &str| {
        let word = line.split_whitespace().find_map(|word| word.strip_prefix(name));
        word.filter(|value| !["(null)", "None"].contains(value)).unwrap_or_default()
    };
    let state = value("JobState=");
    let look =
        JobLook { state: JobState::read(state), reason: value("Reason=").into(), nodes: value("NodeList=").into() };
    (!state.is_empty()).then_some(look)
}

/// `sbatch --parsable` prints the number, and on a federation the cluster behind it.
pub fn read_submitted(text: &str) -> Option<u64> {
    text.lines().last()?.trim().split(';').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_squeue_are_read() {
        let look = JobLook::read("PENDING|Resources|\n").unwrap();
        assert_eq!(look.text("12").en, "job 12: PENDING (Resources)");
        assert!(!look.state.is_over());
        let look = JobLook::read("RUNNING|None|n[1-2]").unwrap();
        assert_eq!(look.text("12").en, "job 12: RUNNING (n[1-2])");
        let look = JobLook::read("FAILED|NonZeroExitCode|n[1-2]").unwrap();
        assert_eq!(
            (look.state.is_over(), look.text("12").en.as_ref()),
            (true, "job 12: FAILED (n[1-2], NonZeroExitCode)")
        );
        assert_eq!(JobLook::read(""), None);
    }

    #[test]
    fn every_end_is_an_end_and_a_requeue_is_none() {
        for (word, over) in [
            ("CANCELLED by 0", true),
            ("CANCELLED+", true),
            ("TIMEOUT", true),
            ("NODE_FAIL", true),
            ("OUT_OF_MEMORY", true),
            ("COMPLETED", true),
            ("REQUEUED", false),
            ("COMPLETING", false),
            ("CONFIGURING", false),
            ("SUSPENDED", false),
        ] {
            assert_eq!(JobState::read(word).is_over(), over, "{word}");
        }
    }

    #[test]
    fn the_line_of_scontrol_is_read() {
        let line = "JobId=9 JobName=d.sh JobState=FAILED Reason=NonZeroExitCode Requeue=1 Restarts=0 ExitCode=3:0 NodeList=n[1-2]";
        assert_eq!(JobExit::in_show_job(line), Some(JobExit { code: 3, signal: 0 }));
        assert_eq!(look_in_show_job(line).map(|look| look.state), Some(JobState::Failed));
        assert_eq!(look_in_show_job("Invalid job id specified"), None);
    }

    #[test]
    fn the_number_of_a_new_job_is_read() {
        assert_eq!(read_submitted("17\n"), Some(17));
        assert_eq!(read_submitted("warning: x\n17;local\n"), Some(17));
        assert_eq!(read_submitted("sbatch: error"), None);
    }
}
