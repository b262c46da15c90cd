//! What is tested, with the processes that it takes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fermi_api::link::{AgentMessage, Assignment, Master, ServerMessage};
use fermi_domain::contract::FERMI_RUN_MARK;
use fermi_domain::ids::{Rank, WorkerId};
use fermi_domain::launch::{NodeLaunch, Placeholder, RankLaunch, RunPolicy, Template};
use fermi_domain::task::RunKey;
use fermi_process::procfs;
use fermi_process::stale::LiveRun;

use super::played_server::PlayedServer;

const PATIENCE: Duration = Duration::from_secs(30);

/// Which test must be over by when.
static DEADLINE: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Ends everything with a word when a test hangs.
pub fn watchdog(name: &str, patience: Duration) {
    let mut deadline = DEADLINE.lock().unwrap();
    let is_first = deadline.is_none();
    *deadline = Some((name.to_owned(), Instant::now() + patience));
    if is_first {
        thread::spawn(|| {
            loop {
                thread::sleep(Duration::from_millis(200));
                if let Some((name, at)) = &*DEADLINE.lock().unwrap()
                    && !name.is_empty()
                    && Instant::now() > *at
                {
                    eprintln!("{name} hangs");
                    std::process::exit(101);
                }
            }
        });
    }
}

fn wait_for(what: &str, is_it: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_it() {
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// An agent as a process; it dies with this, and its runs do not.
struct Agent(Child);

impl Agent {
    fn start(server: &PlayedServer, data: &Path) -> Self {
        let child = Command::new("/proc/self/exe")
            .args(["agent", &server.address, data.to_str().unwrap()])
            .env("MY_TOKEN", "geheim")
            .stdin(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder of an agent. Whatever a failed test left running there ends with it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        Self(tempfile::Builder::new().permissions(private).tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let live = self.path().join("live");
        for note in std::fs::read_dir(&live).into_iter().flatten().flatten() {
            let name = note.file_name().into_string().unwrap_or_default();
            let run = LiveRun::read(&live, name.trim_end_matches(".json"));
            if let Some(supervisor) = run.and_then(|run| run.supervisor()) {
                let _ = supervisor.signal(libc::SIGKILL);
            }
        }
    }
}

fn key(text: &str) -> RunKey {
    text.parse().unwrap()
}

fn launch(run: &str, ranks: u32, script: &str) -> Assignment {
    let on_this_node =
        |rank| RankLaunch { rank: Rank(rank), worker: WorkerId::new("gn6", rank + 2), gpu: None, env: vec![] };
    let launch = NodeLaunch {
        node_name: "gn6".into(),
        node_count: 1,
        world_size: ranks,
        ranks: (0..ranks).map(on_this_node).collect(),
        argv: vec!["/bin/sh".into(), "-c".into(), script.into()],
        directory: Some("/".into()),
        env: vec![("PORT_TOO".into(), Template::placeholder(Placeholder::MasterPort))],
        ..NodeLaunch::default()
    };
    Assignment {
        task_name: "训练".into(),
        policy: RunPolicy { join_timeout_ms: 60_000, attempts_before: 1, ..RunPolicy::default() },
        secret: "s".into(),
        owner: Some("system".into()),
        ..Assignment::new(key(run), launch, Master { address: "127.0.0.1".into(), port: None })
    }
}

fn say_launch(server: &PlayedServer, assignment: Assignment) {
    server.say(ServerMessage::Launch(Box::new(assignment)));
}

fn is_hello(word: &AgentMessage) -> bool {
    matches!(word, AgentMessage::Hello(_))
}

/// Until all that it wrote has come as well.
fn await_gone(server: &PlayedServer, run: &str) {
    wait_for(&format!("Gone of {run}"), || {
        server.heard(
            |word| matches!(word, AgentMessage::Gone { run: gone, streams_follow: false, .. } if *gone == key(run)),
        )
    });
}

fn marked(run: &str) -> usize {
    procfs::carrying(FERMI_RUN_MARK, &format!("c1-{run}")).len()
}

pub fn outlive() {
    let data = Home::new();
    // Every fifth request goes wrong.
    let server = PlayedServer::start(5);
    let mut agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let run = "task-1-g1-n0-i1";
    let script = "i=0; while [ $i -lt 80 ]; do echo \"$RANK $i 训\"; i=$((i+1)); sleep 0.01; done; \
        echo \"$FERMI_WORKER_ID $FERMI_TASK_ID $FERMI_ATTEMPT ${MY_TOKEN-none}\" >&2; test $PORT_TOO = $MASTER_PORT && \
        echo '{\"step\":1}' >> $FERMI_PROGRESS_FILE; echo kept > $FERMI_CHECKPOINT_DIR/ckpt";
    let assignment = launch(run, 2, script);
    say_launch(&server, assignment.clone());
    say_launch(&server, assignment);
    wait_for("first lines", || server.stream(&format!("{run}/streams/2/0/stdout")).len() > 20);
    wait_for("a measurement of both ranks", || {
        server.heard(|word| matches!(word, AgentMessage::Heartbeat(beat) if beat.ranks.len() == 2))
    });
    agent.kill();
    drop(server.take_words());
    let supervisor = LiveRun::read(&data.path().join("live"), &format!("c1-{run}")).unwrap().supervisor();
    assert!(supervisor.is_some(), "the supervisor lives without its agent");
    let _agent = Agent::start(&server, data.path());
    wait_for("a hello that knows the run", || {
        server.heard(
            |word| matches!(word, AgentMessage::Hello(hello) if hello.runs.iter().any(|r| r.run == key(run) && r.alive)),
        )
    });
    await_gone(&server, run);
    for rank in 0..2 {
        let lines: String = (0..80).map(|i| format!("{rank} {i} 训\n")).collect();
        assert_eq!(server.stream(&format!("{run}/streams/2/{rank}/stdout")), lines);
        let said = format!("gn6-{} task-1 2 none\n", rank + 2);
        assert_eq!(server.stream(&format!("{run}/streams/2/{rank}/stderr")), said);
        assert_eq!(server.stream(&format!("{run}/streams/2/{rank}/progress")), "{\"step\":1}\n");
    }
    let started = server.stream(&format!("{run}/streams/2/0/start"));
    assert!(started.contains("\"node\":\"gn6\"") && started.contains("\"WORLD_SIZE\""), "{started}");
    assert_eq!(server.stream(&format!("{run}/streams/2/1/start")), "", "it stands with the first rank");
    let folder = data.path().join("c1/runs").join(run);
    let journal = server.stream(&format!("{run}/journal"));
    assert_eq!(journal, std::fs::read_to_string(folder.join("journal.ndjson")).unwrap());
    assert!(journal.trim_end().lines().last().unwrap().contains("\"outcome\":\"succeeded\""), "{journal}");
    assert_eq!(server.headers_missing(), Vec::<String>::new());
    server.say(ServerMessage::Forget { run: key(run) });
    wait_for("the run's folder to go", || !folder.exists());
    assert!(data.path().join("c1/tasks/task-1/outputs/checkpoints/ckpt").exists());
}

pub fn stop_and_kill() {
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let (stopped, killed, unknown) = ("task-1-g1-n0-i1", "task-2-g1-n0-i1", "task-3-g1-n0-i1");
    say_launch(&server, launch(stopped, 1, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"));
    // Whatever ignores signals and moves to a session of its own.
    say_launch(&server, launch(killed, 2, "trap '' TERM; setsid sleep 1000 & echo up; wait; sleep 1000"));
    for run in [stopped, killed] {
        wait_for("up", || server.stream(&format!("{run}/streams/2/0/stdout")).contains("up"));
    }
    server.say(ServerMessage::Stop { run: key(stopped) });
    await_gone(&server, stopped);
    assert_eq!(server.stream(&format!("{stopped}/streams/2/0/stdout")), "up\nbye\n");
    assert!(server.stream(&format!("{stopped}/journal")).contains("\"stopped\""));
    assert!(marked(killed) >= 4);
    server.say(ServerMessage::Kill { run: key(killed) });
    await_gone(&server, killed);
    assert_eq!(marked(killed), 0);
    server.say(ServerMessage::Kill { run: key(unknown) });
    await_gone(&server, unknown);
    drop(server.take_words());
    say_launch(&server, launch(unknown, 1, "echo never"));
    await_gone(&server, unknown);
    assert_eq!(server.stream(&format!("{unknown}/journal")), "");
    // A stop that comes right behind its launch.
    let quick = "task-4-g1-n0-i1";
    say_launch(&server, launch(quick, 1, "sleep 1000"));
    server.say(ServerMessage::Stop { run: key(quick) });
    await_gone(&server, quick);
}

pub fn fence() {
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let (old, new) = ("task-1-g1-n0-i1", "task-1-g2-n0-i1");
    say_launch(&server, launch(old, 1, "trap '' TERM; echo up; while :; do sleep 0.01; done"));
    wait_for("up", || server.stream(&format!("{old}/streams/2/0/stdout")).contains("up"));
    let count = format!("grep -lz FERMI_RUN_MARK=c1-{old} /proc/[0-9]*/environ 2>/dev/null | wc -l; cat");
    say_launch(&server, launch(new, 1, &count));
    await_gone(&server, new);
    assert_eq!(server.stream(&format!("{new}/streams/2/0/stdout")).trim(), "0", "nothing of the old one was left");
    await_gone(&server, old);
    drop(server.take_words());
    say_launch(&server, launch(old, 1, "echo late"));
    await_gone(&server, old);
}

pub fn keepers_killed() {
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let run = "task-1-g1-n0-i1";
    say_launch(&server, launch(run, 2, "setsid sleep 1000 & echo up; sleep 1000"));
    for rank in 0..2 {
        wait_for("up", || server.stream(&format!("{run}/streams/2/{rank}/stdout")).contains("up"));
    }
    let journal = server.stream(&format!("{run}/journal"));
    let started: serde_json::Value = serde_json::from_str(journal.lines().nth(1).unwrap()).unwrap();
    for keeper in ["wardenPid", "supervisorPid"] {
        let pid = i32::try_from(started[keeper].as_i64().unwrap()).unwrap();
        // SAFETY: a process that this test had started.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    await_gone(&server, run);
    assert_eq!(marked(run), 0);
}

pub fn refused_launch() {
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let mut assignment = launch("task-1-g1-n0-i1", 1, "true");
    assignment.launch.argv.insert(0, Template::placeholder(Placeholder::Python));
    assignment.interpreter = Some("/no/such/python".into());
    say_launch(&server, assignment);
    wait_for("the refusal", || {
        server.heard(|word| matches!(word, AgentMessage::LaunchFailed(f) if f.reason.en.contains("/no/such/python") && !f.hint.zh.is_empty()))
    });
    let runs: Vec<PathBuf> =
        std::fs::read_dir(data.path().join("c1/runs")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(runs, Vec::<PathBuf>::new());
}

pub fn idle_lease() {
    const LEASE: Duration = Duration::from_secs(5);
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let idle_since = Instant::now();
    wait_for("the lease that the welcome would give to be over", || idle_since.elapsed() > LEASE);
    let run = "task-1-g1-n0-i1";
    let mut assignment = launch(run, 1, "echo up");
    assignment.policy.server_lease_ms = Some(u64::try_from(LEASE.as_millis()).unwrap());
    say_launch(&server, assignment);
    wait_for("an end, or a refusal", || {
        let is_refused = server.heard(|word| matches!(word, AgentMessage::LaunchFailed(_)));
        assert!(!is_refused, "the server was there all the while");
        server.stream(&format!("{run}/streams/2/0/stdout")).contains("up")
    });
    await_gone(&server, run);
}

pub fn latency() {
    let data = Home::new();
    let server = PlayedServer::start(0);
    let _agent = Agent::start(&server, data.path());
    wait_for("hello", || server.heard(is_hello));
    let run = "task-1-g1-n0-i1";
    let began = Instant::now();
    say_launch(&server, launch(run, 1, "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i; sleep 0.05; done"));
    wait_for("the first line", || !server.stream(&format!("{run}/streams/2/0/stdout")).is_empty());
    println!("from launch to the first line at the server: {:?}", began.elapsed());
    await_gone(&server, run);
    let arrivals = server.arrivals("streams/2/0/stdout");
    let gaps: Vec<Duration> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Lines that wait for a look now and then would come in heaps.
    println!("{} pieces for 40 lines; gaps {:?}", arrivals.len(), gaps.iter().max());
    assert!(arrivals.len() >= 20, "{gaps:?}");
}
