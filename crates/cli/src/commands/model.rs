//! `fermi model`: networks that trainings begin with, by name.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::client::{Client, Query};
use fermi_api::v1::{CreateModel, MOST_PER_PAGE, Model};
use fermi_domain::language::{Explained, FrontEnd, Text, reason};
use fermi_domain::model::{ModelNumbers, ModelShape};
use fermi_planner::catalogue::shape_of_config;

use crate::connection::{self, AskFlags, CommandProblem, Noun, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{self, Cell, Colour, Table};

/// Models: create, list, show, delete
#[derive(Debug, Subcommand)]
pub enum Verb {
    Create(CreateFlags),
    /// List the models
    #[command(alias = "ls")]
    List(AskFlags),
    /// Show a model
    Show(ModelName),
    /// Forget a model; its weights stay where they are
    #[command(alias = "rm")]
    Delete(ModelName),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Create(flags) => create(flags),
        Verb::List(ask) => list(ask),
        Verb::Show(flags) => show(flags),
        Verb::Delete(flags) => delete(flags),
    })
}

/// Register a model
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi model create llama2-7b --path /models/llama2-7b")]
pub struct CreateFlags {
    /// Its name
    name: String,
    /// Where every node finds its weights: an absolute path, a hub's name such as facebook/opt-350m, or a URI
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    numbers: NumberFlags,
    /// What it is, for people to read
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

/// The numbers of a model, where its folder has no config.json that can be read.
#[derive(Debug, Args)]
struct NumberFlags {
    /// A Hugging Face config.json on this machine, from which its numbers are taken for the planner
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layers", "hidden", "heads", "kv_heads", "ffn", "vocab"])]
    config: Option<PathBuf>,
    /// Layers, for the planner
    #[arg(long, value_name = "N", requires_all = ["hidden", "heads"])]
    layers: Option<u64>,
    /// Width of the hidden state
    #[arg(long, value_name = "N", requires = "layers")]
    hidden: Option<u64>,
    /// Attention heads
    #[arg(long, value_name = "N", requires = "layers")]
    heads: Option<u64>,
    /// Key and value heads, where fewer than heads
    #[arg(long, value_name = "N", requires = "layers")]
    kv_heads: Option<u64>,
    /// Width of the feed-forward layer [default: four times the hidden one]
    #[arg(long, value_name = "N", requires = "layers")]
    ffn: Option<u64>,
    /// Size of the vocabulary
    #[arg(long, value_name = "N", requires = "layers")]
    vocab: Option<u64>,
    /// The family whose blocks it has, such as llama, gpt2 or qwen2
    #[arg(long, value_name = "NAME", requires = "layers")]
    family: Option<String>,
}

impl NumberFlags {
    fn numbers(&self) -> Result<Option<ModelNumbers>, CommandProblem> {
        if let Some(path) = &self.config {
            return of_config(path).map(Some);
        }
        let Self { layers, hidden, heads, kv_heads, ffn, vocab, .. } = *self;
        let family = self.family.clone();
        let given = ModelNumbers { layers, hidden, heads, kv_heads, ffn, vocab, family, ..ModelNumbers::default() };
        Ok(Some(given).filter(|numbers| !numbers.is_empty()))
    }
}

fn of_config(path: &Path) -> Result<ModelNumbers, CommandProblem> {
    let text = fermi_named_file::read_text(path).map_err(|error| {
        let (path, why) = (path.display(), reason::of_io(&error));
        CommandProblem::usage(
            Text::new(format!("读不了 {path}：{}", why.zh), format!("cannot read {path}: {}", why.en)),
            Text::new("--config 指向模型的 config.json", "--config names the config.json of a model"),
        )
    })?;
    let shape = shape_of_config(&text).map_err(|error| {
        let hint = error.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
        CommandProblem::usage(error.text(), hint.unwrap_or_else(|| error.text()))
    })?;
    Ok(ModelNumbers {
        layers: Some(shape.layers),
        hidden: Some(shape.hidden),
        heads: Some(shape.heads),
        kv_heads: Some(shape.kv_heads),
        ffn: Some(shape.ffn),
        vocab: Some(shape.vocab),
        head_dim: shape.head_dim,
        family: shape.family,
        tied: shape.tied,
        max_positions: shape.max_positions,
        experts: shape.experts,
        parameters: shape.parameters,
    })
}

/// Flags of a verb that takes one model.
#[derive(Debug, Args)]
pub struct ModelName {
    /// Its name or id
    model: String,
    #[command(flatten)]
    ask: AskFlags,
}

fn create(flags: &CreateFlags) -> Outcome {
    let CreateFlags { name, path, description, .. } = flags;
    let architecture = flags.numbers.numbers()?;
    let request =
        CreateModel { name: name.clone(), path: path.clone(), description: description.clone(), architecture };
    let made = flags.ask.connect()?.create_model(&request)?;
    flags.ask.made(&made, &made.data.id)
}

fn list(ask: &AskFlags) -> Outcome {
    let answer = ask.connect()?.models(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    let none = pick("还没有模型。", "There are no models yet.");
    ask.list(&answer, none, "fermi model create llama2-7b --path /models/llama2-7b", |models| {
        let head =
            [pick("名称", "NAME"), "ID", pick("参数", "PARAMETERS"), pick("路径", "PATH"), pick("创建", "CREATED")];
        let mut table = Table::new(head);
        for model in models {
            table.row([
                Cell::coloured(&model.name, Colour::Strong),
                Cell::coloured(&model.id, Colour::Faint),
                model.architecture.as_ref().map_or_else(|| "-".to_owned(), |it| count(it.total_parameters)).into(),
                model.path.as_deref().unwrap_or("-").into(),
                span::ago(model.created_at).into(),
            ]);
        }
        table
    })
}

fn show(flags: &ModelName) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.model(&find(&client, &flags.model)?.id)?;
    flags.ask.show(&answer, |model, paint| {
        let facts = [
            ("ID", Some(model.id.clone())),
            (pick("路径", "path"), model.path.clone()),
            (pick("说明", "description"), model.description.clone()),
            (pick("参数", "parameters"), model.architecture.as_ref().map(|it| count(it.total_parameters))),
            (pick("结构", "architecture"), model.architecture.as_ref().map(|it| shape(&it.shape))),
            (pick("规划", "planner"), model.planning.as_ref().map(|it| it.in_language(speech::language()).to_owned())),
            (pick("创建", "created"), Some(span::ago(model.created_at))),
        ];
        format!("{}\n\n{}", paint.bold(&model.name), table::facts(facts, paint))
    })
}

/// `6.74B`, `331M`.
fn count(parameters: u64) -> String {
    match parameters {
        1_000_000_000.. => format!("{:.2}B", parameters as f64 / 1e9),
        1_000_000.. => format!("{:.0}M", parameters as f64 / 1e6),
        _ => parameters.to_string(),
    }
}

fn shape(shape: &ModelShape) -> String {
    let ModelShape { layers, hidden, heads, kv_heads, ffn, vocab, .. } = shape;
    let text = Text::new(
        format!("{layers} 层，hidden {hidden}，{heads} 个头（KV {kv_heads}），ffn {ffn}，词表 {vocab}"),
        format!("{layers} layers, hidden {hidden}, {heads} heads ({kv_heads} kv), ffn {ffn}, vocab {vocab}"),
    );
    let family = shape.family.as_deref().filter(|family| !family.is_empty());
    let text = text.in_language(speech::language()).to_owned();
    family.map_or_else(|| text.clone(), |family| format!("{text} ({family})"))
}

fn delete(flags: &ModelName) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.delete_model(&find(&client, &flags.model)?.id)?;
    flags.ask.done(&answer)
}

/// The model that is meant; an id wins over a name.
pub fn find(client: &Client, text: &str) -> Result<Model, CommandProblem> {
    let noun = Noun { zh: "模型", en: "model", list: "fermi model list" };
    connection::find(text, noun, client.model(text), |query| client.models(query), |model| &model.name)
}
