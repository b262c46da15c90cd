//! What a rank left behind when it failed: its last lines, torch's error file, the kernel's word on memory.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fermi_domain::exit::Exit;
use fermi_domain::failure::{Evidence, diagnose, last_traceback};
use fermi_process::output::Tails;

use crate::coordinator::Failure;

/// How many last lines a report shows.
const SHOWN: usize = 20;
/// An error file beyond this size was not written by torch.
const LARGEST_ERROR_FILE: u64 = 4 << 20;

/// What was seen of a rank's end.
#[derive(Debug)]
pub struct Seen<'a> {
    pub exit: &'a Exit,
    pub tails: Tails,
    pub error_file: Option<&'a Path>,
    pub oom_killed: bool,
    pub lived_ms: u64,
    pub made_progress: bool,
}

/// Puts the pieces together and asks for a diagnosis.
pub fn gather(seen: Seen<'_>) -> Failure {
    let error_file = seen.error_file.and_then(read_error_file);
    let Tails { stdout, stderr } = seen.tails;
    let traceback = last_traceback(&stderr)
        .or_else(|| last_traceback(&stdout))
        .or_else(|| last_traceback(&lines_of(error_file.as_ref()?.callstack.as_deref()?)));
    let shown = if stderr.is_empty() { &stdout } else { &stderr };
    let evidence = shown[shown.len().saturating_sub(SHOWN)..].to_vec();
    let tail: Vec<String> = stdout.into_iter().chain(stderr).collect();
    let diagnosis = diagnose(&Evidence {
        exit: seen.exit,
        tail: &tail,
        error_file: error_file.as_ref().map(|file| file.message.as_str()),
        oom_killed: seen.oom_killed,
        lived_ms: seen.lived_ms,
        made_progress: seen.made_progress,
    });
    Failure { diagnosis, evidence, traceback, log: None }
}

struct ErrorFile {
    message: String,
    callstack: Option<String>,
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// `{"message": {"message": "Type: text", "extraInfo": {"py_callstack": …}}}`, written by torch's `@record`; its
/// `message` may also be plain text.
fn read_error_file(path: &Path) -> Option<ErrorFile> {
    // The rank's: it may be a pipe, be held by a lease, or grow while it is read.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_ERROR_FILE + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LARGEST_ERROR_FILE {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let outer = json.get("message")?;
    let message = outer.get("message").unwrap_or(outer).as_str()?.to_owned();
    let callstack = outer.pointer("/extraInfo/py_callstack").and_then(|stack| stack.as_str()).map(str::to_owned);
    Some(ErrorFile { message, callstack })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torchs_error_file_gives_the_message_when_the_streams_are_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.json");
        let body = r#"{"message":{"message":"ModuleNotFoundError: No module named 'nope'","extraInfo":{"py_callstack":"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import nope\nModuleNotFoundError: No module named 'nope'\n","timestamp":"1"}}}"#;
        fs::write(&path, body).unwrap();
        let failure = gather(Seen {
            exit: &Exit::Code { code: 1 },
            tails: Tails::default(),
            error_file: Some(&path),
            oom_killed: false,
            lived_ms: 5,
            made_progress: false,
        });
        assert_eq!(failure.diagnosis.unwrap().id, "missing_module");
        assert!(failure.traceback.is_some());
    }

    #[test]
    fn a_damaged_error_file_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.json");
        fs::write(&path, "{\"message\": 7").unwrap();
        assert!(read_error_file(&path).is_none());
    }
}
