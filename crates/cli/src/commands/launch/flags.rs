//! The options of `fermi launch-multi-node`. Those of `fermi run` may stand between them and are passed on.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Start a run on several machines over ssh, from one of them or from elsewhere
///
/// MASTER is the first host, NODES how many hosts are used, GPUS how many ranks each gets. The hosts come from --hostfile,
/// else from a file `hostfile` in this folder, else from --hosts. Every host is checked before anything starts; Ctrl-C
/// stops them all. Options of fermi run may be given too.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "fermi launch-multi-node [OPTIONS] MASTER NODES GPUS [OPTIONS] SCRIPT [ARGS]")]
pub struct LaunchFlags {
    /// Lines `host slots=N` or plain names, # for comments [default: ./hostfile if it is there]
    #[arg(long, value_name = "FILE", help_heading = HOSTS)]
    pub hostfile: Option<PathBuf>,
    /// Hosts on the command line: a:2,b:4
    #[arg(short = 'H', long, value_name = "LIST", alias = "host", conflicts_with = "hostfile", help_heading = HOSTS)]
    pub hosts: Option<String>,
    /// Use only these hosts or slots, as for deepspeed: w0@w1:0,2
    #[arg(short = 'i', long, value_name = "SPEC", help_heading = HOSTS)]
    pub include: Option<String>,
    /// Leave these hosts or slots out
    #[arg(short = 'e', long, value_name = "SPEC", conflicts_with = "include", help_heading = HOSTS)]
    pub exclude: Option<String>,
    /// The first host's address as the other hosts see it [default: MASTER]
    #[arg(long, value_name = "HOST", help_heading = HOSTS)]
    pub master_addr: Option<String>,
    /// The one port at which the hosts meet
    #[arg(long, value_name = "PORT", default_value_t = 29_500, value_parser = clap::value_parser!(u16).range(1..), help_heading = HOSTS)]
    pub master_port: u16,

    /// Pass a variable on: NAME, or NAME=VALUE to set it (repeatable)
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]", help_heading = THERE)]
    pub variables: Vec<String>,
    /// Working folder on the hosts [default: this one]
    #[arg(long, value_name = "DIR", help_heading = THERE)]
    pub chdir: Option<PathBuf>,
    /// Copy this fermi to ~/.cache/fermi/bin/VERSION on every host first
    #[arg(long, help_heading = THERE)]
    pub copy_binary: bool,
    /// Where fermi is on the hosts [default: on the PATH, or where --copy-binary put it]
    #[arg(long, value_name = "PATH", conflicts_with = "copy_binary", help_heading = THERE)]
    pub remote_fermi: Option<String>,

    /// User on the hosts
    #[arg(long, short = 'l', value_name = "NAME", help_heading = SSH)]
    pub user: Option<String>,
    /// Port of ssh on the hosts
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = SSH)]
    pub ssh_port: Option<u16>,
    /// An option for ssh, such as IdentityFile=KEY (repeatable)
    #[arg(long, short = 'o', value_name = "OPTION", allow_hyphen_values = true, help_heading = SSH)]
    pub ssh_option: Vec<String>,
    /// Another program instead of ssh
    #[arg(long, value_name = "PROGRAM", default_value = "ssh", help_heading = SSH)]
    pub ssh: String,
    /// Seconds to wait for a connection
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = SSH)]
    pub connect_timeout: u64,

    /// Show what would be started where, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Events of all hosts as JSON lines on stdout; output of ranks moves to stderr
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(long, short = 'q')]
    pub quiet: bool,
    /// Words for fermi run, sorted out of the command line
    #[arg(long, hide = true, allow_hyphen_values = true)]
    pub run_option: Vec<OsString>,

    /// The first host; auto takes the first of the list
    pub master: String,
    /// How many hosts; auto takes all of the list
    pub nodes: String,
    /// Ranks on each host, fewer where the list has fewer slots; auto takes the slots of the list, or all GPUs
    pub gpus: String,
    /// The script and its arguments; options of fermi run may stand before it
    #[arg(value_name = "SCRIPT [ARGS]", trailing_var_arg = true, allow_hyphen_values = true)]
    pub script: Vec<OsString>,
}

const HOSTS: &str = "Hosts";
const THERE: &str = "On the hosts";
const SSH: &str = "ssh";

const EXAMPLES: &str = "\
Examples:
  fermi launch-multi-node 192.168.1.100 2 4 train.py       two hosts of ./hostfile, four ranks each
  fermi launch-multi-node gn6 auto auto --hosts gn6:4,gn7:2 train.py
  fermi launch-multi-node gn6 2 4 --copy-binary --max-restarts 3 train.py --lr 3e-4
  fermi launch-multi-node gn6 2 4 --dry-run train.py       what would be started";
