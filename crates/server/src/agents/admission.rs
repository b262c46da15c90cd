//! Why an agent is not admitted.

use fermi_domain::environment::LONGEST_NAME;
use fermi_domain::language::{Explained, Hint, Text, reason};
use fermi_domain::task::RunKey;
use fermi_domain::unseen;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmissionRefusal {
    NotUnderstood {
        error: String,
    },
    OtherVersion {
        /// The release of the agent.
        theirs: String,
        is_newer: bool,
    },
    NoName {
        name: String,
    },
    /// It is the id of an environment, or could become one.
    NameReserved {
        name: String,
    },
    NameTaken {
        name: String,
    },
    /// Runs of another machine under this name may live.
    NameHeld {
        name: String,
    },
    /// Another machine has this name and is away; an operator says first that it is replaced.
    NameKept {
        name: String,
    },
    /// An operator has put another machine in its place.
    Replaced {
        name: String,
        /// What still runs there and counts as ended.
        end: Vec<RunKey>,
    },
    /// The agent's data folder is a copy.
    Copy {
        name: String,
    },
    /// The agent's disk does not take what it would be known by.
    CannotKeep {
        name: String,
    },
    /// A number that no machine has.
    TooMuch {
        /// The field of the hello.
        what: &'static str,
        found: u64,
        most: u64,
    },
    /// A text of the hello would do something to a terminal that shows it, or is read as another one.
    UnfitText {
        text: String,
    },
    /// It has shown no token, and is not the agent of the environment that it names.
    TokenNeeded {
        name: String,
    },
    /// As many machines as may have come with its token.
    TokenUsedUp,
    /// An operator has revoked the credential of this name after its token was made.
    Revoked {
        name: String,
    },
    Unavailable {
        error: String,
    },
}

impl Explained for AdmissionRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::NotUnderstood { .. } => "hello_not_understood",
            Self::OtherVersion { .. } => "versions_differ",
            Self::NoName { .. } => "name_invalid",
            Self::NameReserved { .. } => "name_reserved",
            Self::NameTaken { .. } => "name_taken",
            Self::NameHeld { .. } => "name_held",
            Self::NameKept { .. } => "name_kept",
            Self::Replaced { .. } => "replaced",
            Self::Copy { .. } => "data_folder_copied",
            Self::CannotKeep { .. } => "credential_not_kept",
            Self::TooMuch { .. } => "too_much",
            Self::UnfitText { .. } => "text_invalid",
            Self::TokenNeeded { .. } => "token_needed",
            Self::TokenUsedUp => "token_used_up",
            Self::Revoked { .. } => "credential_revoked",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::NotUnderstood { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("无法理解该代理的问候：{}", why.zh),
                    format!("this hello is not understood: {}", why.en),
                )
            }
            Self::OtherVersion { theirs, .. } => {
                let ours = env!("CARGO_PKG_VERSION");
                Text::new(
                    format!("版本不一致：服务端是 fermi {ours}，该代理是 fermi {theirs}"),
                    format!("versions differ: the server is fermi {ours}, this agent fermi {theirs}"),
                )
            }
            Self::NoName { name } => {
                if let Some(letter) = unseen::find(name) {
                    return letter.text();
                }
                let name = name.escape_debug();
                Text::new(format!("环境名“{name}”无效"), format!("'{name}' is no name for an environment"))
            }
            Self::NameReserved { name } => {
                Text::new(format!("环境不能命名为“{name}”"), format!("an environment cannot be called '{name}'"))
            }
            Self::NameHeld { name } => Text::new(
                format!("环境名“{name}”属于另一台失去联系的机器，其上可能仍有训练在运行"),
                format!("the name '{name}' is another machine's, which is out of reach and may still be training"),
            ),
            Self::NameKept { name } => Text::new(
                format!("环境名“{name}”属于另一台现在离线的机器，加入令牌不能取用它"),
                format!("the name '{name}' is another machine's, which is away: a join token does not take it"),
            ),
            Self::Replaced { name, end } => {
                let said = Text::new(
                    format!("已由另一台机器代替 {name}"),
                    format!("another machine was put in the place of {name}"),
                );
                if end.is_empty() {
                    return said;
                }
                let runs: Vec<String> = end.iter().map(ToString::to_string).collect();
                let runs = runs.join(", ");
                said.followed_by(&Text::new(
                    format!("此处仍在运行的 {runs} 视为已结束，现予以终止"),
                    format!("what still runs here counts as ended and is ended now: {runs}"),
                ))
            }
            Self::Copy { name } => Text::new(
                format!("该数据目录是 {name} 的副本：原来的代理之后又连接过，或它属于另一台机器"),
                format!(
                    "this data folder is a copy of that of {name}: its own agent has come since, or it belongs to \
                     another machine"
                ),
            ),
            Self::CannotKeep { name } => Text::new(
                format!("该代理要重新登记为 {name}，但它的数据目录现在写不进去，无法保存凭证"),
                format!(
                    "this agent would be registered anew as {name}, and its data folder cannot be written to, so that it \
                     could not keep its credential"
                ),
            ),
            Self::NameTaken { name } => Text::new(
                format!("名为 {name} 的环境已由另一个代理连接"),
                format!("another agent is connected under the name {name}"),
            ),
            Self::TooMuch { what, found, most } => Text::new(
                format!("该代理的 {what} 为 {found}，超过上限 {most}"),
                format!("{what} of this agent is {found}, more than {most}"),
            ),
            Self::UnfitText { text } => {
                let (letter, text) = (unseen::find(text), text.escape_debug());
                if let Some(letter) = letter {
                    return letter.within(&Text::new(format!("该代理的“{text}”"), format!("'{text}' of this agent")));
                }
                Text::new(
                    format!("该代理的“{text}”含有控制字符"),
                    format!("'{text}' of this agent has control characters"),
                )
            }
            Self::TokenNeeded { name } => Text::new(
                format!("这台机器的凭证不属于环境 {name}，加入需要令牌"),
                format!("this machine's credential is not that of {name}: to join, it needs a token"),
            ),
            Self::TokenUsedUp => {
                Text::new("这个令牌的使用次数已用完", "this token has brought in as many machines as it may")
            }
            Self::Revoked { name } => {
                Text::new(format!("环境 {name} 的凭证已被撤销"), format!("the credential of {name} was revoked"))
            }
            Self::Unavailable { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("服务端暂时无法登记该环境：{}", why.zh),
                    format!("the server cannot register this now: {}", why.en),
                )
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::OtherVersion { is_newer: true, .. } => {
                Hint::new("请先升级服务端，再升级代理", "upgrade the server first, then its agents")
            }
            Self::NotUnderstood { .. } | Self::OtherVersion { .. } => {
                Hint::new("请安装与服务端相同的版本", "install the release that the server has")
            }
            Self::NoName { .. } => Hint::new(
                format!("只能用字母、数字、- _ .，至多 {LONGEST_NAME} 个字符，且不以 . 或 - 开头"),
                format!("use letters, digits, - _ and ., at most {LONGEST_NAME}, and begin with neither . nor -"),
            ),
            Self::NameReserved { .. } => Hint::new(
                "它看起来像环境 ID，用 --name 取另一个名字",
                "it looks like the id of an environment: take another --name",
            ),
            Self::NameHeld { name } => Hint::new(
                format!("用 --name 取另一个名字；若那台机器已关闭，运行 fermi env replace {name}"),
                format!("take another --name; if that machine is off, run `fermi env replace {name}`"),
            ),
            Self::NameKept { name } => Hint::new(
                format!("用 --name 取另一个名字；若要用这台机器代替它，请运维运行 fermi env replace {name}"),
                format!(
                    "take another --name; to put this machine in its place, ask an operator to run `fermi env replace {name}`"
                ),
            ),
            Self::Copy { name } => Hint::new(
                format!(
                    "换用新的 --data-dir 和另一个 --name；若要用这台机器代替 {name}，运行 fermi env replace {name}；\
                     若服务器的数据目录是手工放回的旧目录，先停止服务器并运行 fermi server restore --here"
                ),
                format!(
                    "use a new --data-dir and another --name; to put this machine in the place of {name}, run \
                     `fermi env replace {name}`; if the server's data folder is an older one that was put back by hand, stop \
                     the server and run `fermi server restore --here` first"
                ),
            ),
            Self::Replaced { .. } => {
                Hint::new("用新的 --data-dir 和另一个 --name 加入", "join with a new --data-dir and another --name")
            }
            Self::CannotKeep { .. } => Hint::new(
                "请在代理的机器上为 --data-dir 腾出空间；代理会自动重试",
                "make room for --data-dir on the agent's machine; the agent tries again by itself",
            ),
            Self::NameTaken { .. } => {
                Hint::new("用 --name 取另一个名字，或停止那个代理", "take another --name, or stop that agent")
            }
            Self::TooMuch { .. } | Self::UnfitText { .. } => Hint::new(
                "检查代理的选项与资源声明文件",
                "look at the agent's options and at the file in which its resources are declared",
            ),
            Self::TokenNeeded { .. } | Self::TokenUsedUp | Self::Revoked { .. } => Hint::new(
                "请运维运行 fermi env join，它会给出带新令牌的命令",
                "ask an operator to run `fermi env join`, which prints a command with a new token",
            ),
            Self::Unavailable { .. } => Hint::new("代理会自动重试", "the agent tries again by itself"),
        })
    }
}
