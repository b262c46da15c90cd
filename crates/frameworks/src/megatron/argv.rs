//! The user's own arguments, as Megatron's parser will read them.

use fermi_domain::{language::Text, task::Work};

use crate::refusal::LaunchRefusal;

/// The words of a command; none where the work is not a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argv<'a>(&'a [String]);

impl<'a> Argv<'a> {
    pub(super) fn of(work: &'a Work) -> Self {
        match work {
            Work::Command { argv, .. } => Self(argv),
            Work::Builtin { .. } | Work::Recipe { .. } => Self(&[]),
        }
    }

    /// Whether a flag is there, with or without a value. Megatron takes no abbreviations.
    pub(super) fn has(self, flag: &str) -> bool {
        self.value(flag).is_some()
    }

    /// The spelling that is there, of those that mean the same.
    pub(super) fn which(self, flags: &[&'static str]) -> Option<&'static str> {
        flags.iter().copied().find(|flag| self.has(flag))
    }

    /// What follows a flag, empty where nothing does. The last one counts where it is there twice, as in argparse.
    pub(super) fn value(self, flag: &str) -> Option<&'a str> {
        self.0.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix(flag)? {
            "" => Some(self.0.get(at + 1).filter(|next| !next.starts_with("--")).map_or("", String::as_str)),
            rest => rest.strip_prefix('='),
        })
    }

    /// A whole number of at least `least` behind a flag.
    pub(super) fn count(self, flag: &str, least: u64) -> Result<Option<u64>, LaunchRefusal> {
        let wanted = || Text::new(format!("不小于 {least} 的整数"), format!("a whole number of at least {least}"));
        self.read(flag, wanted, |text| text.parse().ok().filter(|number| *number >= least))
    }

    /// A number that is not negative behind a flag.
    pub(super) fn number(self, flag: &str) -> Result<Option<f64>, LaunchRefusal> {
        let wanted = || Text::new("不小于 0 的数", "a number of at least 0");
        self.read(flag, wanted, |text| text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0))
    }

    fn read<T>(
        self,
        flag: &str,
        wanted: impl Fn() -> Text,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, LaunchRefusal> {
        let Some(text) = self.value(flag) else { return Ok(None) };
        // Python reads `1_000` as a thousand.
        parse(&text.trim().replace('_', "")).map(Some).ok_or_else(|| LaunchRefusal::SettingInvalid {
            key: flag.to_owned(),
            given: format!("\"{text}\""),
            wanted: wanted(),
        })
    }

    /// Whether what stands behind the command reaches the parser: it is a Python script or a module, and not a shell
    /// script, which may do anything with its arguments.
    pub(super) fn is_python(self) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        let program = first.rsplit('/').next().unwrap_or(first);
        if first == "-m" || program.ends_with(".py") {
            return !rest.is_empty() || first != "-m";
        }
        program.starts_with("python") && runs_a_file(rest)
    }
}

/// Whether an interpreter's words name a script or a module, behind the interpreter's own options.
fn runs_a_file(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-m" => return words.next().is_some(),
            "-c" | "-" => return false,
            "-W" | "-X" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Explained;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn both_spellings_are_read_and_the_last_one_counts() {
        let words = words("t.py --micro-batch-size 4 --lr=1e-4 --micro-batch-size=8 --fp16 --seq-length 1_024 --save");
        let argv = Argv(&words);
        assert_eq!(argv.count("--micro-batch-size", 1).unwrap(), Some(8));
        assert_eq!(argv.count("--seq-length", 1).unwrap(), Some(1024));
        assert_eq!(argv.number("--lr").unwrap(), Some(1e-4));
        assert_eq!((argv.value("--fp16"), argv.value("--save"), argv.value("--micro")), (Some(""), Some(""), None));
        assert_eq!(argv.which(&["--persistent-save", "--save"]), Some("--save"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for line in ["t.py --num-layers four", "t.py --num-layers 0", "t.py --num-layers --fp16", "t.py --num-layers"] {
            let refusal = Argv(&words(line)).count("--num-layers", 1).unwrap_err();
            assert_eq!(
                (refusal.id(), refusal.field().unwrap().as_str()),
                ("setting_invalid", "command.argv"),
                "{line}"
            );
        }
    }

    #[test]
    fn only_scripts_and_modules_are_python() {
        for line in
            ["t.py", "dir/t.py --x", "-m pkg.t", "python t.py", "/opt/bin/python3.11 -u -X dev t", "python -m t"]
        {
            assert!(Argv(&words(line)).is_python(), "{line}");
        }
        for line in ["bash run.sh", "./run.sh", "python -c pass", "python", "torchrun t.py", "-m", "env python t.py"] {
            assert!(!Argv(&words(line)).is_python(), "{line}");
        }
    }
}
