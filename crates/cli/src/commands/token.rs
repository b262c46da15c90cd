//! `fermi token`: what programs and machines show instead of a password.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use fermi_api::v1::{CreateToken, Token};
use fermi_domain::access::TokenScope;
use fermi_domain::language::Text;
use fermi_domain::principal::Role;

use super::task::parse_time;
use super::usage::Expected;
use super::user::parse_role;
use crate::connection::{self, AskFlags, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// Tokens: create, list, revoke
#[derive(Debug, Subcommand)]
pub enum Verb {
    Create(CreateFlags),
    /// List one's own tokens and sessions; an administrator sees everyone's
    #[command(alias = "ls")]
    List(AskFlags),
    /// Revoke a token or end a session, at once
    #[command(alias = "rm")]
    Revoke(RevokeFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Create(flags) => create(flags),
        Verb::List(ask) => list(ask),
        Verb::Revoke(flags) => {
            flags.ask.connect().and_then(|client| flags.ask.done(&client.revoke_token(&flags.token)?))
        }
    })
}

/// Make a token; it is printed once and kept nowhere
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi token create nightly --role viewer --expires 30d > ~/.nightly-token")]
pub struct CreateFlags {
    /// What it is for
    name: String,
    /// The most that its holder may do [default: one's own role]
    #[arg(long, value_name = "ROLE", value_parser = parse_role)]
    role: Option<Role>,
    /// api, or agent for a machine: taken from agents, and good for nothing else
    #[arg(long, value_name = "SCOPE", default_value = "api", value_parser = parse_scope)]
    scope: TokenScope,
    /// For how long, such as 12h or 30d [default: 90d]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Duration>,
    #[command(flatten)]
    ask: AskFlags,
}

#[derive(Debug, Args)]
pub struct RevokeFlags {
    /// Its id, such as token-3
    token: String,
    #[command(flatten)]
    ask: AskFlags,
}

fn create(flags: &CreateFlags) -> Outcome {
    let request = CreateToken {
        name: flags.name.clone(),
        role: flags.role,
        scope: flags.scope,
        expires_in_s: flags.expires.map(|expires| expires.as_secs()),
        ..CreateToken::default()
    };
    let made = flags.ask.connect()?.create_token(&request)?;
    flags.ask.made(&made, &made.data.token)
}

fn list(ask: &AskFlags) -> Outcome {
    let none = pick("没有令牌。创建一个：", "There are no tokens. Make one:");
    ask.list(&ask.connect()?.tokens()?, none, "fermi token create nightly --role viewer", table)
}

fn table(tokens: &[Token]) -> Table {
    let mut table = Table::new([
        pick("令牌", "TOKEN"),
        pick("名称", "NAME"),
        pick("用户", "USER"),
        pick("角色", "ROLE"),
        pick("用途", "FOR"),
        pick("到期", "EXPIRES"),
    ]);
    for token in tokens {
        let expires = token.expires_at.map(|end| span::long(end.saturating_sub(span::now_ms())));
        let purpose = match (token.is_session, token.scope) {
            (true, _) => pick("浏览器会话", "a browser"),
            (false, TokenScope::Api) => pick("接口", "the API"),
            (false, TokenScope::Agent) => pick("代理", "agents"),
        };
        let purpose = match token.uses_left {
            Some(left) => format!("{purpose} ({left} {})", pick("次", "left")),
            None => purpose.to_owned(),
        };
        table.row([
            Cell::coloured(&token.id, Colour::Strong),
            token.name.clone().into(),
            token.user.clone().into(),
            token.role.text().in_language(speech::language()).into(),
            purpose.into(),
            expires.unwrap_or_else(|| "-".to_owned()).into(),
        ]);
    }
    table
}

fn parse_scope(text: &str) -> Result<TokenScope, Expected> {
    text.parse().map_err(|_| Expected(Text::new("可用的值：api、agent", "use api or agent")))
}
