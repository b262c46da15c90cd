//! What a training's engine is told: the flags that `run`, `task create` and `launch generate` share.

use std::path::{Path, PathBuf};

use clap::Args;
use fermi_domain::framework::Framework;
use fermi_domain::language::{Explained, Hint, Language, Text, reason};
use fermi_domain::messages::run::RunProblem;
use fermi_domain::task::{DistributedConfig, LaunchOptions, Policies, Selection, Strategy, TaskSpec, Work};
use fermi_frameworks::training_yaml::{self, Mistakes, TrainingYaml};
use serde_json::{Map, Value};

use crate::speech;

/// Why the flags cannot be used.
#[derive(Debug)]
pub struct EngineRefusal {
    pub text: Text,
    pub hint: Text,
}

impl EngineRefusal {
    /// What a framework, or the rank map made for it, says.
    pub fn of(message: &impl Explained) -> Self {
        let text = message.text();
        Self { hint: speech::hint(message).unwrap_or_else(|| text.clone()), text }
    }
}

impl Explained for EngineRefusal {
    fn id(&self) -> &'static str {
        "engine_refused"
    }

    fn text(&self) -> Text {
        self.text.clone()
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.hint.clone().into())
    }
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Framework")]
pub struct EngineFlags {
    /// Everything that this framework needs: pytorch-ddp, pytorch-fsdp, deepspeed, horovod, megatron-lm, jax, command, builtin
    #[arg(long, value_name = "NAME")]
    pub framework: Option<String>,
    /// A setting of the framework, such as zeroStage=3, or config=@ds.json for a file (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A training.yaml: framework, batch, precision and more come from it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ranks that share each layer [default: 1]
    #[arg(long, value_name = "N", value_parser = degree())]
    tensor_parallel: Option<u32>,
    /// Stages that the layers are divided into [default: 1]
    #[arg(long, value_name = "N", value_parser = degree())]
    pipeline_parallel: Option<u32>,
    /// Copies of the model that share the data [default: what the others leave]
    #[arg(long, value_name = "N", value_parser = degree())]
    data_parallel: Option<u32>,
    /// nccl or gloo [default: nccl where every rank has a GPU]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Network interface of NCCL and gloo
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// How long collectives wait
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep NCCL off InfiniBand
    #[arg(long)]
    no_infiniband: bool,
    /// NCCL_DEBUG
    #[arg(long, value_name = "LEVEL")]
    nccl_debug: Option<String>,
    /// Values over those of the training.yaml, each by its path.
    #[arg(skip)]
    changes: Vec<(String, Value)>,
}

fn degree() -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=1_000_000)
}

/// What the flags say, with the files that they name.
#[derive(Debug)]
pub struct Engine {
    /// The one that is named, else the one that the training.yaml decides for.
    pub framework: Option<Framework>,
    pub options: LaunchOptions,
    degrees: [Option<u32>; 3],
}

impl EngineFlags {
    /// The first flag that says something, for those who need to know whether an engine is wanted at all.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--framework", self.framework.is_some()),
            ("--config", self.config.is_some()),
            ("--set", !self.set.is_empty()),
            ("--tensor-parallel", self.tensor_parallel.is_some()),
            ("--pipeline-parallel", self.pipeline_parallel.is_some()),
            ("--data-parallel", self.data_parallel.is_some()),
            ("--backend", self.backend.is_some()),
            ("--interface", self.interface.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--no-infiniband", self.no_infiniband),
            ("--nccl-debug", self.nccl_debug.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    /// The training.yaml that is named.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// How long collectives wait, in seconds.
    pub fn timeout(&self) -> Option<u64> {
        self.timeout
    }

    /// Takes what `--set` says for values over those of the training.yaml, as `fermi train` has it, and gives the words.
    pub fn set_over_the_file(&mut self) -> Result<Vec<String>, EngineRefusal> {
        let words = std::mem::take(&mut self.set);
        for word in &words {
            let (path, value) = change(word)?;
            self.change(path, value);
        }
        Ok(words)
    }

    /// Puts one value over the file's.
    pub fn change(&mut self, path: &str, value: Value) {
        self.changes.push((path.to_owned(), value));
    }

    /// A refusal that speaks of a training.yaml, with the name of the file that was given.
    pub fn by_its_name(&self, problem: RunProblem) -> RunProblem {
        match (&self.config, problem) {
            (Some(path), RunProblem::Framework { text, hint }) => {
                let name = path.display().to_string();
                let named = |sentence: &str| sentence.replacen("training.yaml", &name, 1);
                RunProblem::Framework { text: Text::new(named(&text.zh), named(&text.en)), hint }
            }
            (_, problem) => problem,
        }
    }

    pub fn read(&self) -> Result<Engine, EngineRefusal> {
        let mut options = LaunchOptions {
            backend: self.backend.clone(),
            interface: self.interface.clone(),
            timeout: self.timeout,
            nccl_debug: self.nccl_debug.clone(),
            infiniband: self.no_infiniband.then_some(false),
            ..LaunchOptions::default()
        };
        let mut framework = self.framework.as_deref().map(known).transpose()?;
        for text in &self.set {
            let (key, value) = setting(text)?;
            if options.framework.insert(key.clone(), value).is_some() {
                return Err(EngineRefusal {
                    text: Text::new(format!("--set {key} 给了两次"), format!("--set {key} is given twice")),
                    hint: Text::new("只保留一处", "keep one of them"),
                });
            }
        }
        if let Some(path) = &self.config {
            let (sections, file) = training(path, &self.changes)?;
            let file = file.knowing(None, fermi_planner::catalogue::parameters_of);
            framework = framework.or_else(|| Some(file.framework()));
            let named = file.deepspeed_file().filter(|_| framework == Some(Framework::Deepspeed));
            if let (Some(named), false) = (named, options.framework.contains_key("config")) {
                let json = object(&beside(path, named), "training.deepspeed.config_path")?;
                options.framework.insert("config".to_owned(), Value::Object(json));
            }
            options.training = Some(sections);
        }
        let degrees = [self.data_parallel, self.pipeline_parallel, self.tensor_parallel];
        Ok(Engine { framework, options, degrees })
    }
}

impl Engine {
    /// The division of work over so many ranks, where one is wanted. What does not divide is refused by the framework's
    /// own rule.
    pub fn strategy(&self, ranks: u32) -> Option<Strategy> {
        let [data, pipeline, tensor] = self.degrees;
        data.or(pipeline).or(tensor)?;
        let (pipeline_parallel, tensor_parallel) = (pipeline.unwrap_or(1), tensor.unwrap_or(1));
        let share = pipeline_parallel.saturating_mul(tensor_parallel).max(1);
        let data_parallel = data.unwrap_or((ranks / share).max(1));
        Some(Strategy { data_parallel, pipeline_parallel, tensor_parallel })
    }

    /// A task that runs this on so many ranks, for those who want its launch and nothing else of it.
    pub fn task(self, name: &str, work: Work, ranks: u32) -> TaskSpec {
        let (framework, strategy) = (self.framework, self.strategy(ranks));
        TaskSpec {
            name: name.to_owned(),
            dataset: None,
            model_id: None,
            selection: Selection::default(),
            work,
            source: None,
            distributed: DistributedConfig { enabled: true, framework, strategy, ..DistributedConfig::default() },
            options: self.options,
            policies: Policies::default(),
            priority: 0,
            labels: Default::default(),
        }
    }
}

/// The framework of this name.
pub fn known(name: &str) -> Result<Framework, EngineRefusal> {
    let names = Framework::ALL.map(Framework::as_str);
    Framework::parse(name).ok_or_else(|| EngineRefusal {
        text: Text::new(format!("不支持的分布式框架 {name}"), format!("The framework {name} is not known")),
        hint: match meant(name, &names) {
            Some(near) => Text::new(format!("是否指 {near}？"), format!("did you mean {near}?")),
            None => Text::new(format!("可选：{}", names.join("、")), format!("choose one of {}", names.join(", "))),
        },
    })
}

/// `ddp` is a part of a name, `DeepSpeeed` nearly one.
fn meant<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    let part = names.iter().find(|name| given.len() > 2 && name.contains(&given));
    let likeness = |name: &&str| strsim::jaro_winkler(name, &given);
    let near = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|name| likeness(name) > 0.85);
    part.or(near).copied()
}

/// `KEY=VALUE`: a value that is JSON is taken as such, `@FILE` as the JSON in that file, anything else as a text.
fn setting(text: &str) -> Result<(String, Value), EngineRefusal> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| EngineRefusal {
        text: Text::new(format!("--set {text} 无效"), format!("--set {text} is no setting")),
        hint: Text::new("格式为 键=值，例如 zeroStage=3", "give KEY=VALUE, such as zeroStage=3"),
    })?;
    let value = match value.strip_prefix('@') {
        Some(path) => Value::Object(object(Path::new(path), &format!("--set {key}"))?),
        None => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
    };
    Ok((key.to_owned(), value))
}

/// `training.max_steps=5`: a key of the training.yaml by its path, with a value as YAML spells it.
fn change(text: &str) -> Result<(&str, Value), EngineRefusal> {
    let refused = || EngineRefusal {
        text: Text::new(format!("--set {text} 无效"), format!("--set {text} is no value of a key")),
        hint: Text::new("格式为 键=值，例如 training.max_steps=5", "give KEY=VALUE, such as training.max_steps=5"),
    };
    let (path, value) = text.split_once('=').filter(|(path, _)| !path.is_empty()).ok_or_else(refused)?;
    let mut section = training_yaml::sections(format!("value: {value}")).map_err(|_| refused())?;
    Ok((path, section.remove("value").unwrap_or_default()))
}

/// Puts a value at a path, section by section.
fn put(section: &mut Map<String, Value>, path: &str, value: &Value) {
    let Some((name, rest)) = path.split_once('.') else {
        section.insert(path.to_owned(), value.clone());
        return;
    };
    let below = section.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !below.is_object() {
        *below = Value::Object(Map::new());
    }
    if let Some(below) = below.as_object_mut() {
        put(below, rest, value);
    }
}

/// A training.yaml with its keys known, and with the changes over it.
fn training(path: &Path, changes: &[(String, Value)]) -> Result<(Map<String, Value>, TrainingYaml), EngineRefusal> {
    let bytes = fermi_named_file::read(path).map_err(|error| unreadable(path, None, &reason::of_io(&error)))?;
    let mut sections = training_yaml::sections(&bytes).map_err(|problems| mistaken(path, &problems))?;
    for (key, value) in changes {
        put(&mut sections, key, value);
    }
    let file = TrainingYaml::of(&sections).map_err(|problems| mistaken(path, &problems))?;
    Ok((sections, file))
}

/// A file that a training.yaml names: from where the user stands, else from where the training.yaml lies.
fn beside(yaml: &Path, named: &str) -> PathBuf {
    let here = PathBuf::from(named);
    let there = yaml.parent().map(|folder| folder.join(named));
    if here.exists() { here } else { there.filter(|there| there.exists()).unwrap_or(here) }
}

/// A file with one JSON object.
fn object(path: &Path, named_by: &str) -> Result<Map<String, Value>, EngineRefusal> {
    let text =
        fermi_named_file::read_text(path).map_err(|error| unreadable(path, Some(named_by), &reason::of_io(&error)))?;
    serde_json::from_str(&text).map_err(|error| {
        let why = reason::of_json(&error);
        EngineRefusal {
            text: Text::new(
                format!("{} 不是一个 JSON 对象：{}", path.display(), why.zh),
                format!("{} is not one JSON object: {}", path.display(), why.en),
            ),
            hint: Text::new("检查逗号与引号；JSON 没有注释", "look at commas and quotes; JSON has no comments"),
        }
    })
}

fn unreadable(path: &Path, named_by: Option<&str>, why: &Text) -> EngineRefusal {
    let zh = named_by.map(|by| format!(" {by} 指定的")).unwrap_or_default();
    let en = named_by.map(|by| format!(", which {by} names")).unwrap_or_default();
    EngineRefusal {
        text: Text::new(
            format!("无法读取{zh} {}：{}", path.display(), why.zh),
            format!("cannot read {}{en}: {}", path.display(), why.en),
        ),
        hint: Text::new("检查路径与权限", "look at the path and its permissions"),
    }
}

fn mistaken(path: &Path, problems: &Mistakes) -> EngineRefusal {
    let lines = |language| problems.lines(language).join("\n  ");
    EngineRefusal {
        text: Text::new(
            format!("{} 有误：\n  {}", path.display(), lines(Language::ZhCn)),
            format!("{} has mistakes:\n  {}", path.display(), lines(Language::En)),
        ),
        hint: Text::new("所有键见 configs/training.schema.json", "configs/training.schema.json has every key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stands_over_the_files_own_value() {
        let mut file = training_yaml::sections("training: {max_steps: 3, seed: 1}").unwrap();
        for word in ["training.max_steps=5", "recipe.reward=exact", "training.fsdp.offload_params=yes"] {
            let (path, value) = change(word).unwrap();
            put(&mut file, path, &value);
        }
        let expected = serde_json::json!({
            "training": {"max_steps": 5, "seed": 1, "fsdp": {"offload_params": true}}, "recipe": {"reward": "exact"},
        });
        assert_eq!(Value::Object(file), expected);
        assert!(change("=5").is_err() && change("training.max_steps").is_err() && change("a=[").is_err());
    }

    #[test]
    fn the_help_names_every_framework() {
        let command = EngineFlags::augment_args(clap::Command::new("x"));
        let argument = command.get_arguments().find(|argument| argument.get_id() == "framework").unwrap();
        let help = argument.get_help().unwrap().to_string();
        assert!(help.ends_with(&Framework::ALL.map(Framework::as_str).join(", ")), "{help}");
    }
}
