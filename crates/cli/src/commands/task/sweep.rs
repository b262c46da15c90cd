//! Sweeps: one task for each combination of parameters, under a common name, and one table of what became of them.

use fermi_api::client::{Client, Query};
use fermi_api::v1::{Task, TaskRow};
use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use crate::commands::usage::Expected;
use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// The label that the tasks of a sweep share.
pub const LABEL: &str = "sweep";
/// Labels with the parameters of a task begin with this.
const PARAMETER: &str = "sweep.";
/// More tasks than this are a slip of the pen.
const MOST_TASKS: usize = 1_000;

/// A parameter with its values: `lr=1e-4,3e-4` or `seed=1..4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    values: Vec<String>,
}

/// Reads `lr=1e-4,3e-4` or `seed=1..4`, both ends of which belong to it.
pub fn parse(text: &str) -> Result<Parameter, Expected> {
    let hint = || Expected(Text::new("写成 lr=1e-4,3e-4 或 seed=1..4", "write lr=1e-4,3e-4 or seed=1..4"));
    let (name, list) = text.split_once('=').ok_or_else(hint)?;
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
    if !is_name {
        return Err(hint());
    }
    let mut values = Vec::new();
    for part in list.split(',').map(str::trim) {
        let range = part.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        match range {
            Some((first, last)) if last >= first && i64::abs_diff(last, first) < MOST_TASKS as u64 => {
                values.extend((first..=last).map(|number: i64| number.to_string()));
            }
            Some(_) => return Err(hint()),
            None if part.is_empty() => return Err(hint()),
            None => values.push(part.to_owned()),
        }
    }
    Ok(Parameter { name: name.to_owned(), values })
}

/// Every combination, the last parameter changing first.
pub fn combinations(parameters: &[Parameter]) -> Result<Vec<Vec<(&str, &str)>>, CommandProblem> {
    for (at, parameter) in parameters.iter().enumerate() {
        let (name, values) = (&parameter.name, &parameter.values);
        if parameters[..at].iter().any(|before| before.name == *name) {
            return Err(CommandProblem::usage(
                Text::new(format!("参数 {name} 给出了两次"), format!("the parameter {name} is given twice")),
                Text::new(format!("写成一个 {name}=值1,值2"), format!("write one {name}=value1,value2")),
            ));
        }
        if let Some(twice) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            let value = twice.1;
            return Err(CommandProblem::usage(
                Text::new(format!("{name} 的取值 {value} 重复"), format!("{name} has the value {value} twice")),
                Text::new("每个取值只写一次", "give each value once"),
            ));
        }
    }
    let count = parameters.iter().try_fold(1_usize, |count, it| count.checked_mul(it.values.len()));
    if count.is_none_or(|count| count > MOST_TASKS) {
        return Err(CommandProblem::usage(
            Text::new(format!("组合多于 {MOST_TASKS} 个"), format!("these are more than {MOST_TASKS} combinations")),
            Text::new("减少参数或取值", "give fewer parameters or values"),
        ));
    }
    let mut all = vec![Vec::new()];
    for parameter in parameters {
        let grown = all.iter().flat_map(|row: &Vec<(&str, &str)>| {
            parameter.values.iter().map(|value| {
                let mut row = row.clone();
                row.push((parameter.name.as_str(), value.as_str()));
                row
            })
        });
        all = grown.collect();
    }
    Ok(all)
}

/// The request of one combination: `{lr}` in the command, its variables and its arguments becomes the value; a parameter that
/// stands nowhere is given to the command as `--lr=…`.
pub fn request(base: &Map<String, Value>, combination: &[(&str, &str)]) -> Map<String, Value> {
    let mut request = base.clone();
    let common = base.get("taskName").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, value) in combination {
        let place = format!("{{{name}}}");
        let mut is_used = false;
        for field in ["command", "recipe", "options"] {
            if let Some(part) = request.get_mut(field) {
                is_used |= replace(part, &place, value);
            }
        }
        if !is_used {
            give(&mut request, format!("--{name}={value}"));
        }
    }
    let own: Vec<String> = combination.iter().map(|(name, value)| format!("{name}={value}")).collect();
    request.insert("taskName".to_owned(), json!(format!("{common} {}", own.join(" "))));
    let labels = request.entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert(LABEL.to_owned(), json!(common));
        labels.extend(combination.iter().map(|(name, value)| (format!("{PARAMETER}{name}"), json!(value))));
    }
    request
}

/// Replaces a mark in all texts; says whether it was there.
fn replace(value: &mut Value, mark: &str, by: &str) -> bool {
    match value {
        Value::String(text) if text.contains(mark) => {
            *text = text.replace(mark, by);
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |is_used, item| replace(item, mark, by) | is_used),
        Value::Object(fields) => fields.values_mut().fold(false, |is_used, item| replace(item, mark, by) | is_used),
        _ => false,
    }
}

/// One more argument for what runs.
fn give(request: &mut Map<String, Value>, argument: String) {
    let is_given = |part: &Value| !part.is_null();
    let list = match request.get_mut("command").filter(|part| is_given(part)) {
        Some(command) => command.get_mut("argv"),
        None => request.get_mut("recipe").filter(|part| is_given(part)).and_then(|recipe| recipe.get_mut("args")),
    };
    if let Some(Value::Array(arguments)) = list {
        arguments.push(Value::String(argument));
    }
}

/// Show the tasks of a sweep side by side: parameters, state, last step and loss, time
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: fermi task create --name bert --auto --sweep lr=1e-4,3e-4 -- train.py && fermi task sweep bert"
)]
pub struct SweepFlags {
    /// The name under which they were created
    name: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &SweepFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let tasks = of(&client, &flags.name)?;
    if tasks.is_empty() {
        return Err(CommandProblem::usage(
            Text::new(format!("没有名为 “{}” 的参数扫描", flags.name), format!("there is no sweep '{}'", flags.name)),
            Text::new("用 fermi task create --sweep 创建", "fermi task create --sweep makes one"),
        ));
    }
    if flags.ask.json {
        speech::print_json(&json!(tasks));
    } else {
        speech::print(&table(&tasks).render(Paint::for_stdout()));
    }
    Ok(std::process::ExitCode::SUCCESS)
}

fn of(client: &Client, name: &str) -> Result<Vec<Task>, CommandProblem> {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted = format!("label.{LABEL}=\"{name}\"");
    let page = |query: &Query| client.tasks(&query.clone().with("filter", &quoted));
    let rows: Vec<TaskRow> = connection::pages(page).collect::<Result<_, _>>()?;
    let mut tasks = Vec::with_capacity(rows.len());
    for row in rows {
        tasks.push(client.task(&row.id)?.data);
    }
    tasks.reverse();
    Ok(tasks)
}

fn table(tasks: &[Task]) -> Table {
    let mut names: Vec<&str> =
        tasks.iter().flat_map(|task| task.row.labels.keys()).filter_map(|key| key.strip_prefix(PARAMETER)).collect();
    names.sort_unstable();
    names.dedup();
    let head = ["ID"].into_iter().chain(names.iter().copied());
    let rest = [pick("状态", "STATUS"), pick("步数", "STEP"), pick("损失", "LOSS"), pick("用时", "TIME")];
    let mut table = Table::new(head.chain(rest));
    let language = speech::language();
    for task in tasks {
        let row = &task.row;
        let end = row.ended_at.unwrap_or_else(span::now_ms);
        let time = row.started_at.map_or_else(|| "-".to_owned(), |start| span::long(end.saturating_sub(start)));
        let number = |text: Option<String>| Cell::number(text.unwrap_or_else(|| "-".to_owned()));
        let value = |name: &&str| row.labels.get(&format!("{PARAMETER}{name}")).cloned().unwrap_or_default();
        let progress = task.progress.as_ref();
        let mut cells = vec![Cell::coloured(&row.id, Colour::Faint)];
        cells.extend(names.iter().map(|name| Cell::number(value(name))));
        cells.push(Cell::coloured(row.status_text.in_language(language), super::colour(row.status)));
        cells.push(number(progress.map(|progress| progress.step.to_string())));
        cells.push(number(progress.and_then(|progress| progress.loss).map(|loss| format!("{loss:.4}"))));
        cells.push(time.into());
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_lists_or_ranges() {
        let values = |text: &str| parse(text).unwrap().values;
        assert_eq!(values("lr=1e-4,3e-4"), ["1e-4", "3e-4"]);
        assert_eq!(values("seed=1..3,7"), ["1", "2", "3", "7"]);
        assert_eq!(values("file=a..b"), ["a..b"], "not a range of numbers");
        for text in ["lr", "=1", "lr=", "lr=1,,2", "seed=4..1", "seed=1..99999", "a b=1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_combination_is_a_task_of_its_own_under_the_common_name() {
        let parameters = [parse("lr=1e-4,3e-4").unwrap(), parse("seed=1..2").unwrap()];
        let all = combinations(&parameters).unwrap();
        assert_eq!(all.len(), 4);
        let base: Map<String, Value> =
            serde_json::from_value(json!({"taskName": "bert", "command": {"argv": ["train.py", "--lr", "{lr}"]}}))
                .unwrap();
        let request = request(&base, &all[1]);
        assert_eq!(request["taskName"], "bert lr=1e-4 seed=2");
        assert_eq!(request["command"]["argv"], json!(["train.py", "--lr", "1e-4", "--seed=2"]));
        assert_eq!(request["labels"], json!({"sweep": "bert", "sweep.lr": "1e-4", "sweep.seed": "2"}));
        let many = [parse("a=1..100").unwrap(), parse("b=1..100").unwrap()];
        assert!(combinations(&many).is_err());
    }

    #[test]
    fn a_recipe_gets_its_arguments_too() {
        let base: Map<String, Value> = serde_json::from_value(
            json!({"taskName": "x", "command": null, "recipe": {"name": "builtin", "args": ["--steps", "{steps}"]}}),
        )
        .unwrap();
        let request = request(&base, &[("steps", "9"), ("lr", "0.1")]);
        assert_eq!(request["recipe"]["args"], json!(["--steps", "9", "--lr=0.1"]));
    }
}
