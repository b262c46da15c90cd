//! A server and its agents as people start them, in a folder that goes away; and nothing is left of them afterwards.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::outside;
use super::wire::Wire;
use crate::Trouble;
use crate::before::{self, Edition};

/// In the environment of everything that is started here, and inherited by all that this starts in turn.
const MARK: &str = "FERMI_BENCH_MARK";
const PATIENCE: Duration = Duration::from_secs(30);

/// What all that this bench ever starts carries.
pub fn own_mark() -> String {
    format!("{MARK}={}-", std::process::id())
}

static IS_BEFORE: AtomicBool = AtomicBool::new(false);

/// Which build the fleets from here on are.
pub fn measure_from_here(edition: Edition) {
    IS_BEFORE.store(edition == Edition::Before, Ordering::Relaxed);
}

fn binary() -> Result<PathBuf, Trouble> {
    let before = if IS_BEFORE.load(Ordering::Relaxed) { before::named()? } else { None };
    Ok(before.unwrap_or_else(|| env!("CARGO_BIN_EXE_fermi").into()))
}

pub struct Fleet {
    folder: TempDir,
    mark: String,
    address: String,
    /// What the server asks of those who come, as options.
    door: &'static [&'static str],
    server: Option<Child>,
    agents: Vec<Child>,
    names: Vec<String>,
}

impl Fleet {
    /// A server alone, which lets everybody in.
    pub fn server() -> Result<Self, Trouble> {
        Self::behind(&["--no-token"])
    }

    /// A server alone, behind a door of this kind.
    pub fn behind(door: &'static [&'static str]) -> Result<Self, Trouble> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::Builder::new().prefix("fermi-bench-").tempdir()?;
        // Copies, so that a build which goes on meanwhile changes nothing under measurement.
        fs::copy(binary()?, folder.path().join("fermi"))?;
        fs::copy("/proc/self/exe", folder.path().join("bench-rank"))?;
        let mark = format!("{}-{}.", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let address = "127.0.0.1:0".to_owned();
        let mut fleet = Self { folder, mark, address, door, server: None, agents: Vec::new(), names: Vec::new() };
        fleet.start_server()?;
        Ok(fleet)
    }

    /// Starts the server, at the address that it had before if it had one.
    fn start_server(&mut self) -> Result<(), Trouble> {
        let data = self.data().display().to_string();
        let words = ["server", "--listen", self.address.as_str(), "--data-dir", data.as_str()];
        let words = [&words[..], self.door].concat();
        self.server = Some(self.start("server", &words)?);
        let log = self.folder.path().join("server.log");
        self.address = eventually("the server to say where it listens", || said_address(&log))?;
        if self.is_encrypted() {
            return eventually("the server to be ready", || self.typed(&["task", "list"]).ok().map(drop));
        }
        eventually("the server to be ready", || {
            let answer = self.wire().ok()?.ask("GET", "/readyz", None).ok()?;
            (answer.status == 200).then_some(())
        })
    }

    /// Kills the server and starts it anew, on what it has stored.
    pub fn restart_server(&mut self) -> Result<(), Trouble> {
        if let Some(mut server) = self.server.take() {
            server.kill()?;
            server.wait()?;
        }
        self.start_server()
    }

    /// A server and environments with so many workers each, all of them connected.
    pub fn of(environments: &[(&str, u32)]) -> Result<Self, Trouble> {
        let mut fleet = Self::server()?;
        for (name, workers) in environments {
            let url = format!("http://{}", fleet.address);
            let data = fleet.folder.path().join(format!("agent-{name}")).display().to_string();
            let workers = workers.to_string();
            let words = ["agent", "--server", &url, "--name", name, "--zone", "bench", "--workers", &workers];
            let words = [&words[..], &["--data-dir", &data]].concat();
            let agent = fleet.start(&format!("agent-{name}"), &words)?;
            fleet.agents.push(agent);
            fleet.names.push((*name).to_owned());
        }
        fleet.wait_idle()?;
        Ok(fleet)
    }

    fn start(&self, log: &str, words: &[&str]) -> Result<Child, Trouble> {
        let log = File::create(self.folder.path().join(format!("{log}.log")))?;
        // With as many files as a shell gives, whatever this process has for its thousands of connections.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -S -n 1024; exec \"$0\" \"$@\""]).arg(self.folder.path().join("fermi"));
        self.dress(command.args(words));
        Ok(command.stdout(log.try_clone()?).stderr(log).spawn()?)
    }

    fn dress(&self, command: &mut Command) {
        command.env_clear().env(MARK, &self.mark).env("LANG", "C.UTF-8").env("HOME", self.folder.path());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
    }

    fn is_encrypted(&self) -> bool {
        self.door.contains(&"--tls")
    }

    /// How long a command takes that the one types who has started the server.
    pub fn typed(&self, words: &[&str]) -> Result<Duration, Trouble> {
        let mut command = Command::new(self.folder.path().join("fermi"));
        self.dress(command.args(words).stdout(Stdio::null()).stderr(Stdio::null()));
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        command.env("FERMI_SERVER", format!("{scheme}://{}", self.address));
        let began = Instant::now();
        let status = command.status()?;
        let took = began.elapsed();
        if status.success() { Ok(took) } else { Err(format!("fermi {}: {status}", words.join(" ")).into()) }
    }

    /// The administrator's.
    pub fn token(&self) -> Result<String, Trouble> {
        Ok(fs::read_to_string(self.data().join("token"))?.trim().to_owned())
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("server")
    }

    /// This very program, which plays the ranks that write much.
    pub fn rank_program(&self) -> String {
        self.folder.path().join("bench-rank").display().to_string()
    }

    pub fn server_pid(&self) -> u32 {
        self.server.as_ref().map_or(0, Child::id)
    }

    pub fn agent_pid(&self, agent: usize) -> u32 {
        self.agents[agent].id()
    }

    pub fn wire(&self) -> std::io::Result<Wire> {
        Wire::open(&self.address)
    }

    /// The environments in the order in which they were named here.
    pub fn environments(&self) -> Result<Vec<Value>, Trouble> {
        let items = self.wire()?.get("/environments?pageSize=1000")?["items"].take();
        let items = items.as_array().cloned().unwrap_or_default();
        let named = |name: &String| items.iter().find(|item| item["name"] == name.as_str()).cloned();
        Ok(self.names.iter().filter_map(named).collect())
    }

    /// Waits until every agent is there and every worker is free.
    pub fn wait_idle(&self) -> Result<(), Trouble> {
        eventually("every worker to be free", || {
            let environments = self.environments().ok()?;
            let is_idle = |environment: &Value| {
                let workers = environment["workers"].as_array().map_or(0, Vec::len);
                environment["status"] == "running" && environment["workersFree"].as_u64() == Some(workers as u64)
            };
            (environments.len() == self.names.len() && environments.iter().all(is_idle)).then_some(())
        })
    }

    /// A request that runs this on all environments, or on the first ones.
    pub fn task(&self, argv: &[&str]) -> Result<Value, Trouble> {
        let ids: Vec<Value> =
            self.environments()?.into_iter().map(|mut environment| environment["id"].take()).collect();
        let nodes = json!({
            "enabled": ids.len() > 1, "nodeIds": ids, "masterNode": ids.first(), "framework": "command",
        });
        Ok(json!({ "taskName": "a bench", "command": { "argv": argv }, "distributedConfig": nodes }))
    }

    /// Creates it, and answers with its id.
    pub fn create(&self, wire: &mut Wire, task: &Value) -> Result<String, Trouble> {
        let created = wire.data("POST", "/training-tasks", Some(task))?;
        Ok(created["taskId"].as_str().unwrap_or_default().to_owned())
    }

    /// Starts a task that holds all workers until the end of the fleet, so that whatever is created later waits.
    pub fn hold_workers(&self) -> Result<(), Trouble> {
        let mut wire = self.wire()?;
        let id = self.create(&mut wire, &self.task(&["/bin/sleep", "3600"])?)?;
        eventually("the task that holds the workers to run", || {
            (wire.get(&format!("/training-tasks/{id}")).ok()?["status"] == "running").then_some(())
        })
    }
}

/// The address in the first line that has one, once the line is whole.
fn said_address(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).ok()?;
    let (address, _) = text.split("://").nth(1)?.split_once(|letter: char| letter.is_whitespace())?;
    let is_part = |letter: &char| letter.is_ascii_digit() || ".:".contains(*letter);
    Some(address.chars().take_while(is_part).collect::<String>().trim_end_matches([':', '.']).to_owned())
}

/// Waits for a condition.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Trouble> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(format!("waited {PATIENCE:?} for {what}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain(&mut self.server) {
            // One that is dead already is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
        // Ranks outlive agents.
        outside::end_marked(&format!("{MARK}={}", self.mark));
        if std::thread::panicking() || std::env::var_os("FERMI_BENCH_LOGS").is_some() {
            let _ = Command::new("tail").arg("-n").arg("40").args(self.logs()).status();
        }
    }
}

impl Fleet {
    fn logs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
    }
}
