//! Looks at every host before anything is started: reachable, the folder there, the same fermi there, and what that
//! fermi says of the script and the options. What is wrong is listed host by host.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fermi_domain::language::reason;
use fermi_domain::language::{Explained, Language};
use fermi_domain::messages::launch::{HostTrouble, LaunchNews, LaunchProblem};

use super::flags::LaunchFlags;
use super::plan::{Node, Plan};
use super::script::{self, COPY, SAYS, VERSION};
use super::ssh::{BROKEN, Ssh, SshAnswer};
use crate::speech;

/// How many hosts are asked at once.
const AT_ONCE: usize = 64;

/// Where fermi is on a host that is ready.
pub type Checked = Result<String, HostTrouble>;

/// Asks all hosts; copies the binary first where that is wanted.
pub fn all(plan: &Plan, flags: &LaunchFlags, ssh: &Ssh) -> Result<Vec<Checked>, LaunchProblem> {
    let binary = match flags.copy_binary {
        true => std::fs::read("/proc/self/exe")
            .map_err(|error| LaunchProblem::BinaryUnreadable { error: reason::of_io(&error) })?,
        false => Vec::new(),
    };
    let results: Mutex<Vec<Option<Result<Checked, LaunchProblem>>>> =
        Mutex::new(plan.nodes.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(plan.nodes.len()) {
            scope.spawn(|| {
                while let Some((index, node)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    plan.nodes.get(index).map(|node| (index, node))
                } {
                    let result = one(plan, node, flags, ssh, &binary);
                    if let Ok(mut results) = results.lock() {
                        results[index] = Some(result);
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_default();
    results.into_iter().flatten().collect()
}

fn one(plan: &Plan, node: &Node, flags: &LaunchFlags, ssh: &Ssh, binary: &[u8]) -> Result<Checked, LaunchProblem> {
    let not_found =
        |error: std::io::Error| LaunchProblem::SshNotFound { program: flags.ssh.clone(), error: reason::of_io(&error) };
    if !binary.is_empty() && !node.is_here {
        let answer = ssh.ask(node, &script::copy(binary.len()), binary).map_err(not_found)?;
        if answer.code != Some(0) {
            return Ok(Err(not_copied(&answer, ssh)));
        }
    }
    let candidates = candidates(node, flags);
    let answer = ssh.ask(node, &script::check(plan, node, &candidates), &[]).map_err(not_found)?;
    Ok(judge(&answer, plan, &candidates, ssh.patience().as_secs()))
}

/// Where fermi may be on a host, the best first.
fn candidates(node: &Node, flags: &LaunchFlags) -> Vec<String> {
    if node.is_here {
        let own = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        return vec![own.unwrap_or_else(|| "fermi".to_owned())];
    }
    match (&flags.remote_fermi, flags.copy_binary) {
        (Some(path), _) => vec![path.clone()],
        (None, true) => vec![COPY.to_owned()],
        (None, false) => vec!["fermi".to_owned(), COPY.to_owned()],
    }
}

fn not_copied(answer: &SshAnswer, ssh: &Ssh) -> HostTrouble {
    match answer.code {
        None => HostTrouble::Silent { seconds: ssh.patience().as_secs() },
        Some(BROKEN) => HostTrouble::Unreachable { said: last_line(&answer.stderr) },
        Some(_) => HostTrouble::NotCopied { said: last_line(&answer.stderr) },
    }
}

/// Reads what a host has answered.
fn judge(answer: &SshAnswer, plan: &Plan, candidates: &[String], seconds: u64) -> Checked {
    if answer.code.is_none() {
        return Err(HostTrouble::Silent { seconds });
    }
    let mut said = answer.stdout.lines().skip_while(|line| !line.starts_with(SAYS));
    let mut trouble = HostTrouble::NoFermi { tried: candidates.join(", ") };
    let mut path = String::new();
    let mut is_up = false;
    while let Some(line) = said.next() {
        match line.strip_prefix(SAYS).map(|line| line.split_once(' ').unwrap_or((line, ""))) {
            Some(("up", _)) => is_up = true,
            Some(("no-folder", _)) => {
                trouble = HostTrouble::NoFolder { path: plan.folder.display().to_string() };
            }
            Some(("broken", path)) => trouble = HostTrouble::FermiDoesNotRun { path: path.to_owned() },
            Some(("found", rest)) => {
                let (version, at) = rest.split_once('\t').unwrap_or((rest, ""));
                path = at.to_owned();
                if version != VERSION {
                    trouble = HostTrouble::OtherVersion {
                        path: at.to_owned(),
                        theirs: version.to_owned(),
                        ours: VERSION.to_owned(),
                    };
                }
            }
            Some(("ready", _)) => return Ok(path),
            Some(("refused", _)) => {
                return Err(HostTrouble::Refused { said: one_line(said.by_ref()) });
            }
            _ => {}
        }
    }
    Err(if is_up { trouble } else { HostTrouble::Unreachable { said: last_line(&answer.stderr) } })
}

/// An error and its hint, which stand on lines of their own, as one.
fn one_line<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let words = ["error: ", "hint: ", "错误：", "提示："];
    let bare = |line: &'a str| words.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    lines.filter(|line| !line.trim().is_empty()).map(bare).collect::<Vec<_>>().join(" · ")
}

fn last_line(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if line.is_empty() { "ssh".to_owned() } else { line.trim().to_owned() }
}

/// The table of hosts, and what to do: each hint once.
pub fn table(plan: &Plan, checked: &[Checked], language: Language) -> (String, String) {
    let width = plan.nodes.iter().map(|node| node.label.chars().count()).max().unwrap_or(0);
    let mut rows = String::new();
    let mut hints: Vec<String> = Vec::new();
    for (node, state) in plan.nodes.iter().zip(checked) {
        let text = state.as_ref().err().map_or_else(|| LaunchNews::Ready.text(), HostTrouble::text);
        rows.push_str(&format!("  {:width$}  {}\n", node.label, text.in_language(language)));
        let hint = state.as_ref().err().and_then(HostTrouble::hint);
        let hint = hint.as_ref().map(|hint| speech::spelled(hint).in_language(language).to_owned());
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    (rows, hints.join("\n      "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { nodes: Vec::new(), folder: "/work".into(), variables: Vec::new(), master: String::new() }
    }

    fn judged(code: Option<i32>, stdout: &str, stderr: &str) -> Checked {
        let answer = SshAnswer { code, stdout: stdout.into(), stderr: stderr.into() };
        judge(&answer, &plan(), &["fermi".into(), COPY.into()], 70)
    }

    #[test]
    fn a_ready_host_tells_where_fermi_is_whatever_its_shell_says_before() {
        let said = format!("Welcome!\n{SAYS}up\n{SAYS}found {VERSION}\t/usr/bin/fermi\n{SAYS}ready\n");
        assert_eq!(judged(Some(0), &said, ""), Ok("/usr/bin/fermi".into()));
    }

    #[test]
    fn each_trouble_is_known_by_its_signs() {
        let refused = "ssh: connect to host b port 22: Connection refused\n";
        assert_eq!(judged(Some(255), "", refused), Err(HostTrouble::Unreachable { said: refused.trim().into() }));
        assert_eq!(judged(None, "", ""), Err(HostTrouble::Silent { seconds: 70 }));
        let no_folder = format!("{SAYS}up\n{SAYS}no-folder\n");
        assert_eq!(judged(Some(0), &no_folder, ""), Err(HostTrouble::NoFolder { path: "/work".into() }));
        let none = format!("{SAYS}up\n");
        assert_eq!(judged(Some(0), &none, ""), Err(HostTrouble::NoFermi { tried: format!("fermi, {COPY}") }));
        let other = format!("{SAYS}up\n{SAYS}found fermi 0.0.1\t/bin/fermi\n");
        assert!(
            matches!(judged(Some(0), &other, ""), Err(HostTrouble::OtherVersion { theirs, .. }) if theirs == "fermi 0.0.1")
        );
        let broken = format!("{SAYS}up\n{SAYS}broken /x/fermi\n");
        assert_eq!(judged(Some(0), &broken, ""), Err(HostTrouble::FermiDoesNotRun { path: "/x/fermi".into() }));
        let script = format!(
            "{SAYS}up\n{SAYS}found {VERSION}\t/f\n{SAYS}refused\nerror: the script a.py does not exist\n\nhint: check the path\n"
        );
        let said = "the script a.py does not exist · check the path".to_owned();
        assert_eq!(judged(Some(0), &script, ""), Err(HostTrouble::Refused { said }));
    }

    #[test]
    fn an_old_fermi_on_the_path_does_not_hide_the_copy_that_fits() {
        let said = format!(
            "{SAYS}up\n{SAYS}found fermi 0.0.1\t/bin/fermi\n{SAYS}found {VERSION}\t/home/me/.cache/fermi\n{SAYS}ready\n"
        );
        assert_eq!(judged(Some(0), &said, ""), Ok("/home/me/.cache/fermi".into()));
    }
}
