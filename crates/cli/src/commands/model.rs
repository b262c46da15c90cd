//! `fermi model`: networks that trainings begin with, by name.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::client::{Client, Query};
use fermi_api::v1::{CreateModel, MOST_PER_PAGE, Model};

use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::pick;
use crate::table::{self, Cell, Colour, Table};

/// Models: create, list, show, delete
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct ModelFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
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

/// Register a model
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi model create llama2-7b --path /models/llama2-7b")]
struct CreateFlags {
    /// Its name
    name: String,
    /// Where every node finds its weights
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// What it is, for people to read
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

/// Flags of a verb that takes one model.
#[derive(Debug, Args)]
struct ModelName {
    /// Its name or id
    model: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ModelFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Verb::Create(flags) => create(flags),
        Verb::List(ask) => list(ask),
        Verb::Show(flags) => show(flags),
        Verb::Delete(flags) => delete(flags),
    })
}

fn create(flags: &CreateFlags) -> Outcome {
    let CreateFlags { name, path, description, .. } = flags;
    let request = CreateModel { name: name.clone(), path: path.clone(), description: description.clone() };
    let made = flags.ask.connect()?.create_model(&request)?;
    flags.ask.made(&made, &made.data.id)
}

fn list(ask: &AskFlags) -> Outcome {
    let answer = ask.connect()?.models(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    let none = pick("还没有模型。", "There are no models yet.");
    ask.list(&answer, none, "fermi model create llama2-7b --path /models/llama2-7b", |models| {
        let mut table = Table::new([pick("名称", "NAME"), "ID", pick("路径", "PATH"), pick("创建", "CREATED")]);
        for model in models {
            table.row([
                Cell::coloured(&model.name, Colour::Strong),
                Cell::coloured(&model.id, Colour::Faint),
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
            (pick("创建", "created"), Some(span::ago(model.created_at))),
        ];
        format!("{}\n\n{}", paint.bold(&model.name), table::facts(facts, paint))
    })
}

fn delete(flags: &ModelName) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.delete_model(&find(&client, &flags.model)?.id)?;
    flags.ask.done(&answer)
}

/// The model that is meant; an id wins over a name.
pub fn find(client: &Client, text: &str) -> Result<Model, CommandProblem> {
    connection::find(text, ("模型", "model"), client.model(text), |query| client.models(query), |model| &model.name)
}
