//! Sweeps: one task for each combination of parameters, under a common name.
//!
//! The tasks of a sweep bear its name and their parameters as labels: by these it is known which of them there are already, so
//! that what was cut off half-way is gone on with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

use crate::language::{Explained, Hint, Text};
use crate::validation::BUILTIN;

/// The label that the tasks of a sweep share.
pub const LABEL: &str = "sweep";
/// Labels with the parameters of a task begin with this.
const PARAMETER: &str = "sweep.";
/// The label that says from which request the tasks of a sweep were made.
const ORIGIN: &str = "sweep-request";
/// More tasks than this are a slip of the pen.
pub const MOST_TASKS: usize = 1_000;

/// A parameter with its values: `lr=1e-4,3e-4` or `seed=1..4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    values: Vec<String>,
}

/// What one task of a sweep is given: names of parameters and their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination(Vec<(String, String)>);

/// Such as `lr=1e-4 seed=2`.
impl fmt::Display for Combination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        out.write_str(&own.join(" "))
    }
}

/// Why a sweep is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepRefusal {
    /// It is not `name=values`.
    Form,
    ParameterTwice {
        name: String,
    },
    ValueTwice {
        name: String,
        value: String,
    },
    TooMany,
    /// There are tasks of a sweep with this name that were made from another request.
    AnotherRequest {
        name: String,
    },
}

impl Parameter {
    /// Reads `lr=1e-4,3e-4` or `seed=1..4`, both ends of which belong to it.
    pub fn parse(text: &str) -> Result<Self, SweepRefusal> {
        let (name, list) = text.split_once('=').ok_or(SweepRefusal::Form)?;
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
        if !is_name {
            return Err(SweepRefusal::Form);
        }
        let mut values = Vec::new();
        for part in list.split(',').map(str::trim) {
            match part.split_once("..") {
                Some((first, last)) if is_number(first) && is_number(last) => values.extend(range(first, last)?),
                _ if part.is_empty() => return Err(SweepRefusal::Form),
                _ => values.push(part.to_owned()),
            }
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// All whole numbers from the first to the last, as wide as these where they begin with a zero: `01..10`.
fn range(first: &str, last: &str) -> Result<Vec<String>, SweepRefusal> {
    let number = |text: &str| text.parse::<i64>().map_err(|_| SweepRefusal::Form);
    let is_padded = |text: &str| text.len() > 1 && text.trim_start_matches('-').starts_with('0');
    let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
    let (first, last) = (number(first)?, number(last)?);
    if last < first || last.abs_diff(first) >= MOST_TASKS as u64 {
        return Err(SweepRefusal::Form);
    }
    Ok((first..=last).map(|number| format!("{number:0width$}")).collect())
}

/// Every combination, the last parameter changing first.
pub fn combinations(parameters: &[Parameter]) -> Result<Vec<Combination>, SweepRefusal> {
    for (at, Parameter { name, values }) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|before| before.name == *name) {
            return Err(SweepRefusal::ParameterTwice { name: name.clone() });
        }
        if let Some((_, value)) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            return Err(SweepRefusal::ValueTwice { name: name.clone(), value: value.clone() });
        }
    }
    let count = parameters.iter().try_fold(1_usize, |count, it| count.checked_mul(it.values.len()));
    if count.is_none_or(|count| count > MOST_TASKS) {
        return Err(SweepRefusal::TooMany);
    }
    let mut all = vec![Vec::new()];
    for Parameter { name, values } in parameters {
        let with = |row: &Vec<(String, String)>, value: &String| {
            row.iter().cloned().chain([(name.clone(), value.clone())]).collect()
        };
        all = all.iter().flat_map(|row| values.iter().map(move |value| with(row, value))).collect();
    }
    Ok(all.into_iter().map(Combination).collect())
}

/// A request from which the tasks of a sweep are made. Its name is the sweep's.
#[derive(Clone, Debug)]
pub struct Base {
    request: Map<String, Value>,
    origin: String,
}

impl Base {
    /// `digest` tells requests apart: of another request it is another.
    pub fn new(request: Map<String, Value>, digest: &str) -> Self {
        // Enough to tell slips of the pen, and short enough for a table.
        Self { request, origin: digest.chars().take(16).collect() }
    }

    pub fn name(&self) -> &str {
        self.request.get("taskName").and_then(Value::as_str).map(str::trim).unwrap_or_default()
    }

    /// Those of the combinations for which there is no task yet, by the labels of the tasks that bear the sweep's name. Tasks
    /// of older releases do not say from which request they were made.
    pub fn missing<'a>(
        &self,
        all: &'a [Combination],
        tasks: &[&BTreeMap<String, String>],
    ) -> Result<Vec<&'a Combination>, SweepRefusal> {
        let is_other = |labels: &&BTreeMap<String, String>| labels.get(ORIGIN).is_some_and(|it| *it != self.origin);
        if tasks.iter().any(is_other) {
            return Err(SweepRefusal::AnotherRequest { name: self.name().to_owned() });
        }
        let made: BTreeSet<BTreeMap<&str, &str>> = tasks.iter().map(|labels| parameters_of(labels).collect()).collect();
        let is_made = |it: &Combination| {
            let own: BTreeMap<&str, &str> = it.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            made.contains(&own)
        };
        Ok(all.iter().filter(|it| !is_made(it)).collect())
    }

    /// The request of one combination: `{lr}` in the command, its variables and its arguments becomes the value; a parameter
    /// that stands nowhere is given to the command as `--lr=…`.
    pub fn request_of(&self, combination: &Combination) -> Map<String, Value> {
        let mut request = self.request.clone();
        let mut used = BTreeSet::new();
        for field in ["command", "recipe", "options"] {
            if let Some(part) = request.get_mut(field) {
                fill(part, combination, &mut used);
            }
        }
        for (name, value) in combination.0.iter().filter(|(name, _)| !used.contains(name.as_str())) {
            give(&mut request, format!("--{name}={value}"));
        }
        let common = self.name();
        request.insert("taskName".to_owned(), json!(format!("{common} {combination}")));
        let labels = request.entry("labels").or_insert_with(|| json!({}));
        if let Value::Object(labels) = labels {
            labels.insert(LABEL.to_owned(), json!(common));
            labels.insert(ORIGIN.to_owned(), json!(self.origin));
            labels.extend(combination.0.iter().map(|(name, value)| (format!("{PARAMETER}{name}"), json!(value))));
        }
        request
    }
}

/// The parameters of a task of a sweep, and their values.
pub fn parameters_of(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().filter_map(|(key, value)| Some((key.strip_prefix(PARAMETER)?, value.as_str())))
}

/// Which combination of which sweep a task is made for, by its labels; none of a task that is of no sweep. Of equal ones there
/// shall be one task.
pub fn point(labels: &BTreeMap<String, String>) -> Option<String> {
    let (name, origin) = (labels.get(LABEL)?, labels.get(ORIGIN)?);
    let parameters: BTreeMap<&str, &str> = parameters_of(labels).collect();
    Some(json!([name, origin, parameters]).to_string())
}

/// Puts the values in the place of their marks in all texts; notes which parameters were there.
fn fill<'a>(value: &mut Value, by: &'a Combination, used: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => *text = filled(text, by, used),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, by, used)),
        Value::Object(fields) => fields.values_mut().for_each(|item| fill(item, by, used)),
        _ => {}
    }
}

/// In one go, so that what looks like a mark in a value stays what it is.
fn filled<'a>(text: &str, by: &'a Combination, used: &mut BTreeSet<&'a str>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let mark = by.0.iter().find_map(|(name, value)| {
            Some((name.as_str(), value.as_str(), after.strip_prefix(name.as_str())?.strip_prefix('}')?))
        });
        rest = match mark {
            Some((name, value, behind)) => {
                used.insert(name);
                out.push_str(value);
                behind
            }
            None => {
                out.push('{');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// One more argument for what runs; where nothing is said of that, it is the built-in trainer.
fn give(request: &mut Map<String, Value>, argument: String) {
    let is_given = |part: &&mut Value| !part.is_null();
    let list = if let Some(command) = request.get_mut("command").filter(is_given) {
        command.get_mut("argv")
    } else {
        let recipe = request.entry("recipe").or_insert(Value::Null);
        if recipe.is_null() {
            *recipe = json!({"name": BUILTIN});
        }
        recipe.as_object_mut().map(|recipe| recipe.entry("args").or_insert(Value::Null))
    };
    match list {
        Some(Value::Array(arguments)) => arguments.push(Value::String(argument)),
        Some(nothing @ Value::Null) => *nothing = json!([argument]),
        _ => {}
    }
}

impl Explained for SweepRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::Form => "sweep_form",
            Self::ParameterTwice { .. } => "sweep_parameter_twice",
            Self::ValueTwice { .. } => "sweep_value_twice",
            Self::TooMany => "sweep_too_large",
            Self::AnotherRequest { .. } => "sweep_of_another_request",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Form => Text::new("写成 lr=1e-4,3e-4 或 seed=1..4", "write lr=1e-4,3e-4 or seed=1..4"),
            Self::ParameterTwice { name } => {
                Text::new(format!("参数 {name} 给出了两次"), format!("the parameter {name} is given twice"))
            }
            Self::ValueTwice { name, value } => {
                Text::new(format!("{name} 的取值 {value} 重复"), format!("{name} has the value {value} twice"))
            }
            Self::TooMany => {
                Text::new(format!("组合多于 {MOST_TASKS} 个"), format!("these are more than {MOST_TASKS} combinations"))
            }
            Self::AnotherRequest { name } => Text::new(
                format!("参数扫描“{name}”已存在，且由另一条命令创建"),
                format!("there is a sweep '{name}' that was made by another command"),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Form => return None,
            Self::ParameterTwice { name } => {
                Hint::new(format!("写成一个 {name}=值1,值2"), format!("write one {name}=value1,value2"))
            }
            Self::ValueTwice { .. } => Hint::new("每个取值只写一次", "give each value once"),
            Self::TooMany => Hint::new("减少参数或取值", "give fewer parameters or values"),
            Self::AnotherRequest { name } => Hint::new(
                format!("换一个名称；要补齐它，运行创建它的同一条命令；fermi task sweep {name} 列出它的任务"),
                format!(
                    "choose another name; to complete it, run the very command that made it; fermi task sweep {name} lists \
                     its tasks"
                ),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parameter {
        Parameter::parse(text).unwrap()
    }

    fn base(request: Value) -> Base {
        Base::new(serde_json::from_value(request).unwrap(), "0123456789abcdef0123")
    }

    fn labels(request: &Map<String, Value>) -> BTreeMap<String, String> {
        serde_json::from_value(request["labels"].clone()).unwrap()
    }

    #[test]
    fn parameters_are_lists_or_ranges() {
        let values = |text: &str| parse(text).values;
        assert_eq!(values("lr=1e-4,3e-4"), ["1e-4", "3e-4"]);
        assert_eq!(values("seed=1..3,7"), ["1", "2", "3", "7"]);
        assert_eq!(values("shift=-1..1"), ["-1", "0", "1"]);
        assert_eq!(values("shard=08..10"), ["08", "09", "10"]);
        assert_eq!(values("file=a..b"), ["a..b"], "not a range of numbers");
        for text in ["lr", "=1", "lr=", "lr=1,,2", "seed=4..1", "seed=1..99999", "a b=1", "lr=0.1..0.5", "lr=1..2.5"] {
            assert_eq!(Parameter::parse(text), Err(SweepRefusal::Form), "{text}");
        }
    }

    #[test]
    fn what_is_given_twice_or_is_too_much_is_refused() {
        let refused = |texts: &[&str]| combinations(&texts.iter().map(|it| parse(it)).collect::<Vec<_>>()).unwrap_err();
        assert_eq!(refused(&["a=1", "a=2"]), SweepRefusal::ParameterTwice { name: "a".into() });
        assert_eq!(refused(&["a=1..3,2"]), SweepRefusal::ValueTwice { name: "a".into(), value: "2".into() });
        assert_eq!(refused(&["a=1..100", "b=1..100"]), SweepRefusal::TooMany);
        let huge: Vec<String> = (0..8).map(|number| format!("p{number}=1..1000")).collect();
        assert_eq!(refused(&huge.iter().map(String::as_str).collect::<Vec<_>>()), SweepRefusal::TooMany);
    }

    #[test]
    fn every_combination_is_a_task_of_its_own_under_the_common_name() {
        let all = combinations(&[parse("lr=1e-4,3e-4"), parse("seed=1..2")]).unwrap();
        assert_eq!(all.len(), 4);
        let base = base(json!({"taskName": "bert", "command": {"argv": ["train.py", "--lr", "{lr}"]}}));
        let request = base.request_of(&all[1]);
        assert_eq!(request["taskName"], "bert lr=1e-4 seed=2");
        assert_eq!(request["command"]["argv"], json!(["train.py", "--lr", "1e-4", "--seed=2"]));
        let expected =
            json!({"sweep": "bert", "sweep-request": "0123456789abcdef", "sweep.lr": "1e-4", "sweep.seed": "2"});
        assert_eq!(request["labels"], expected);
    }

    #[test]
    fn a_value_that_looks_like_a_mark_stays_what_it_is() {
        let base = base(json!({"taskName": "x", "command": {"argv": ["{a}{b}", "{{a}}", "{c}", "{a"]}}));
        let all = combinations(&[parse("a={b}"), parse("b={a}"), parse("d={a}")]).unwrap();
        let argv = &base.request_of(&all[0])["command"]["argv"];
        assert_eq!(*argv, json!(["{b}{a}", "{{b}}", "{c}", "{a", "--d={a}"]));
    }

    #[test]
    fn no_value_is_lost_where_nothing_takes_arguments_yet() {
        let all = combinations(&[parse("lr=1"), parse("seed=2")]).unwrap();
        for request in [
            json!({"taskName": "x"}),
            json!({"taskName": "x", "command": null, "recipe": null}),
            json!({"taskName": "x", "recipe": {"name": "builtin"}}),
            json!({"taskName": "x", "recipe": {"name": "builtin", "args": null}}),
        ] {
            let recipe = &base(request.clone()).request_of(&all[0])["recipe"];
            assert_eq!(*recipe, json!({"name": "builtin", "args": ["--lr=1", "--seed=2"]}), "{request}");
        }
    }

    #[test]
    fn a_recipe_gets_its_arguments_too() {
        let base = base(json!(
            {"taskName": "x", "command": null, "recipe": {"name": "builtin", "args": ["--steps", "{steps}"]}}
        ));
        let all = combinations(&[parse("steps=9"), parse("lr=0.1")]).unwrap();
        assert_eq!(base.request_of(&all[0])["recipe"]["args"], json!(["--steps", "9", "--lr=0.1"]));
    }

    #[test]
    fn a_combination_of_a_sweep_is_known_by_the_labels_of_its_task() {
        let base = base(json!({"taskName": "bert", "labels": {"team": "nlp"}, "command": {"argv": ["train.py"]}}));
        let all = combinations(&[parse("lr=1,2"), parse("seed=1..2")]).unwrap();
        let points: BTreeSet<String> = all.iter().map(|it| point(&labels(&base.request_of(it))).unwrap()).collect();
        assert_eq!(points.len(), 4);
        // What else a task bears does not matter.
        let mut again = labels(&base.request_of(&all[0]));
        again.insert("team".into(), "cv".into());
        assert!(points.contains(&point(&again).unwrap()));
        again.remove(ORIGIN);
        assert_eq!(point(&again), None, "an older release did not say");
        assert_eq!(point(&BTreeMap::new()), None);
    }

    #[test]
    fn what_was_cut_off_is_gone_on_with() {
        let request = json!({"taskName": "bert", "command": {"argv": ["train.py"]}});
        let base = base(request.clone());
        let all = combinations(&[parse("lr=1,2"), parse("seed=1..2")]).unwrap();
        let made: Vec<BTreeMap<String, String>> =
            [&all[0], &all[2]].map(|combination| labels(&base.request_of(combination))).to_vec();
        let made: Vec<&BTreeMap<String, String>> = made.iter().collect();
        assert_eq!(base.missing(&all, &made).unwrap(), [&all[1], &all[3]]);
        assert_eq!(base.missing(&all, &[]).unwrap().len(), 4);
        let more = combinations(&[parse("lr=1,2"), parse("seed=1..3")]).unwrap();
        assert_eq!(base.missing(&more, &made).unwrap().len(), 4, "values may be added");
        let other = Base::new(serde_json::from_value(request).unwrap(), "another digest");
        assert_eq!(other.missing(&all, &made), Err(SweepRefusal::AnotherRequest { name: "bert".into() }));
        let mut old = made[0].clone();
        old.remove(ORIGIN);
        assert_eq!(other.missing(&all, &[&old]).unwrap().len(), 3, "an older release did not say");
    }
}
