//! How the command line speaks: which language, which colours, and the form of an error.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use fermi_domain::contract::FERMI_LANG;
use fermi_domain::language::{Explained, FrontEnd, Hint, Language, Notice, Text, reason};

use crate::exit_code;
use crate::plain::{HarmlessPieces, harmless};

/// Why data could not be written to stdout, once that has happened.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// The language of this terminal: FERMI_LANG, then the locale; English where none is set.
pub fn language() -> Language {
    let value = |name: &str| std::env::var(name).ok();
    language_of(value(FERMI_LANG), ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(value))
}

/// A wish for a language that Fermi does not speak leaves the choice to the locale.
fn language_of(wish: Option<String>, locales: impl Iterator<Item = String>) -> Language {
    let is_spoken = |wish: &String| {
        let head = wish.get(..2).unwrap_or(wish).to_ascii_lowercase();
        ["zh", "en", "c"].contains(&head.as_str()) || wish.starts_with("C.") || wish == "POSIX"
    };
    let mut named = wish.filter(is_spoken).into_iter().chain(locales).filter(|value| !value.is_empty());
    named.next().map_or(Language::En, |locale| Language::of_locale(&locale))
}

/// A word in the language of this terminal.
pub fn pick(zh: &'static str, en: &'static str) -> &'static str {
    match language() {
        Language::ZhCn => zh,
        Language::En => en,
    }
}

/// Colours for people; none into files, none where NO_COLOR is set.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub fn for_stderr() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }

    pub fn for_stdout() -> Self {
        Self::on(std::io::stdout().is_terminal())
    }

    fn on(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: terminal && !refused && !dumb }
    }

    /// For texts that are measured before they are shown.
    pub fn none() -> Self {
        Self { on: false }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// A colour for each of many; the same number always has the same one.
    pub fn nth(self, number: u32, text: &str) -> String {
        const COLOURS: [&str; 10] = ["36", "35", "34", "32", "33", "96", "95", "94", "92", "93"];
        self.wrap(COLOURS[number as usize % COLOURS.len()], text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }
}

/// `error: <what>`, a blank line, `hint: <what to do>`.
pub fn error_text(language: Language, paint: Paint, message: &str, hint: Option<&str>) -> String {
    // A Chinese colon brings its own space.
    let (error, advice, gap) = match language {
        Language::ZhCn => ("错误：", "提示：", ""),
        Language::En => ("error:", "hint:", " "),
    };
    let mut text = format!("{}{gap}{message}\n", paint.red(error));
    if let Some(hint) = hint {
        text.push_str(&format!("\n{}{gap}{hint}\n", paint.yellow(advice)));
    }
    text
}

/// An error in the language and colours of stderr: the one way from [`Explained`] to a terminal.
pub fn error(message: &impl Explained) -> String {
    let language = language();
    let text = message.text();
    let hint = hint(message);
    let hint = hint.as_ref().map(|hint| hint.in_language(language));
    error_text(language, Paint::for_stderr(), text.in_language(language), hint)
}

/// The hint of a message as a terminal shows it.
pub fn hint(message: &impl Explained) -> Option<Text> {
    message.hint().as_ref().map(spelled)
}

/// An advice as a terminal shows it: settings are flags.
pub fn spelled(hint: &Hint) -> Text {
    hint.spelled(FrontEnd::CommandLine)
}

/// Says on stderr what went wrong.
pub fn complain(message: &impl Explained) {
    say(&error(message));
}

/// Talk goes to stderr; a closed one is no reason to fail.
pub fn say(text: &str) {
    let text = if std::io::stderr().is_terminal() { harmless(text) } else { text.into() };
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Somebody else's bytes as they come: as they are, on a terminal without what it would obey.
#[derive(Debug)]
pub struct PassedOn {
    is_talk: bool,
    on_terminal: Option<HarmlessPieces>,
}

impl PassedOn {
    /// Among our data, on stdout.
    pub fn as_data() -> Self {
        Self { is_talk: false, on_terminal: io::stdout().is_terminal().then(HarmlessPieces::default) }
    }

    /// Among our talk, on stderr.
    pub fn as_talk() -> Self {
        Self { is_talk: true, on_terminal: io::stderr().is_terminal().then(HarmlessPieces::default) }
    }

    pub fn pass(&mut self, bytes: &[u8]) {
        let shown = self.on_terminal.as_mut().map(|pieces| pieces.next(bytes));
        let bytes = shown.as_ref().map_or(bytes, |shown| shown.as_bytes());
        if self.is_talk {
            let _ = io::stderr().lock().write_all(bytes);
        } else {
            print_bytes(bytes);
        }
    }
}

/// The data of an answer, as it came, for programs.
pub fn print_json(value: &impl serde::Serialize) -> bool {
    serde_json::to_string_pretty(value).is_ok_and(|text| print(&format!("{text}\n")))
}

/// Data goes to stdout; false when it cannot be written any more, of which [`checked`] speaks at the end. On a terminal without what
/// it would obey: names, reasons and logs are words of others.
pub fn print(text: &str) -> bool {
    let text = if std::io::stdout().is_terminal() { harmless(text) } else { text.into() };
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> bool {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    let is_written = written.is_ok();
    // A closed pipe (`| head`) has got what its reader wanted.
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error);
    }
    is_written
}

/// The exit code of a command that has printed: data that could not be written are a failure, and it is said.
pub fn checked(code: ExitCode) -> ExitCode {
    let Some(why) = LOST.get().map(reason::of_io) else { return code };
    complain(&output_lost(&why));
    if code == ExitCode::SUCCESS { ExitCode::from(exit_code::FAILED) } else { code }
}

/// Data that were asked for could not be written.
pub fn output_lost(why: &Text) -> Notice {
    Notice::new(
        "output_lost",
        Text::new(format!("无法写入标准输出：{}", why.zh), format!("cannot write to standard output: {}", why.en)),
        Text::new("检查输出所在的磁盘或文件", "look at the disk or the file that the output goes to"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_is_not_spoken_leaves_the_choice_to_the_locale() {
        for (wish, locales, expected) in [
            (Some("zh"), vec!["en_US.UTF-8"], Language::ZhCn),
            (Some("en"), vec!["zh_CN.UTF-8"], Language::En),
            (Some("C"), vec!["zh_CN.UTF-8"], Language::En),
            (Some("C.UTF-8"), vec!["zh_CN.UTF-8"], Language::En),
            (Some("fr"), vec!["", "zh_CN.UTF-8"], Language::ZhCn),
            (Some("fr"), vec!["fr_FR.UTF-8"], Language::En),
            (Some(""), vec!["zh_TW"], Language::ZhCn),
            (None, vec![], Language::En),
        ] {
            let found = language_of(wish.map(str::to_owned), locales.iter().map(|locale| (*locale).to_owned()));
            assert_eq!(found, expected, "{wish:?} {locales:?}");
        }
    }
}
