//! A control plane under test: a real server and real agents as processes, spoken to through the public API alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Disks, Ended, Place, Run, eventually, processes};

/// A server with its agents.
pub struct Fleet {
    pub place: Place,
    /// `127.0.0.1:<port>`, the same over all its lives.
    address: String,
    server: Option<Child>,
    server_options: Vec<String>,
    /// The data folder of the server is a disk of so much, such as `16m`; gone with the server.
    server_disk: Option<String>,
    /// The disks of server and agents, where they outlive them.
    disks: Option<Disks>,
    agents: Vec<Agent>,
    /// What agents have as /etc/hosts.
    hosts: Option<PathBuf>,
    http: ureq::Agent,
}

struct Agent {
    name: String,
    zone: String,
    workers: u32,
    options: Vec<String>,
    /// Its data folder is a disk of so much; gone with the agent and its runs.
    disk: Option<String>,
    /// Where it is, if not here.
    elsewhere: Option<Elsewhere>,
    process: Option<Child>,
}

/// Where an agent is that is not on this host.
#[derive(Clone)]
pub struct Elsewhere {
    /// The words by which a program is started there.
    pub words: Vec<String>,
    /// Where it finds the server.
    pub server: String,
}

impl Fleet {
    /// A server alone.
    pub fn server() -> Self {
        Self::server_with(None, &[])
    }

    /// A server whose data folder is a small disk, such as `16m`, with options.
    pub fn server_with(disk: Option<&str>, options: &[&str]) -> Self {
        Self::server_in(Place::new(), disk, options)
    }

    /// The same in a place that was made before.
    pub fn server_in(place: Place, disk: Option<&str>, options: &[&str]) -> Self {
        Self::server_at("127.0.0.1:0", place, disk, options)
    }

    /// The same at an address of this machine.
    pub fn server_at(address: &str, place: Place, disk: Option<&str>, options: &[&str]) -> Self {
        let mut fleet = Self::at_rest_in(address, place, disk, options);
        fleet.start_server();
        fleet
    }

    /// A place where a server has not been started yet: its folders may be there already.
    pub fn at_rest(disk: Option<&str>, options: &[&str]) -> Self {
        Self::at_rest_in("127.0.0.1:0", Place::new(), disk, options)
    }

    /// A server whose data folder is a disk of so much, such as `16m`, and so are those of the agents of these names that will
    /// come. The disks outlive server and agents.
    pub fn on_disks(size: &str, agents: &[&str]) -> Self {
        let mut fleet = Self::at_rest(Some(size), &[]);
        let of_agents = agents.iter().map(|name| fleet.folder_of(name));
        let folders: Vec<PathBuf> = [fleet.data()].into_iter().chain(of_agents).collect();
        fleet.disks = Some(Disks::new(&fleet.place, size, &folders));
        fleet.start_server();
        fleet
    }

    /// A folder on a disk that server and agents alone see, as it is found from here.
    pub fn on_disk(&self, folder: &Path) -> PathBuf {
        self.disks.as_ref().unwrap().find(folder)
    }

    /// A command that sees the disks.
    pub fn beside_disks(&self, arguments: &[&str]) -> Ended {
        let mut command = self.fermi_with_disk(None, Path::new(""));
        Run::whole(command.args(arguments).env("FERMI_LANG", "en"))
    }

    fn at_rest_in(address: &str, place: Place, disk: Option<&str>, options: &[&str]) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        Self {
            place,
            address: address.to_owned(),
            server: None,
            server_options: options.iter().map(|option| (*option).to_owned()).collect(),
            server_disk: disk.map(str::to_owned),
            disks: None,
            agents: Vec::new(),
            hosts: None,
            http: config.into(),
        }
    }

    /// A server and environments of these names with so many workers each, all of them connected.
    pub fn of(environments: &[(&str, u32)]) -> Self {
        let mut fleet = Self::server();
        for (name, workers) in environments {
            fleet.add(name, *workers, &[]);
        }
        fleet
    }

    /// Agents that come from now on know these names, each as this machine.
    pub fn know(&mut self, names: &[&str]) {
        let lines: String = names.iter().map(|name| format!("127.0.0.1 {name}\n")).collect();
        let path = self.place.path().join("hosts");
        fs::write(&path, format!("127.0.0.1 localhost\n{lines}")).unwrap();
        self.hosts = Some(path);
    }

    /// One more environment.
    pub fn add(&mut self, name: &str, workers: u32, options: &[&str]) {
        self.add_with_disk(name, workers, options, None);
    }

    /// One more environment, in a zone.
    pub fn add_in_zone(&mut self, name: &str, workers: u32, zone: &str, options: &[&str]) {
        self.join(name, workers, zone, options, None);
    }

    /// One more environment, whose data folder is a disk of so much, such as `2m`.
    pub fn add_with_disk(&mut self, name: &str, workers: u32, options: &[&str], disk: Option<&str>) {
        self.join(name, workers, &format!("zone-{name}"), options, disk);
    }

    /// One more environment, which is not waited for.
    pub fn begin(&mut self, name: &str, workers: u32) {
        self.begin_with(name, workers, &format!("zone-{name}"), &[], None);
    }

    fn join(&mut self, name: &str, workers: u32, zone: &str, options: &[&str], disk: Option<&str>) {
        self.begin_with(name, workers, zone, options, disk);
        self.environment_is(name, "running");
    }

    fn begin_with(&mut self, name: &str, workers: u32, zone: &str, options: &[&str], disk: Option<&str>) {
        self.agents.push(Agent {
            name: name.to_owned(),
            zone: zone.to_owned(),
            workers,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            disk: disk.map(str::to_owned),
            elsewhere: None,
            process: None,
        });
        self.start_agent(self.agents.len() - 1);
    }

    /// One more environment, on another host.
    pub fn add_elsewhere(&mut self, name: &str, workers: u32, elsewhere: Elsewhere) {
        let zone = format!("zone-{name}");
        let (name, options, elsewhere) = (name.to_owned(), Vec::new(), Some(elsewhere));
        self.agents.push(Agent { name: name.clone(), zone, workers, options, disk: None, elsewhere, process: None });
        self.start_agent(self.agents.len() - 1);
        self.environment_is(&name, "running");
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn data(&self) -> PathBuf {
        self.place.path().join("server")
    }

    /// An agent's own folder.
    pub fn agent_data(&self, agent: usize) -> PathBuf {
        self.folder_of(&self.agents[agent].name)
    }

    /// The folder of the agent of this name.
    pub fn folder_of(&self, agent: &str) -> PathBuf {
        self.place.path().join(format!("agent-{agent}"))
    }

    /// What people send to be let in, alone.
    pub fn token(&self) -> String {
        fs::read_to_string(self.token_file()).unwrap_or_default().trim().to_owned()
    }

    /// Where the server's token is: where it is made by itself, but not on a disk that only the server sees.
    fn token_file(&self) -> PathBuf {
        if self.server_disk.is_some() { self.place.path().join("token") } else { self.data().join("token") }
    }

    /// A command as `who` types it: each has a state folder of its own, and `owner` is who has started the server.
    pub fn typed(&self, who: &str, arguments: &[&str]) -> Ended {
        let mut command = self.place.fermi(arguments);
        command.env("FERMI_SERVER", format!("http://{}", self.address())).env("FERMI_LANG", "en");
        if who != "owner" {
            command.env("FERMI_STATE_DIR", self.place.path().join(who));
        }
        Run::whole(&mut command)
    }

    /// What people send to be let in: `authorization`.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token())
    }

    pub fn start_server(&mut self) {
        assert!(self.try_start_server(), "the server has ended at its start");
    }

    /// Starts the server and waits until it is ready; false when it has ended before.
    pub fn try_start_server(&mut self) -> bool {
        self.begin_server()
            && eventually("the server to be ready", || {
                let is_ready = self.try_get("/readyz").is_some_and(|(status, _)| status == 200);
                if is_ready { Some(true) } else { self.server_is_over().then_some(false) }
            })
    }

    /// Starts the server and waits until it listens, though it may not be ready, as on a full disk; false when it has ended
    /// before.
    pub fn begin_server(&mut self) -> bool {
        let log = self.place.path().join("server.log");
        let out = fs::File::options().create(true).append(true).open(&log).unwrap();
        let before = fs::metadata(&log).map_or(0, |meta| meta.len()) as usize;
        let mut command = self.fermi_with_disk(self.server_disk.as_deref(), &self.data());
        command.args(["server", "--listen", &self.address]).args(&self.server_options);
        if self.server_disk.is_some() {
            command.arg("--token-file").arg(self.token_file());
        }
        command.arg("--data-dir").arg(self.data()).stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
        self.server = Some(command.spawn().unwrap());
        let address = eventually("the server to say where it listens", || {
            let text = fs::read_to_string(&log).ok()?;
            let Some(at) = text.get(before..)?.split("http://").nth(1) else {
                return self.server_is_over().then_some(None);
            };
            let address: String =
                at.chars().take_while(|letter| letter.is_ascii_digit() || ".:".contains(*letter)).collect();
            at.contains('\n').then_some(Some(address.trim_end_matches(':').to_owned()))
        });
        let Some(address) = address else { return false };
        self.address = address;
        true
    }

    /// Whether the server has ended by itself.
    pub fn server_is_over(&mut self) -> bool {
        self.server.as_mut().is_some_and(|server| server.try_wait().unwrap().is_some())
    }

    /// Whether an agent has ended by itself.
    pub fn agent_is_over(&mut self, agent: usize) -> bool {
        self.agents[agent].process.as_mut().is_some_and(|agent| agent.try_wait().unwrap().is_some())
    }

    /// What an agent has said.
    pub fn agent_log(&self, agent: usize) -> String {
        let log = self.place.path().join(format!("agent-{}.log", self.agents[agent].name));
        fs::read_to_string(log).unwrap_or_default()
    }

    /// What the server has said.
    pub fn server_log(&self) -> String {
        fs::read_to_string(self.place.path().join("server.log")).unwrap_or_default()
    }

    pub fn start_agent(&mut self, agent: usize) {
        let data = self.agent_data(agent);
        let log = self.place.path().join(format!("agent-{}.log", self.agents[agent].name));
        let out = fs::File::options().create(true).append(true).open(log).unwrap();
        let known = &self.agents[agent];
        let server = known.elsewhere.as_ref().map_or(&self.address, |elsewhere| &elsewhere.server);
        let server = format!("http://{server}");
        let workers = known.workers.to_string();
        let mut command = match known.elsewhere.as_ref().and_then(|elsewhere| elsewhere.words.split_first()) {
            None => self.fermi_with_disk(known.disk.as_deref(), &data),
            Some((first, rest)) => {
                let mut command = self.place.program(first);
                command.args(rest).arg(env!("CARGO_BIN_EXE_fermi"));
                command.arg("agent").arg("--token-file").arg(self.token_file());
                command
            }
        };
        if known.elsewhere.is_none() {
            command.arg("agent");
        }
        command.args(["--server", &server, "--name", &known.name]);
        command.args(["--zone", &known.zone, "--workers", &workers]).args(&known.options);
        command.arg("--data-dir").arg(data).stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
        self.agents[agent].process = Some(command.spawn().unwrap());
    }

    /// The binary; where a disk or names are asked for, in a namespace that has them.
    fn fermi_with_disk(&self, disk: Option<&str>, folder: &Path) -> Command {
        if let Some(disks) = &self.disks {
            return disks.program(&self.place, env!("CARGO_BIN_EXE_fermi"));
        }
        let mut mounts = Vec::new();
        if let Some(size) = disk {
            fs::create_dir_all(folder).unwrap();
            mounts.push(format!("mount -t tmpfs -o size={size},mode=700 none '{}'", folder.display()));
        }
        mounts.extend(self.hosts.as_ref().map(|hosts| format!("mount --bind '{}' /etc/hosts", hosts.display())));
        if mounts.is_empty() {
            return self.place.fermi([] as [&str; 0]);
        }
        let mut command = self.place.with_mounts(&mounts.join(" && "));
        command.arg(env!("CARGO_BIN_EXE_fermi"));
        command
    }

    pub fn server_pid(&self) -> i32 {
        self.server.as_ref().unwrap().id() as i32
    }

    pub fn agent_pid(&self, agent: usize) -> i32 {
        self.agents[agent].process.as_ref().unwrap().id() as i32
    }

    /// `kill -9`, and waits for the end.
    pub fn kill_server(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Waits for the end of a server that was asked for it.
    pub fn wait_for_server(&mut self) {
        self.server.take().unwrap().wait().unwrap();
    }

    pub fn kill_agent(&mut self, agent: usize) {
        let mut process = self.agents[agent].process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Warden and supervisor of the run on an agent, as its live note names them.
    pub fn keepers(&self, agent: usize) -> Option<(i32, i32)> {
        let notes = fs::read_dir(self.agent_data(agent).join("live")).ok()?;
        notes.flatten().find_map(|note| {
            let note: Value = serde_json::from_slice(&fs::read(note.path()).ok()?).ok()?;
            let pid = |index: usize| note["keepers"][index]["pid"].as_i64().map(|pid| pid as i32);
            Some((pid(0)?, pid(1)?))
        })
    }

    /// The machine is switched off: the agent and everything that it ever started, at once.
    pub fn kill_environment(&mut self, agent: usize) {
        let (warden, supervisor) = eventually("keepers", || self.keepers(agent));
        let below = processes::below(&[warden, supervisor]);
        let pids: Vec<i32> = [warden, supervisor].into_iter().chain(below.iter().map(|process| process.pid)).collect();
        // Stopped first, so that nobody does anything about the death of another.
        for pid in pids.iter().chain([&self.agent_pid(agent)]) {
            super::signal(*pid, libc::SIGSTOP);
        }
        self.kill_agent(agent);
        for pid in pids {
            super::signal(pid, libc::SIGKILL);
        }
    }

    fn url(&self, path: &str) -> String {
        let path = if path.starts_with("/api") || path.starts_with("/readyz") {
            path.to_owned()
        } else {
            format!("/api/v1{path}")
        };
        format!("http://{}{path}", self.address)
    }

    pub fn try_get(&self, path: &str) -> Option<(u16, Value)> {
        let request = self.http.get(self.url(path)).header("authorization", self.bearer());
        let mut answer = request.header("accept-language", "en").call().ok()?;
        let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().ok()?;
        Some((answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// What the API answers: its `data`.
    pub fn get(&self, path: &str) -> Value {
        let (status, mut answer) = self.try_get(path).unwrap_or_else(|| panic!("no answer to GET {path}"));
        assert_eq!(status, 200, "GET {path}: {answer}");
        answer["data"].take()
    }

    /// What a rank was really started with, once its node has told it.
    pub fn started(&self, task: &str, attempt: u32, rank: u32) -> Value {
        let path = format!("/training-tasks/{task}/start?rank={rank}&attempt={attempt}");
        super::eventually(&format!("the start of rank {rank} in attempt {attempt} of {task}"), || {
            let (status, mut answer) = self.try_get(&path)?;
            (status == 200).then(|| answer["data"].take())
        })
    }

    /// Status and whole answer.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let mut answer = self
            .http
            .post(self.url(path))
            .header("authorization", self.bearer())
            .header("accept-language", "en")
            .header("content-type", "application/json")
            .send(body.to_string())
            .unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Status and whole answer.
    pub fn delete(&self, path: &str) -> (u16, Value) {
        let request = self.http.delete(self.url(path)).header("authorization", self.bearer());
        let mut answer = request.header("accept-language", "en").call().unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Creates a task on all agents that runs this shell script in each rank. Answers with its id.
    pub fn run_script(&self, script: &str, max_restarts: u32) -> String {
        self.create(json!({
            "taskName": "a test",
            "command": { "argv": ["/bin/sh", "-c", script] },
            "policies": { "restart": { "maxRestarts": max_restarts }, "nodeLostAfter": 5 },
            "distributedConfig": { "framework": "command" },
        }))
    }

    /// The same on one of the agents.
    pub fn run_script_on(&self, agent: &str, script: &str, max_restarts: u32) -> String {
        let request = json!({
            "taskName": "a test",
            "command": { "argv": ["/bin/sh", "-c", script] },
            "policies": { "restart": { "maxRestarts": max_restarts } },
            "distributedConfig": { "framework": "command" },
        });
        self.create_on(vec![self.environment_id(agent)], request)
    }

    /// Creates a task on all agents, the first one master, with what else is given.
    pub fn create(&self, request: Value) -> String {
        self.create_on(self.agents.iter().map(|agent| self.environment_id(&agent.name)).collect(), request)
    }

    /// The same; status and answer where the server does not do it.
    pub fn try_create(&self, request: Value) -> Result<String, (u16, Value)> {
        self.try_create_on(self.agents.iter().map(|agent| self.environment_id(&agent.name)).collect(), request)
    }

    fn create_on(&self, ids: Vec<String>, request: Value) -> String {
        self.try_create_on(ids, request).unwrap_or_else(|(status, answer)| panic!("{status} {answer}"))
    }

    fn try_create_on(&self, ids: Vec<String>, mut request: Value) -> Result<String, (u16, Value)> {
        let nodes = &mut request["distributedConfig"];
        nodes["enabled"] = json!(ids.len() > 1);
        nodes["nodeIds"] = json!(ids);
        nodes["masterNode"] = json!(ids[0]);
        match self.post("/training-tasks", &request) {
            (200, answer) => Ok(answer["data"]["taskId"].as_str().unwrap().to_owned()),
            refused => Err(refused),
        }
    }

    fn environment(&self, name: &str) -> Option<Value> {
        let (_, answer) = self.try_get("/environments")?;
        answer["data"]["items"].as_array()?.iter().find(|environment| environment["name"] == name).cloned()
    }

    pub fn environment_id(&self, name: &str) -> String {
        self.environment(name).unwrap()["id"].as_str().unwrap().to_owned()
    }

    pub fn environment_is(&self, name: &str, status: &str) {
        eventually(&format!("the environment {name} to be {status}"), || {
            (self.environment(name)?["status"] == status).then_some(())
        });
    }

    pub fn task(&self, id: &str) -> Value {
        self.get(&format!("/training-tasks/{id}"))
    }

    /// Waits until the task has this status; one that is over with another is told with all that is known.
    pub fn task_is(&self, id: &str, status: &str) -> Value {
        eventually(&format!("{id} to be {status}"), || {
            let (_, answer) = self.try_get(&format!("/training-tasks/{id}"))?;
            let now = answer["data"]["status"].as_str()?;
            let is_over = matches!(now, "succeeded" | "failed" | "stopped");
            assert!(now == status || !is_over, "{id} is {now}, not {status}: {:#}", answer["data"]);
            (now == status).then(|| answer["data"].clone())
        })
    }

    /// All that a rank wrote to stdout in an attempt.
    pub fn log(&self, id: &str, attempt: u32, rank: u32) -> String {
        let path = format!(
            "/training-tasks/{id}/logs?attempt={attempt}&rank={rank}&stream=stdout&limitBytes=4194304&offset=0"
        );
        let Some((200, answer)) = self.try_get(&path) else { return String::new() };
        let chunks = answer["data"]["chunks"].as_array().cloned().unwrap_or_default();
        chunks.iter().filter_map(|chunk| chunk["text"].as_str()).collect()
    }

    /// Waits until a rank has said this in its newest attempt.
    pub fn says(&self, id: &str, attempt: u32, rank: u32, text: &str) {
        eventually(&format!("rank {rank} of {id} to say {text} in attempt {attempt}"), || {
            self.log(id, attempt, rank).contains(text).then_some(())
        });
    }

    /// Nothing of any task is left on the machine, and every worker is free.
    pub fn assert_idle(&self) {
        for (index, agent) in self.agents.iter().enumerate().filter(|(_, agent)| agent.process.is_some()) {
            self.environment_is(&agent.name, "running");
            eventually("no live note to be left", || self.keepers(index).is_none().then_some(()));
        }
        let ours: Vec<i32> = self
            .agents
            .iter()
            .filter_map(|agent| agent.process.as_ref())
            .chain(&self.server)
            .map(|process| process.id() as i32)
            .chain(self.disks.as_ref().map(Disks::holder))
            .collect();
        eventually("no process of a task to be left", || {
            self.place.alive().iter().all(|process| ours.contains(&process.pid)).then_some(())
        });
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for id in 1..4 {
                if let Some((200, answer)) = self.try_get(&format!("/training-tasks/task-{id}")) {
                    eprintln!("== task-{id}\n{:#}", answer["data"]);
                }
            }
        }
        let server = self.server.iter_mut();
        for process in self.agents.iter_mut().filter_map(|agent| agent.process.as_mut()).chain(server) {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            for name in fs::read_dir(self.place.path()).into_iter().flatten().flatten() {
                if name.path().extension().is_some_and(|extension| extension == "log") {
                    eprintln!("== {}\n{}", name.path().display(), fs::read_to_string(name.path()).unwrap_or_default());
                }
            }
        }
    }
}
