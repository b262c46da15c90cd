//! `fermi webhook`: who is told how tasks end.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::client::Client;
use fermi_api::v1::{CreateWebhook, Webhook};
use fermi_domain::language::{Language, Text};
use fermi_domain::webhook::{WebhookFormat, WebhookTopic};

use super::password;
use super::usage::Expected;
use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// Webhooks: add, list, test, remove
#[derive(Debug, Subcommand)]
pub enum Verb {
    Add(AddFlags),
    /// List the webhooks with how far each has got
    #[command(alias = "ls")]
    List(AskFlags),
    /// Send a test message now
    Test(WebhookName),
    /// Remove a webhook
    #[command(alias = "rm")]
    Remove(WebhookName),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Add(flags) => add(flags),
        Verb::List(ask) => list(ask),
        Verb::Test(flags) => on_one(flags, |client, id| Ok(client.test_webhook(id)?)),
        Verb::Remove(flags) => on_one(flags, |client, id| Ok(client.remove_webhook(id)?)),
    })
}

/// Tell a program or a chat how tasks end, and which wait for long
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi webhook add team https://open.feishu.cn/open-apis/bot/v2/hook/KEY --on failed,waiting --secret-file key"
)]
pub struct AddFlags {
    /// Its name
    name: String,
    /// Where to post to; - reads it from stdin, since many addresses hold a key
    url: String,
    /// json, feishu, dingtalk, wecom or slack [default: by the address]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<WebhookFormat>,
    /// Of what: succeeded, failed, stopped, waiting [default: all of them]
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = parse_topic)]
    on: Vec<WebhookTopic>,
    /// Of this user's tasks only
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// A file with the secret that deliveries are signed with, - for stdin
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// zh or en [default: that of this terminal]
    #[arg(long, value_name = "LANGUAGE", value_parser = parse_language)]
    language: Option<Language>,
    #[command(flatten)]
    ask: AskFlags,
}

#[derive(Debug, Args)]
pub struct WebhookName {
    /// Its name or id
    webhook: String,
    #[command(flatten)]
    ask: AskFlags,
}

fn add(flags: &AddFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let url = if flags.url == "-" { password::from_file("URL", Path::new("-"))? } else { flags.url.clone() };
    let secret = flags.secret_file.as_deref().map(|path| password::from_file("--secret-file", path)).transpose()?;
    let request = CreateWebhook {
        name: flags.name.clone(),
        url,
        format: flags.format,
        topics: (!flags.on.is_empty()).then(|| flags.on.clone()),
        owner: flags.owner.clone(),
        secret,
        language: flags.language.unwrap_or_else(speech::language),
    };
    let made = client.add_webhook(&request)?;
    flags.ask.made(&made, &made.data.id)
}

type Done = Result<fermi_api::client::ApiAnswer<fermi_api::v1::Empty>, CommandProblem>;

fn on_one(flags: &WebhookName, work: impl FnOnce(&Client, &str) -> Done) -> Outcome {
    let client = flags.ask.connect()?;
    let known = client.webhooks()?.data.items;
    let wanted = flags.webhook.as_str();
    let id = known.into_iter().find(|it| it.name == wanted).map_or_else(|| wanted.to_owned(), |it| it.id);
    flags.ask.done(&work(&client, &id)?)
}

fn list(ask: &AskFlags) -> Outcome {
    let none = pick("还没有 webhook。添加一个：", "There are no webhooks. Add one:");
    ask.list(&ask.connect()?.webhooks()?, none, "fermi webhook add team https://…", table)
}

fn table(webhooks: &[Webhook]) -> Table {
    let mut table = Table::new([
        pick("名称", "NAME"),
        pick("地址", "ADDRESS"),
        pick("格式", "FORMAT"),
        pick("通知", "ON"),
        pick("已送达", "TOLD"),
        pick("状态", "STATE"),
    ]);
    for webhook in webhooks {
        let topics: Vec<&str> = webhook.topics.iter().map(|topic| topic.as_str()).collect();
        let topics =
            if topics.len() == WebhookTopic::ALL.len() { pick("全部", "all").to_owned() } else { topics.join(",") };
        let state = match (&webhook.problem, webhook.failing_since) {
            (Some(problem), Some(since)) => {
                let (problem, since) = (problem.in_language(speech::language()), span::ago(since));
                Cell::coloured(format!("{problem} ({since})"), Colour::Bad)
            }
            _ => Cell::coloured(pick("正常", "fine"), Colour::Good),
        };
        table.row([
            Cell::coloured(&webhook.name, Colour::Strong),
            webhook.url.clone().into(),
            webhook.format.as_str().into(),
            topics.into(),
            webhook.delivered.to_string().into(),
            state,
        ]);
    }
    table
}

fn parse_format(text: &str) -> Result<WebhookFormat, Expected> {
    let names = WebhookFormat::ALL.map(WebhookFormat::as_str).join(", ");
    text.parse().map_err(|()| Expected(Text::new(format!("可用的值：{names}"), format!("use one of {names}"))))
}

fn parse_topic(text: &str) -> Result<WebhookTopic, Expected> {
    let names = WebhookTopic::ALL.map(WebhookTopic::as_str).join(", ");
    text.parse().map_err(|()| Expected(Text::new(format!("可用的值：{names}"), format!("use some of {names}"))))
}

fn parse_language(text: &str) -> Result<Language, Expected> {
    match text {
        "zh" | "zh-CN" => Ok(Language::ZhCn),
        "en" => Ok(Language::En),
        _ => Err(Expected(Text::new("可用的值：zh、en", "use zh or en"))),
    }
}
