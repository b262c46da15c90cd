//! The name by which the binary is called: a link named `torchrun` is `fermi run`, so that tools which start `torchrun`
//! themselves start this.

use std::ffi::OsString;
use std::path::Path;

use fermi_domain::language::{Notice, Text};

use crate::commands::RUN;

/// The words of the command line, with the command that the name stands for.
pub fn words() -> Vec<OsString> {
    spelled_out(std::env::args_os().collect())
}

fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    if name(&words) == "torchrun" {
        // Help and hints name the commands that there are.
        words[0] = "fermi".into();
        if words.get(1).is_none_or(|word| word != "--version") {
            words.insert(1, RUN.into());
        }
    }
    words
}

/// Why the name stands for nothing, where it is that of a launcher whose command line reads in another way.
pub fn refusal(words: &[OsString]) -> Option<Notice> {
    let name = name(words);
    if !["deepspeed", "mpirun", "mpiexec", "horovodrun", "accelerate"].contains(&name) {
        return None;
    }
    Some(Notice::new(
        "called_as",
        Text::new(
            format!("以 {name} 之名调用时，Fermi 不知道该做什么"),
            format!("called as {name}, Fermi does not know what to do"),
        ),
        Text::new(
            "写 fermi run …（指南中有对照表）；只有名为 torchrun 的链接等同于 fermi run",
            "write fermi run … (its guide compares the options); only a link named torchrun stands for it",
        ),
    ))
}

fn name(words: &[OsString]) -> &str {
    words.first().and_then(|word| Path::new(word).file_name()).and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_torchrun_stands_for_a_command_and_other_launchers_are_refused() {
        let spelled = |line: &str| spelled_out(line.split(' ').map(OsString::from).collect()).join(" ".as_ref());
        assert_eq!(spelled("/usr/bin/torchrun -n 2 t.py"), "fermi run -n 2 t.py");
        assert_eq!(spelled("torchrun --version"), "fermi --version");
        assert_eq!(spelled("fermi run t.py"), "fermi run t.py");
        assert_eq!(spelled("./fermi torchrun"), "./fermi torchrun");
        assert!(refusal(&["bin/mpirun".into()]).is_some());
        assert!(refusal(&["bin/fermi".into()]).is_none() && refusal(&["torchrun".into()]).is_none());
    }
}
