//! `fermi secret`: what tasks are given and no one reads. A value comes from stdin or a terminal that does not show it,
//! never from the command line, which others can read.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::v1::{Secret, SetSecret};
use fermi_domain::language::{Text, reason};

use super::password;
use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::pick;
use crate::table::{Cell, Colour, Table};

/// Secrets for tasks: set, list, delete
#[derive(Debug, Subcommand)]
pub enum Verb {
    Set(SetFlags),
    /// List the names of one's own and of shared secrets; an administrator sees everyone's
    #[command(alias = "ls")]
    List(AskFlags),
    #[command(alias = "rm")]
    Delete(DeleteFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Set(flags) => set(flags),
        Verb::List(ask) => list(ask),
        Verb::Delete(DeleteFlags { name, shared, owner, ask }) => {
            ask.connect().and_then(|client| ask.done(&client.delete_secret(name, *shared, owner.as_deref())?))
        }
    })
}

/// Keep a secret, sealed; its value is read from stdin, or asked for by the terminal, and never shown again
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi secret set HF_TOKEN < token-file, then fermi task create --secret HF_TOKEN … -- train.py"
)]
pub struct SetFlags {
    /// Letters, digits, '.', '_' and '-'
    name: String,
    /// For the tasks of everyone, who can then read it; takes an operator
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    ask: AskFlags,
}

/// Delete a secret; tasks that name it and have not started are not started any more
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi secret delete HF_TOKEN")]
pub struct DeleteFlags {
    /// Its name
    name: String,
    /// The one that is everyone's
    #[arg(long, conflicts_with = "owner")]
    shared: bool,
    /// The one of this user; takes an operator
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

fn set(flags: &SetFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let request = SetSecret { name: flags.name.clone(), value: value()?, shared: flags.shared };
    flags.ask.done(&client.set_secret(&request)?)
}

/// What stdin holds, but for the end of its last line.
fn value() -> Result<String, CommandProblem> {
    if std::io::stdin().is_terminal() {
        return password::ask(pick("密钥的值（不显示）：", "value, which is not shown: "));
    }
    let text = fermi_named_file::read_stdin().map_err(|error| {
        let why = reason::of_io(&error);
        CommandProblem::usage(
            Text::new(format!("无法读取标准输入：{}", why.zh), format!("stdin cannot be read: {}", why.en)),
            Text::new(
                "值必须是 UTF-8 文本；其他内容先编码，例如 base64",
                "a value is text in UTF-8; encode anything else",
            ),
        )
    })?;
    let whole = text.strip_suffix('\n').unwrap_or(&text);
    Ok(whole.strip_suffix('\r').unwrap_or(whole).to_owned())
}

fn list(ask: &AskFlags) -> Outcome {
    let none = pick("没有密钥。设置一个：", "There are no secrets. Set one:");
    ask.list(&ask.connect()?.secrets()?, none, "fermi secret set HF_TOKEN < token-file", table)
}

fn table(secrets: &[Secret]) -> Table {
    let mut table = Table::new([pick("密钥", "SECRET"), pick("所有者", "OWNER"), pick("更新于", "SET")]);
    for secret in secrets {
        table.row([
            Cell::coloured(&secret.name, Colour::Strong),
            secret.owner.clone().unwrap_or_else(|| pick("所有人", "everyone").to_owned()).into(),
            span::ago(secret.updated_at).into(),
        ]);
    }
    table
}
