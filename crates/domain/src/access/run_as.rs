//! Whose system account the ranks of a task run under, where the agent is root and can choose.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::language::{Explained, Hint, Text, reason};
use crate::principal::{LOCAL, Principal, Role, TOKEN};

/// What an agent was told of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunAs {
    /// Tasks of users under the accounts of their names; those of the server's own token under the agent's.
    #[default]
    Usual,
    /// Everything under the agent's own account.
    Off,
    /// Every task under the account that has its owner's name.
    SameName,
    /// Every task under this one.
    Account(String),
    /// As a file says.
    Map(PathBuf),
}

/// A text that says nothing of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRunAs;

impl FromStr for RunAs {
    type Err = NoRunAs;

    fn from_str(text: &str) -> Result<Self, NoRunAs> {
        match text.split_once(':') {
            Some(("map", file)) if !file.is_empty() => Ok(Self::Map(file.into())),
            None if text == "off" => Ok(Self::Off),
            None if text == "same-name" => Ok(Self::SameName),
            None if !text.is_empty() && !text.contains(char::is_whitespace) => Ok(Self::Account(text.to_owned())),
            _ => Err(NoRunAs),
        }
    }
}

impl fmt::Display for RunAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usual => f.write_str("usual"),
            Self::Off => f.write_str("off"),
            Self::SameName => f.write_str("same-name"),
            Self::Account(name) => f.write_str(name),
            Self::Map(file) => write!(f, "map:{}", file.display()),
        }
    }
}

/// Which account a task gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankAccount {
    /// The agent's own.
    Agents,
    /// One that the operator of the machine named.
    Named(String),
    /// The one of the owner's name, which must be a person's.
    OfOwner(String),
}

/// Accounts below this number are the system's own; a user of the server who is called like one is not it.
pub const FIRST_PERSON: u32 = 1_000;

/// Who stands for everyone whom the map does not name.
const ANYONE: &str = "*";

/// Owner by owner, the account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountMap(BTreeMap<String, String>);

impl AccountMap {
    /// Reads lines of `owner account`; what follows `#` is for people. The error is the number of the first line that says
    /// something else.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut map = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let said = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = said.split_whitespace().collect();
            match words[..] {
                [] => {}
                [owner, account] if !map.contains_key(owner) => {
                    map.insert(owner.to_owned(), account.to_owned());
                }
                _ => return Err(number),
            }
        }
        Ok(Self(map))
    }

    fn of(&self, owner: &str) -> Option<String> {
        self.0.get(owner).or_else(|| self.0.get(ANYONE)).cloned()
    }
}

impl RunAs {
    /// The account for a task of this owner; `map` is what the file says, where one is named.
    pub fn account_of(&self, owner: Option<&Principal>, map: &AccountMap) -> Result<RankAccount, RunAsRefusal> {
        let name = owner.and_then(Principal::user);
        let person = name.filter(|name| ![LOCAL, TOKEN].contains(name));
        match self {
            Self::Off => Ok(RankAccount::Agents),
            Self::Account(account) => Ok(RankAccount::Named(account.clone())),
            Self::Usual if is_of_the_server(owner) => Ok(RankAccount::Agents),
            Self::Usual | Self::SameName => match person {
                Some(name) => Ok(RankAccount::OfOwner(name.to_owned())),
                None => Err(RunAsRefusal::NoPerson { owner: name.map(str::to_owned) }),
            },
            Self::Map(_) => match map.of(name.unwrap_or_default()) {
                Some(account) => Ok(RankAccount::Named(account)),
                None => Err(RunAsRefusal::NotMapped { owner: name.map(str::to_owned) }),
            },
        }
    }

    /// What the agent says at its start, where it is root.
    pub fn told(&self) -> Text {
        match self {
            Self::Usual => Text::new(
                "agent 以 root 运行：用户的任务以同名系统账户运行，服务器自身令牌的任务以 root 运行；用 --run-as 更改",
                "this agent is root: tasks of users run as the system accounts of their names, tasks of the server's own \
                 token as root; --run-as says otherwise",
            ),
            Self::Off => Text::new(
                "agent 以 root 运行：所有任务都以 root 运行（--run-as off）",
                "this agent is root, and every task runs as root (--run-as off)",
            ),
            Self::SameName => {
                Text::new("任务以其所有者同名的系统账户运行", "tasks run as the system accounts of their owners' names")
            }
            Self::Account(name) => Text::new(
                format!("所有任务都以系统账户 {name} 运行"),
                format!("every task runs as the system account {name}"),
            ),
            Self::Map(file) => Text::new(
                format!("任务以 {} 指定的系统账户运行", file.display()),
                format!("tasks run as the system accounts that {} says", file.display()),
            ),
        }
    }
}

/// What was made with the server's own token, without any, or before there were users. A server that does not say whose it is
/// is of a release that knew no accounts: nothing is root's for want of a word.
fn is_of_the_server(owner: Option<&Principal>) -> bool {
    match owner {
        None => false,
        Some(Principal::System) => true,
        Some(Principal::User { role: Role::Administrator, name }) => [LOCAL, TOKEN].contains(&name.as_str()),
        Some(_) => false,
    }
}

/// Why there is no account under which a task may run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAsRefusal {
    /// Nobody with a name owns it.
    NoPerson {
        owner: Option<String>,
    },
    NotMapped {
        owner: Option<String>,
    },
    NoAccount {
        account: String,
    },
    /// The account of the owner's name is none of a person.
    SystemAccount {
        account: String,
        uid: u32,
    },
    /// The system does not say who has which account.
    Unknown {
        account: String,
        error: String,
    },
    MapUnreadable {
        file: PathBuf,
        error: String,
    },
    /// Others could say in it who they are.
    MapWritable {
        file: PathBuf,
    },
    MapLine {
        file: PathBuf,
        line: usize,
    },
    /// The account may not enter a folder that its ranks need.
    Unreachable {
        account: String,
        folder: PathBuf,
    },
    /// The folder of the task belongs to another account.
    OthersFolder {
        account: String,
        folder: PathBuf,
        uid: u32,
    },
}

impl RunAsRefusal {
    pub fn unreachable(account: &str, folder: &Path) -> Self {
        Self::Unreachable { account: account.to_owned(), folder: folder.to_owned() }
    }
}

impl Explained for RunAsRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::NoPerson { .. } | Self::NotMapped { .. } => "run_as_no_owner",
            Self::NoAccount { .. } | Self::Unknown { .. } => "run_as_no_account",
            Self::SystemAccount { .. } => "run_as_system_account",
            Self::MapUnreadable { .. } | Self::MapWritable { .. } | Self::MapLine { .. } => "run_as_map",
            Self::Unreachable { .. } => "run_as_unreachable",
            Self::OthersFolder { .. } => "run_as_others_folder",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::NoPerson { owner } => {
                let owner = owner.as_deref().unwrap_or("-");
                Text::new(
                    format!("任务不属于某个用户（{owner}），没有可用的系统账户"),
                    format!("the task is no user's ({owner}), so that there is no system account for it"),
                )
            }
            Self::NotMapped { owner } => {
                let owner = owner.as_deref().unwrap_or("-");
                Text::new(
                    format!("账户映射中没有任务的所有者 {owner}"),
                    format!("the map of accounts does not name the owner of the task, {owner}"),
                )
            }
            Self::NoAccount { account } => {
                Text::new(format!("该节点没有系统账户 {account}"), format!("this node has no system account {account}"))
            }
            Self::SystemAccount { account, uid } => Text::new(
                format!("{account} 是系统自身的账户（uid {uid}），不属于个人"),
                format!("{account} is an account of the system itself (uid {uid}), not a person's"),
            ),
            Self::Unknown { account, error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("无法查询系统账户 {account}：{}", why.zh),
                    format!("the system account {account} cannot be looked up: {}", why.en),
                )
            }
            Self::MapUnreadable { file, error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("无法读取账户映射 {}：{}", file.display(), why.zh),
                    format!("cannot read the map of accounts {}: {}", file.display(), why.en),
                )
            }
            Self::MapWritable { file } => Text::new(
                format!("账户映射 {} 可由其他用户写入", file.display()),
                format!("others may write to the map of accounts {}", file.display()),
            ),
            Self::MapLine { file, line } => Text::new(
                format!("账户映射 {} 第 {line} 行无法理解", file.display()),
                format!("line {line} of the map of accounts {} is not understood", file.display()),
            ),
            Self::Unreachable { account, folder } => Text::new(
                format!("系统账户 {account} 无法进入 {}", folder.display()),
                format!("the system account {account} may not enter {}", folder.display()),
            ),
            Self::OthersFolder { account, folder, uid } => Text::new(
                format!("{} 属于 uid {uid}，不属于任务的系统账户 {account}", folder.display()),
                format!("{} belongs to uid {uid}, not to the task's system account {account}", folder.display()),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoPerson { .. } => Hint::new(
                "以某个用户的身份创建任务（fermi login），或用 fermi agent --run-as 指定一个账户",
                "create the task as a user (fermi login), or name an account with `fermi agent --run-as`",
            ),
            Self::NotMapped { .. } => Hint::new(
                "在映射文件中加一行“所有者 账户”；“* 账户”代表其余所有人",
                "add a line `owner account` to the map; `* account` stands for everyone else",
            ),
            Self::NoAccount { .. } | Self::Unknown { .. } => Hint::new(
                "在该节点上创建这个账户，或用 fermi agent --run-as map:文件 指定账户；只有 root 的容器用 --run-as off",
                "make this account on the node, or say which one to use with `fermi agent --run-as map:FILE`; in a \
                 container that has root alone, use --run-as off",
            ),
            Self::SystemAccount { .. } => Hint::new(
                "确实要用它时，用 fermi agent --run-as map:文件 写明",
                "if it is meant, say so with `fermi agent --run-as map:FILE`",
            ),
            Self::MapUnreadable { .. } => {
                Hint::new("检查 --run-as 的路径与权限", "check the path of --run-as and its permissions")
            }
            Self::MapWritable { file } => {
                let command = format!("chown root {0} && chmod 644 {0}", file.display());
                Hint::new(format!("先执行 {command}"), format!("run `{command}` first"))
            }
            Self::MapLine { .. } => Hint::new(
                "每行写“所有者 账户”，每个所有者只写一次，# 之后是注释",
                "write `owner account` on each line, each owner once; what follows # is a comment",
            ),
            Self::Unreachable { .. } => Hint::new(
                "任务的文件夹要对该账户开放；代理的数据文件夹要放在所有人都能进入的路径下，例如 --data-dir /var/lib/fermi/agent",
                "let the account into the folders of the task; the agent's own folder must lie where everyone may pass, such \
                 as --data-dir /var/lib/fermi/agent",
            ),
            Self::OthersFolder { folder, account, .. } => {
                let command = format!("chown -R {account} {}", folder.display());
                Hint::new(
                    format!("若这些文件应归该账户所有，执行 {command}"),
                    format!("if the files are meant to be this account's, run `{command}`"),
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(text: &str) -> Option<Principal> {
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    #[test]
    fn every_owner_has_one_account_or_a_sentence() {
        let map = AccountMap::parse("ann  li\n# people\ntoken trainer # nightly\n").unwrap();
        let named = |name: &str| Ok(RankAccount::Named(name.to_owned()));
        let of_owner = |name: &str| Ok(RankAccount::OfOwner(name.to_owned()));
        let agents = || Ok(RankAccount::Agents);
        let nobody = || Err("run_as_no_owner");
        let by_map = RunAs::Map("/m".into());
        let cases = [
            (RunAs::Usual, "", nobody()),
            (RunAs::Usual, "system", agents()),
            (RunAs::Usual, "user:administrator:token", agents()),
            (RunAs::Usual, "user:administrator:local", agents()),
            (RunAs::Usual, "user:member:token", nobody()),
            (RunAs::Usual, "agent:env-1", nobody()),
            (RunAs::Usual, "user:administrator:ann", of_owner("ann")),
            (RunAs::Usual, "user:member:ann", of_owner("ann")),
            (RunAs::SameName, "user:member:ann", of_owner("ann")),
            (RunAs::SameName, "user:administrator:token", nobody()),
            (RunAs::SameName, "", nobody()),
            (RunAs::Account("x".into()), "user:member:ann", named("x")),
            (RunAs::Account("x".into()), "", named("x")),
            (RunAs::Off, "user:member:ann", agents()),
            (by_map.clone(), "user:member:ann", named("li")),
            (by_map.clone(), "user:administrator:token", named("trainer")),
            (by_map.clone(), "user:member:bob", nobody()),
            (by_map.clone(), "", nobody()),
        ];
        for (rule, who, wanted) in cases {
            let found = rule.account_of(owner(who).as_ref(), &map).map_err(|refusal| refusal.id());
            assert_eq!(found, wanted, "{rule} {who}");
        }
        let anyone = AccountMap::parse("* guest").unwrap();
        let guest = by_map.account_of(owner("user:member:bob").as_ref(), &anyone);
        assert_eq!(guest, Ok(RankAccount::Named("guest".to_owned())));
    }

    #[test]
    fn a_map_says_each_owner_once() {
        for (text, line) in [("ann", 1), ("ann li\nann lo", 2), ("\n# x\nann li lo", 3)] {
            assert_eq!(AccountMap::parse(text), Err(line), "{text}");
        }
        assert_eq!(AccountMap::parse(" # nobody\n\n"), Ok(AccountMap::default()));
    }

    #[test]
    fn what_is_typed_is_one_of_four() {
        for (text, rule) in [
            ("off", RunAs::Off),
            ("same-name", RunAs::SameName),
            ("map:/etc/fermi/accounts", RunAs::Map("/etc/fermi/accounts".into())),
            ("trainer", RunAs::Account("trainer".into())),
        ] {
            assert_eq!(text.parse(), Ok(rule.clone()), "{text}");
            assert_eq!(rule.to_string(), text);
        }
        for text in ["", "map:", "a b", "file:/x"] {
            assert_eq!(text.parse::<RunAs>(), Err(NoRunAs), "{text}");
        }
    }
}
