//! `fermi doctor --nnodes N`: several machines at once, without a server.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_doctor::facts::PortFacts;
use fermi_doctor::look::{self, LookOptions, Step};
use fermi_doctor::nodes::{NodesOptions, hub, member, report};
use fermi_doctor::{Counts, Finding, State, check};
use fermi_domain::contract::{FERMI_NODE_NAME, MASTER_ADDR};
use fermi_domain::language::{Notice, Text, reason};
use fermi_domain::preflight::PreflightEngine;
use serde_json::json;

use super::printing::View;
use super::{DoctorFlags, EngineAsked, code, matrix, options};
use crate::{exit_code, speech};

/// All of it takes a minute at most, so Python has less time than when it is asked alone.
pub const PYTHON: Duration = Duration::from_secs(10);
pub const LOOK: Duration = Duration::from_secs(14);
/// All steps after the meeting, each at its latest.
const WHOLE: Duration = Duration::from_secs(60);

pub fn execute(flags: &DoctorFlags) -> ExitCode {
    let (nnodes, rank) = (flags.nnodes, flags.node_rank);
    if rank >= nnodes {
        return refuse(
            "node_rank",
            Text::new(
                format!("--node-rank {rank} 超出范围：共 {nnodes} 个节点，从 0 开始"),
                format!("--node-rank {rank} does not exist: there are {nnodes} nodes, counted from 0"),
            ),
            Text::new("给每台机器一个自己的 --node-rank", "give each machine its own --node-rank"),
        );
    }
    let Some(master_addr) = flags.master_addr.clone().or_else(|| std::env::var(MASTER_ADDR).ok()) else {
        return refuse(
            "master_addr",
            Text::new("多台机器需要知道主节点的地址", "several machines need the address of node 0"),
            Text::new("加上 --master-addr，所有机器相同", "add --master-addr, the same on all machines"),
        );
    };
    let mut look = options(flags, PYTHON);
    look.lists = look.lists.filter(|engine| lists_before(*engine));
    if rank > 0 {
        // Only the first needs the port; on the same machine it has it.
        look.port = PortFacts { port: look.port.port, is_free: true, ..PortFacts::default() };
    }
    let nodes = NodesOptions {
        nnodes: nnodes as usize,
        node_rank: rank as usize,
        master_addr,
        master_port: look.port.port,
        join: Duration::from_secs(flags.join_timeout),
        names: Vec::new(),
        until: Instant::now() + Duration::from_secs(flags.join_timeout) + WHOLE,
        path: flags.path.clone(),
        engine: flags.engine.map(EngineAsked::engine),
        python: flags.python.clone(),
        word: None,
        name: std::env::var(FERMI_NODE_NAME).ok().filter(|name| !name.is_empty()).unwrap_or_else(host_name),
    };
    if rank == 0 { first(flags, &nodes, look) } else { other(flags, &nodes, look) }
}

/// Torch lists its devices when it adds over all nodes; JAX has to have been imported before to do so in time.
pub fn lists_before(engine: PreflightEngine) -> bool {
    engine == PreflightEngine::Jax
}

pub fn refuse(id: &'static str, text: Text, hint: Text) -> ExitCode {
    speech::complain(&Notice::new(id, text, hint));
    ExitCode::from(exit_code::USAGE)
}

fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn first(flags: &DoctorFlags, nodes: &NodesOptions, look: LookOptions) -> ExitCode {
    let start = Instant::now();
    let port = nodes.master_port;
    let look = Step::start(LOOK, move || look::machine(&look));
    let met = hub::listen(port).and_then(|listener| hub::run(listener, nodes, look, |_, _, _| {}));
    let found = match met {
        Ok(found) => found,
        Err(error) => {
            let why = reason::of_io(&error);
            speech::complain(&Notice::new(
                "port_unavailable",
                Text::new(
                    format!("无法监听端口 {port}：{}", why.zh),
                    format!("cannot listen at port {port}: {}", why.en),
                ),
                Text::new("在所有机器上换一个 --master-port", "choose another --master-port on all machines"),
            ));
            return ExitCode::from(exit_code::FAILED);
        }
    };
    let findings = check::wire::nodes(&found.survey);
    let counts = Counts::of(&findings);
    tell(&found, &findings, counts.errors);
    let seconds = start.elapsed().as_secs_f64();
    if flags.json {
        let is_ok = counts.errors == 0;
        speech::print_json(
            &json!({"v": 1, "ok": is_ok, "nnodes": nodes.nnodes, "seconds": seconds, "counts": counts, "findings": findings, "survey": found.survey}),
        );
    } else {
        let view = View::for_stdout();
        let title = match view.language {
            fermi_domain::language::Language::ZhCn => format!("{} 个节点", nodes.nnodes),
            fermi_domain::language::Language::En => format!("{} nodes", nodes.nnodes),
        };
        speech::print(&view.findings(&title, &findings));
        let names: Vec<String> = (0..nodes.nnodes).map(|node| found.survey.name(node)).collect();
        let report = report(&found.survey, Vec::new());
        speech::print(&matrix::latency(view, &names, &report.round_trips_us, &found.survey.untried()));
        speech::print(&matrix::bandwidth(view, &names, &report.bytes_per_second));
        speech::print(&view.summary(counts, seconds));
    }
    code(counts.errors)
}

/// Every node hears what concerns it.
pub fn tell(found: &hub::Hub, findings: &[Finding], errors: usize) {
    let concerns = |finding: &&Finding, node: usize| finding.state >= State::Warning && finding.nodes.contains(&node);
    found.tell(errors, |node| {
        findings.iter().filter(|finding| concerns(finding, node)).map(|finding| finding.text.clone()).collect()
    });
}

fn other(flags: &DoctorFlags, nodes: &NodesOptions, look: LookOptions) -> ExitCode {
    match member::run(nodes, Step::start(LOOK, move || look::machine(&look))) {
        Ok(told) => {
            if flags.json {
                let is_ok = told.errors == 0;
                speech::print_json(
                    &json!({"v": 1, "ok": is_ok, "node": nodes.node_rank, "errors": told.errors, "said": told.said}),
                );
            } else {
                speech::print(&View::for_stdout().told(&told.said, told.errors));
            }
            code(told.errors)
        }
        Err(problem) => {
            speech::complain(&problem);
            ExitCode::from(exit_code::FAILED)
        }
    }
}
