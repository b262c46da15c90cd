//! What each rank runs and with which policies, read from the command line: whatever the workers are.

use std::path::PathBuf;
use std::time::Duration;

use fermi_api::client::Client;
use fermi_api::v1::{CreateRequest, RequestedCommand, RequestedRecipe};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::language::Text;
use fermi_domain::preflight::{PreflightInterface, PreflightPolicy};
use fermi_domain::task::{LaunchOptions, OnDisconnect, OnHang, Policies, Source, Standby, Warm};
use fermi_domain::units::Seconds;
use fermi_domain::validation::BUILTIN;

use super::source;
use super::wait::parse_time;
use crate::commands::engine::{Engine, EngineFlags};
use crate::commands::usage::Expected;
use crate::commands::{dataset, model};
use crate::connection::CommandProblem;

/// The flags that `task create`, `task preview` and `group start` share.
#[derive(Debug, clap::Args)]
pub struct WorkFlags {
    /// A dataset by name or id, as NAME@VERSION for one of its versions
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// Its version by name or id [default: the newest]
    #[arg(long, value_name = "VERSION", requires = "dataset")]
    dataset_version: Option<String>,
    /// A model by name or id
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How often all ranks may be started again after a failure
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_restarts: u32,
    /// A folder of code to send along; the command runs in it
    #[arg(long, value_name = "DIR", conflicts_with = "source_path")]
    source: Option<PathBuf>,
    /// A folder of code that every node has under this path
    #[arg(long, value_name = "DIR")]
    source_path: Option<String>,
    /// Where the command runs [default: the source]
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// The Python of the nodes: its path, or an environment's folder
    #[arg(long, value_name = "PATH")]
    interpreter: Option<String>,
    /// The port of rank 0; a taken one is refused [default: the first free one from 29500 up]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Where checkpoints live on every node, best a folder that all share [default: one of the task's own on each node]
    #[arg(long, value_name = "DIR")]
    checkpoint_dir: Option<String>,
    /// End the ranks of a node that has not heard the server for so long, so that another attempt may begin [default:
    /// train on]
    #[arg(long, value_name = "SECONDS")]
    stop_after: Option<u64>,
    /// How long a launch may take until every rank has joined [default: as long as it takes; the nodes 1200]
    #[arg(long, value_name = "SECONDS")]
    start_timeout: Option<u64>,
    /// How long the task may have its workers, such as 90m or 2h; then it is stopped. With a limit it may run before its turn
    /// on workers that are kept for another [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,
    /// Never ask it to give its workers to a task of higher priority
    #[arg(long)]
    not_preemptible: bool,
    /// Let the nodes check each other before ranks start: warn tells what was found, require starts nothing after an error
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    preflight: PreflightAsked,
    /// What becomes of the interface over which that check finds all nodes to reach each other: set for the ranks, unless the task names one, or only told
    #[arg(long, value_name = "HOW", value_parser = ["set", "suggest"], default_value = "set")]
    preflight_interface: String,
    /// How long a node may be silent before it counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    node_lost_after: u64,
    /// Watch over Python ranks from inside: steps, phases, collectives; off leaves them alone
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"], hide_possible_values = true, default_value = "on")]
    hook: String,
    /// Keep an interpreter with the rank's imports ready beside each rank, so that a restart makes its first step at once; with cuda it holds a context on the rank's GPU too, about 0.5 GB of its memory
    #[arg(long, value_name = "on|cuda|off", value_parser = ["on", "cuda", "off"], hide_possible_values = true, default_value = "off")]
    warm: String,
    /// What to do when ranks hang: tell who and where, or restart as well
    #[arg(long, value_name = "tell|restart", value_parser = ["tell", "restart"], hide_possible_values = true, default_value = "tell")]
    on_hang: String,
    /// Seconds without any progress after which --on-hang restart ends the attempt
    #[arg(long, value_name = "SECONDS", default_value_t = Policies::USUAL_HANG.0)]
    hang_after: u64,
    /// At the next attempt, let standby workers of the group take the place of those whose machine is gone
    #[arg(long)]
    use_standby: bool,
    /// A variable for every rank
    #[arg(long, short = 'x', value_name = "NAME=VALUE", value_parser = parse_pair)]
    env_var: Vec<(String, String)>,
    /// A variable for every rank whose value is a secret of `fermi secret`; the name alone where both have the same
    #[arg(long, value_name = "VARIABLE[=SECRET]", value_parser = parse_secret)]
    secret: Vec<(String, String)>,
    /// A label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    label: Vec<(String, String)>,
    /// Higher goes first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Run the built-in trainer; its flags stand behind --
    #[arg(long)]
    builtin: bool,
    /// Train by a recipe, with --config: sft, rm, dpo, grpo or ppo; the nodes' Python needs its libraries alone
    #[arg(long, value_name = "NAME", conflicts_with = "builtin", requires = "config")]
    recipe: Option<String>,
    /// What each rank runs, with its arguments [default: the built-in trainer]
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    engine: EngineFlags,
}

/// Whether a folder of code is really sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Send,
    /// Nothing leaves this machine: a preview.
    Pretend,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum PreflightAsked {
    #[default]
    Off,
    Warn,
    Require,
}

impl PreflightAsked {
    fn policy(self) -> PreflightPolicy {
        match self {
            Self::Off => PreflightPolicy::Off,
            Self::Warn => PreflightPolicy::Warn,
            Self::Require => PreflightPolicy::Require,
        }
    }
}

impl WorkFlags {
    pub fn engine(&self) -> Result<Engine, CommandProblem> {
        self.engine.read().map_err(|refused| CommandProblem::usage(refused.text, refused.hint))
    }

    /// A request without name and workers: names become ids, and the code is sent.
    pub fn request(
        &self,
        client: &Client,
        sending: Sending,
        options: LaunchOptions,
    ) -> Result<CreateRequest, CommandProblem> {
        let (dataset_id, dataset_version_id) = match &self.dataset {
            Some(text) => {
                let (name, version) = dataset_of(text, self.dataset_version.as_deref());
                let dataset = dataset::find(client, name)?;
                let version = dataset::version(&dataset, version)?;
                (Some(dataset.id.clone()), Some(version.id.clone()))
            }
            None => (None, None),
        };
        let model_id = self.model.as_deref().map(|text| model::find(client, text)).transpose()?;
        let (command, recipe) = self.work()?;
        if let (Some(folder), Some(command)) = (&self.source, &command) {
            source::require_script(folder, command.working_directory.as_deref(), &command.argv)?;
        }
        let source = match (&self.source, &self.source_path, sending) {
            (Some(folder), _, Sending::Send) => Some(Source::Snapshot(source::send(client, folder)?)),
            (Some(folder), _, Sending::Pretend) => Some(Source::Path(folder.display().to_string())),
            (None, Some(path), _) => Some(Source::Path(path.clone())),
            (None, None, _) => None,
        };
        Ok(CreateRequest {
            dataset_id,
            dataset_version_id,
            model_id: model_id.map(|model| model.id),
            command,
            recipe,
            source,
            options: LaunchOptions {
                master_port: self.port,
                checkpoint_dir: self.checkpoint_dir.clone(),
                hook: (self.hook == "off").then_some(false),
                ..options
            },
            policies: self.policies(),
            priority: self.priority,
            labels: self.label.iter().cloned().collect(),
            ..CreateRequest::default()
        })
    }

    fn policies(&self) -> Policies {
        let restarts = self.on_hang == "restart";
        Policies {
            restart: RestartPolicy { max_restarts: self.max_restarts },
            node_lost_after: Seconds(self.node_lost_after),
            on_disconnect: self.stop_after.map_or(OnDisconnect::Keep, |after| OnDisconnect::StopAfter(Seconds(after))),
            start_timeout: self.start_timeout.map(Seconds),
            time_limit: self.time_limit.map(|limit| Seconds(limit.as_secs().max(u64::from(!limit.is_zero())))),
            preemptible: !self.not_preemptible,
            preflight: self.preflight.policy(),
            preflight_interface: match self.preflight_interface.as_str() {
                "suggest" => PreflightInterface::Suggest,
                _ => PreflightInterface::Set,
            },
            standby: if self.use_standby { Standby::Replace } else { Standby::Wait },
            on_hang: if restarts { OnHang::Restart } else { OnHang::Tell },
            hang_after: restarts.then_some(Seconds(self.hang_after)),
            warm: match self.warm.as_str() {
                "on" => Warm::On,
                "cuda" => Warm::Cuda,
                _ => Warm::Off,
            },
            ..Policies::default()
        }
    }

    fn work(&self) -> Result<(Option<RequestedCommand>, Option<RequestedRecipe>), CommandProblem> {
        if let Some(name) = &self.recipe {
            let recipe = RequestedRecipe {
                name: name.clone(),
                config: None,
                args: self.command.clone(),
                working_directory: self.workdir.clone(),
                env: self.env_var.iter().cloned().collect(),
                interpreter: self.interpreter.clone(),
            };
            return Ok((None, Some(recipe)));
        }
        if self.builtin || self.command.is_empty() {
            let args = self.command.clone();
            if !self.secret.is_empty() {
                return Err(CommandProblem::usage(
                    Text::new("内置训练程序不接受 --secret", "the built-in trainer takes no --secret"),
                    Text::new("在 -- 之后给出命令", "give a command behind --"),
                ));
            }
            if self.command.is_empty() && !self.env_var.is_empty() {
                return Err(CommandProblem::usage(
                    Text::new("内置训练程序不接受 --env-var", "the built-in trainer takes no --env-var"),
                    Text::new("在 -- 之后给出命令", "give a command behind --"),
                ));
            }
            let recipe = RequestedRecipe { name: BUILTIN.to_owned(), args, ..RequestedRecipe::default() };
            return Ok((None, Some(recipe)));
        }
        let command = RequestedCommand {
            argv: self.command.clone(),
            working_directory: self.workdir.clone(),
            env: self.env_var.iter().cloned().collect(),
            secrets: self.secret.iter().cloned().collect(),
            interpreter: self.interpreter.clone(),
        };
        Ok((Some(command), None))
    }
}

/// `NAME@VERSION`, unless the version is named by itself.
fn dataset_of<'a>(text: &'a str, version: Option<&'a str>) -> (&'a str, Option<&'a str>) {
    match (version, text.rsplit_once('@')) {
        (None, Some((name, version))) if !name.is_empty() && !version.is_empty() => (name, Some(version)),
        (version, _) => (text, version),
    }
}

/// `name=value`.
pub fn parse_pair(text: &str) -> Result<(String, String), Expected> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Expected(Text::new("写成 名称=值", "write NAME=VALUE"))),
    }
}

/// `variable=secret`, or a name for both.
fn parse_secret(text: &str) -> Result<(String, String), Expected> {
    match text.split_once('=').unwrap_or((text, text)) {
        ("", _) | (_, "") => {
            Err(Expected(Text::new("写成 变量=密钥名", "write VARIABLE=SECRET, or one name for both")))
        }
        (variable, secret) => Ok((variable.to_owned(), secret.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_may_stand_behind_its_dataset() {
        for (text, version, expected) in [
            ("poems@v2", None, ("poems", Some("v2"))),
            ("poems", None, ("poems", None)),
            ("a@b", Some("v1"), ("a@b", Some("v1"))),
            ("@v2", None, ("@v2", None)),
        ] {
            assert_eq!(dataset_of(text, version), expected, "{text}");
        }
    }

    #[test]
    fn a_pair_may_have_an_empty_value_and_more_signs() {
        assert_eq!(parse_pair("A=b=c").unwrap(), ("A".to_owned(), "b=c".to_owned()));
        assert_eq!(parse_pair("A=").unwrap(), ("A".to_owned(), String::new()));
        assert!(parse_pair("=x").is_err());
    }

    #[test]
    fn a_secret_may_have_the_name_of_its_variable() {
        assert_eq!(parse_secret("HF_TOKEN=hf").unwrap(), ("HF_TOKEN".to_owned(), "hf".to_owned()));
        assert_eq!(parse_secret("HF_TOKEN").unwrap(), ("HF_TOKEN".to_owned(), "HF_TOKEN".to_owned()));
        assert!(["", "=x", "x="].iter().all(|text| parse_secret(text).is_err()));
    }
}
