//! Names hold any character, and nothing in them is taken for a sign.

use fermi_domain::{
    framework::Framework,
    launch::{TaskLaunch, Template},
    task::{DatasetChoice, Work},
};

use crate::machines::{Gpus, Scene, file};

const HOSTILE: &str = "a b'c\"d$HOME`id`;rm -rf /|&<launchFolder>{dir}%s\\n中文 é🚀#:-*?!~";

fn hostile(framework: Framework) -> TaskLaunch {
    let mut scene = Scene::new(framework, &[(HOSTILE, 2, HOSTILE), ("x", 1, "z")], Gpus::OnePerRank);
    scene.spec.name = HOSTILE.into();
    scene.spec.dataset = Some(DatasetChoice { dataset_id: HOSTILE.into(), dataset_version_id: HOSTILE.into() });
    scene.spec.model_id = Some(HOSTILE.into());
    scene.spec.work = Work::Command {
        argv: vec![format!("{HOSTILE}.py"), HOSTILE.into()],
        directory: Some(HOSTILE.into()),
        env: [("OWN".to_owned(), HOSTILE.to_owned())].into(),
        secrets: Default::default(),
        interpreter: None,
    };
    scene.nodes[0].address = None;
    scene.launch().unwrap()
}

/// What a rank really gets, when every place is filled with something else.
fn filled(template: &Template) -> String {
    template.fill(|_| "PLACE".into())
}

#[test]
fn hostile_names_arrive_as_they_are() {
    for framework in Framework::ALL {
        let launch = hostile(framework);
        let argv: Vec<String> = launch.argv().map(filled).collect();
        assert_eq!(argv[..4], ["PLACE", "-u", &format!("{HOSTILE}.py"), HOSTILE], "{framework}");
        assert_eq!(launch.directory.as_deref(), Some(HOSTILE));
        for name in ["OWN", "FERMI_DATASET_ID", "FERMI_DATASET_VERSION_ID", "FERMI_MODEL_ID"] {
            let value = launch.env.iter().find(|(known, _)| known == name).map(|(_, value)| filled(value));
            assert_eq!(value.as_deref(), Some(HOSTILE), "{framework} {name}");
        }
        assert_eq!(launch.nodes[0].name, HOSTILE);
    }
}

#[test]
fn host_files_stay_readable_and_yaml_keeps_the_name() {
    let hosts = file(&hostile(Framework::Deepspeed), "hostfile");
    let lines: Vec<&str> = hosts.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["node0 slots=2", "192.168.2.20 slots=1"]);
    let yaml = file(&hostile(Framework::PytorchDdp), "pytorch_ddp_config.yaml");
    let name = yaml.lines().find_map(|line| line.strip_prefix("  - name: ")).unwrap();
    assert_eq!(serde_json::from_str::<String>(name).unwrap(), HOSTILE);
    let horovod = hostile(Framework::Horovod);
    let host = horovod.nodes[0].ranks[0].env.iter().find(|(name, _)| name == "HOROVOD_HOSTNAME").unwrap();
    assert_eq!(filled(&host.1), "node0");
}

#[test]
fn the_users_variables_win() {
    let mut scene = Scene::new(Framework::Jax, &[("a", 2, "z")], Gpus::OnePerRank);
    let env = [("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.8"), ("JAX_PROCESS_ID", "7")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    scene.spec.work = Work::Command {
        argv: vec!["t.py".into()],
        directory: None,
        env,
        secrets: Default::default(),
        interpreter: None,
    };
    let launch = scene.launch().unwrap();
    assert_eq!(crate::machines::variable(&launch, "XLA_PYTHON_CLIENT_MEM_FRACTION").as_deref(), Some("0.8"));
    assert_eq!(crate::machines::variable(&launch, "JAX_PROCESS_ID").as_deref(), Some("7"));
    let of_rank = &launch.nodes[0].ranks[0].env;
    assert!(of_rank.iter().all(|(name, _)| name != "JAX_PROCESS_ID"), "{of_rank:?}");
}
