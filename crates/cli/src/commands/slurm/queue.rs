//! Asks Slurm, through its own programs and their plain text.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

use fermi_domain::messages::slurm::SlurmProblem;
use fermi_domain::slurm::job::{self, JobExit, JobLook, JobState};

/// Submits a batch file; the answer is the job's number.
pub fn submit(script: &Path) -> Result<u64, SlurmProblem> {
    let output = Command::new("sbatch").arg("--parsable").arg(script).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => SlurmProblem::NoProgram { name: "sbatch" },
        _ => SlurmProblem::Refused { program: "sbatch", said: error.to_string() },
    })?;
    let refused = || SlurmProblem::Refused { program: "sbatch", said: last_words(&output) };
    if !output.status.success() {
        return Err(refused());
    }
    job::read_submitted(&String::from_utf8_lossy(&output.stdout)).ok_or_else(refused)
}

/// What Slurm's program complained of, without its own prefix.
fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> =
        text.lines().map(|line| line.trim_start_matches("sbatch: ").trim_start_matches("error: ")).collect();
    lines.join("; ")
}

/// Where the job stands; none when nobody could say. squeue forgets a job minutes after its end, accounting never does,
/// and many clusters have none.
pub fn look(job: u64) -> Option<JobLook> {
    let id = job.to_string();
    let listed = said("squeue", &["-h", "-j", &id, "-t", "all", "-o", JobLook::FORMAT]);
    listed.and_then(|text| JobLook::read(text.lines().next()?)).or_else(|| job::look_in_show_job(&show(job)?)).or_else(
        || {
            let [state, _] = accounted(job)?;
            Some(JobLook { state: JobState::read(&state), reason: String::new(), nodes: String::new() })
        },
    )
}

/// How its batch script ended.
pub fn exit(job: u64) -> Option<JobExit> {
    show(job).and_then(|line| JobExit::in_show_job(&line)).or_else(|| {
        let [_, exit] = accounted(job)?;
        JobExit::read(&exit)
    })
}

pub fn cancel(job: u64) {
    // Were it to fail, the job goes on and is followed on; the user sees that and asks again.
    let _ = said("scancel", &[&job.to_string()]);
}

fn show(job: u64) -> Option<String> {
    said("scontrol", &["-o", "show", "job", &job.to_string()])
}

/// From the accounting database, else from the file of completed jobs.
fn accounted(job: u64) -> Option<[String; 2]> {
    let id = job.to_string();
    let read = |text: String| {
        let (state, exit) = text.lines().next()?.split_once('|')?;
        Some([state.to_owned(), exit.to_owned()])
    };
    said("sacct", &["-n", "-P", "-X", "-j", &id, "-o", "State,ExitCode"])
        .and_then(read)
        .or_else(|| said("sacct", &["-c", "-n", "-P", "-j", &id, "-o", "State,ExitCode"]).and_then(read))
}

/// What a program printed, if it ended well and said anything.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text).filter(|text| !text.trim().is_empty())
}
