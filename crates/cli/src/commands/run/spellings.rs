//! Brings the ways in which other launchers spell an option to one: `--nproc_per_node` is `--nproc-per-node`, `-np` is
//! `--np`, `--bind-to core` is `--cpu-bind=cores`. What follows the script's name is the script's and stays as it is.

use std::ffi::{OsStr, OsString};

use clap::{Command, CommandFactory};
use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;

use super::foreign;

/// Letters that an abbreviation has at least.
const SHORTEST_ABBREVIATION: usize = 4;

/// Rewrites the options of `fermi run`.
pub fn unify(cli: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    match cli.find_subcommand("run") {
        Some(run) => read(run, arguments).0,
        None => arguments,
    }
}

/// The words as `fermi run` has them, and what stood there in their place.
fn read(run: &Command, arguments: Vec<OsString>) -> (Vec<OsString>, Typed) {
    let mut unified: Vec<OsString> = arguments.iter().take(2).cloned().collect();
    let mut typed = Typed::default();
    let mut rest = arguments.into_iter().skip(2);
    while let Some(word) = rest.next() {
        let option = word.to_str().filter(|text| text.starts_with('-') && text.len() > 1 && *text != "--");
        let Some(option) = option.map(|text| Given::of(text, run).completed(run)) else {
            // The script: it and all that follows are not ours.
            let is_separator = word == "--";
            unified.push(word);
            if is_separator {
                unified.extend(rest.next().map(file_name));
            }
            break;
        };
        if !option.is_known_to(run)
            && let Some(words) = foreign::taken(&option, &mut rest)
        {
            typed.note(&word, words.first(), run);
            unified.extend(words);
            continue;
        }
        let value = match &option.value {
            None if option.takes_value(run) => rest.next(),
            value => value.clone().map(OsString::from),
        };
        let words = option.spelled_our_way(value);
        typed.note(&word, words.first(), run);
        unified.extend(words);
    }
    unified.extend(rest);
    (unified, typed)
}

/// Flags of `fermi run` and the words of a command line by which they were set.
#[derive(Debug, Default)]
struct Typed(Vec<(String, String)>);

impl Typed {
    fn note(&mut self, word: &OsStr, ours: Option<&OsString>, run: &Command) {
        let Some((word, ours)) = word.to_str().zip(ours.and_then(|ours| ours.to_str())) else { return };
        let Some(long) = Given::read(ours).argument_of(run).and_then(clap::Arg::get_long) else { return };
        let name = word.split('=').next().unwrap_or(word);
        let flag = format!("--{long}");
        let is_own_letter = name.len() == 2 && Given::read(name).argument_of(run).is_some();
        let is_own = is_own_letter || flag.starts_with(&name.replace('_', "-"));
        self.0.push((flag.clone(), if is_own { flag } else { name.to_owned() }));
    }

    /// The one word that has set a flag, where it is another launcher's.
    fn only(&self, flag: &str) -> Option<&str> {
        let mut words = self.0.iter().filter(|(set, _)| set == flag).map(|(_, word)| word.as_str());
        words.next().filter(|word| *word != flag && words.next().is_none())
    }
}

/// A sentence about a flag, with the word that its reader has typed in its place.
pub fn as_typed(text: Text, run: &Command, arguments: Vec<OsString>) -> Text {
    let (_, typed) = read(run, arguments);
    let spoken_of = text.en.split(' ').find_map(|word| Some((word.to_owned(), typed.only(word)?.to_owned())));
    match spoken_of {
        Some((flag, word)) => Text::new(text.zh.replace(&flag, &word), text.en.replace(&flag, &word)),
        None => text,
    }
}

/// The script behind `--` as a path: a name with a dash in front would be an option to Python too.
fn file_name(script: OsString) -> OsString {
    if !script.as_encoded_bytes().starts_with(b"-") {
        return script;
    }
    let mut path = OsString::from("./");
    path.push(script);
    path
}

/// An option as it was written: its name with hyphens, and the value if it stands behind `=`.
#[derive(Clone)]
pub(in crate::commands) struct Given {
    pub name: String,
    pub value: Option<String>,
}

impl Given {
    /// As it was written, or as a launcher means it that writes long options with one hyphen.
    pub fn of(text: &str, run: &Command) -> Self {
        let given = Self::read(text).parted(run);
        let long = foreign::with_two_hyphens(text).filter(|_| !given.is_known_to(run) && given.name == text);
        match long.map(|name| Self { name, value: None }) {
            // With one hyphen it is the other launcher's, whose meaning is refused, and no flag of ours with that name.
            Some(meant) if meant.is_known_to(run) && foreign::refused(text).is_some() => given,
            Some(meant) => meant,
            None => given,
        }
    }

    pub fn read(text: &str) -> Self {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if text.starts_with("--") => (name, Some(value.to_owned())),
            _ => (text, None),
        };
        let name = match name {
            "-np" => "--np".to_owned(),
            "-host" => "--host".to_owned(),
            long if long.starts_with("--") => long.replace('_', "-"),
            short => short.to_owned(),
        };
        Self { name, value }
    }

    /// `-n2` is `-n 2`.
    pub fn parted(self, run: &Command) -> Self {
        let (letter, number) = self.name.split_at_checked(2).unwrap_or((&self.name, ""));
        let short = Self { name: letter.to_owned(), value: Some(number.to_owned()) };
        let is_glued = letter != "--" && number.starts_with(|c: char| c.is_ascii_digit());
        if is_glued && short.takes_value(run) { short } else { self }
    }

    /// `--redirect` is `--redirects`, as long as no other option begins with it.
    pub fn completed(self, run: &Command) -> Self {
        let Some(begun) = self.name.strip_prefix("--").filter(|begun| begun.len() >= SHORTEST_ABBREVIATION) else {
            return self;
        };
        if self.is_known_to(run) || foreign::find(&self.name).is_some() {
            return self;
        }
        let mut meant: Vec<&str> = run
            .get_arguments()
            .filter(|argument| {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                argument.get_long().into_iter().chain(aliases).any(|long| long.starts_with(begun))
            })
            .filter_map(clap::Arg::get_long)
            .collect();
        meant.dedup();
        match meant.as_slice() {
            [only] => Self { name: format!("--{only}"), value: self.value },
            _ => self,
        }
    }

    pub fn takes_value(&self, run: &Command) -> bool {
        if matches!(self.name.as_str(), "--bind-to" | "--numa-binding") {
            return true;
        }
        self.argument_of(run).is_some_and(|argument| {
            argument.get_num_args().map_or_else(|| argument.get_action().takes_values(), |range| range.takes_values())
        })
    }

    /// Whether `fermi run` understands it, in whatever spelling.
    pub fn is_known_to(&self, run: &Command) -> bool {
        let translated = ["--bind-to", "--numa-binding", "--bind-cores-to-rank"];
        translated.contains(&self.name.as_str()) || self.argument_of(run).is_some()
    }

    /// The option that is meant, if the command has it.
    pub fn argument_of<'a>(&self, command: &'a Command) -> Option<&'a clap::Arg> {
        let is_it = |argument: &clap::Arg| match self.name.strip_prefix("--") {
            Some(long) => {
                argument.get_long() == Some(long)
                    || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
            }
            None => self.name.len() == 2 && argument.get_short() == self.name.chars().nth(1),
        };
        command.get_arguments().find(|argument| is_it(argument))
    }

    pub fn spelled_our_way(self, value: Option<OsString>) -> Vec<OsString> {
        let text = || value.as_ref().map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        match self.name.as_str() {
            "--bind-cores-to-rank" => vec!["--cpu-bind=cores".into()],
            "--bind-to" | "--numa-binding" => vec![bound(&self.name, &text()).into()],
            // One word, so that a value which starts with a hyphen stays a value.
            long if long.starts_with("--") => match value {
                Some(value) => {
                    let mut word = OsString::from(format!("{long}="));
                    word.push(value);
                    vec![word]
                }
                None => vec![self.name.into()],
            },
            _ => [OsString::from(self.name)].into_iter().chain(value).collect(),
        }
    }
}

/// mpirun's and torchrun's words for what ranks are bound to; mpirun's may be followed by a colon and how strictly.
fn bound(name: &str, value: &str) -> String {
    let what = value.split(':').next().unwrap_or(value);
    if foreign::check(name, what).is_err() {
        return format!("--refused-value={name}={value}");
    }
    let ours = match what {
        "core" | "hwthread" | "exclusive" | "core-complex" => "cores",
        "socket" | "package" | "numa" | "node" => "numa",
        other => other,
    };
    format!("--cpu-bind={ours}")
}

/// An option that nobody knows ends up where the script should be.
pub fn refuse_unknown(script: &[OsString]) -> Result<(), RunProblem> {
    let Some(name) = script.first().and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) else {
        return Ok(());
    };
    let name = name.split('=').next().unwrap_or(name);
    if let Some(problem) = foreign::refused(name) {
        return Err(problem);
    }
    let command = crate::commands::Cli::command();
    let near = command
        .find_subcommand("run")
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter(|argument| !argument.is_hide_set())
        .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
        .map(|known| (strsim::jaro_winkler(name, &known), known))
        .filter(|(likeness, _)| *likeness > 0.85)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known);
    Err(RunProblem::UnknownOption { name: name.to_owned(), near })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(line: &str) -> String {
        crate::commands::unified(line, unify)
    }

    #[test]
    fn torchruns_two_spellings_are_one() {
        assert_eq!(
            unified("fermi run --nproc_per_node 4 --max_restarts=3 train.py --my_arg 1"),
            "fermi run --nproc-per-node=4 --max-restarts=3 train.py --my_arg 1"
        );
    }

    #[test]
    fn deepspeeds_and_mpiruns_options_are_known() {
        assert_eq!(unified("fermi run --num_gpus=4 main.py"), "fermi run --num-gpus=4 main.py");
        assert_eq!(
            unified("fermi run -np 2 --bind-to core -x A=1 main.py -np 3"),
            "fermi run --np=2 --cpu-bind=cores -x A=1 main.py -np 3"
        );
        assert_eq!(unified("fermi run --bind_cores_to_rank main.py"), "fermi run --cpu-bind=cores main.py");
        assert_eq!(
            unified("fermi run --bind-to core:overload-allowed --numa_binding=bogus main.py"),
            "fermi run --cpu-bind=cores --refused-value=--numa-binding=bogus main.py"
        );
        assert_eq!(
            unified("fermi run --mca btl tcp -npernode 2 -tag-output a.py --mca x"),
            "fermi run --without-effect=--mca --per-node=2 --tee=3 a.py --mca x"
        );
        assert_eq!(
            unified("fermi run --map-by ppr:2:node --map-by NUMA:PE=4 -rank-by slot:fill -ppr 3:node a.py"),
            "fermi run --per-node=2 --without-effect=--map-by --without-effect=--rank-by --per-node=3 a.py"
        );
        assert_eq!(
            unified("fermi run --map-by ppr:2:socket --ppr node a.py"),
            "fermi run --refused-value=--map-by=ppr:2:socket --refused-value=--ppr=node a.py"
        );
        assert_eq!(
            unified("fermi run --num_processes 8 --gpu_ids all --mixed_precision=bf16 a.py"),
            "fermi run --total-processes=8 --env=ACCELERATE_MIXED_PRECISION=bf16 a.py"
        );
    }

    #[test]
    fn a_meaning_that_is_refused_is_refused_with_one_hyphen_too() {
        assert_eq!(unified("fermi run -timeout 60 a.py"), "fermi run -timeout 60 a.py");
        assert!(refuse_unknown(&["-timeout".into(), "60".into()]).is_err());
        assert_eq!(unified("fermi run --timeout 60 a.py"), "fermi run --timeout=60 a.py");
    }

    #[test]
    fn a_sentence_speaks_of_the_word_that_was_typed() {
        let cli = crate::commands::Cli::command();
        let run = cli.find_subcommand("run").unwrap();
        for (line, en, expected) in [
            ("fermi run --num_gpus x a.py", "--nproc-per-node cannot be 'x'", "--num_gpus cannot be 'x'"),
            ("fermi run -np x a.py", "--nproc-per-node cannot be 'x'", "-np cannot be 'x'"),
            ("fermi run --gpu_ids=x a.py", "--include cannot be 'x'", "--gpu_ids cannot be 'x'"),
            ("fermi run --zero_stage 2 a.py", "--set needs --framework", "--zero_stage needs --framework"),
            // What was typed as it is, its short form and its beginning, stays.
            ("fermi run --nproc_per 2 a.py", "--nproc-per-node cannot be 'x'", "--nproc-per-node cannot be 'x'"),
            ("fermi run -n x a.py", "--nproc-per-node cannot be 'x'", "--nproc-per-node cannot be 'x'"),
            ("fermi run --zero_stage 2 --set a=1 a.py", "--set needs --framework", "--set needs --framework"),
            ("fermi run a.py --num_gpus x", "--nproc-per-node cannot be 'x'", "--nproc-per-node cannot be 'x'"),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            assert_eq!(as_typed(Text::new(en, en), run, words).en, expected, "{line}");
        }
    }

    #[test]
    fn a_number_may_stick_to_its_letter() {
        assert_eq!(unified("fermi run -n2 -t3 main.py -n3"), "fermi run -n 2 -t 3 main.py -n3");
        assert_eq!(unified("fermi run -nnodes 2"), "fermi run -nnodes 2");
    }

    #[test]
    fn an_option_may_be_abbreviated_as_long_as_it_is_clear() {
        for (given, expected) in [
            ("fermi run --redirect 3 main.py --redirect 3", "fermi run --redirects=3 main.py --redirect 3"),
            ("fermi run --nproc_per 2 main.py", "fermi run --nproc-per-node=2 main.py"),
            ("fermi run --stand --max_restart=3 main.py", "fermi run --standalone --max-restarts=3 main.py"),
            // Two options begin so.
            ("fermi run --node 0 main.py", "fermi run --node 0 main.py"),
            ("fermi run --hostfile hf main.py", "fermi run --hostfile hf main.py"),
        ] {
            assert_eq!(unified(given), expected);
        }
    }

    #[test]
    fn what_follows_the_script_is_the_scripts() {
        assert_eq!(
            unified("fermi run --mode manual train.py --mode train --bind-to x --dry_run"),
            "fermi run --mode=manual train.py --mode train --bind-to x --dry_run"
        );
        assert_eq!(unified("fermi run -- odd_name a_b"), "fermi run -- odd_name a_b");
        assert_eq!(unified("fermi run -- -d.py --a_b"), "fermi run -- ./-d.py --a_b");
    }

    #[test]
    fn switches_take_no_value_from_the_script() {
        assert_eq!(unified("fermi run --standalone -m pkg.train_it"), "fermi run --standalone -m pkg.train_it");
        assert_eq!(unified("fermi run --no_python ./a_b"), "fermi run --no-python ./a_b");
    }
}
