//! `fermi user`: who may log in, and what they may do.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::v1::{ChangeUser, CreateUser, LinkUser, SetPassword, User};
use fermi_domain::language::Text;
use fermi_domain::principal::Role;

use super::password::PasswordFlags;
use super::usage::Expected;
use crate::connection::{self, AskFlags, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// Users: add, list, role, passwd, link, remove
#[derive(Debug, Subcommand)]
pub enum Verb {
    Add(AddFlags),
    /// List the users with their roles
    #[command(alias = "ls")]
    List(AskFlags),
    Role(RoleFlags),
    Passwd(PasswdFlags),
    Link(LinkFlags),
    /// Remove a user; sessions and tokens end at once, and what is theirs stays theirs
    #[command(alias = "rm")]
    Remove(RemoveFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Add(flags) => add(flags),
        Verb::List(ask) => list(ask),
        Verb::Role(flags) => {
            let change = ChangeUser { role: flags.role };
            let client = flags.ask.connect();
            client.and_then(|client| flags.ask.done(&client.change_user(&flags.name, &change)?))
        }
        Verb::Passwd(flags) => set_password(flags),
        Verb::Link(flags) => {
            let request = LinkUser { subject: flags.oidc.clone() };
            let client = flags.ask.connect();
            client.and_then(|client| flags.ask.done(&client.link_user(&flags.name, &request)?))
        }
        Verb::Remove(flags) => flags.ask.connect().and_then(|client| flags.ask.done(&client.remove_user(&flags.name)?)),
    })
}

/// Add a user who can log in with a password
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi user add ann --role member")]
pub struct AddFlags {
    /// Lower-case letters, digits, '.', '_' and '-'
    name: String,
    /// viewer, member, operator or administrator
    #[arg(long, value_name = "ROLE", default_value = "member", value_parser = parse_role)]
    role: Role,
    #[command(flatten)]
    password: PasswordFlags,
    #[command(flatten)]
    ask: AskFlags,
}

/// Give a user another role
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi user role ann operator")]
pub struct RoleFlags {
    /// The user's name
    name: String,
    /// viewer, member, operator or administrator
    #[arg(value_name = "ROLE", value_parser = parse_role)]
    role: Role,
    #[command(flatten)]
    ask: AskFlags,
}

/// Change a password: one's own, or as an administrator another's
#[derive(Debug, Args)]
pub struct PasswdFlags {
    /// The user's name
    name: String,
    #[command(flatten)]
    password: PasswordFlags,
    /// A file with the password until now, which one's own takes; without it the terminal asks
    #[arg(long, value_name = "FILE")]
    current_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    ask: AskFlags,
}

/// Let a company account be this user; its id is shown where its log-in is refused
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi user link ann --oidc 248289761001")]
pub struct LinkFlags {
    /// The user's name
    name: String,
    /// As the company's log-in service names the account: `sub` of its ID tokens
    #[arg(long, value_name = "SUBJECT")]
    oidc: String,
    #[command(flatten)]
    ask: AskFlags,
}

#[derive(Debug, Args)]
pub struct RemoveFlags {
    /// The user's name
    name: String,
    #[command(flatten)]
    ask: AskFlags,
}

fn add(flags: &AddFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let request = CreateUser { name: flags.name.clone(), role: flags.role, password: flags.password.chosen()? };
    flags.ask.done(&client.add_user(&request)?)
}

fn set_password(flags: &PasswdFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let is_own = client.session()?.data.user == flags.name;
    let current = PasswordFlags { password_file: flags.current_file.clone() };
    let current = is_own.then(|| current.known(pick("当前密码：", "password until now: "))).transpose()?;
    let request = SetPassword { password: flags.password.chosen()?, current };
    flags.ask.done(&client.set_password(&flags.name, &request)?)
}

fn list(ask: &AskFlags) -> Outcome {
    let answer = ask.connect()?.users()?;
    let none = pick(
        "还没有用户，只有服务器自己的令牌。添加一个：",
        "There are no users yet, only the server's own token. Add one:",
    );
    ask.list(&answer, none, "fermi user add ann --role member", table)
}

fn table(users: &[User]) -> Table {
    let mut table =
        Table::new([pick("用户", "USER"), pick("角色", "ROLE"), pick("账号", "ACCOUNT"), pick("添加于", "ADDED")]);
    for user in users {
        table.row([
            Cell::coloured(&user.name, Colour::Strong),
            user.role.text().in_language(speech::language()).into(),
            if user.has_company_account { pick("公司", "company") } else { pick("本地", "local") }.into(),
            span::ago(user.created_at).into(),
        ]);
    }
    table
}

pub fn parse_role(text: &str) -> Result<Role, Expected> {
    text.parse().map_err(|_| {
        Expected(Text::new(
            "可用的角色：viewer、member、operator、administrator",
            "use viewer, member, operator or administrator",
        ))
    })
}
