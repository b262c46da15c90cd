//! From text to known keys with values of the right kind.

use std::collections::BTreeMap;

use fermi_domain::language::Text;
use serde_json::{Map, Value};

use super::{
    document,
    keys::{self, Key, Kind},
    mistake::{Mistake, Mistakes},
};
use crate::settings::nearest;

/// A file whose keys are all known and whose values are of their kinds; what it means is found by `resolve`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingYaml {
    values: BTreeMap<&'static str, Value>,
}

/// Reads a file; all mistakes at once.
pub fn read(file: impl AsRef<[u8]>) -> Result<TrainingYaml, Mistakes> {
    TrainingYaml::of(&document::sections(file)?)
}

impl TrainingYaml {
    /// The known keys of a file's sections; all mistakes at once.
    pub fn of(sections: &Map<String, Value>) -> Result<Self, Mistakes> {
        let mut file = Self::default();
        let mut problems = Vec::new();
        file.section("", sections, &mut problems);
        file.spellings(&mut problems);
        if problems.is_empty() { Ok(file) } else { Err(Mistakes(problems)) }
    }

    fn section(&mut self, above: &str, section: &Map<String, Value>, problems: &mut Vec<Mistake>) {
        for (name, value) in section {
            let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match (keys::at(&path), value) {
                // A key without a value says nothing.
                (Some(_), Value::Null) => {}
                (Some(key), value) => self.value(key, &path, value, problems),
                (None, Value::Object(deeper)) if keys::is_section(&path) => self.section(&path, deeper, problems),
                (None, Value::Null) if keys::is_section(&path) => {}
                (None, _) if keys::is_section(&path) => problems.push(Mistake::WrongValue {
                    path,
                    given: value.to_string(),
                    wanted: Text::new("一组键", "keys with values"),
                }),
                (None, _) => problems.push(Mistake::UnknownKey { suggestion: suggestion(above, name), path }),
            }
        }
    }

    fn value(&mut self, key: &'static Key, path: &str, value: &Value, problems: &mut Vec<Mistake>) {
        match of_kind(key.kind, value) {
            Err(wanted) => {
                problems.push(Mistake::WrongValue { path: path.to_owned(), given: value.to_string(), wanted });
            }
            Ok(value) => match self.values.get(key.path) {
                Some(known) if *known != value => problems.push(Mistake::Disagree {
                    one: (key.path.to_owned(), known.to_string()),
                    other: (path.to_owned(), value.to_string()),
                }),
                _ => drop(self.values.insert(key.path, value)),
            },
        }
    }

    /// Brings both spellings of a thing under the first one.
    fn spellings(&mut self, problems: &mut Vec<Mistake>) {
        for (first, second) in keys::SAME {
            let Some(other) = self.values.remove(second) else { continue };
            match self.values.get(first) {
                Some(value) if *value != other => problems.push(Mistake::Disagree {
                    one: ((*first).to_owned(), value.to_string()),
                    other: ((*second).to_owned(), other.to_string()),
                }),
                _ => drop(self.values.insert(first, other)),
            }
        }
    }

    /// The value of a key by its path, in any of its spellings.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.values.get(path).or_else(|| self.values.get(keys::first_spelling(path)?))
    }

    /// All that the file says, each under its key's first spelling.
    pub fn values(&self) -> &BTreeMap<&'static str, Value> {
        &self.values
    }

    pub(super) fn set(&mut self, path: &'static str, value: Value) {
        self.values.insert(path, value);
    }

    pub(super) fn remove(&mut self, paths: &[&str]) {
        self.values.retain(|path, _| !paths.contains(path));
    }

    pub(super) fn count(&self, path: &str) -> Option<u64> {
        self.get(path)?.as_u64()
    }

    pub(super) fn number(&self, path: &str) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        self.get(path)?.as_bool()
    }

    pub(super) fn word(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }
}

/// The value as its kind has it, or what was wanted.
pub(super) fn of_kind(kind: Kind, value: &Value) -> Result<Value, Text> {
    // Many readers of YAML take 5e-5 for a text, so files have it in quotes too.
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    let fine = match kind {
        Kind::Flag => value.as_bool().map(Value::from),
        Kind::Count(least) => value.as_u64().filter(|number| (least..=keys::MOST).contains(number)).map(Value::from),
        Kind::UpTo(most) => value.as_u64().filter(|number| *number <= most).map(Value::from),
        Kind::Share => number.filter(|number| (0.0..=1.0).contains(number)).map(Value::from),
        Kind::Number => number.filter(|number| number.is_finite() && *number >= 0.0).map(Value::from),
        Kind::Word => value.as_str().filter(|word| !word.is_empty()).map(Value::from),
        Kind::Choice(words) => choice(value, words),
        Kind::Words => words(value),
        Kind::FlagOrWord => {
            (value.is_boolean() || value.as_str().is_some_and(|word| !word.is_empty())).then(|| value.clone())
        }
        Kind::Free => Some(value.clone()),
    };
    fine.ok_or_else(|| wanted(kind))
}

fn choice(value: &Value, words: &[&str]) -> Option<Value> {
    // YAML 1.1 turns a bare `no` into false.
    let given = if value == &Value::Bool(false) { "no" } else { value.as_str()? };
    words.iter().find(|word| word.eq_ignore_ascii_case(given)).map(|word| Value::from(*word))
}

fn words(value: &Value) -> Option<Value> {
    match value {
        Value::String(word) => Some(Value::from(vec![word.clone()])),
        Value::Array(list) if list.iter().all(Value::is_string) => Some(value.clone()),
        _ => None,
    }
}

fn wanted(kind: Kind) -> Text {
    match kind {
        Kind::Flag => Text::new(" true 或 false", "true or false"),
        Kind::Count(least) => {
            Text::new(format!("不小于 {least} 的整数"), format!("a whole number of at least {least}"))
        }
        Kind::UpTo(most) => Text::new(format!(" 0 到 {most} 的整数"), format!("a whole number from 0 to {most}")),
        Kind::Share => Text::new(" 0 到 1 的数", "a number from 0 to 1"),
        Kind::Number => Text::new("不小于 0 的数", "a number of at least 0"),
        Kind::Word => Text::new("文本", "a text"),
        Kind::Choice(words) => Text::new(format!(" {} 之一", words.join("、")), format!("one of {}", words.join(", "))),
        Kind::Words => Text::new("文本或文本列表", "a text or a list of texts"),
        Kind::FlagOrWord => Text::new("路径、true 或 false", "a path, true or false"),
        Kind::Free => Text::new("任意值", "anything"),
    }
}

/// A key of that very name elsewhere, else the nearest key of the same section, which may stand in the main one.
fn suggestion(above: &str, name: &str) -> Option<String> {
    let beside = |section: &str| {
        let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
        let names: Vec<&'static str> = keys::KEYS
            .iter()
            .filter_map(|key| key.path.strip_prefix(&prefix))
            .map(|rest| rest.split('.').next().unwrap_or(rest))
            .collect();
        nearest(name, names.into_iter()).map(|near| format!("{prefix}{near}"))
    };
    let elsewhere =
        || keys::KEYS.iter().find(|key| key.path.ends_with(&format!(".{name}"))).map(|key| key.path.to_owned());
    let in_main = if above.is_empty() { keys::MAIN.to_owned() } else { format!("{}.{above}", keys::MAIN) };
    elsewhere().or_else(|| beside(above)).or_else(|| beside(&in_main))
}
