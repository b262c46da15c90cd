//! Where a password comes from: a file, or a terminal that does not show it. Never the command line, which others can read.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use fermi_domain::language::{Text, reason};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::connection::CommandProblem;
use crate::speech::{self, pick};

const FLAG: &str = "--password-file";

/// The flag of every command that needs a password.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PasswordFlags {
    /// A file with the password, - for stdin; without it the terminal asks
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

impl PasswordFlags {
    /// A password that is known to the server.
    pub fn known(&self, question: &str) -> Result<String, CommandProblem> {
        self.password_file.as_deref().map_or_else(|| ask(question), |path| from_file(FLAG, path))
    }

    /// One that is chosen now; a terminal asks for it twice.
    pub fn chosen(&self) -> Result<String, CommandProblem> {
        if let Some(path) = &self.password_file {
            return from_file(FLAG, path);
        }
        let first = ask(pick("新密码：", "new password: "))?;
        if ask(pick("再输入一次：", "once more: "))? == first {
            return Ok(first);
        }
        Err(CommandProblem::usage(
            Text::new("两次输入不一致", "the two are not the same"),
            Text::new("重新运行命令", "run the command again"),
        ))
    }
}

/// The one line of a file, or of stdin; `flag` is what named it.
pub fn from_file(flag: &str, path: &Path) -> Result<String, CommandProblem> {
    let read = if path == Path::new("-") { fermi_named_file::read_stdin() } else { fermi_named_file::read_text(path) };
    let text = read.map_err(|error| {
        let (path, why) = (path.display(), reason::of_io(&error));
        CommandProblem::usage(
            Text::new(format!("无法读取 {path}：{}", why.zh), format!("{path} cannot be read: {}", why.en)),
            Text::new(
                format!("{flag} 指向只含该内容的文件，- 表示标准输入"),
                format!("{flag} names a file that holds it alone, - for stdin"),
            ),
        )
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// What is typed, unseen, on a terminal.
pub fn ask(question: &str) -> Result<String, CommandProblem> {
    let stdin = std::io::stdin();
    let hidden = tcgetattr(&stdin).ok().filter(|_| stdin.is_terminal()).ok_or_else(|| {
        CommandProblem::usage(
            Text::new("没有终端可以输入密码", "there is no terminal to ask for the password"),
            Text::new("用 --password-file 给出密码文件，- 表示标准输入", "give a file by --password-file, - for stdin"),
        )
    })?;
    speech::say(question);
    let mut quiet = hidden.clone();
    quiet.local_flags.remove(LocalFlags::ECHO);
    // A terminal that goes on showing what is typed is no reason to refuse.
    let _ = tcsetattr(&stdin, SetArg::TCSANOW, &quiet);
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    let _ = tcsetattr(&stdin, SetArg::TCSANOW, &hidden);
    speech::say("\n");
    match read {
        Ok(length) if length > 0 => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        _ => Err(CommandProblem::usage(
            Text::new("没有输入任何内容", "nothing was typed"),
            Text::new("重新运行命令", "run the command again"),
        )),
    }
}
