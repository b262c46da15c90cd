//! One example of the repository, started in each of the ways that there are: through agents, under `fermi run`, and by
//! the launcher that its engine brings along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::said::{End, assert_resumed, has_ended, numbers};
use crate::support::{Fleet, Place, Run, eventually, is_left_out, signal, torch_python};

/// What is trained, the same in every way.
pub struct Job {
    pub framework: &'static str,
    pub python: &'static Path,
    pub script: &'static str,
    pub words: &'static [&'static str],
    pub settings: Value,
    pub tensor_parallel: u32,
}

/// What happens to the last rank in the first attempt.
#[derive(Clone, Copy)]
pub enum Fate {
    Undisturbed,
    /// It kills itself at this step; the newest checkpoint is then that of the other one.
    DiesAt(u32, u32),
    /// The test kills it when rank 0 has said this, wherever it then is.
    KilledAfter(&'static str),
}

/// Where the nodes of a training keep their checkpoints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In one folder that all of them see, named for the task or run.
    Shared,
    /// Each in its own, as it is where nothing is said.
    Own,
}

impl Fate {
    fn words(self) -> Vec<String> {
        match self {
            Self::DiesAt(step, _) => vec!["--crash-at".to_owned(), step.to_string()],
            _ => Vec::new(),
        }
    }

    fn resumes_at(self) -> Option<u32> {
        if let Self::DiesAt(_, checkpoint) = self { Some(checkpoint) } else { None }
    }

    fn attempts(self) -> u32 {
        if matches!(self, Self::Undisturbed) { 1 } else { 2 }
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A program of the environment that has the engines.
pub fn beside_python(name: &str) -> PathBuf {
    torch_python().with_file_name(name)
}

/// The folder of programs beside the interpreter first: DeepSpeed asks for ninja. What it compiles on first use lies
/// in the environment too. One thread each, since all nodes are this one machine.
pub fn engine_variables() -> [(&'static str, String); 4] {
    let bin = torch_python().parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let extensions = bin.with_file_name("torch_extensions").display().to_string();
    [
        ("PATH", path),
        ("TORCH_EXTENSIONS_DIR", extensions),
        ("OMP_NUM_THREADS", "1".to_owned()),
        ("GLOO_SOCKET_IFNAME", "lo".to_owned()),
    ]
}

/// Whether to go on: no, said aloud, where the engine was left out.
pub fn has(part: &str, module: &str) -> bool {
    if is_left_out(part) {
        return false;
    }
    let question = format!("import importlib.util as u; exit(u.find_spec('{module}') is None)");
    let found = Command::new(torch_python()).args(["-c", &question]).status().is_ok_and(|status| status.success());
    assert!(
        found,
        "there is no {module} beside torch: run `make venv`, or name it as left out: FERMI_LEAVE_OUT={part}"
    );
    true
}

impl Job {
    pub fn script(&self) -> PathBuf {
        repository().join("examples").join(self.script)
    }

    /// A task on agents with so many workers each.
    pub fn through_agents(&self, workers: &[u32], fate: Fate, storage: Storage) -> End {
        let names: Vec<String> = (0..workers.len()).map(|node| format!("node{node}")).collect();
        let nodes: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(workers.iter().copied()).collect();
        let fleet = Fleet::of(&nodes);
        let ranks: u32 = workers.iter().sum();
        let id = self.create(&fleet, ranks, fate, storage);
        if let Fate::KilledAfter(said) = fate {
            rank_zero_says(&fleet, &id, 1, |log| log.contains(said));
            kill_rank(&fleet, &id, ranks - 1);
        }
        let last = fate.attempts();
        if last > 1 {
            rank_zero_says(&fleet, &id, last, |log| log.contains("resumes at step "));
        }
        rank_zero_says(&fleet, &id, last, has_ended);
        let task = fleet.task_is(&id, "succeeded");
        fleet.assert_idle();
        let attempts = task["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), last as usize, "{attempts:#?}");
        let mut logs: Vec<String> = (0..ranks).map(|rank| whole_log(&fleet, &id, last, rank)).collect();
        if last > 1 {
            let headline = attempts[0]["verdict"]["headline"]["en"].as_str().unwrap();
            let blamed = format!("rank {} on node{} ", ranks - 1, workers.len() - 1);
            assert!(headline.starts_with(&blamed) && headline.ends_with("SIGKILL"), "{headline}");
            let first = fleet.log(&id, 1, 0);
            assert_resumed(&first, &logs[0], fate.resumes_at());
            assert_same_step(&logs);
            assert_found(&fleet, &id, workers.len(), storage);
            logs[0].insert_str(0, &first);
        }
        End::of(logs)
    }

    fn create(&self, fleet: &Fleet, ranks: u32, fate: Fate, storage: Storage) -> String {
        let mut argv = vec![self.script().to_str().unwrap().to_owned()];
        argv.extend(self.words.iter().map(|word| (*word).to_owned()).chain(fate.words()));
        let env: serde_json::Map<String, Value> =
            engine_variables().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let shared = fleet.place.path().join("shared");
        let mut options = json!({ "framework": self.settings });
        if storage == Storage::Shared {
            options["checkpointDir"] = shared.to_str().into();
        }
        let divided = json!({
            "dataParallel": ranks / self.tensor_parallel, "pipelineParallel": 1, "tensorParallel": self.tensor_parallel,
        });
        fleet.create(json!({
            "taskName": self.framework,
            "command": { "argv": argv, "env": env, "interpreter": self.python },
            "options": options,
            "policies": { "restart": { "maxRestarts": fate.attempts() - 1 } },
            "distributedConfig": {
                "framework": self.framework,
                "strategy": if self.tensor_parallel > 1 { divided } else { Value::Null },
            },
        }))
    }

    /// `fermi run --framework …` with so many ranks.
    pub fn under_run(&self, place: &Place, ranks: u32, fate: Fate) -> End {
        let port = free_port();
        let _left = SharedMemory(&port);
        let (count, restarts) = (ranks.to_string(), (fate.attempts() - 1).to_string());
        let mut command = place.run(["-n", &count, "--max-restarts", &restarts, "--framework", self.framework]);
        for (key, value) in self.settings.as_object().unwrap() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            command.args(["--set", &format!("{key}={value}")]);
        }
        if self.tensor_parallel > 1 {
            command.args(["--tensor-parallel", &self.tensor_parallel.to_string()]);
        }
        command.args(["--master-port", &port]).arg(self.script()).args(self.words).args(fate.words());
        command.env("PYTHON_EXEC", self.python).envs(engine_variables());
        let mut run = Run::start(&mut command);
        if fate.attempts() > 1 {
            eventually("the end of the first attempt", || {
                (run.is_over() || run.stderr_so_far().contains("restarting: attempt 2")).then_some(())
            });
        }
        let ended = run.ended().expect(0);
        place.assert_empty();
        let last = fate.attempts() - 1;
        let mut logs: Vec<String> = (0..ranks).map(|rank| place.rank_text(last, rank, "stdout.log")).collect();
        if last > 0 {
            ended.says(&[&format!("rank {} on ", ranks - 1), "was killed by SIGKILL"]);
            let first = place.rank_text(0, 0, "stdout.log");
            assert_resumed(&first, &logs[0], fate.resumes_at());
            logs[0].insert_str(0, &first);
        }
        End::of(logs)
    }

    /// `fermi run --nnodes 2 …`, once for each of two nodes with a rank each, on this machine.
    pub fn under_run_on_two_nodes(&self, fate: Fate, storage: Storage) -> End {
        let port = free_port();
        let _left = SharedMemory(&port);
        let shared = tempfile::tempdir().unwrap();
        let places = [Place::new(), Place::new()];
        let restarts = (fate.attempts() - 1).to_string();
        let runs = [0, 1].map(|node: usize| {
            let rank = node.to_string();
            let options = ["--nnodes", "2", "--node-rank", &rank, "--master-addr", "127.0.0.1", "--master-port", &port];
            let mut command = places[node].run(options);
            command.args(["--max-restarts", &restarts, "--framework", self.framework, "-n", "1"]);
            if storage == Storage::Shared {
                command.arg("--checkpoint-dir").arg(shared.path());
            }
            command.arg(self.script()).args(self.words).args(fate.words());
            command.env("PYTHON_EXEC", self.python).envs(engine_variables());
            Run::start(&mut command)
        });
        for run in runs {
            let ended = run.ended().expect(0);
            let said = match storage {
                Storage::Shared => "all 2 nodes see one checkpoint folder",
                Storage::Own => "the newest checkpoint that is whole on every node",
            };
            ended.says(&[said]);
        }
        let last = fate.attempts() - 1;
        let logs: Vec<String> = places.iter().map(|place| place.rank_text(last, 0, "stdout.log")).collect();
        let first = places[0].rank_text(0, 0, "stdout.log");
        assert_resumed(&first, &logs[0], fate.resumes_at());
        assert_same_step(&logs);
        places.iter().for_each(Place::assert_empty);
        End::of(logs)
    }

    /// The script as its engine's own launcher starts it: `options` are the launcher's, `words` more for the script.
    pub fn by_launcher(&self, program: &Path, options: &[&str], words: &[&str]) -> End {
        let place = Place::new();
        let mut command = place.program(program);
        command.args(options).arg(self.script()).args(self.words).args(words);
        command.env_remove("PYTHON_EXEC").envs(engine_variables());
        Run::whole(&mut command).expect(0);
        place.assert_empty();
        // On one stream the ranks would write into each other's lines: each has a file below `logs`.
        let mut logs = texts_below(&place.work().join("logs"));
        logs.retain(|log| has_ended(log));
        assert_eq!(logs.len(), 2, "so many ranks have come to their end");
        logs.sort_by_key(|log| log.find("[Rank 1] done"));
        End::of(logs)
    }
}

/// Every rank that says where it goes on says the same.
fn assert_same_step(logs: &[String]) {
    let steps: Vec<f64> = logs.iter().flat_map(|log| numbers(log, "resumes at step ")).collect();
    assert_eq!(steps.len(), logs.len(), "a rank does not say where it goes on: {steps:?}");
    assert!(steps.iter().all(|step| *step == steps[0]), "the ranks go on from different steps: {steps:?}");
}

/// The task's events say whether the nodes have one folder.
fn assert_found(fleet: &Fleet, id: &str, nodes: usize, storage: Storage) {
    let events = fleet.get(&format!("/training-tasks/{id}/events?pageSize=1000"));
    let texts: Vec<&str> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["kind"] == "checkpoints.found")
        .map(|event| event["text"]["en"].as_str().unwrap())
        .collect();
    let said = match storage {
        Storage::Shared => format!("all {nodes} nodes see one checkpoint folder"),
        Storage::Own => "the newest checkpoint that is whole on every node".to_owned(),
    };
    assert!(texts.len() == 2 && texts[1].contains(&said), "{events:#}");
}

/// Waits for it as long as the task has not failed.
fn rank_zero_says(fleet: &Fleet, id: &str, attempt: u32, is_there: impl Fn(&str) -> bool) {
    eventually(&format!("rank 0 of {id} in attempt {attempt}"), || {
        // Asking costs the machine on which the ranks run.
        std::thread::sleep(Duration::from_millis(30));
        let task = fleet.task(id);
        assert!(task["status"] != "failed", "{task:#}");
        is_there(&fleet.log(id, attempt, 0)).then_some(())
    });
}

fn kill_rank(fleet: &Fleet, id: &str, rank: u32) {
    let pid = eventually("the rank to have a number", || {
        let known = fleet.get(&format!("/training-tasks/{id}/ranks"));
        known["items"].as_array()?.iter().find(|known| known["rank"] == rank)?["pid"].as_i64()
    });
    signal(pid as i32, libc::SIGKILL);
}

fn whole_log(fleet: &Fleet, id: &str, attempt: u32, rank: u32) -> String {
    eventually("the end of the last line", || Some(fleet.log(id, attempt, rank)).filter(|log| has_ended(log)))
}

pub fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// What DeepSpeed's ranks of one port share in memory and never give back: 66 MiB each.
pub struct SharedMemory<'a>(pub &'a str);

impl Drop for SharedMemory<'_> {
    fn drop(&mut self) {
        let part = format!("_127.0.0.1_{}_", self.0);
        for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.starts_with("deepspeed_allreduce_buffer_") && name.contains(&part) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn texts_below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(
            |path| {
                if path.is_dir() { texts_below(&path) } else { vec![fs::read_to_string(&path).unwrap_or_default()] }
            },
        )
        .collect()
}
