//! `fermi env join`: the one command that makes another machine an environment.

use std::net::{IpAddr, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use fermi_api::client::ServerAddress;
use fermi_api::v1::CreateToken;
use fermi_domain::access::join::USUAL_JOIN_MS;
use fermi_domain::access::{Fingerprint, TokenScope};
use fermi_domain::contract;
use serde_json::json;

use crate::commands::task::{parse_pair, parse_time};
use crate::connection::{AskFlags, Outcome};
use crate::known_servers;
use crate::speech::{self, pick};

/// Print the one command that makes another machine an environment, with a token for it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi env join --zone zone-a --label team=nlp --uses 8 --expires 2h")]
pub struct JoinFlags {
    /// What the machine will be called [default: its host's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The zone of machines that come with it, whatever they say
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// A label of machines that come with it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    label: Vec<(String, String)>,
    /// How many machines may come with it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    uses: u32,
    /// For how long, such as 30m or 12h [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Duration>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &JoinFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let request = CreateToken {
        name: flags.name.clone().unwrap_or_else(|| "fermi env join".to_owned()),
        role: None,
        scope: TokenScope::Agent,
        expires_in_s: Some(flags.expires.map_or(USUAL_JOIN_MS / 1_000, |expires| expires.as_secs())),
        uses: Some(flags.uses),
        zone: flags.zone.clone(),
        labels: flags.label.iter().cloned().collect(),
    };
    let made = client.create_token(&request)?.data;
    let (server, is_reached) = for_others(client.server());
    let fingerprint = flags.ask.server.fingerprint(client.server());
    let command = command(&server, fingerprint, flags.name.as_deref(), &made.token);
    if flags.ask.json {
        let server = server.to_string();
        speech::print_json(
            &json!({"command": command, "server": server, "fingerprint": fingerprint, "token": made.token, "made": made.made}),
        );
        return Ok(ExitCode::SUCCESS);
    }
    speech::say(pick(
        "在新机器上运行（令牌只显示这一次）：\n\n",
        "Run this on the new machine (the token is shown this once):\n\n",
    ));
    speech::print(&format!("{command}\n"));
    if !is_reached {
        speech::say(pick(
            "\n服务器只在本机监听，其他机器无法连接；用 --listen 0.0.0.0:7070 --tls 启动它\n",
            "\nthe server listens on this machine alone and no other one reaches it; start it with --listen 0.0.0.0:7070 --tls\n",
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is typed on the other machine. The token is in a variable: the words of a command are for everyone to read.
fn command(server: &ServerAddress, fingerprint: Option<Fingerprint>, name: Option<&str>, token: &str) -> String {
    let mut command = format!("{}={token} fermi agent --server {server}", contract::FERMI_TOKEN);
    if let Some(fingerprint) = fingerprint {
        command.push_str(&format!(" --fingerprint {fingerprint}"));
    }
    if let Some(name) = name {
        command.push_str(&format!(" --name {name}"));
    }
    command
}

/// The address under which other machines reach the server, and whether they do.
fn for_others(server: &ServerAddress) -> (ServerAddress, bool) {
    if !server.is_loopback() {
        return (server.clone(), true);
    }
    match (known_servers::listens_at(server), own_address()) {
        (Some(listens), Some(own)) if listens.is_unspecified() => (server.at_host(own), true),
        _ => (server.clone(), false),
    }
}

/// The address from which this machine speaks to others. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_all_that_the_machine_needs() {
        let server: ServerAddress = "https://10.0.0.1:7070".parse().unwrap();
        let fingerprint: Fingerprint = "0a".repeat(32).parse().unwrap();
        assert_eq!(
            command(&server, Some(fingerprint), Some("gn6"), "word"),
            format!(
                "FERMI_TOKEN=word fermi agent --server https://10.0.0.1:7070 --fingerprint {fingerprint} --name gn6"
            )
        );
        assert_eq!(command(&server, None, None, "word"), "FERMI_TOKEN=word fermi agent --server https://10.0.0.1:7070");
        assert_eq!(for_others(&server), (server, true));
    }
}
