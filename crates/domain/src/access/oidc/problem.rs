//! Why nobody is logged in with a company's account.

use super::IdTokenFault;
use crate::language::{Explained, Hint, Text};

/// More of what a service says is not shown.
const LONGEST_SAID: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OidcProblem {
    /// The service does not answer, or not in time.
    Unreachable {
        reason: Text,
    },
    /// It answers what its standard does not allow.
    Strange {
        what: Text,
    },
    /// It says no.
    Denied {
        said: String,
    },
    /// What came back belongs to no log-in of this browser.
    NotBegun,
    Token(IdTokenFault),
    /// A user of this name is or was here, and is linked to nobody or to another.
    NameTaken {
        name: String,
        subject: String,
    },
    NameUnfit {
        said: String,
        subject: String,
    },
    NoGroup,
    Removed {
        name: String,
        subject: String,
    },
    Busy,
    NotSetUp,
}

/// As it can be shown: what a service says may be long and hold anything.
fn shown(said: &str) -> String {
    said.chars().take(LONGEST_SAID).collect::<String>().escape_debug().to_string()
}

impl Explained for OidcProblem {
    fn id(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "oidc_unreachable",
            Self::Strange { .. } => "oidc_strange_answer",
            Self::Denied { .. } => "oidc_denied",
            Self::NotBegun => "oidc_not_begun",
            Self::Token(_) => "oidc_token_invalid",
            Self::NameTaken { .. } => "oidc_name_taken",
            Self::NameUnfit { .. } => "oidc_name_unfit",
            Self::NoGroup => "oidc_no_group",
            Self::Removed { .. } => "oidc_user_removed",
            Self::Busy => "too_many_log_ins",
            Self::NotSetUp => "oidc_not_set_up",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Unreachable { reason } => Text::new(
                format!("公司的登录服务无法连接：{}", shown(&reason.zh)),
                format!("the company's log-in service cannot be reached: {}", shown(&reason.en)),
            ),
            Self::Strange { what } => Text::new(
                format!("公司的登录服务的回答无法使用：{}", what.zh),
                format!("the company's log-in service answers what cannot be used: {}", what.en),
            ),
            Self::Denied { said } => {
                let said = shown(said);
                Text::new(
                    format!("公司的登录服务拒绝了登录：{said}"),
                    format!("the company's log-in service has refused the log-in: {said}"),
                )
            }
            Self::NotBegun => Text::new(
                "这次登录不是从此浏览器开始的，或已超过十分钟",
                "this log-in was not begun in this browser, or was begun more than ten minutes ago",
            ),
            Self::Token(fault) => {
                let fault = fault.text();
                Text::new(
                    format!("公司的登录服务给出的凭据无效：{}", fault.zh),
                    format!("the token of the company's log-in service is not valid: {}", fault.en),
                )
            }
            Self::NameTaken { name, .. } => Text::new(
                format!("用户名 {name} 已存在，且没有与这个公司账号关联"),
                format!("there is a user {name} already, who is not linked to this company account"),
            ),
            Self::NameUnfit { said, .. } => {
                let said = shown(said);
                Text::new(
                    format!("公司账号的名称“{said}”不能用作用户名"),
                    format!("the company account's name '{said}' is not a name for a user"),
                )
            }
            Self::NoGroup => Text::new(
                "这个公司账号不在任何可以使用 Fermi 的组中",
                "this company account is in no group that may use Fermi",
            ),
            Self::Removed { name, .. } => Text::new(
                format!("用户 {name} 已被管理员移除"),
                format!("the user {name} was removed by an administrator"),
            ),
            Self::Busy => Text::new("同时登录的人太多", "too many log in at once"),
            Self::NotSetUp => Text::new(
                "这台服务器没有设置公司账号登录",
                "this server was not set up for log-ins with a company account",
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        let link = |name: &str, subject: &str| format!("fermi user link {name} --oidc {}", word(subject));
        Some(match self {
            Self::Unreachable { .. } => Hint::new(
                "稍后重试；密码与令牌登录不受影响",
                "try again in a moment; log-ins with a password or a token work meanwhile",
            ),
            Self::Strange { .. } | Self::Token(_) => Hint::new(
                "重试一次；若仍如此，请管理员检查 --oidc-issuer、--oidc-client-id、两边的时钟与服务器日志",
                "try once more; if it stays so, ask the administrator to check --oidc-issuer, --oidc-client-id, the \
                 clocks of both and the server's log",
            ),
            Self::Denied { .. } => Hint::new(
                "请管理员检查该账号的权限与应用的回调地址",
                "ask the administrator whether this account may use the application, and for its redirect address",
            ),
            Self::NotBegun => Hint::new("回到登录页面重新登录", "go back to the log-in page and log in again"),
            Self::NameTaken { name, subject } => {
                let command = link(name, subject);
                Hint::new(
                    format!("若是同一个人，请管理员运行 {command}"),
                    format!("if it is the same person, ask an administrator to run `{command}`"),
                )
            }
            Self::NameUnfit { subject, .. } => {
                let command = link("NAME", subject);
                Hint::new(
                    format!("请管理员用 fermi user add NAME 添加用户，再运行 {command}"),
                    format!("ask an administrator to add a user with `fermi user add NAME` and to run `{command}`"),
                )
            }
            Self::NoGroup => Hint::new(
                "请管理员把该账号加入一个组，或更改 --oidc-role、--oidc-default-role",
                "ask the administrator to put it into one, or to change --oidc-role or --oidc-default-role",
            ),
            Self::Removed { name, subject } => {
                let command = link(name, subject);
                Hint::new(
                    format!("管理员可用 fermi user add {name} 恢复，再运行 {command}"),
                    format!("an administrator brings the user back with `fermi user add {name}` and `{command}`"),
                )
            }
            Self::Busy => Hint::new("几秒后重试", "try again in a few seconds"),
            Self::NotSetUp => Hint::new(
                "用用户名和密码或令牌登录；管理员可用 fermi server --oidc-issuer 设置",
                "log in with a password or a token; an administrator sets it up with `fermi server --oidc-issuer`",
            ),
        })
    }
}

/// As a shell takes it.
fn word(subject: &str) -> String {
    let is_plain = subject.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte));
    if is_plain { subject.to_owned() } else { format!("'{}'", subject.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_says_how_it_is_linked() {
        let hint = |subject: &str| {
            let problem = OidcProblem::NameTaken { name: "ann".to_owned(), subject: subject.to_owned() };
            problem.hint().unwrap().spelled(crate::language::FrontEnd::CommandLine).en.into_owned()
        };
        assert!(hint("248289761001").ends_with("`fermi user link ann --oidc 248289761001`"), "{}", hint("1"));
        assert!(hint("auth0|it's").ends_with(r"--oidc 'auth0|it'\''s'`"), "{}", hint("auth0|it's"));
    }

    #[test]
    fn what_a_service_says_is_short_and_plain() {
        let problem = OidcProblem::Denied { said: format!("\u{1b}[31m{}", "x".repeat(1_000)) };
        assert!(problem.text().en.len() < 300 && !problem.text().en.contains('\u{1b}'));
    }
}
