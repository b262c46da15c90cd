//! Options of other launchers for which `fermi run` has no flag of its own: what they become, whether they are taken
//! without effect, or why not and what to do. The table is `data/launchers.txt`; it is read only when such an option is met.

use std::ffi::OsString;

use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;

use super::spellings::Given;

const TABLE: &str = include_str!("../../../data/launchers.txt");

/// Of what so many are started, where it says how many start here.
const NODE: &str = "node";
/// Behind words of the table: how strictly may follow.
const STRICTNESS: &str = "[:…]";
/// mpirun's way to write the value of `--ppr` as one of `--map-by`.
const PPR: &str = "ppr:";

/// An option of another launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignOption {
    pub launcher: &'static str,
    /// As `fermi run` spells names, with hyphens.
    pub name: &'static str,
    pub takes: Vec<Takes>,
    pub fate: Fate,
}

/// What stands behind an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    Anything,
    Number,
    OneOf(Vec<&'static str>),
    /// One of these in any letters; how strictly stands behind a colon.
    Policy(Vec<&'static str>),
    /// mpirun's `2:node`, so many on each node; how strictly may stand behind it.
    PerNode,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A flag of `fermi run` means the same.
    Same,
    /// A flag of `fermi run` does the same, with this difference.
    SameBut(Text),
    /// It becomes this word, with the value in place of the braces.
    Becomes(&'static str),
    /// A flag of `fermi run` means the same, as far as this tells.
    Partly(Text),
    /// It is taken, and this is said.
    NoEffect(Text),
    /// It is not taken; this is what to do.
    Refused(Text),
}

impl Takes {
    fn fits(&self, value: &str) -> bool {
        match self {
            Self::Anything => true,
            Self::Number => value.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0),
            Self::OneOf(words) => words.contains(&value),
            Self::Policy(words) => {
                let policy = value.split(':').next().unwrap_or(value);
                words.iter().any(|word| word.eq_ignore_ascii_case(policy))
            }
            Self::PerNode => {
                let mut parts = value.split(':');
                let count = parts.next().and_then(|count| count.parse::<u32>().ok());
                count.is_some_and(|count| count > 0) && parts.next().is_some_and(|of| of.eq_ignore_ascii_case(NODE))
            }
        }
    }

    /// What is put in place of the braces.
    fn spoken<'a>(&self, value: &'a str) -> &'a str {
        match self {
            Self::PerNode => value.split(':').next().unwrap_or(value),
            _ => value,
        }
    }

    fn expected(&self) -> Text {
        match self {
            Self::Anything => Text::new("给出一个值", "give a value"),
            Self::Number => Text::new("请给出不小于 0 的数", "use a number from 0 up"),
            Self::PerNode => Text::new(
                "单机上只有 N:node 能决定启动多少 rank，例如 2:node；其他情况用 -np 给出总数",
                "of such values only N:node says how many ranks start here, such as 2:node; else give the number of all with -np",
            ),
            Self::OneOf(words) | Self::Policy(words) => {
                Text::new(format!("可用的值：{}", words.join("、")), format!("use one of: {}", words.join(", ")))
            }
        }
    }
}

/// Every option of the table, in its order.
pub fn all() -> Vec<ForeignOption> {
    let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.flat_map(options_of).collect()
}

/// The words of `{a|b}`.
fn words_of(list: &'static str) -> Vec<&'static str> {
    list.trim_matches(['{', '}']).split('|').collect()
}

fn options_of(line: &'static str) -> Vec<ForeignOption> {
    let cells: Vec<&'static str> = line.split(" | ").map(str::trim).collect();
    let [launcher, options, fate, told @ ..] = cells.as_slice() else { return Vec::new() };
    let text = || match told {
        [zh, en] => Text::new(*zh, *en),
        _ => Text::new("", ""),
    };
    let fate = match *fate {
        "same" => Fate::Same,
        "same but" => Fate::SameBut(text()),
        "in part" => Fate::Partly(text()),
        "no effect" => Fate::NoEffect(text()),
        "refused" => Fate::Refused(text()),
        becomes => Fate::Becomes(becomes),
    };
    let option = |words: &'static str| {
        let mut words = words.split_whitespace();
        let name = words.next().unwrap_or_default();
        let takes = words.map(|word| match word {
            "N" => Takes::Number,
            "N:node" => Takes::PerNode,
            list if list.ends_with(STRICTNESS) => Takes::Policy(words_of(list.trim_end_matches(STRICTNESS))),
            list if list.starts_with('{') => Takes::OneOf(words_of(list)),
            _ => Takes::Anything,
        });
        ForeignOption { launcher, name, takes: takes.collect(), fate: fate.clone() }
    };
    options.split(", ").map(option).collect()
}

/// The option of this name. One that is taken in some way wins over one that is not.
pub fn find(name: &str) -> Option<ForeignOption> {
    let mut found: Vec<ForeignOption> = all().into_iter().filter(|option| option.name == name).collect();
    let taken = found.iter().position(|option| !matches!(option.fate, Fate::Refused(_)));
    match taken {
        Some(at) => Some(found.swap_remove(at)),
        None => found.into_iter().next(),
    }
}

/// Launchers whose long options may have one hyphen.
const WITH_ONE_HYPHEN: [&str; 2] = ["mpirun", "horovodrun"];

/// `-hostfile` as `--hostfile`, where a launcher writes it so.
pub fn with_two_hyphens(text: &str) -> Option<String> {
    let is_one = text.len() > 2 && text.starts_with('-') && !text.starts_with("--");
    let long = is_one.then(|| format!("-{}", text.replace('_', "-")))?;
    let is_written_so = |option: &ForeignOption| option.name == long && WITH_ONE_HYPHEN.contains(&option.launcher);
    all().iter().any(is_written_so).then_some(long)
}

/// The option that is meant by one and its value: `--map-by ppr:2:node` is `--ppr 2:node`.
fn meant(option: ForeignOption, value: &str) -> (ForeignOption, &str) {
    let ppr = value.strip_prefix(PPR).filter(|_| option.name == "--map-by");
    match ppr.and_then(|value| Some((find("--ppr")?, value))) {
        Some(meant) => meant,
        None => (option, value),
    }
}

/// The words that stand for an option of the table, if it is taken; the values that it needs are drawn from `rest`.
pub fn taken(given: &Given, rest: &mut impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let option = find(&given.name)?;
    if matches!(option.fate, Fate::Same | Fate::SameBut(_) | Fate::Partly(_) | Fate::Refused(_)) {
        return None;
    }
    let written = given.value.clone().map(OsString::from);
    let values: Vec<OsString> =
        written.into_iter().chain(rest.take(option.takes.len())).take(option.takes.len()).collect();
    let values: Vec<String> = values.iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let first = values.first().map_or("", String::as_str);
    let (name, (option, first)) = (option.name, meant(option, first));
    let is_misfit = |(at, takes): (usize, &Takes)| {
        let value = if at == 0 { Some(first) } else { values.get(at).map(String::as_str) };
        value.filter(|value| !values.is_empty() && !takes.fits(value)).map(|_| at)
    };
    if let Some(at) = option.takes.iter().enumerate().find_map(is_misfit) {
        return Some(vec![format!("--refused-value={name}={}", values[at]).into()]);
    }
    let spoken = option.takes.first().map_or(first, |takes| takes.spoken(first));
    Some(match option.fate {
        // `all` is what every launcher does without the option.
        Fate::Becomes("--include={}") if spoken == "all" => Vec::new(),
        Fate::Becomes(word) => vec![word.replace("{}", spoken).into()],
        _ => vec![format!("--without-effect={}", option.name).into()],
    })
}

/// What is said of options that were taken without effect.
pub fn notes(names: &[String]) -> Vec<Text> {
    let told = |name: &String| match find(name).map(|option| option.fate) {
        Some(Fate::NoEffect(why)) => {
            Some(Text::new(format!("{name} 没有作用：{}", why.zh), format!("{name} has no effect: {}", why.en)))
        }
        _ => None,
    };
    names.iter().filter_map(told).collect()
}

/// What is said of the parts of an option's value that have no effect.
pub fn partly(name: &str, parts: &[&str]) -> Option<Text> {
    // The table is not read at a usual start.
    if parts.is_empty() {
        return None;
    }
    let Some(Fate::Partly(why)) = find(name).map(|option| option.fate) else { return None };
    let has = if parts.len() == 1 { "has" } else { "have" };
    Some(Text::new(
        format!("{name} 中的 {} 没有作用：{}", parts.join("、"), why.zh),
        format!("{} of {name} {has} no effect: {}", parts.join(", "), why.en),
    ))
}

/// A value that no launcher would take.
pub fn refuse_values(values: &[String]) -> Result<(), RunProblem> {
    let Some((name, value)) = values.first().and_then(|text| text.split_once('=')) else { return Ok(()) };
    let takes = find(name).and_then(|option| {
        let (option, value) = meant(option, value);
        option.takes.into_iter().find(|takes| !takes.fits(value))
    });
    Err(bad_value(name, value, takes.unwrap_or(Takes::Anything).expected()))
}

fn bad_value(name: &str, value: &str, hint: Text) -> RunProblem {
    let text = Text::new(format!("{name} 不能是 “{value}”"), format!("{name} cannot be '{value}'"));
    RunProblem::Framework { text, hint }
}

/// Refuses a value of an option that is a flag of ours and that no launcher would take.
pub fn check(name: &str, value: &str) -> Result<(), RunProblem> {
    let takes = find(name).and_then(|option| option.takes.into_iter().next());
    match takes.filter(|takes| !takes.fits(value)) {
        Some(takes) => Err(bad_value(name, value, takes.expected())),
        None => Ok(()),
    }
}

/// What to do instead of an option that means something else here than at the launcher that the table names.
pub fn hint_of_refusal(name: &str) -> Option<Text> {
    match find(name)?.fate {
        Fate::Refused(hint) => Some(hint),
        _ => None,
    }
}

/// Why an option that ended up where the script should be is not taken, if the table knows it.
pub fn refused(name: &str) -> Option<RunProblem> {
    let long = with_two_hyphens(name).unwrap_or_else(|| name.replace('_', "-"));
    let option = find(&long)?;
    match option.fate {
        Fate::Refused(hint) => {
            let launcher = option.launcher;
            let text = Text::new(
                format!("{name} 是 {launcher} 的参数，fermi run 没有它"),
                format!("{name} is an option of {launcher}; fermi run does not have it"),
            );
            Some(RunProblem::Framework { text, hint })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
