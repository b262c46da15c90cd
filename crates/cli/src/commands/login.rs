//! `fermi login` and `fermi logout`.

use std::process::ExitCode;

use fermi_api::client::{Client, ClientOptions, ServerAddress};
use fermi_api::v1::LogIn;
use fermi_domain::access::Fingerprint;
use fermi_domain::access::oidc::OidcProblem;
use fermi_domain::language::{FrontEnd, Text, reason};
use fermi_server::oidc::LOG_IN_PATH;

use super::agent::host_name;
use super::password::PasswordFlags;
use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::known_servers::{self, Encryption, Login};
use crate::speech::{self, pick};

/// Log in to a server, for all commands of this account from now on
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi login --server http://10.0.0.1:7070 --user ann")]
pub struct LoginFlags {
    /// The name to log in as; with --token-file the token says who it is
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,
    /// With a company account: shows where a token is made in the browser, and asks for it
    #[arg(long, conflicts_with_all = ["user", "token_file"])]
    oidc: bool,
    #[command(flatten)]
    password: PasswordFlags,
    #[command(flatten)]
    ask: AskFlags,
}

/// Log out: the token of `fermi login` is revoked and forgotten
#[derive(Debug, clap::Args)]
pub struct LogoutFlags {
    #[command(flatten)]
    ask: AskFlags,
}

pub fn log_in(flags: &LoginFlags) -> ExitCode {
    connection::answer(open(flags))
}

pub fn log_out(flags: &LogoutFlags) -> ExitCode {
    connection::answer(close(flags))
}

fn open(flags: &LoginFlags) -> Outcome {
    let server = flags.ask.server.address()?;
    let fingerprint = flags.ask.server.fingerprint(&server);
    let (answer, token, is_made_here) = match (&flags.user, &flags.ask.server.token_file) {
        (None, None) if flags.oidc => {
            let token = token_of_browser(flags, &client(&server, fingerprint, None))?;
            (client(&server, fingerprint, Some(token.clone())).session()?, token, false)
        }
        (Some(user), None) => {
            let question = format!("{} {user}{}", pick("密码", "password of"), pick("：", ": "));
            let request = LogIn {
                user: Some(user.clone()),
                password: Some(flags.password.known(&question)?),
                token_name: Some(format!("fermi login, {}", host_name())),
                token: None,
            };
            let answer = client(&server, fingerprint, None).log_in(&request)?;
            let token = answer.data.token.clone().unwrap_or_default();
            (answer, token, true)
        }
        (None, Some(file)) => {
            let token = connection::read_token(file).map_err(|error| connection::unreadable_token(file, &error))?;
            (client(&server, fingerprint, Some(token.clone())).session()?, token, false)
        }
        _ => {
            return Err(CommandProblem::usage(
                Text::new("以谁的身份登录？", "log in as whom?"),
                Text::new(
                    "fermi login --user 名称、fermi login --oidc，或 fermi login --token-file 文件",
                    "fermi login --user NAME, fermi login --oidc, or fermi login --token-file FILE",
                ),
            ));
        }
    };
    let (user, role) = (answer.data.user.clone(), answer.data.role);
    let before = known_servers::login(&server);
    let encryption = Encryption { is_tls: server.is_tls(), fingerprint };
    let login = Login { user: user.clone(), token: token.clone(), is_made_here, encryption };
    // A token that a log-in has made and that nobody holds any more would open the server for months.
    let revoke = |login: Login| {
        let made = login.is_made_here.then(|| client(&server, fingerprint, Some(login.token)));
        made.map(|client| client.log_out())
    };
    if let Err(error) = known_servers::keep_login(&server, &login) {
        let is_left = revoke(login).is_some_and(|revoked| revoked.is_err());
        return Err(not_kept(&error, is_left));
    }
    // Where the server does not take it any more, it is gone already. Another server is not shown it.
    let is_spare = |before: &Login| {
        before.token != token && before.encryption == encryption && connection::must_not_be_anothers(&server).is_ok()
    };
    drop(before.filter(is_spare).map(revoke));
    if flags.ask.json {
        let expires = answer.data.expires_at;
        speech::print_json(
            &serde_json::json!({"server": server.to_string(), "user": user, "role": role, "expiresAt": expires}),
        );
    } else {
        let role = role.text();
        let text = Text::new(
            format!("已登录 {server}：{user}（{}）", role.zh),
            format!("logged in to {server} as {user} ({})", role.en),
        );
        speech::say(&format!("{}\n", text.in_language(speech::language())));
    }
    Ok(ExitCode::SUCCESS)
}

/// The token that a person makes in the browser, logged in there with a company account.
fn token_of_browser(flags: &LoginFlags, client: &Client) -> Result<String, CommandProblem> {
    let Some(begin) = client.version()?.data.company_log_in else {
        return Err(CommandProblem::of(&OidcProblem::NotSetUp));
    };
    let console = begin.strip_suffix(LOG_IN_PATH).unwrap_or(&begin);
    let text = Text::new(
        format!("1. 在浏览器中登录：{begin}\n2. 在 {console}/settings?tab=tokens 创建令牌并复制\n"),
        format!("1. log in with a browser: {begin}\n2. make a token at {console}/settings?tab=tokens and copy it\n"),
    );
    speech::say(text.in_language(speech::language()));
    let token = flags.password.known(pick("3. 粘贴令牌：", "3. paste the token: "))?;
    Ok(token.trim().to_owned())
}

/// One that shows this token and no other.
fn client(server: &ServerAddress, fingerprint: Option<Fingerprint>, token: Option<String>) -> Client {
    Client::new(ClientOptions {
        token,
        fingerprint,
        language: speech::language(),
        front_end: FrontEnd::CommandLine,
        ..ClientOptions::new(server.clone())
    })
}

fn close(flags: &LogoutFlags) -> Outcome {
    let server = flags.ask.server.address()?;
    let Some(login) = known_servers::login(&server) else {
        return Err(CommandProblem::not_found(
            Text::new(format!("没有登录 {server}"), format!("you are not logged in to {server}")),
            Text::new("fermi login 登录", "'fermi login' logs in"),
        ));
    };
    connection::must_not_be_anothers(&server)?;
    // What the server does not take any more is forgotten all the same.
    let answer = client(&server, flags.ask.server.fingerprint(&server), Some(login.token)).log_out();
    known_servers::forget_login(&server).map_err(|error| not_kept(&error, false))?;
    flags.ask.done(&answer?)
}

/// With the command that revokes a token which is left at the server.
fn not_kept(error: &std::io::Error, is_left: bool) -> CommandProblem {
    let why = reason::of_io(error);
    let (zh, en) = if is_left {
        (
            "；服务器上留下了一个令牌，用 fermi token revoke 撤销",
            "; a token is left at the server: `fermi token revoke` ends it",
        )
    } else {
        ("", "")
    };
    CommandProblem::failed(
        Text::new(format!("无法更改登录记录：{}{zh}", why.zh), format!("the log-in cannot be noted: {}{en}", why.en)),
        Text::new(
            "检查状态目录（FERMI_STATE_DIR）的权限与磁盘空间",
            "check the permissions of the state folder (FERMI_STATE_DIR) and the disk's space",
        ),
    )
}
