//! `fermi complete`, hidden: what the scripts of `fermi completions` ask while somebody types. [`asked`] says which name is
//! meant, [`candidates`] asks the server for those that there are.
//!
//! Whoever presses Tab waits for it: it answers within [`DEADLINE`] or with nothing, and never with a complaint.

mod asked;
mod candidates;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::CommandFactory;

use crate::connection::ServerFlags;
use crate::speech;
use asked::Asked;

/// A person does not notice much less.
const DEADLINE: Duration = Duration::from_millis(200);

/// Names and ids that a command line could go on with, one per line
#[derive(Debug, clap::Args)]
pub struct CompleteFlags {
    /// The words up to the cursor, the command itself first
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub fn execute(flags: &CompleteFlags) -> ExitCode {
    let words: Vec<String> = flags.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(asked) = asked::asked(&super::Cli::command(), &words) {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || tell.send(found(&asked)));
        let names = told.recv_timeout(DEADLINE).ok().flatten().unwrap_or_default();
        speech::print(&names.into_iter().map(|name| name + "\n").collect::<String>());
    }
    ExitCode::SUCCESS
}

/// The names that begin like the word; nothing where the server does not answer, or not to this account.
fn found(asked: &Asked) -> Option<Vec<String>> {
    let flags = ServerFlags {
        fingerprint: None,
        server: asked.server.clone().or_else(|| std::env::var(fermi_domain::contract::FERMI_SERVER).ok()),
        token_file: asked.token_file.clone().map(Into::into),
    };
    let client = flags.connect_once(DEADLINE).ok()?;
    Some(asked.fitting(&candidates::all(&client, asked.noun).ok()?))
}
