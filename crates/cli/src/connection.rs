//! How commands reach the server, and how they say that it did not go well.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fermi_api::client::{
    ApiAnswer, BadAddress, Client, ClientError, ClientOptions, DEFAULT_SERVER, Query, RefusedAnswer, Retries,
    ServerAddress, TlsRefusal,
};
use fermi_api::v1::{MOST_PER_PAGE, Page};
use fermi_domain::access::Fingerprint;
use fermi_domain::contract;
use fermi_domain::language::{Explained, FrontEnd, Hint, Text, reason};

use crate::commands::usage::Expected;
use crate::speech::Paint;
use crate::table::Table;
use crate::{exit_code, known_servers, listener, speech};

/// Where the server is; the same on every command that talks to one.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServerFlags {
    /// The server's address [default: http://127.0.0.1:7070]
    #[arg(long, value_name = "URL", env = contract::FERMI_SERVER, hide_env_values = true)]
    pub server: Option<String>,
    /// A file with the server's token [also: FERMI_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// By what a server with an authority of its own is known over https: sha256:… as it shows at its start
    #[arg(long, value_name = "FINGERPRINT", env = contract::FERMI_FINGERPRINT, hide_env_values = true, value_parser = parse_fingerprint)]
    pub fingerprint: Option<Fingerprint>,
}

fn parse_fingerprint(text: &str) -> Result<Fingerprint, Expected> {
    text.parse().map_err(|_| {
        Expected(Text::new("写成 sha256: 加 64 个十六进制数字", "write sha256: and 64 hexadecimal digits"))
    })
}

/// The flags of a command that asks the server one thing.
#[derive(Clone, Debug, clap::Args)]
pub struct AskFlags {
    #[command(flatten)]
    pub server: ServerFlags,
    /// The API's data as JSON
    #[arg(long)]
    pub json: bool,
}

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum CommandProblem {
    Client(ClientError),
    Own { message: Text, hint: Text, code: u8 },
}

/// What a command comes to.
pub type Outcome = Result<ExitCode, CommandProblem>;

/// Every page of a list, one item after the other; the first error ends it.
pub fn pages<T>(
    page: impl Fn(&Query) -> Result<ApiAnswer<Page<T>>, ClientError>,
) -> impl Iterator<Item = Result<T, ClientError>> {
    let mut next = Some(None::<String>);
    let pages = std::iter::from_fn(move || {
        let query = Query::new().with("pageSize", MOST_PER_PAGE).with_some("pageToken", next.take()?.as_deref());
        Some(match page(&query) {
            Ok(answer) => {
                next = answer.data.next_page_token.map(Some);
                answer.data.items.into_iter().map(Ok).collect::<Vec<_>>()
            }
            Err(error) => vec![Err(error)],
        })
    });
    pages.flatten()
}

/// How like a name must be to what was typed to be what was meant.
const CLOSE: f64 = 0.8;

/// What is asked for by its name or id.
#[derive(Clone, Copy, Debug)]
pub struct Noun {
    pub zh: &'static str,
    pub en: &'static str,
    /// The command that lists all of them.
    pub list: &'static str,
}

impl Noun {
    /// There is none that `text` names; these are the names of those that there are.
    pub fn unknown<'a>(self, text: &str, names: impl IntoIterator<Item = &'a str>) -> CommandProblem {
        let Self { zh, en, list } = self;
        let likeness = |name: &str| strsim::jaro_winkler(name, text);
        let near = names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness > CLOSE);
        let hint = match near.max_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((_, name)) => Text::new(format!("是不是 {name}？"), format!("did you mean {name}?")),
            None => Text::new(format!("{list} 列出全部{zh}"), format!("'{list}' shows them all")),
        };
        CommandProblem::not_found(Text::new(format!("没有{zh} “{text}”"), format!("there is no {en} '{text}'")), hint)
    }
}

/// What `text` means: what has it as its id, or else the first of the list that has it as its name.
pub fn find<T>(
    text: &str,
    noun: Noun,
    by_id: Result<ApiAnswer<T>, ClientError>,
    page: impl Fn(&Query) -> Result<ApiAnswer<Page<T>>, ClientError>,
    name: impl Fn(&T) -> &str,
) -> Result<T, CommandProblem> {
    match by_id {
        Ok(answer) => return Ok(answer.data),
        Err(ClientError::Refused(refused)) if refused.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let mut known = Vec::new();
    for item in pages(page) {
        let item = item?;
        if name(&item) == text {
            return Ok(item);
        }
        known.push(item);
    }
    Err(noun.unknown(text, known.iter().map(name)))
}

impl From<ClientError> for CommandProblem {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl CommandProblem {
    pub fn usage(message: Text, hint: Text) -> Self {
        Self::Own { message, hint, code: exit_code::USAGE }
    }

    pub fn failed(message: Text, hint: Text) -> Self {
        Self::Own { message, hint, code: exit_code::FAILED }
    }

    pub fn not_found(message: Text, hint: Text) -> Self {
        Self::Own { message, hint, code: exit_code::NOT_FOUND }
    }

    /// A failure that another crate tells of.
    pub fn of(message: &impl Explained) -> Self {
        Self::failed(message.text(), speech::hint(message).unwrap_or_else(|| message.text()))
    }

    /// Says it on stderr; the answer is the exit code.
    pub fn complain(&self) -> ExitCode {
        speech::complain(self);
        ExitCode::from(match self {
            Self::Client(error) => code_of(error),
            Self::Own { code, .. } => *code,
        })
    }
}

impl Explained for CommandProblem {
    fn id(&self) -> &'static str {
        match self {
            Self::Client(_) => "server_refused",
            Self::Own { .. } => "command_failed",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Client(error) => told(error).0,
            Self::Own { message, .. } => message.clone(),
        }
    }

    fn hint(&self) -> Option<Hint> {
        match self {
            Self::Client(error) => told(error).1,
            Self::Own { hint, .. } => Some(hint.clone().into()),
        }
    }
}

/// Says a problem, or passes the code on.
pub fn answer(outcome: Outcome) -> ExitCode {
    outcome.unwrap_or_else(|problem| problem.complain())
}

/// What a failed request means to a shell.
fn code_of(error: &ClientError) -> u8 {
    match error {
        ClientError::Unreachable { .. } => exit_code::UNREACHABLE,
        ClientError::TimedOut { .. } => exit_code::TIMED_OUT,
        ClientError::Tls { refusal: TlsRefusal::Plain | TlsRefusal::Required, .. } => exit_code::USAGE,
        ClientError::Tls { .. } => exit_code::NOT_ALLOWED,
        ClientError::NotUnderstood { .. } => exit_code::FAILED,
        ClientError::Refused(refused) => code_of_status(refused.code),
    }
}

fn code_of_status(http: u16) -> u8 {
    match http {
        401 | 403 => exit_code::NOT_ALLOWED,
        404 => exit_code::NOT_FOUND,
        409 => exit_code::CONFLICT,
        408 | 504 => exit_code::TIMED_OUT,
        502 | 503 => exit_code::UNREACHABLE,
        400..=499 => exit_code::USAGE,
        _ => exit_code::FAILED,
    }
}

/// The sentence of a failed request, and beside it what to do.
fn told(error: &ClientError) -> (Text, Option<Hint>) {
    match error {
        ClientError::Unreachable { server, reason } => (
            Text::new(
                format!("无法连接服务器 {server}（{}）", in_chinese(reason)),
                format!("the server {server} cannot be reached ({})", reason::of_said(reason).en),
            ),
            Some(Hint::new(
                "用 fermi server 启动一个（fermi up 同时启动开发环境），或用 --server、FERMI_SERVER 指定其他服务器",
                "start one with 'fermi server' ('fermi up' brings environments too), or name another with --server or \
                 FERMI_SERVER",
            )),
        ),
        ClientError::TimedOut { server } => (
            Text::new(format!("服务器 {server} 没有及时回答"), format!("the server {server} did not answer in time")),
            Some(Hint::new("查看服务器的日志，然后重试", "look at the server's log, then try again")),
        ),
        ClientError::Tls { server, refusal } => {
            let text = refusal.text();
            (Text::new(format!("{server}：{}", text.zh), format!("{server}: {}", text.en)), refusal.hint())
        }
        ClientError::NotUnderstood { server, reason } => {
            let why = reason::of_said(reason);
            (
                Text::new(
                    format!("无法理解 {server} 的回答：{}", why.zh),
                    format!("the answer of {server} is not understood: {}", why.en),
                ),
                Some(Hint::new(
                    "确认该地址是 Fermi 服务器，且版本与本程序一致（fermi --version）",
                    "see that a Fermi server of this version is there (fermi --version)",
                )),
            )
        }
        ClientError::Refused(refused) => told_by_server(refused),
    }
}

/// The client's words for a connection that failed.
fn in_chinese(said: &str) -> Cow<'static, str> {
    const KNOWN: [(&str, &str); 9] = [
        ("connection refused", "连接被拒绝"),
        ("the connection was cut", "连接被中断"),
        ("no route to it", "网络不可达"),
        ("no connection in time", "连接超时"),
        ("the host is not known", "查不到该主机名"),
        ("no connection", "没有连接"),
        ("a proxy before it answers HTTP 502", "其前的代理回答 HTTP 502"),
        ("a proxy before it answers HTTP 503", "其前的代理回答 HTTP 503"),
        ("a proxy before it answers HTTP 504", "其前的代理回答 HTTP 504"),
    ];
    let known = KNOWN.iter().find(|(english, _)| *english == said);
    known.map_or_else(|| reason::of_said(said).zh, |(_, chinese)| Cow::Borrowed(*chinese))
}

/// The server has spoken the language that it was asked for.
fn told_by_server(refused: &RefusedAnswer) -> (Text, Option<Hint>) {
    let message = if refused.message.is_empty() { format!("HTTP {}", refused.code) } else { refused.message.clone() };
    let same = |sentence: String| Text::new(sentence.clone(), sentence);
    (same(message), refused.hint.clone().map(|hint| same(hint).into()))
}

impl AskFlags {
    pub fn connect(&self) -> Result<Client, CommandProblem> {
        self.server.connect()
    }

    /// Prints the answer's data where that is wanted; otherwise showing it is the command's business.
    pub fn printed<T>(&self, answer: &ApiAnswer<T>) -> bool {
        if self.json {
            speech::print_json(&answer.raw);
        }
        self.json
    }

    /// Ends a command that shows something: its data, or what `text` makes of it.
    pub fn show<T>(&self, answer: &ApiAnswer<T>, text: impl FnOnce(&T, Paint) -> String) -> Outcome {
        if !self.printed(answer) {
            speech::print(&text(&answer.data, Paint::for_stdout()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Ends a command that lists something. An empty list is a sentence and a command that would change that.
    pub fn list<T>(
        &self,
        answer: &ApiAnswer<Page<T>>,
        none: &str,
        example: &str,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Outcome {
        if answer.data.items.is_empty() && !self.json {
            speech::say(&format!("{none}\n\n  {example}\n"));
            return Ok(ExitCode::SUCCESS);
        }
        self.show(answer, |page, paint| {
            let more = page.next_page_token.as_ref().map(|_| {
                let shown = page.items.len();
                let more = Text::new(format!("只显示前 {shown} 个"), format!("only the first {shown} are shown"));
                format!("{}\n", more.in_language(speech::language()))
            });
            table(&page.items).render(paint) + &more.unwrap_or_default()
        })
    }

    /// Ends a command whose answer is a sentence.
    pub fn done<T>(&self, answer: &ApiAnswer<T>) -> Outcome {
        if !self.printed(answer) {
            speech::say(&format!("{}\n", answer.message));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Ends a command that has made something: the sentence for people, the id for programs.
    pub fn made<T>(&self, answer: &ApiAnswer<T>, id: &str) -> Outcome {
        if !self.printed(answer) {
            speech::say(&format!("{}\n", answer.message));
            speech::print(&format!("{id}\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ServerFlags {
    pub fn address(&self) -> Result<ServerAddress, CommandProblem> {
        let given = self.server.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let address: ServerAddress = given.unwrap_or(DEFAULT_SERVER).parse().map_err(|BadAddress(text)| {
            CommandProblem::usage(
                Text::new(format!("“{text}” 不是服务器地址"), format!("'{text}' is not the address of a server")),
                Text::new(
                    "例如 http://10.0.0.1:7070 或 https://fermi.example.com",
                    "write it like http://10.0.0.1:7070 or https://fermi.example.com",
                ),
            )
        })?;
        // Who names no scheme means the server that is known there.
        let is_short = given.is_none_or(|text| !text.contains("://"));
        let secure = address.clone().over_tls();
        let is_known = known_servers::fingerprint(&secure).is_some() || known_servers::knows(&secure);
        let address = if is_short && (self.fingerprint.is_some() || is_known) { secure } else { address };
        if self.fingerprint.is_some() && !address.is_tls() {
            return Err(CommandProblem::usage(
                Text::new(
                    format!("给出了指纹，而 {address} 不加密"),
                    format!("a fingerprint is given, and {address} is not encrypted"),
                ),
                Text::new("写成 https://…，或去掉指纹", "write https://…, or leave the fingerprint out"),
            ));
        }
        Ok(address)
    }

    /// By what the server is known: what was given, or what was noted at the log-in or by a server that this account runs.
    pub fn fingerprint(&self, server: &ServerAddress) -> Option<Fingerprint> {
        self.fingerprint.or_else(|| known_servers::fingerprint(server)).filter(|_| server.is_tls())
    }

    /// The token: of a file that was named, of FERMI_TOKEN, of `fermi login`, or of a server that this account runs.
    pub fn token(&self, server: &ServerAddress) -> Result<Option<String>, CommandProblem> {
        if let Some(path) = &self.token_file {
            return read_token(path).map(Some).map_err(|error| unreadable_token(path, &error));
        }
        let given = std::env::var(contract::FERMI_TOKEN).ok().map(|token| token.trim().to_owned());
        if let Some(token) = given.filter(|token| !token.is_empty()) {
            return Ok(Some(token));
        }
        must_not_be_anothers(server)?;
        if let Some(login) = known_servers::login(server) {
            return Ok(Some(login.token));
        }
        Ok(known_servers::running_token_file(server).and_then(|file| read_token(&file).ok()))
    }

    pub fn connect(&self) -> Result<Client, CommandProblem> {
        Ok(Client::new(self.options()?))
    }

    /// A client none of whose requests takes longer.
    pub fn connect_within(&self, timeout: Duration) -> Result<Client, CommandProblem> {
        Ok(Client::new(ClientOptions { timeout, ..self.options()? }))
    }

    /// A client that asks once and gives up after so long.
    pub fn connect_once(&self, timeout: Duration) -> Result<Client, CommandProblem> {
        Ok(Client::new(ClientOptions { timeout, retries: Retries::None, ..self.options()? }))
    }

    fn options(&self) -> Result<ClientOptions, CommandProblem> {
        let server = self.address()?;
        Ok(ClientOptions {
            token: self.token(&server)?,
            fingerprint: self.fingerprint(&server),
            language: speech::language(),
            front_end: FrontEnd::CommandLine,
            ..ClientOptions::new(server)
        })
    }
}

/// A token that is found, not given, goes to programs of this account and of the system alone.
pub fn must_not_be_anothers(server: &ServerAddress) -> Result<(), CommandProblem> {
    let me = nix::unistd::geteuid().as_raw();
    if !server.is_loopback() {
        return Ok(());
    }
    let other = listener::owners(server.port()).into_iter().find(|owner| *owner != me && *owner != 0);
    match other {
        Some(owner) if known_servers::knows(server) => {
            let name = nix::unistd::User::from_uid(owner.into()).ok().flatten();
            let name = name.map_or_else(|| owner.to_string(), |user| user.name);
            Err(CommandProblem::Own {
                message: Text::new(
                    format!("{server} 上的程序属于用户 {name}，不会把您的令牌发给它"),
                    format!("what listens at {server} is {name}'s program: your token is not shown to it"),
                ),
                hint: Text::new(
                    "如果那正是您要的服务器，请用 --token-file 或 FERMI_TOKEN 给出它的令牌",
                    "if that is the server you mean, give its token by --token-file or FERMI_TOKEN",
                ),
                code: exit_code::NOT_ALLOWED,
            })
        }
        _ => Ok(()),
    }
}

/// A token file that was named and gives none.
pub fn unreadable_token(path: &Path, error: &std::io::Error) -> CommandProblem {
    let (path, why) = (path.display(), reason::of_io(error));
    CommandProblem::usage(
        Text::new(format!("无法读取 {path}：{}", why.zh), format!("{path} cannot be read: {}", why.en)),
        Text::new("--token-file 指向只含令牌的文件", "--token-file names a file that holds the token alone"),
    )
}

/// The token in a file.
pub fn read_token(path: &Path) -> std::io::Result<String> {
    let text = fermi_named_file::read_text(path)?;
    let token = text.trim();
    let is_one_word = !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic());
    if is_one_word { Ok(token.to_owned()) } else { Err(std::io::Error::other("it holds no token")) }
}

/// Where Fermi keeps what outlives a command.
pub fn state_folder() -> Option<PathBuf> {
    let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path(contract::FERMI_STATE_DIR)
        .or_else(|| path("XDG_STATE_HOME").map(|state| state.join("fermi")))
        .or_else(|| path("HOME").map(|home| home.join(".local/state/fermi")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_the_exit_code_that_is_promised() {
        let table = [(400, 2), (422, 2), (404, 3), (401, 4), (403, 4), (409, 5), (504, 6), (503, 7), (500, 1)];
        for (http, code) in table {
            assert_eq!(code_of_status(http), code, "{http}");
        }
    }

    #[test]
    fn what_is_not_there_is_told_with_what_it_may_have_been_or_with_the_list() {
        let hint = |text: &str| match (Noun { zh: "分组", en: "group", list: "fermi group list" })
            .unknown(text, ["nlp", "vision"])
        {
            CommandProblem::Own { message, hint, code } => (message.en, hint.en, code),
            CommandProblem::Client(_) => panic!("no server was asked"),
        };
        let unknown = |text: &str, hint: &'static str| {
            (Cow::from(format!("there is no group '{text}'")), Cow::from(hint), exit_code::NOT_FOUND)
        };
        assert_eq!(hint("vison"), unknown("vison", "did you mean vision?"));
        assert_eq!(hint("x"), unknown("x", "'fermi group list' shows them all"));
    }

    #[test]
    fn a_file_without_a_token_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "  secret\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "secret");
        std::fs::write(&path, "two words\n").unwrap();
        assert!(read_token(&path).is_err());
    }
}
