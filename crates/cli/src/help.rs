//! Help pages in Chinese. The definitions of the commands hold the English texts; `data/help.zh-CN.txt` holds the Chinese
//! ones, and is read only when a page is shown, so that no start of a run waits for it.

use std::collections::HashMap;

use clap::{Arg, Command};

use crate::wrap::{width, wrapped};

/// Pairs of lines, English and Chinese, with empty lines and comments between them.
const CHINESE: &str = include_str!("../data/help.zh-CN.txt");

/// What clap itself writes, and its Chinese; the longer ones first.
const OF_CLAP: [(&str, &str); 8] = [
    ("Print help (see more with '--help')", "显示帮助（--help 更详细）"),
    ("Print help (see a summary with '-h')", "显示帮助（-h 为摘要）"),
    ("Print help", "显示帮助"),
    ("Print version", "显示版本"),
    ("[default: ", "[默认："),
    ("[possible values: ", "[可选值："),
    ("[aliases: ", "[别名："),
    ("[env: ", "[环境变量："),
];
/// A text that would have less room beside its name stands below it.
const NARROWEST: usize = 20;

/// Texts by their English, with line breaks written as `\n`.
struct Texts(HashMap<&'static str, &'static str>);

impl Texts {
    fn read() -> Self {
        let mut lines = CHINESE.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
        let mut texts = HashMap::new();
        while let (Some(english), Some(chinese)) = (lines.next(), lines.next()) {
            texts.insert(english, chinese);
        }
        Self(texts)
    }

    fn find(&self, english: &str) -> Option<&'static str> {
        self.0.get(english.replace('\n', "\\n").as_str()).copied()
    }

    /// The Chinese of a text; a text that has none stays, which a test refuses.
    fn of(&self, english: &str) -> String {
        match (self.find(english), english.strip_prefix("Example: ")) {
            (Some(chinese), _) => chinese.replace("\\n", "\n"),
            (None, Some(example)) => format!("示例：{example}"),
            (None, None) => english.to_owned(),
        }
    }
}

/// The command with its texts, and those of all that is below it, in Chinese. clap leaves its lines as long as they are: it
/// would count letters and break at spaces, and Chinese letters take two columns and have no spaces.
pub fn in_chinese(command: Command) -> Command {
    translated(command.term_width(0), &Texts::read())
}

fn translated(mut command: Command, texts: &Texts) -> Command {
    if let Some(about) = command.get_about().map(ToString::to_string) {
        command = command.about(texts.of(&about));
    }
    if let Some(about) = command.get_long_about().map(ToString::to_string) {
        command = command.long_about(texts.of(&about));
    }
    if let Some(after) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(texts.of(&after));
    }
    command.mut_args(|argument| explained(argument, texts)).mut_subcommands(|below| translated(below, texts))
}

fn explained(mut argument: Arg, texts: &Texts) -> Arg {
    if let Some(help) = argument.get_help().map(ToString::to_string) {
        argument = argument.help(texts.of(&help));
    }
    if let Some(help) = argument.get_long_help().map(ToString::to_string) {
        argument = argument.long_help(texts.of(&help));
    }
    match argument.get_help_heading().and_then(|heading| texts.find(heading)) {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    }
}

/// A page as clap has rendered it, with clap's own words in Chinese too and lines of so many columns.
pub fn words_in_chinese(page: &str, columns: usize) -> String {
    page.lines().map(|line| fitting(&line_in_chinese(line), columns) + "\n").collect()
}

/// A line as several ones where it is too long; all but the first begin below its text.
fn fitting(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let blanks = |text: &str| text.len() - text.trim_start().len();
    let margin = blanks(line);
    // A row has a name before its text.
    let gap = line[margin..].find("  ").map(|at| margin + at);
    let (head, text) = line.split_at(gap.map_or(margin, |gap| gap + blanks(&line[gap..])));
    let room = columns.saturating_sub(width(head));
    if room >= NARROWEST {
        return head.to_owned() + &wrapped(text, room).join(&format!("\n{}", " ".repeat(width(head))));
    }
    // Beside so long a name there is no room.
    let below = format!("\n{}", " ".repeat(margin + 4));
    let lines = wrapped(text, columns.saturating_sub(margin + 4).max(NARROWEST));
    format!("{}{below}{}", head.trim_end(), lines.join(&below))
}

fn line_in_chinese(line: &str) -> String {
    let of_usage = |usage: &str| {
        usage.replace("[OPTIONS]", "[选项]").replace("<COMMAND>", "<命令>").replace("[COMMAND]", "[命令]")
    };
    if let Some(usage) = line.strip_prefix("Usage: ") {
        return format!("用法：{}", of_usage(usage));
    }
    // A second form of the same command.
    if let Some(usage) = line.strip_prefix("       fermi ") {
        return format!("      fermi {}", of_usage(usage));
    }
    match line {
        "Options:" => return "选项：".to_owned(),
        "Commands:" => return "命令：".to_owned(),
        "Arguments:" => return "参数：".to_owned(),
        _ => {}
    }
    // Headings of ours stand at the margin and end in clap's colon.
    if let Some(heading) = line.strip_suffix(':').filter(|text| !text.is_ascii() && !text.starts_with(' ')) {
        return format!("{heading}：");
    }
    OF_CLAP.iter().fold(line.to_owned(), |line, (english, chinese)| line.replace(english, chinese))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;

    /// Every text of a command and of those below it. What is hidden from the lists has a page of its own and is in completions.
    fn texts_of(command: &Command, path: &str, found: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        let mut add =
            |place: &str, text: Option<String>| found.extend(text.map(|text| (format!("{path} {place}"), text)));
        add("about", command.get_about().map(ToString::to_string));
        add("long about", command.get_long_about().map(ToString::to_string));
        add("after", command.get_after_help().map(ToString::to_string));
        for argument in command.get_arguments() {
            let name = argument.get_id().as_str();
            add(name, argument.get_help().map(ToString::to_string));
            add(name, argument.get_long_help().map(ToString::to_string));
            add(name, argument.get_help_heading().map(str::to_owned));
        }
        command.get_subcommands().for_each(|below| texts_of(below, &path, found));
    }

    /// Dashes and arrows make no Chinese text.
    fn is_chinese(text: &str) -> bool {
        text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
    }

    #[test]
    fn every_help_text_is_there_in_both_languages_and_no_chinese_one_is_left_over() {
        let mut found = Vec::new();
        texts_of(&Cli::command(), "", &mut found);
        let texts = Texts::read();
        let is_example = |text: &str| text.starts_with("Example: ");
        let missing: BTreeSet<String> = found
            .iter()
            .filter(|(_, text)| !is_example(text) && !texts.find(text).is_some_and(is_chinese))
            .map(|(place, text)| format!("{place}: {}", text.replace('\n', "\\n")))
            .collect();
        assert!(missing.is_empty(), "no text with a Chinese letter in data/help.zh-CN.txt for {missing:#?}");
        let used: BTreeSet<String> = found.iter().map(|(_, text)| text.replace('\n', "\\n")).collect();
        let stale: Vec<&&str> = texts.0.keys().filter(|english| !used.contains(**english)).collect();
        assert!(stale.is_empty(), "data/help.zh-CN.txt has texts that no command has: {stale:#?}");
        let pairs = CHINESE.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).count();
        assert_eq!(pairs, texts.0.len() * 2, "a text stands twice, or alone");
    }

    #[test]
    fn what_is_too_long_goes_on_below_its_text() {
        assert_eq!(fitting("      --no-python  不查询 Python", 33), "      --no-python  不查询 Python");
        assert_eq!(
            fitting("      --folder <DIR>  测试哪个目录所在的磁盘，例如检查点目录", 44),
            "      --folder <DIR>  测试哪个目录所在的磁\n                      盘，例如检查点目录"
        );
        assert_eq!(
            fitting("  fermi train --config training.yaml  每块 GPU 一个 rank", 52),
            "  fermi train --config training.yaml\n      每块 GPU 一个 rank"
        );
        assert_eq!(fitting("    日志目录，每次运行新建一个", 24), "    日志目录，每次运行新\n    建一个");
    }

    /// Lines by which Fermi speaks, as the guides show them.
    const OF_FERMI: [&str; 9] =
        ["fermi: ", "error: ", "hint: ", "✗ ", "  cause ", "  advice ", "  restart ", "  log ", "warning: "];

    #[test]
    fn the_chinese_pages_show_what_fermi_says_in_chinese_and_none_shows_words_of_the_system() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = [root.join("docs/guides"), root].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let pages: Vec<_> =
            pages.map(|page| page.unwrap().path()).filter(|page| page.extension() == Some("md".as_ref())).collect();
        assert!(pages.iter().filter(|page| page.to_str().unwrap().ends_with(".zh-CN.md")).count() > 10);
        for page in pages {
            let is_in_chinese = page.to_str().unwrap().ends_with(".zh-CN.md");
            let text = std::fs::read_to_string(&page).unwrap();
            for (number, line) in text.lines().enumerate() {
                let is_said = OF_FERMI.iter().any(|start| line.starts_with(start));
                let is_right = !is_said || (is_chinese(line) == is_in_chinese || line.contains('█'));
                assert!(is_right, "{} line {}: {line}", page.display(), number + 1);
                assert!(!line.contains("(os error"), "{} line {}: {line}", page.display(), number + 1);
            }
        }
    }

    /// Files of Rust below a folder.
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension() == Some("rs".as_ref()) {
                found.push(path);
            }
        }
    }

    /// An error is shown by `speech::complain`, which takes it in both languages.
    #[test]
    fn no_error_is_said_in_one_language() {
        let mut found = Vec::new();
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.len() > 100, "{}", found.len());
        let begun = ["say(\"", "say(&format!(\"", "print!(\""].map(|word| format!("{word}error"));
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let said = text.lines().find(|line| begun.iter().any(|word| line.contains(word)));
            assert_eq!(said, None, "{}", path.display());
        }
    }

    #[test]
    fn no_chinese_sentence_takes_the_words_of_an_error_as_they_are() {
        let mut found = Vec::new();
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = std::fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
        folders.for_each(|folder| sources(&folder, &mut found));
        assert!(found.len() > 300, "{}", found.len());
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            // Some translate a whole sentence afterwards.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_translated = code.contains("reason::of_said(&zh)");
            for (number, line) in code.lines().enumerate().filter(|(_, line)| is_chinese(line) && !is_translated) {
                let is_raw = line.contains("{error}") || line.contains("{source}");
                assert!(!is_raw, "{} line {}: use fermi_domain::language::reason: {line}", path.display(), number + 1);
            }
        }
    }

    #[test]
    fn every_option_that_is_shown_is_explained() {
        fn unexplained(command: &Command, path: &str, found: &mut Vec<String>) {
            let path = format!("{path} {}", command.get_name());
            let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
            let mute = shown.filter(|argument| argument.get_help().is_none());
            found.extend(mute.map(|argument| format!("{path} {}", argument.get_id())));
            command.get_subcommands().filter(|below| !below.is_hide_set()).for_each(|it| unexplained(it, &path, found));
        }
        let mut found = Vec::new();
        unexplained(&Cli::command(), "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn no_page_in_chinese_has_a_word_of_claps() {
        fn pages(command: &mut Command, found: &mut Vec<(String, String)>) {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            found.push((name.clone(), words_in_chinese(&command.render_help().to_string(), 90)));
            found.push((name, words_in_chinese(&command.render_long_help().to_string(), 90)));
            command.get_subcommands_mut().filter(|below| !below.is_hide_set()).for_each(|below| pages(below, found));
        }
        let mut root = in_chinese(Cli::command());
        root.build();
        let mut found = Vec::new();
        pages(&mut root, &mut found);
        assert!(found.len() > 60, "{}", found.len());
        for (name, page) in found {
            assert!(page.contains("用法：fermi"), "{name}: {page}");
            for word in [
                "Usage:",
                "Options:",
                "Commands:",
                "Arguments:",
                "Print ",
                "[default",
                "[possible",
                "[aliases",
                "[env:",
            ] {
                assert!(!page.contains(word), "{name} has {word}: {page}");
            }
            // A word without a break stays whole.
            let too_long = page.lines().find(|line| width(line) > 90 && fitting(line, 90) != *line);
            assert!(too_long.is_none(), "{name}: {too_long:?}");
        }
    }
}
