//! Which name somebody is typing, from the words so far and the definition of the commands.

use std::collections::BTreeSet;

use clap::{Arg, Command};

/// What has names that the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    Task,
    Sweep,
    Environment,
    Group,
    Worker,
    Dataset,
    Model,
    User,
    Token,
}

/// A name that is being typed, and where its server is if the line says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub noun: Noun,
    /// What has been typed of it.
    pub beginning: String,
    pub server: Option<String>,
    pub token_file: Option<String>,
}

/// Something that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    pub id: Option<String>,
}

impl Asked {
    /// Those that begin so, each once, names before ids. Who typed the beginning of a name that a shell would read otherwise
    /// than it stands gets the id instead: names are other people's words.
    pub fn fitting(&self, candidates: &[Candidate]) -> Vec<String> {
        let begins = |word: &&str| word.starts_with(&self.beginning);
        let of_names = candidates.iter().filter(|candidate| begins(&candidate.name.as_str())).filter_map(|candidate| {
            if is_plain(&candidate.name) { Some(candidate.name.as_str()) } else { candidate.id.as_deref() }
        });
        let ids = candidates.iter().filter_map(|candidate| candidate.id.as_deref()).filter(begins);
        let mut seen = BTreeSet::new();
        of_names.chain(ids).filter(|word| is_plain(word) && seen.insert(*word)).map(str::to_owned).collect()
    }
}

/// Whether every shell takes a word as it stands, within quotes and without.
fn is_plain(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "._-/@+,".contains(letter);
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_letter)
}

/// None where the last word is no name that a server knows: an option, a command, a file.
pub fn asked(root: &Command, words: &[String]) -> Option<Asked> {
    let (last, before) = words.split_last()?;
    let mut place = LinePosition { command: root, path: Vec::new(), positional: 0, value_of: None };
    let (mut server, mut token_file) = (None, None);
    for word in before.iter().skip(1).map(|word| unquoted(word)) {
        match place.value_of.map(|argument| argument.get_id().as_str()) {
            // Bash hands `--env=gn6` on as three words.
            Some(_) if word == "=" => continue,
            Some("server") => server = Some(word.clone()),
            Some("token_file") => token_file = Some(word.clone()),
            _ => {}
        }
        // What stands behind this is the training's own command line.
        if word == "--" {
            return None;
        }
        place.pass(&word);
    }
    let last = unquoted(last);
    let (argument, beginning) = match (place.value_of, last.split_once('=')) {
        (Some(argument), _) => (argument, last.trim_start_matches('=').to_owned()),
        (None, Some((flag, value))) if flag.starts_with("--") => (place.option(flag)?, value.to_owned()),
        (None, _) if last.starts_with('-') => return None,
        (None, _) => (place.positional()?, last),
    };
    let noun = noun(&place.path, argument)?;
    Some(Asked { noun, beginning, server, token_file })
}

/// Where in the commands a line has come to.
struct LinePosition<'a> {
    command: &'a Command,
    path: Vec<&'a str>,
    positional: usize,
    /// The option whose value comes next.
    value_of: Option<&'a Arg>,
}

impl<'a> LinePosition<'a> {
    fn pass(&mut self, word: &str) {
        if self.value_of.take().is_some() {
            return;
        }
        if word.starts_with('-') && word.len() > 1 {
            let takes_next = !word.contains('=') && (word.starts_with("--") || word.chars().count() == 2);
            self.value_of = self.option(word).filter(|argument| takes_next && argument.get_action().takes_values());
            return;
        }
        match self.command.find_subcommand(word) {
            Some(below) if self.positional == 0 => {
                self.command = below;
                self.path.push(below.get_name());
            }
            _ => self.positional += 1,
        }
    }

    fn option(&self, word: &str) -> Option<&'a Arg> {
        let (long, short) = (word.strip_prefix("--"), word.strip_prefix('-').and_then(|rest| rest.chars().next()));
        let is_meant = |argument: &&Arg| match long {
            Some(long) => {
                argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|all| all.contains(&long))
            }
            None => argument.get_short().is_some() && argument.get_short() == short,
        };
        self.command.get_arguments().find(is_meant)
    }

    /// The argument that a bare word would be; the last one may be there many times.
    fn positional(&self) -> Option<&'a Arg> {
        let all: Vec<&'a Arg> = self.command.get_positionals().collect();
        let many = all.last().filter(|last| matches!(last.get_action(), clap::ArgAction::Append));
        all.get(self.positional).or(many).copied()
    }
}

/// What an argument is a name of. Elsewhere the same words mean other things.
fn noun(path: &[&str], argument: &Arg) -> Option<Noun> {
    match (path, argument.get_id().as_str()) {
        (["task", "sweep"], "name") => Some(Noun::Sweep),
        (["user", "role" | "passwd" | "remove"], "name") => Some(Noun::User),
        (["token", _], "token") => Some(Noun::Token),
        (["task", ..], "task" | "tasks") => Some(Noun::Task),
        (["group", ..], "workers") => Some(Noun::Worker),
        (["task" | "env" | "group", ..], "environment" | "envs" | "master") => Some(Noun::Environment),
        (["task" | "group", ..], "group") => Some(Noun::Group),
        (["task" | "group" | "dataset", ..], "dataset") => Some(Noun::Dataset),
        (["task" | "group" | "model" | "plan", ..], "model") => Some(Noun::Model),
        _ => None,
    }
}

/// A word as the shell would hand it on; shells give words as they are typed.
fn unquoted(word: &str) -> String {
    let mut out = String::new();
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            '\'' | '"' => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn asked_by(line: &str) -> Option<Asked> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        asked(&crate::commands::Cli::command(), &words)
    }

    #[test]
    fn the_word_at_the_cursor_is_known_by_its_place() {
        for (line, expected) in [
            ("fermi task show ", Some((Noun::Task, ""))),
            ("fermi task show lla", Some((Noun::Task, "lla"))),
            ("fermi task logs --tail 5 -f lla", Some((Noun::Task, "lla"))),
            ("fermi task stop one two th", Some((Noun::Task, "th"))),
            ("fermi task show one two", None),
            ("fermi task rm x", Some((Noun::Task, "x"))),
            ("fermi task sweep be", Some((Noun::Sweep, "be"))),
            ("fermi task create --name x --env g", Some((Noun::Environment, "g"))),
            ("fermi task create -e ", Some((Noun::Environment, ""))),
            ("fermi task create --env=g", Some((Noun::Environment, "g"))),
            ("fermi task create --env = g", Some((Noun::Environment, "g"))),
            ("fermi task create --env =", Some((Noun::Environment, ""))),
            ("fermi task create --group l", Some((Noun::Group, "l"))),
            ("fermi task create --model b", Some((Noun::Model, "b"))),
            ("fermi task create --dataset b", Some((Noun::Dataset, "b"))),
            ("fermi task create --env gn6 -- train.py tas", None),
            ("fermi env drain g", Some((Noun::Environment, "g"))),
            ("fermi group move llm gn6-0 gn", Some((Noun::Worker, "gn"))),
            ("fermi group show l", Some((Noun::Group, "l"))),
            ("fermi dataset delete c", Some((Noun::Dataset, "c"))),
            ("fermi model delete b", Some((Noun::Model, "b"))),
            ("fermi model create b", None),
            ("fermi user remove a", Some((Noun::User, "a"))),
            ("fermi user add a", None),
            ("fermi token revoke t", Some((Noun::Token, "t"))),
            ("fermi plan --model b", Some((Noun::Model, "b"))),
            ("fermi task sh", None),
            ("fermi task show --js", None),
            ("fermi task logs --rank 0", None),
            ("fermi run train", None),
            ("fermi", None),
            ("fermi ta", None),
        ] {
            let found = asked_by(line);
            let found = found.as_ref().map(|asked| (asked.noun, asked.beginning.as_str()));
            assert_eq!(found, expected, "{line}");
        }
        assert_eq!(asked(&crate::commands::Cli::command(), &[]), None);
    }

    #[test]
    fn the_server_that_the_line_names_is_the_one_to_ask() {
        let asked = asked_by("fermi task show --server http://h:1 --token-file f a").unwrap_or_else(|| panic!("none"));
        assert_eq!((asked.server.as_deref(), asked.token_file.as_deref()), (Some("http://h:1"), Some("f")));
        let asked = asked_by("fermi task show --server = http://h:1 x").unwrap_or_else(|| panic!("none"));
        assert_eq!(asked.server.as_deref(), Some("http://h:1"));
    }

    #[test]
    fn names_fit_by_their_beginning_and_what_a_shell_would_read_is_completed_by_its_id() {
        let names = ["bert", "bert", "be\nrt", "llama", "bert lr=1", "b\u{2028}$(touch x)", "b中文", "-b"];
        let candidates: Vec<Candidate> = (1..)
            .zip(names)
            .map(|(number, name)| Candidate { name: name.to_owned(), id: Some(format!("task-{number}")) })
            .collect();
        let asked = |beginning: &str| Asked {
            noun: Noun::Task,
            beginning: unquoted(beginning),
            server: None,
            token_file: None,
        };
        assert_eq!(asked("'b").fitting(&candidates), ["bert", "task-3", "task-5", "task-6", "b中文"]);
        assert_eq!(asked("task-4").fitting(&candidates), ["task-4"]);
        let sweep = Candidate { name: "a b".to_owned(), id: None };
        assert_eq!(asked("a").fitting(&[sweep]), [""; 0]);
        assert_eq!(unquoted("my\\ task\""), "my task");
    }
}
