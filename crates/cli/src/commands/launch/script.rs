//! What is sent to a host: a shell script over the standard input of `sh`.
//!
//! The command that ssh carries is always the same few characters, so that it means the same in every login shell, and so
//! that neither the environment (tokens!) nor the user's words are seen in the host's list of processes. The script is
//! read to its last byte and no further: what follows on the stream belongs to what the script starts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::plan::{Node, Plan};
use super::quote;

/// What ssh is told to run: reads so many bytes and does what they say.
pub fn carrier(length: usize) -> String {
    format!("exec sh -c 'eval \"$(dd bs=1 count={length} 2>/dev/null)\"'")
}

/// The same without ssh.
pub fn carrier_here(length: usize) -> [String; 2] {
    ["-c".to_owned(), format!("eval \"$(dd bs=1 count={length} 2>/dev/null)\"")]
}

pub const VERSION: &str = concat!("fermi ", env!("CARGO_PKG_VERSION"));
/// Where `--copy-binary` puts it, for the shell there.
pub const COPY: &str = concat!("~/.cache/fermi/bin/", env!("CARGO_PKG_VERSION"), "/fermi");
/// Begins every line of the answer to a check: a login shell may talk too.
pub const SAYS: &str = "fermi-check: ";

/// Starts the run on a host; becomes `fermi run`, with the rest of the stream as its leash.
pub fn start(plan: &Plan, node: &Node, fermi: &str) -> Vec<u8> {
    let mut script = exports(plan);
    script.extend(b"cd ");
    script.extend(quote::word(plan.folder.as_os_str()));
    script.extend(b" || exit 2\nexec ");
    script.extend(call(node, fermi));
    script.push(b'\n');
    script
}

/// `fermi run …` as a shell reads it.
pub fn call(node: &Node, fermi: &str) -> Vec<u8> {
    let words = quote::words(node.words.iter().map(|word| word.as_os_str()));
    [quote::path(fermi), words].join(&b' ')
}

fn exports(plan: &Plan) -> Vec<u8> {
    let mut script = Vec::new();
    for (name, value) in &plan.variables {
        script.extend(b"export ");
        script.extend(name.as_bytes());
        script.push(b'=');
        script.extend(quote::word(value));
        script.push(b'\n');
    }
    script
}

/// Looks whether a host is ready, with these places where fermi may be: the folder, the program and its version, and
/// what `fermi run` itself says of the script, the interpreter and the options there.
pub fn check(plan: &Plan, node: &Node, candidates: &[String]) -> Vec<u8> {
    let mut script = exports(plan);
    let says = |text: &str| format!("printf '{SAYS}{text}\\n'");
    script.extend(format!("{}\ncd ", says("up")).as_bytes());
    script.extend(quote::word(plan.folder.as_os_str()));
    script.extend(format!(" 2>/dev/null || {{ {}; exit 0; }}\nfor f in", says("no-folder")).as_bytes());
    for candidate in candidates {
        script.push(b' ');
        script.extend(quote::path(candidate));
    }
    let words = node.words.iter().skip(1).map(|word| word.as_os_str());
    let dry = quote::words([OsStr::new("run"), OsStr::new("--dry-run")].into_iter().chain(words));
    let body = format!(
        "; do\np=$(command -v \"$f\" 2>/dev/null) || continue\nv=$(\"$p\" --version 2>/dev/null) || {{ {broken} \"$p\"; continue; }}\n{found} \"$v\" \"$p\"\n[ \"$v\" = '{VERSION}' ] || continue\nif said=$(\"$p\" ",
        broken = says("broken %s"),
        found = says("found %s\\t%s"),
    );
    script.extend(body.as_bytes());
    script.extend(dry);
    script.extend(
        format!(
            " 2>&1 >/dev/null </dev/null); then {}; else {}; printf '%s\\n' \"$said\"; fi\nexit 0\ndone\n",
            says("ready"),
            says("refused")
        )
        .as_bytes(),
    );
    script
}

/// Takes the program from the rest of the stream. It appears under its name only when it is whole.
pub fn copy(length: usize) -> Vec<u8> {
    let folder = concat!("\"$HOME\"/.cache/fermi/bin/", env!("CARGO_PKG_VERSION"));
    format!(
        "d={folder}\nn=\"$d/.new.$(uname -n).$$\"\nmkdir -p \"$d\" && cat > \"$n\" && [ \"$(wc -c < \"$n\")\" -eq {length} ] && chmod 755 \"$n\" && mv -f \"$n\" \"$d/fermi\" || {{ rm -f \"$n\"; exit 1; }}\n"
    )
    .into_bytes()
}

/// Bytes that are meant for people.
pub fn shown(bytes: &[u8]) -> String {
    OsStr::from_bytes(bytes).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_carrier_reads_the_script_and_leaves_the_rest() {
        let script = b"export A='x y'\nprintf '%s|' \"$A\"\nexec cat\n";
        let mut child = Command::new("sh")
            .args(carrier_here(script.len()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(script).unwrap();
        stdin.write_all(b"the rest\n").unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"x y|the rest\n");
    }

    #[test]
    fn a_copy_that_broke_off_is_not_installed() {
        let home = tempfile::tempdir().unwrap();
        for (sent, arrives) in [(b"half".as_slice(), false), (b"whole".as_slice(), true)] {
            let script = copy(5);
            let mut child = Command::new("sh")
                .args(carrier_here(script.len()))
                .env("HOME", home.path())
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&[&script, sent].concat()).unwrap();
            drop(stdin);
            assert_eq!(child.wait().unwrap().success(), arrives);
            let folder = home.path().join(COPY.trim_start_matches("~/")).parent().unwrap().to_owned();
            let files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
            assert_eq!(files, if arrives { vec!["fermi"] } else { vec![] });
        }
    }
}
