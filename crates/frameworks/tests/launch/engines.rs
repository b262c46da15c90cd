//! Horovod and JAX: what their own launchers and libraries read.

use fermi_domain::language::Explained;
use fermi_domain::{framework::Framework, launch::Placeholder};

use crate::machines::{Gpus, ONE, Scene, TWO_ZONES, file, variable};

#[test]
fn horovods_host_file_has_nothing_but_hosts() {
    let launch = Scene::new(Framework::Horovod, &TWO_ZONES, Gpus::OnePerRank).launch().unwrap();
    assert_eq!(file(&launch, "horovod_hosts"), "192.168.1.10 slots=4\n192.168.2.20 slots=4\n");
}

#[test]
fn horovod_tells_nodes_apart_whatever_they_are_called() {
    let nodes = [("node1", 1, "z"), ("北京", 1, "z"), ("x y", 1, "z")];
    let launch = Scene::new(Framework::Horovod, &nodes, Gpus::OnePerRank).launch().unwrap();
    let names: Vec<String> = launch
        .nodes
        .iter()
        .flat_map(|node| &node.ranks)
        .flat_map(|rank| &rank.env)
        .filter(|(name, _)| name == "HOROVOD_HOSTNAME")
        .map(|(_, value)| value.shown())
        .collect();
    assert_eq!(names, ["node1", "node1-1", "node2"]);
}

#[test]
fn a_number_in_a_host_file_is_nobodys_name() {
    let mut scene = Scene::new(Framework::Deepspeed, &[("node1", 1, "z"), ("北京", 2, "z")], Gpus::OnePerRank);
    scene.nodes.iter_mut().for_each(|node| node.address = None);
    assert_eq!(file(&scene.launch().unwrap(), "hostfile"), "node1 slots=1\n# 北京\nnode1-1 slots=2\n");
}

#[test]
fn horovods_timeline_may_lie_anywhere() {
    let timeline = |path: &str| {
        let scene = Scene::new(Framework::Horovod, &ONE, Gpus::None).set("timeline", path);
        variable(&scene.launch().unwrap(), "HOROVOD_TIMELINE").unwrap()
    };
    assert_eq!(timeline("/abs/t.json"), "/abs/t.json");
    assert_eq!(timeline("t.json"), "<outputFolder>/t.json");
}

#[test]
fn jax_refuses_what_cannot_work() {
    let jax = |gpus| Scene::new(Framework::Jax, &ONE, gpus);
    assert_eq!(jax(Gpus::None).set("platform", "gpu").launch().unwrap_err().id(), "engine_rule");
    for share in [0.0, 1.5] {
        let refusal = jax(Gpus::OnePerRank).set("memoryFraction", share).launch().unwrap_err();
        assert_eq!(refusal.id(), "setting_invalid", "{share}");
    }
    assert!(jax(Gpus::OnePerRank).set("platform", "cpu").set("memoryFraction", 1).launch().is_ok());
}

#[test]
fn jaxs_coordinator_has_brackets_around_ipv6() {
    let launch = Scene::new(Framework::Jax, &ONE, Gpus::None).launch().unwrap();
    let (_, address) = launch.env.iter().find(|(name, _)| name == "JAX_COORDINATOR_ADDRESS").unwrap();
    let at =
        |host: &str| address.fill(|place| if place == Placeholder::MasterPort { "29500".into() } else { host.into() });
    assert_eq!((at("::1").as_str(), at("10.0.0.6").as_str()), ("[::1]:29500", "10.0.0.6:29500"));
}
