//! `fermi completions SHELL`: clap's script for commands and options, and around it what asks `fermi complete` for names.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::speech;

/// Print completions for a shell; in bash, zsh and fish the server's names and ids too
#[derive(Debug, clap::Args)]
#[command(after_help = "For bash: fermi completions bash > ~/.local/share/bash-completion/completions/fermi")]
pub struct CompletionsFlags {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

/// Names where there are some, else what clap's function finds. `fermi complete` gives words that need no quotes.
const BASH: &str = r#"
_fermi_names() {
    mapfile -t COMPREPLY < <("$1" complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    (( ${#COMPREPLY[@]} )) || _fermi "$@"
}
"#;

const ZSH: &str = r#"functions[_fermi_words]=$functions[_fermi]
_fermi_names() {
    local -a names
    names=(${(f)"$("$words[1]" complete -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)"})
    (( $#names )) && compadd -U -- "$names[@]"
}
_fermi() {
    _fermi_names || _fermi_words "$@"
}

"#;

const FISH: &str = "complete -c fermi -a '(fermi complete -- (commandline -opc) (commandline -ct) 2>/dev/null)'\n";

pub fn execute(flags: &CompletionsFlags) -> ExitCode {
    speech::print(&script(flags.shell));
    ExitCode::SUCCESS
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "fermi", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => format!("{BASH}{}", script.replace("complete -F _fermi ", "complete -F _fermi_names ")),
        // Behind clap's function, before it is called or made known.
        Shell::Zsh => match script.rfind("if [ \"$funcstack[1]\"") {
            Some(at) => format!("{}{ZSH}{}", &script[..at], &script[at..]),
            None => script,
        },
        Shell::Fish => script + FISH,
        _ => script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_bash_zsh_and_fish_ask_for_names() {
        let bash = script(Shell::Bash);
        assert!(bash.contains("complete -F _fermi_names ") && !bash.contains("complete -F _fermi "));
        let zsh = script(Shell::Zsh);
        assert!(zsh.starts_with("#compdef fermi\n"));
        let (wrapper, call) = (zsh.find("_fermi_names ||"), zsh.find("if [ \"$funcstack[1]\""));
        assert!(wrapper.is_some() && wrapper < call);
        assert!(script(Shell::Fish).ends_with(FISH));
        assert!(!script(Shell::Elvish).contains("fermi complete --"));
    }
}
