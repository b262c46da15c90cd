//! Looks at this machine: every step on a thread of its own, each with a deadline.

pub(crate) mod child;
mod cpu;
mod disk;
mod firewall;
mod gpu;
mod launch;
pub(crate) mod loopback;
mod network;
pub(crate) mod python;
mod step;
mod system;

use std::path::PathBuf;
use std::time::Duration;

use fermi_attempt::port as lease;
use fermi_domain::contract::{MASTER_ADDR, MASTER_PORT};
use fermi_domain::preflight::PreflightEngine;

use crate::facts::{MachineFacts, PortFacts, Seen};
pub use disk::file_system_of;
pub use network::{interfaces, own_addresses};
pub use step::Step;

/// What to look at, as far as people can choose it.
#[derive(Clone, Debug)]
pub struct LookOptions {
    /// The folder whose disk is tried.
    pub folder: PathBuf,
    /// The Python to ask; the usual one where None.
    pub python: Option<PathBuf>,
    /// The master's port as [`port`] has found it, before this process itself takes it.
    pub port: PortFacts,
    /// The engine that is asked for its devices, which takes some of their memory for a moment. Without, JAX is not imported.
    pub lists: Option<PreflightEngine>,
    /// Whether Python is asked at all, and how long its engines may take.
    pub python_patience: Option<Duration>,
}

/// Importing torch from a cold or a network disk takes this long at times.
pub const PYTHON: Duration = Duration::from_secs(30);
const QUICK: Duration = Duration::from_secs(3);
/// Loading the driver takes seconds where no persistence daemon holds it.
const DRIVER: Duration = Duration::from_secs(20);
const DISK: Duration = Duration::from_secs(10);
const RANKS: Duration = Duration::from_secs(10);

/// Looks at everything at once. Takes as long as the slowest step, at most about half a minute.
pub fn machine(options: &LookOptions) -> MachineFacts {
    let launch = launch::variables();
    let (facts_of_port, chosen) = (options.port.clone(), options.port.port);
    let folder = options.folder.clone();
    let master_name = launch.get(MASTER_ADDR).map(str::to_owned);
    let gpus = Step::start(DRIVER, gpu::look);
    let cpu = Step::start(QUICK, cpu::look);
    let memory = Step::start(QUICK, cpu::memory);
    let limits = Step::start(QUICK, system::limits);
    let disk = Step::start(DISK, move || disk::look(&folder));
    let clock = Step::start(QUICK, system::clock);
    let network = Step::start(QUICK, network::look);
    let firewall = Step::start(QUICK, firewall::look);
    let name = Step::start(QUICK, launch::name);
    let master = Step::start(QUICK * 2, move || master_name.map(|address| launch::master(address, chosen)));
    let loopback = Step::start(RANKS, loopback::look);
    let asked = options.clone();
    let patience = options.python_patience.unwrap_or_default();
    let python = Step::start(patience + QUICK, move || python::look(&asked));
    MachineFacts {
        host: system::host_name(),
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: system::kernel(),
        gpus: gpus.wait(),
        cpu: cpu.wait(),
        memory: memory.wait(),
        limits: limits.wait(),
        disk: disk.wait(),
        clock: clock.wait(),
        network: network.wait(),
        firewall: firewall.wait(),
        name: name.wait(),
        port: Seen::Known(facts_of_port),
        master: master.wait(),
        loopback: loopback.wait(),
        launch,
        python: python.wait(),
    }
}

/// The master's port on this machine: the one given, else the one that MASTER_PORT names, else the usual one.
pub fn port(given: Option<u16>) -> PortFacts {
    let by_environment = || std::env::var(MASTER_PORT).ok().and_then(|text| text.parse().ok());
    let (port, is_named) = given.or_else(by_environment).map_or((lease::FIRST, false), |port| (port, true));
    launch::port(port, is_named)
}
