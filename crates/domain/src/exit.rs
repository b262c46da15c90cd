//! How a process ended.

use std::fmt;

use crate::language::{Text, reason};
use serde::{Deserialize, Serialize};

/// The end of a process as the kernel told it, or the reason why it never began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Exit {
    /// It returned a code; 0 is success.
    Code { code: i32 },
    /// A signal ended it.
    Signal { signal: i32, core_dumped: bool },
    /// It could not be started: the program was missing, not executable, or its folder does not exist.
    NotStarted { error: String },
}

impl Exit {
    pub const SUCCESS: Self = Self::Code { code: 0 };

    pub fn is_success(&self) -> bool {
        *self == Self::SUCCESS
    }
}

/// The name of a signal as people write it, such as `SIGKILL`; a number that has no name stays a number.
pub fn signal_name(signal: i32) -> String {
    SIGNALS
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(|| format!("SIG{signal}"), |(_, name)| (*name).to_owned())
}

/// Reads `SIGTERM`, `TERM`, `term` or `15`.
pub fn parse_signal(text: &str) -> Option<i32> {
    let text = text.trim().to_ascii_uppercase();
    if let Ok(number) = text.parse::<i32>() {
        return (1..=64).contains(&number).then_some(number);
    }
    let name = if text.starts_with("SIG") { text } else { format!("SIG{text}") };
    SIGNALS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Linux's numbers, the same on x86-64 and arm64.
const SIGNALS: [(i32, &str); 31] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (16, "SIGSTKFLT"),
    (17, "SIGCHLD"),
    (18, "SIGCONT"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (21, "SIGTTIN"),
    (22, "SIGTTOU"),
    (23, "SIGURG"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (26, "SIGVTALRM"),
    (27, "SIGPROF"),
    (28, "SIGWINCH"),
    (29, "SIGIO"),
    (30, "SIGPWR"),
    (31, "SIGSYS"),
];

impl Exit {
    /// The same for people of both languages.
    pub fn text(&self) -> Text {
        let en = self.to_string();
        match self {
            Self::Code { code } => Text::new(format!("退出码 {code}"), en),
            Self::Signal { signal, core_dumped: false } => Text::new(format!("信号 {}", signal_name(*signal)), en),
            Self::Signal { signal, core_dumped: true } => {
                Text::new(format!("信号 {}（已转储 core）", signal_name(*signal)), en)
            }
            Self::NotStarted { error } => {
                let why = reason::of_said(error);
                Text::new(format!("未能启动：{}", why.zh), format!("not started: {}", why.en))
            }
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal, core_dumped: false } => write!(f, "{}", signal_name(*signal)),
            Self::Signal { signal, core_dumped: true } => write!(f, "{} (core dumped)", signal_name(*signal)),
            Self::NotStarted { error } => write!(f, "not started: {error}"),
        }
    }
}
