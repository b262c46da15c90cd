//! What clap has to say against a command line, in our form and in both languages.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use fermi_domain::language::{Language, Notice, Text};

use super::run;
use crate::{called_as, exit_code, help, speech, wrap};

/// Why a value is refused, by a parser of ours: what would be right, in both languages.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.en)]
pub struct Expected(pub Text);

/// The same error where it is a page of help, made again from a command whose texts are in the reader's language.
pub fn for_the_reader(
    error: clap::Error,
    command: impl Fn(Language) -> clap::Command,
    words: &[OsString],
) -> clap::Error {
    let is_page = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
    match speech::language() {
        language @ Language::ZhCn if is_page => command(language).try_get_matches_from(words).err().unwrap_or(error),
        _ => error,
    }
}

/// A page as the reader sees it.
fn page(error: &clap::Error) -> String {
    let page = error.render().to_string();
    match speech::language() {
        Language::ZhCn => help::words_in_chinese(&page, wrap::columns().min(super::WIDEST)),
        Language::En => page,
    }
}

/// Prints help and version where they were asked for; everything else is an error with a sentence and exit code 2.
pub fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            speech::print(&page(error));
            ExitCode::from(exit_code::DONE)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            speech::say(&page(error));
            ExitCode::from(exit_code::USAGE)
        }
        _ => {
            let is_run = called_as::words().get(1).is_some_and(|word| word == super::RUN);
            let text = if is_run { run::blaming_variables(sentence(error)) } else { sentence(error) };
            speech::complain(&Notice::new("usage", text, hint(error)));
            ExitCode::from(exit_code::USAGE)
        }
    }
}

/// What other launchers take for a script that comes from the standard input.
const STANDARD_INPUT: &str = "-";

fn sentence(error: &clap::Error) -> Text {
    let argument = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if argument == STANDARD_INPUT => {
            Text::new("fermi run 不从标准输入读取脚本", "fermi run does not read a script from the standard input")
        }
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            Text::new(format!("这里不能写 “{argument}”"), format!("'{argument}' is not expected here"))
        }
        ErrorKind::UnknownArgument => {
            Text::new(format!("没有参数 {argument}"), format!("there is no option {argument}"))
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            Text::new(format!("没有命令 {name}"), format!("there is no command {name}"))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Text::new(format!("{argument} 需要一个值"), format!("{argument} needs a value"))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            Text::new(format!("{argument} 不能是 “{value}”"), format!("{argument} cannot be '{value}'"))
        }
        ErrorKind::MissingRequiredArgument => Text::new(format!("缺少 {argument}"), format!("{argument} is missing")),
        ErrorKind::ArgumentConflict => {
            let other = context(error, ContextKind::PriorArg).unwrap_or_default();
            if other == argument {
                return Text::new(format!("{argument} 给了两次"), format!("{argument} is given twice"));
            }
            Text::new(
                format!("{argument} 不能与 {other} 同时使用"),
                format!("{argument} cannot be used together with {other}"),
            )
        }
        ErrorKind::TooManyValues => {
            Text::new(format!("{argument} 的值太多：“{value}”"), format!("{argument} takes no further value '{value}'"))
        }
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            Text::new(format!("{argument} 的值不够"), format!("{argument} needs more values"))
        }
        ErrorKind::NoEquals => {
            Text::new(format!("{argument} 的值要写在 = 之后"), format!("the value of {argument} is written behind ="))
        }
        ErrorKind::MissingSubcommand => Text::new("缺少子命令", "a command is missing"),
        ErrorKind::InvalidUtf8 => Text::new("参数不是有效的 UTF-8", "an argument is not valid UTF-8"),
        _ => {
            let plain = error.to_string();
            let first = plain.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Text::new("无法理解这条命令", first)
        }
    }
}

fn hint(error: &clap::Error) -> Text {
    if context(error, ContextKind::InvalidArg).is_some_and(|argument| argument == STANDARD_INPUT) {
        return Text::new(
            "把脚本写入文件；只有一个 rank 时也可用 fermi run --no-python python3 -，由它自己读取",
            "write it into a file; or, for one rank, fermi run --no-python python3 -, which reads it itself",
        );
    }
    if let Some(name) = context(error, ContextKind::InvalidSubcommand)
        && (is_script(&name) || called_as::words().get(1).is_some_and(|word| *word == *name))
        && let Some(meant) = meant_by(&name)
    {
        return meant;
    }
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .iter()
        .find_map(|kind| context(error, *kind));
    if let Some(suggestion) = suggestion {
        return Text::new(format!("是不是 {suggestion}？"), format!("did you mean {suggestion}?"));
    }
    if let Some(values) = context(error, ContextKind::ValidValue).filter(|values| !values.is_empty()) {
        return Text::new(format!("可用的值：{values}"), format!("use one of: {values}"));
    }
    if let (Some(source), ErrorKind::ValueValidation) = (std::error::Error::source(error), error.kind()) {
        if let Some(Expected(text)) = source.downcast_ref() {
            return text.clone();
        }
        let said = source.to_string();
        if let Some((_, range)) = said.split_once(" is not in ") {
            return number_within(range);
        }
        if source.is::<std::num::ParseIntError>() {
            return number_within("0..=");
        }
        if source.is::<std::num::ParseFloatError>() {
            return Text::new("请给出数字，例如 0.5", "use a number, such as 0.5");
        }
        return Text::new("检查这个值的写法", said);
    }
    if error.kind() == ErrorKind::ArgumentConflict {
        return Text::new("只保留其中一个", "keep one of them");
    }
    help_of(&called_as::words())
}

/// The page of help of the command that these words call, down to its verb.
fn help_of(words: &[OsString]) -> Text {
    let tree = super::Cli::command();
    let (mut command, mut name) = (&tree, super::NAME.to_owned());
    for word in words.iter().skip(1) {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below;
        name = format!("{name} {}", below.get_name());
    }
    if command.is_subcommand_required_set() {
        return Text::new(format!("{name} --help 列出它的命令"), format!("{name} --help lists its commands"));
    }
    Text::new(format!("{name} --help 列出它的参数"), format!("{name} --help lists its options"))
}

fn is_script(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| ending == "py")
}

/// What somebody means who types this for a command: the name of another launcher, a script, or a word of another scheduler.
fn meant_by(word: &str) -> Option<Text> {
    let (zh, en) = match word {
        "torchrun" | "deepspeed" | "mpirun" | "mpiexec" | "horovodrun" | "accelerate" | "python" | "python3" => (
            format!("用 fermi run 代替 {word}：fermi run --nproc-per-node 2 train.py"),
            format!("fermi run stands for {word}: fermi run --nproc-per-node 2 train.py"),
        ),
        "ps" | "status" | "jobs" | "queue" => {
            ("fermi task list 列出训练任务".to_owned(), "fermi task list shows the tasks".to_owned())
        }
        "nodes" | "hosts" => {
            ("fermi env list 列出开发环境".to_owned(), "fermi env list shows the environments".to_owned())
        }
        "logs" | "stop" | "show" | "wait" | "explain" => {
            (format!("fermi task {word} last 用于最新的任务"), format!("fermi task {word} last is for the newest task"))
        }
        "submit" => (
            "fermi task create 提交训练任务，fermi slurm submit 提交 Slurm 作业".to_owned(),
            "fermi task create submits a task, fermi slurm submit a job of Slurm".to_owned(),
        ),
        script if is_script(script) => (format!("fermi run {script} 启动它"), format!("fermi run {script} starts it")),
        _ => return None,
    };
    Some(Text::new(zh, en))
}

/// clap says what a number is not; people want to know what it may be. A bound that only the type has is none.
fn number_within(range: &str) -> Text {
    let (from, end) = range.split_once("..").unwrap_or(("0", ""));
    // Without an upper bound clap names that of the type, and no equals sign before it.
    let to = end.strip_prefix('=').unwrap_or_default();
    if to.len() < u32::MAX.to_string().len() && !to.is_empty() {
        return Text::new(format!("请给出 {from} 到 {to} 的整数"), format!("use a whole number from {from} to {to}"));
    }
    Text::new(format!("请给出不小于 {from} 的整数"), format!("use a whole number from {from} up"))
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(without_value_name(text)),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}

/// `--tee <SPEC>` is `--tee` in a sentence.
fn without_value_name(text: &str) -> String {
    match text.split_once(" <") {
        Some((flag, _)) if flag.starts_with('-') => flag.to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_the_command_that_was_meant_is_named() {
        let named = |line: &str| help_of(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).en;
        assert_eq!(named("fermi run --nonsense"), "fermi run --help lists its options");
        assert_eq!(named("./fermi task create --env gn6 -- task list"), "fermi task create --help lists its options");
        assert_eq!(named("fermi task nonsense"), "fermi task --help lists its commands");
        assert_eq!(named("fermi plan --strategy ddp"), "fermi plan --help lists its options");
        assert_eq!(named("fermi --nonsense run"), "fermi --help lists its commands");
    }

    #[test]
    fn who_types_another_programs_word_hears_ours() {
        let said = |word| meant_by(word).map(|text| text.en.into_owned());
        assert_eq!(
            said("torchrun").as_deref(),
            Some("fermi run stands for torchrun: fermi run --nproc-per-node 2 train.py")
        );
        assert_eq!(said("a/train.py").as_deref(), Some("fermi run a/train.py starts it"));
        assert_eq!(said("logs").as_deref(), Some("fermi task logs last is for the newest task"));
        assert_eq!(said("tsak"), None);
    }

    #[test]
    fn a_number_out_of_its_range_hears_which_range_that_is() {
        assert_eq!(number_within("1..=65535").en, "use a whole number from 1 to 65535");
        assert_eq!(number_within("0..=4294967295").en, "use a whole number from 0 up");
        assert_eq!(number_within("1..=9223372036854775807").zh, "请给出不小于 1 的整数");
        assert_eq!(number_within("0..=").en, "use a whole number from 0 up");
        assert_eq!(number_within("2..18446744073709551615").en, "use a whole number from 2 up");
    }
}
