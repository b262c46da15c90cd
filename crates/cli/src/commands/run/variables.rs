//! Options of `fermi run` that a variable sets instead of the command line, so that a refused value is blamed on the one
//! that holds it.

use std::ffi::OsString;

use clap::Command;
use fermi_domain::language::Text;

use super::spellings::Given;

/// An option whose value stands in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromVariable {
    flag: String,
    variable: String,
    value: String,
}

/// The options that variables set and that no word of the command line does.
pub fn in_use(run: &Command, words: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Vec<FromVariable> {
    let typed: Vec<_> = words
        .iter()
        .filter_map(|word| word.to_str().filter(|text| text.starts_with('-')))
        .filter_map(|text| Given::read(text).parted(run).argument_of(run).map(clap::Arg::get_id))
        .collect();
    run.get_arguments()
        .filter(|argument| !typed.contains(&argument.get_id()))
        .filter_map(|argument| {
            let name = argument.get_env()?.to_str()?;
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some(FromVariable { flag: format!("--{}", argument.get_long()?), variable: name.to_owned(), value })
        })
        .collect()
}

/// The sentence about a refused value, with the variable in place of the option where the value came from one.
pub fn blamed(text: Text, from: &[FromVariable]) -> Text {
    let is_spoken_of = |it: &&FromVariable| text.en.contains(&format!("'{}'", it.value));
    let (named, others): (Vec<&FromVariable>, Vec<_>) =
        from.iter().filter(is_spoken_of).partition(|it| text.en.split(' ').any(|word| word == it.flag));
    let Some(FromVariable { flag, variable, .. }) = named.first().or_else(|| others.first()) else { return text };
    if named.is_empty() {
        return Text::new(format!("{variable}：{}", text.zh), format!("{variable}: {}", text.en));
    }
    Text::new(text.zh.replace(flag, variable), text.en.replace(flag, variable))
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;
    use crate::commands::run::RunFlags;

    fn said(words: &str, en: &str) -> String {
        let run = RunFlags::augment_args(Command::new("run"));
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let variables = [("PET_TEE", "9"), ("PET_MASTER_PORT", "70000"), ("PET_ROLE", "")];
        let variable = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        blamed(Text::new(en.to_owned(), en.to_owned()), &in_use(&run, &words, variable)).en.into_owned()
    }

    #[test]
    fn a_value_from_a_variable_is_blamed_on_the_variable() {
        assert_eq!(said("fermi run a.py", "--tee cannot be '9'"), "PET_TEE cannot be '9'");
        assert_eq!(said("fermi run a.py", "'70000' is not a port"), "PET_MASTER_PORT: '70000' is not a port");
    }

    #[test]
    fn a_value_that_was_typed_is_blamed_on_its_option() {
        for words in ["fermi run --tee 9 a.py", "fermi run -t9 a.py", "fermi run -t 9 a.py"] {
            assert_eq!(said(words, "--tee cannot be '9'"), "--tee cannot be '9'", "{words}");
        }
        assert_eq!(said("fermi run a.py", "--tee cannot be '8'"), "--tee cannot be '8'");
    }
}
