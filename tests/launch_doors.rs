//! The same task through every door: `fermi run`, Slurm, ssh, an agent and `fermi launch generate` give a rank the same
//! words, variables and files, but for the names of the run, its folders, its port and where it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::sshd::{self, HOSTS, Sshd};
use crate::support::{Fleet, Place, Run};
use serde_json::{Value, json};

/// Leaves its command, its environment and the launch's files in the folder of its first argument.
const TELL: &str = r#"
import json, os, sys
launch = os.environ.get("FERMI_LAUNCH_DIR", "")
names = sorted(os.listdir(launch)) if os.path.isdir(launch) else []
files = {name: open(os.path.join(launch, name)).read() for name in names}
path = os.path.join(sys.argv[1], os.environ["RANK"])
with open(path + ".new", "w") as file:
    json.dump({"argv": sys.orig_argv, "env": dict(os.environ), "files": files}, file)
os.rename(path + ".new", path + ".json")
"#;

/// The name of the node at every door where a name can be given.
const NODE: &str = "gn6";

/// What a rank inherits from the door, and what tells runs apart.
const NOT_COMPARED: [&str; 21] = [
    "HOME",
    "LANG",
    "LC_CTYPE",
    "LOGNAME",
    "MAIL",
    "OLDPWD",
    "PATH",
    "PWD",
    "PYTHON_EXEC",
    "SHELL",
    "SHLVL",
    "USER",
    "_",
    "FERMI_ATTEMPT",
    "FERMI_CHECKPOINT_SHARED",
    "FERMI_GENERATION",
    "FERMI_PROGRESS_FILE",
    "FERMI_RUN_MARK",
    "FERMI_TASK_ID",
    "TORCHELASTIC_ERROR_FILE",
    "TORCHELASTIC_RUN_ID",
];

const INHERITED: [&str; 6] = ["SLURM", "SSH_", "FERMI_LANG", "FERMI_TEST_", "FERMI_STATE_", "FERMI_RDZV_"];

/// One task: a framework with its settings.
struct Task {
    framework: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const TASKS: [Task; 3] = [
    Task { framework: "command", settings: &[] },
    Task { framework: "pytorch-ddp", settings: &[("microBatchSize", "2"), ("bucketCapMb", "50")] },
    Task {
        framework: "deepspeed",
        settings: &[("zeroStage", "2"), ("microBatchSize", "4"), ("configArgument", "--deepspeed_config")],
    },
];

impl Task {
    fn flags(&self) -> Vec<String> {
        let set = self.settings.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        ["--framework".to_owned(), self.framework.to_owned()].into_iter().chain(set).collect()
    }
}

/// What a rank got, with the same names for what differs by nature.
#[derive(Debug, PartialEq)]
struct Got {
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

impl Got {
    fn read(told: &Value, tell: &Path) -> Self {
        let map = |value: &Value| -> BTreeMap<String, String> { serde_json::from_value(value.clone()).unwrap() };
        let env = map(&told["env"]);
        let mut names = vec![(tell.to_str().unwrap().to_owned(), "<tell>")];
        for (variable, name) in [
            ("FERMI_LAUNCH_DIR", "<launch>"),
            ("FERMI_OUTPUT_DIR", "<outputs>"),
            ("MASTER_PORT", "<port>"),
            ("MASTER_ADDR", "<master>"),
        ] {
            names.extend(env.get(variable).map(|value| (value.clone(), name)));
        }
        let plain = |text: &str| names.iter().fold(text.to_owned(), |text, (value, name)| text.replace(value, name));
        let mut argv: Vec<String> = serde_json::from_value(told["argv"].clone()).unwrap();
        argv[0] = "<python>".to_owned();
        let is_compared =
            |name: &str| !NOT_COMPARED.contains(&name) && INHERITED.iter().all(|prefix| !name.starts_with(prefix));
        let named = |name: &str, text: &str| match name {
            // A node is known by its name, or by its address with the name in a comment.
            "hostfile" => plain(text).replace(&format!("# {NODE}\n"), "").replace("<master>", NODE),
            // A run on one machine has no address at which others reach it, and no zone.
            "pytorch_ddp_config.yaml" => {
                plain(text).replace("ip: \"<master>\"", "ip: null").replace(&format!("    zone: zone-{NODE}\n"), "")
            }
            _ => plain(text),
        };
        Self {
            argv: argv.iter().map(|word| plain(word)).collect(),
            env: env.iter().filter(|(name, _)| is_compared(name)).map(|(n, v)| (n.clone(), plain(v))).collect(),
            files: map(&told["files"]).iter().map(|(name, text)| (name.clone(), named(name, text))).collect(),
        }
    }
}

/// Where the ranks of one door tell.
struct Teller {
    script: PathBuf,
    folder: PathBuf,
}

impl Teller {
    fn new(place: &Place) -> Self {
        let folder = place.path().join("tell");
        fs::create_dir(&folder).unwrap();
        Self { script: place.file("train.py", TELL), folder }
    }

    /// The user's words, the same at every door but for the folder.
    fn words(&self) -> [String; 4] {
        [self.script.to_str().unwrap(), self.folder.to_str().unwrap(), "--note", "it's \"so\" 训练 $HOME"]
            .map(str::to_owned)
    }

    fn told(&self) -> [Got; 2] {
        [0, 1].map(|rank| {
            let text = fs::read(self.folder.join(format!("{rank}.json"))).unwrap();
            let mut got = Got::read(&serde_json::from_slice(&text).unwrap(), &self.folder);
            got.argv[2] = "<script>".to_owned();
            got
        })
    }
}

fn by_run(flags: &[String]) -> [Got; 2] {
    let place = Place::new();
    let teller = Teller::new(&place);
    let mut command = place.run(["-n", "2"]);
    Run::whole(command.args(flags).args(teller.words()).env("FERMI_NODE_NAME", NODE)).expect(0);
    teller.told()
}

fn by_slurm(flags: &[String]) -> [Got; 2] {
    let place = Place::new();
    let teller = Teller::new(&place);
    let mut command = place.run(["-n", "2", "--mode", "slurm"]);
    command.args(flags).args(teller.words());
    for (name, value) in [
        ("SLURM_JOB_ID", "10"),
        ("SLURM_JOB_NODELIST", NODE),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NODELIST", NODE),
        ("SLURM_STEP_TASKS_PER_NODE", "1"),
        ("SLURMD_NODENAME", NODE),
        ("SLURM_NODEID", "0"),
        ("SLURM_PROCID", "0"),
        ("SLURM_LOCALID", "0"),
    ] {
        command.env(name, value);
    }
    Run::whole(&mut command).expect(0);
    teller.told()
}

fn by_ssh(flags: &[String]) -> Option<[Got; 2]> {
    let place = Place::new();
    let teller = Teller::new(&place);
    let sshd = Sshd::start(&place)?;
    let hosts = format!("{}:2", HOSTS[0]);
    let mut command = place.fermi(["launch-multi-node", HOSTS[0], "auto", "auto", "--hosts", &hosts]);
    command.args(sshd.options()).args(["--master-port", &sshd::free_port().to_string(), "-x", "FERMI_TEST_MARK"]);
    command.args(["-x", &format!("FERMI_NODE_NAME={NODE}")]).args(flags).args(teller.words());
    Run::whole(&mut command).expect(0);
    Some(teller.told())
}

fn by_agent(fleet: &Fleet, task: &Task) -> [Got; 2] {
    let teller = Teller::new(&fleet.place);
    let settings = task
        .settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(*value))));
    let id = fleet.create(json!({
        "taskName": "a task of every door",
        "command": { "argv": teller.words() },
        "distributedConfig": { "framework": task.framework },
        "options": { "framework": settings.collect::<serde_json::Map<_, _>>() },
    }));
    fleet.task_is(&id, "succeeded");
    let told = teller.told();
    fs::remove_dir_all(&teller.folder).unwrap();
    told
}

/// What `launch generate` writes down, as a rank that is started by it would tell.
fn by_files(flags: &[String]) -> [Got; 2] {
    let place = Place::new();
    let teller = Teller::new(&place);
    let mut command = place.fermi(["launch", "generate", "--cpu", "--out", "launch"]);
    command.args(["--node", &format!("{NODE}:2:127.0.0.1")]).args(flags).arg("--").args(teller.words());
    Run::whole(&mut command).expect(0);
    let folder = place.work().join("launch");
    let launch: Value = serde_json::from_slice(&fs::read(folder.join("launch.json")).unwrap()).unwrap();
    let names: Vec<String> = serde_json::from_value(launch["files"].clone()).unwrap();
    let files: BTreeMap<&String, String> =
        names.iter().map(|name| (name, fs::read_to_string(folder.join(name)).unwrap())).collect();
    [0, 1].map(|rank| {
        let told = json!({"argv": launch["argv"], "env": launch["nodes"][0]["ranks"][rank]["env"], "files": files});
        let mut got = Got::read(&told, &teller.folder);
        got.argv[2] = "<script>".to_owned();
        got
    })
}

#[test]
fn every_door_gives_the_same_words_variables_and_files() {
    let fleet = Fleet::of(&[(NODE, 2)]);
    for task in TASKS {
        let flags = task.flags();
        let run = by_run(&flags);
        for (rank, got) in run.iter().enumerate() {
            assert_eq!(got.env["RANK"], rank.to_string());
            assert_eq!(got.env["FERMI_FRAMEWORK"], task.framework);
            assert_eq!(got.argv[..2], ["<python>", "-u"]);
        }
        assert_eq!(by_files(&flags), run, "launch generate and fermi run: {}", task.framework);
        assert_eq!(by_slurm(&flags), run, "Slurm and fermi run: {}", task.framework);
        assert_eq!(by_agent(&fleet, &task), run, "an agent and fermi run: {}", task.framework);
        if let Some(ssh) = by_ssh(&flags) {
            assert_eq!(ssh, run, "ssh and fermi run: {}", task.framework);
        }
    }
}

#[test]
fn without_a_framework_a_rank_gets_what_a_plain_command_gets_and_nothing_of_an_engine() {
    let mut plain = by_run(&TASKS[0].flags());
    for got in &mut plain {
        for name in ["FERMI_FRAMEWORK", "FERMI_BACKEND", "FERMI_LAUNCH_DIR"] {
            assert!(got.env.remove(name).is_some(), "{name}");
        }
        // A command may open the master's port itself; a script for Python alone is served torch's store there.
        got.env.insert("TORCHELASTIC_USE_AGENT_STORE".to_owned(), "True".to_owned());
    }
    assert_eq!(by_run(&[]), plain);
}

/// The ranks of a dry run, which starts nothing.
fn shown(place: &Place, options: &[&str], variables: &[(&str, &str)]) -> Vec<Got> {
    let mut command = place.run(["--dry-run", "--json", "--master-addr", "10.0.0.6", "--master-port", "29500"]);
    command.args(options).arg(place.file("train.py", TELL)).envs(variables.iter().copied());
    let shown: Value = serde_json::from_str(&Run::whole(&mut command).expect(0).out()).unwrap();
    let ranks = shown["ranks"].as_array().unwrap().iter();
    ranks.map(|rank| without_interface(&json!({"argv": rank["argv"], "env": rank["env"], "files": {}}))).collect()
}

/// The interface is each node's own, so that `launch generate` leaves it out.
fn without_interface(told: &Value) -> Got {
    let mut got = Got::read(told, Path::new("<nowhere>"));
    got.env.retain(|name, _| !name.ends_with("_IFNAME") && !name.ends_with("_IFACE"));
    got
}

#[test]
fn the_second_of_two_nodes_gets_the_same_by_its_number_from_slurm_and_from_files() {
    let slurm = |tasks: &'static str, task: &'static str, local: &'static str| {
        [
            ("SLURM_JOB_ID", "10"),
            ("SLURM_JOB_NODELIST", "gn[6-7]"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NODELIST", "gn[6-7]"),
            ("SLURM_STEP_TASKS_PER_NODE", tasks),
            ("SLURMD_NODENAME", "gn7"),
            ("SLURM_NODEID", "1"),
            ("SLURM_PROCID", task),
            ("SLURM_LOCALID", local),
        ]
    };
    for framework in ["jax", "horovod"] {
        let place = Place::new();
        let mut command = place.fermi(["launch", "generate", "--cpu", "--out", "launch", "--framework", framework]);
        command.args(["--node", "gn6:2:10.0.0.6", "--node", "gn7:2:10.0.0.7", "--"]);
        Run::whole(command.arg(place.file("train.py", TELL))).expect(0);
        let text = fs::read(place.work().join("launch/launch.json")).unwrap();
        let launch: Value = serde_json::from_slice(&text).unwrap();
        let generated = [0, 1].map(|local| {
            let env = &launch["nodes"][1]["ranks"][local]["env"];
            without_interface(&json!({"argv": launch["argv"], "env": env, "files": {}}))
        });
        let by_number = ["--nnodes", "2", "--node-rank", "1", "-n", "2", "--framework", framework];
        assert_eq!(shown(&place, &by_number, &[("FERMI_NODE_NAME", "gn7")]), generated, "{framework}");
        let by_node = ["--mode", "slurm", "-n", "2", "--framework", framework];
        assert_eq!(shown(&place, &by_node, &slurm("1(x2)", "1", "0")), generated, "{framework}");
        let by_task = ["--mode", "slurm", "--framework", framework];
        assert_eq!(shown(&place, &by_task, &slurm("2(x2)", "3", "1")), generated[1..], "{framework}");
    }
}
