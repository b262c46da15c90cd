//! What goes wrong with groups, asked before it does: each line of the troubleshooting list is a check with its answer.

use super::{Group, GroupRefusal, NameFound, PortFound, Probes, Reach, fill::missing_ranked};
use crate::{
    environment::Environment,
    language::{Explained, Hint, Text},
    rank_map::{GroupRanks, RankMapError, of_group},
};

/// One question with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name for programs; stable.
    pub id: &'static str,
    pub state: CheckState,
    pub text: Text,
    pub hint: Option<Hint>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CheckState {
    Passed,
    /// The group starts, and this should be known.
    Warning,
    /// The group does not start.
    Failed,
    /// Only its nodes can tell, and they were not asked or have not answered.
    Unknown,
}

impl Check {
    fn of(id: &'static str, state: CheckState, text: Text) -> Self {
        Self { id, state, text, hint: None }
    }

    fn refused(id: &'static str, refusal: &impl Explained) -> Self {
        Self { id, state: CheckState::Failed, text: refusal.text(), hint: refusal.hint() }
    }

    fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }
}

/// The answer for which a group does not start; none where it does.
pub fn first_failure(checks: &[Check]) -> Option<&Check> {
    checks.iter().find(|check| check.state == CheckState::Failed)
}

/// All checks, in the order of the troubleshooting list. What only nodes can tell is unknown without their probes.
pub fn checks(group: &Group, known: &[Environment], probes: Option<&Probes>) -> Vec<Check> {
    let members = group.members(known);
    let ranks = of_group(&members.workers, &group.launch);
    let mut found = vec![master(group, &ranks), world_size(group, &ranks), saved(group)];
    let Ok(ranks) = ranks else { return found };
    let nodes: Vec<&str> = ranks.map.nodes().map(|node| node.node).collect();
    found.push(nodes_answer(&members.missing, &ranks, known, &nodes));
    found.push(network(group, probes, &nodes));
    found.push(port(group, probes));
    found.push(name(group, probes));
    found.push(devices(group, &ranks));
    found
}

fn zh(names: &[&str]) -> String {
    names.join("、")
}

fn en(names: &[&str]) -> String {
    names.join(", ")
}

fn master(group: &Group, ranks: &Result<GroupRanks, RankMapError>) -> Check {
    const ID: &str = "master_address";
    match ranks {
        Err(error @ (RankMapError::NoMaster | RankMapError::MasterUnknown { .. } | RankMapError::NoWorkers)) => {
            Check::refused(ID, error)
        }
        Err(_) | Ok(_) => {
            let master = group.launch.master().unwrap_or_default();
            let text = Text::new(
                format!("Master 地址 {master} 是分组中的节点"),
                format!("the master address {master} is a node of the group"),
            );
            Check::of(ID, CheckState::Passed, text)
        }
    }
}

fn world_size(group: &Group, ranks: &Result<GroupRanks, RankMapError>) -> Check {
    const ID: &str = "world_size";
    let workers = group.workers.len();
    match ranks {
        Err(error @ (RankMapError::WorldTooLarge { .. } | RankMapError::WorldEmpty)) => Check::refused(ID, error),
        Ok(GroupRanks { map, standby }) if !standby.is_empty() => {
            let (world, standby) = (map.world_size(), standby.len());
            let text = Text::new(
                format!("World Size {world} 小于 Worker 数量 {workers}：最后 {standby} 个 Worker 待命"),
                format!("world size {world} is less than the {workers} workers: the last {standby} stand by"),
            );
            Check::of(ID, CheckState::Passed, text)
        }
        // Without a master there are no ranks, and the numbers say it.
        Err(_) if group.launch.world_size.is_some_and(|world| world as usize > workers) => {
            let world_size = group.launch.world_size.unwrap_or_default();
            Check::refused(ID, &RankMapError::WorldTooLarge { world_size, workers })
        }
        Err(_) | Ok(_) => {
            let world = group.launch.world_size.map_or(workers, |world| world as usize);
            let text = Text::new(
                format!("World Size {world}，不大于 Worker 数量 {workers}"),
                format!("world size {world} is not more than the {workers} workers"),
            );
            Check::of(ID, CheckState::Passed, text)
        }
    }
}

fn saved(group: &Group) -> Check {
    let version = group.version;
    let text = Text::new(
        format!("分组配置已保存（版本 {version}）"),
        format!("the configuration is saved (version {version})"),
    );
    Check::of("configuration_saved", CheckState::Passed, text)
}

fn nodes_answer(missing: &[crate::ids::WorkerId], ranks: &GroupRanks, known: &[Environment], nodes: &[&str]) -> Check {
    const ID: &str = "nodes_online";
    let missing = missing_ranked(missing, ranks);
    if !missing.is_empty() {
        return Check::refused(ID, &GroupRefusal::WorkersMissing { workers: missing });
    }
    let away =
        |environment: &&Environment| nodes.contains(&environment.name.as_str()) && !environment.status.can_be_chosen();
    let away: Vec<&str> = known.iter().filter(away).map(|environment| environment.name.as_str()).collect();
    if !away.is_empty() {
        let be = if away.len() == 1 { "is" } else { "are" };
        let text = Text::new(format!("{} 已离线", zh(&away)), format!("{} {be} offline", en(&away)));
        return Check::of(ID, CheckState::Failed, text).hint(Hint::new(
            "在该节点上启动 fermi agent，或把它的 Worker 移出分组",
            "start `fermi agent` there, or move its workers out of the group",
        ));
    }
    let count = nodes.len();
    Check::of(ID, CheckState::Passed, Text::new(format!("{count} 个节点均在线"), format!("all {count} nodes are here")))
}

fn unknown(id: &'static str, zh_question: &str, en_question: &str, probes: Option<&Probes>) -> Check {
    let silent = probes.map(Probes::silent).unwrap_or_default();
    let text = if silent.is_empty() {
        Text::new(format!("{zh_question}：启动前由各节点检查"), format!("{en_question}: its nodes look before a start"))
    } else {
        Text::new(
            format!("{zh_question}：{} 没有回答", zh(&silent)),
            format!("{en_question}: no answer from {}", en(&silent)),
        )
    };
    Check::of(id, CheckState::Unknown, text)
}

fn network(group: &Group, probes: Option<&Probes>, nodes: &[&str]) -> Check {
    const ID: &str = "network";
    let (master, port) = (group.launch.master().unwrap_or_default(), group.launch.master_port);
    let unknown = || unknown(ID, "节点间网络", "the network between the nodes", probes);
    let Some(probes) = probes else { return unknown() };
    let cut = probes.nodes(|probe| {
        let by_name = probe.name == NameFound::Resolved(Reach::Answers);
        !by_name && probe.address != Some(Reach::Answers)
    });
    if !cut.is_empty() {
        let text = Text::new(
            format!("{} 连接不到 {master}:{port}", zh(&cut)),
            format!("{} cannot connect to {master}:{port}", en(&cut)),
        );
        return Check::of(ID, CheckState::Warning, text).hint(Hint::new(
            format!("检查网络与防火墙，例如在 {master} 上执行 firewall-cmd --add-port={port}/tcp"),
            format!("look at the network and the firewall, such as firewall-cmd --add-port={port}/tcp on {master}"),
        ));
    }
    if !probes.silent().is_empty() {
        return unknown();
    }
    let count = nodes.len();
    let text =
        Text::new(format!("{count} 个节点都能连接到 {master}"), format!("all {count} nodes can connect to {master}"));
    Check::of(ID, CheckState::Passed, text)
}

fn port(group: &Group, probes: Option<&Probes>) -> Check {
    const ID: &str = "master_port";
    let (master, port) = (group.launch.master().unwrap_or_default(), group.launch.master_port);
    let found = probes.and_then(|probes| probes.0.get(master)?.as_ref()?.port.clone());
    match (found, group.launch.pinned_port()) {
        (None, _) => unknown(ID, "Master 端口", "the master port", probes),
        (Some(PortFound::Free), _) => {
            let text =
                Text::new(format!("{master} 的端口 {port} 空闲"), format!("the port {port} of {master} is free"));
            Check::of(ID, CheckState::Passed, text)
        }
        (Some(PortFound::Taken(holder)), Some(port)) => {
            Check::refused(ID, &GroupRefusal::PortTaken { node: master.to_owned(), port, holder })
        }
        (Some(PortFound::Taken(_)), None) => {
            let text = Text::new(
                format!("{master} 的默认端口 {port} 已被占用，将使用其后第一个空闲端口"),
                format!("the default port {port} of {master} is taken; the first free one behind it is used"),
            );
            Check::of(ID, CheckState::Warning, text)
        }
    }
}

fn name(group: &Group, probes: Option<&Probes>) -> Check {
    const ID: &str = "master_resolves";
    let master = group.launch.master().unwrap_or_default();
    let unknown = || unknown(ID, "MASTER_ADDR 的解析", "whether MASTER_ADDR resolves", probes);
    let Some(probes) = probes else { return unknown() };
    let lost = probes.nodes(|probe| probe.name == NameFound::Unresolved);
    if !lost.is_empty() {
        let text = Text::new(
            format!("{} 解析不了 {master}：MASTER_ADDR 使用其 IP 地址", zh(&lost)),
            format!("{} cannot resolve {master}: MASTER_ADDR is its address", en(&lost)),
        );
        return Check::of(ID, CheckState::Warning, text).hint(Hint::new(
            format!("如需使用名称，在各节点的 /etc/hosts 或 DNS 中加入 {master}"),
            format!("to use the name, add {master} to /etc/hosts or the DNS of every node"),
        ));
    }
    if !probes.has_proven_name() {
        return unknown();
    }
    let text = Text::new(
        format!("所有节点都能解析 {master}：MASTER_ADDR={master}"),
        format!("every node resolves {master}: MASTER_ADDR={master}"),
    );
    Check::of(ID, CheckState::Passed, text)
}

/// 每个节点启动多个 Worker（每个 GPU 一个）, and `nccl`.
fn devices(group: &Group, ranks: &GroupRanks) -> Check {
    const ID: &str = "devices";
    let without = ranks.map.slots().iter().filter(|slot| slot.gpu.is_none()).count();
    let backend = group.launch.backend;
    if without > 0 && backend.resolved(false) != backend {
        let text = Text::new(
            format!("{without} 个 Worker 没有 GPU：后端 {} 改用 gloo", backend.as_str()),
            format!("{without} workers have no GPU: gloo instead of {}", backend.as_str()),
        );
        return Check::of(ID, CheckState::Warning, text)
            .hint(Hint::new("CPU 训练请将后端设为 gloo", "set the backend to gloo to train on CPUs"));
    }
    let text = Text::new(
        format!("每个 Worker 一个进程，LOCAL_RANK 即其设备，后端 {}", backend.as_str()),
        format!("one process per worker, LOCAL_RANK is its device, backend {}", backend.as_str()),
    );
    Check::of(ID, CheckState::Passed, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::{EnvironmentStatus, tests::environment},
        group::Probe,
        language::FrontEnd,
    };

    fn known() -> Vec<Environment> {
        [("env-001", "gn6"), ("env-002", "gn7")].map(|(id, name)| environment(id, name, 1, "A100", "z")).to_vec()
    }

    fn group(master: &str, world_size: Option<u32>) -> Group {
        serde_json::from_value(serde_json::json!({
            "id": "group-001", "name": "llm", "workers": ["gn6-0", "gn7-0"], "version": 3,
            "launch": {"masterAddr": master, "worldSize": world_size}
        }))
        .unwrap()
    }

    fn probe(name: NameFound, address: Reach, port: Option<PortFound>) -> Option<Probe> {
        Some(Probe { name, address: Some(address), port })
    }

    fn answers(group: &Group, probes: Option<&Probes>) -> Vec<(&'static str, CheckState, String)> {
        let found = checks(group, &known(), probes);
        found.into_iter().map(|it| (it.id, it.state, it.text.en.into_owned())).collect()
    }

    fn state(group: &Group, probes: Option<&Probes>, id: &str) -> (CheckState, String) {
        let found = answers(group, probes).into_iter().find(|(known, ..)| *known == id).unwrap();
        (found.1, found.2)
    }

    #[test]
    fn a_sound_group_is_told_line_by_line() {
        let here = NameFound::Resolved(Reach::Answers);
        let probes = Probes(
            [
                ("gn6".to_owned(), probe(here.clone(), Reach::Answers, Some(PortFound::Free))),
                ("gn7".to_owned(), probe(here, Reach::Answers, None)),
            ]
            .into(),
        );
        let told = answers(&group("gn6", None), Some(&probes));
        assert!(told.iter().all(|(_, state, _)| *state == CheckState::Passed), "{told:?}");
        let ids: Vec<&str> = told.iter().map(|(id, ..)| *id).collect();
        let expected = [
            "master_address",
            "world_size",
            "configuration_saved",
            "nodes_online",
            "network",
            "master_port",
            "master_resolves",
            "devices",
        ];
        assert_eq!(ids, expected);
        assert!(probes.has_proven_name());
    }

    #[test]
    fn a_worker_given_as_master_is_told_what_was_meant() {
        let found = checks(&group("gn6-0", None), &known(), None);
        let failed = first_failure(&found).unwrap();
        assert_eq!(failed.id, "master_address");
        assert!(failed.hint.as_ref().unwrap().spelled(FrontEnd::Api).zh.contains("不含 Worker 编号：gn6"));
    }

    #[test]
    fn world_sizes_are_judged_by_the_number_of_workers() {
        let (state_of, text) = state(&group("gn6", Some(3)), None, "world_size");
        assert_eq!((state_of, text.as_str()), (CheckState::Failed, "world size 3 is more than the 2 workers"));
        let (state_of, text) = state(&group("gn6", Some(1)), None, "world_size");
        assert_eq!(state_of, CheckState::Passed);
        assert!(text.ends_with("the last 1 stand by"), "{text}");
    }

    #[test]
    fn what_only_nodes_know_is_unknown_until_they_answer() {
        for id in ["network", "master_port", "master_resolves"] {
            assert_eq!(state(&group("gn6", None), None, id).0, CheckState::Unknown, "{id}");
        }
        let silent = Probes([("gn6".to_owned(), None), ("gn7".to_owned(), None)].into());
        let (state_of, text) = state(&group("gn6", None), Some(&silent), "network");
        assert_eq!(state_of, CheckState::Unknown);
        assert!(text.ends_with("no answer from gn6, gn7"), "{text}");
    }

    #[test]
    fn names_networks_and_ports_that_fail_are_told_with_their_nodes() {
        let taken = PortFound::Taken("python train.py".into());
        let probes = Probes(
            [
                ("gn6".to_owned(), probe(NameFound::Unresolved, Reach::Answers, Some(taken))),
                ("gn7".to_owned(), probe(NameFound::Unresolved, Reach::Silent, None)),
            ]
            .into(),
        );
        let mut group = group("gn6", None);
        let (lost, text) = state(&group, Some(&probes), "master_resolves");
        assert_eq!((lost, text.starts_with("gn6, gn7 cannot resolve gn6")), (CheckState::Warning, true), "{text}");
        let (cut, text) = state(&group, Some(&probes), "network");
        assert_eq!((cut, text.as_str()), (CheckState::Warning, "gn7 cannot connect to gn6:29500"));
        assert_eq!(state(&group, Some(&probes), "master_port").0, CheckState::Warning, "the default gives way");
        group.launch.master_port = 29_600;
        let (port, text) = state(&group, Some(&probes), "master_port");
        assert_eq!((port, text.as_str()), (CheckState::Failed, "the port 29600 of gn6 is taken (python train.py)"));
    }

    #[test]
    fn an_offline_node_fails_and_a_node_without_gpu_is_said() {
        let mut known = known();
        known[1].status = EnvironmentStatus::Offline;
        known[1].gpus.clear();
        let found = checks(&group("gn6", None), &known, None);
        assert_eq!(first_failure(&found).map(|check| &*check.text.zh), Some("gn7 已离线"));
        let devices = found.iter().find(|check| check.id == "devices").unwrap();
        assert_eq!(devices.state, CheckState::Warning);
    }
}
