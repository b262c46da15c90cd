//! Over which interface the ranks of a task talk: what its preflight has found, where the task does not say it itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::engines::{GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME};
use crate::language::Text;
use crate::task::{TaskSpec, Work};

/// The variables by which NCCL and gloo are told.
const VARIABLES: [&str; 2] = [NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME];
/// The kernel has no longer names.
const LONGEST_NAME: usize = 15;

/// What is done with the interface that a preflight finds working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PreflightInterface {
    /// Ranks are told to use it.
    #[default]
    Set,
    /// It is told, and ranks use the one that leads to the first node.
    Suggest,
}

impl PreflightInterface {
    pub fn is_set(&self) -> bool {
        *self == Self::Set
    }
}

/// Who says over which interface the ranks of a task talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceRule {
    /// The preflight, but for the variables that the task sets itself.
    Preflight { kept: Vec<&'static str> },
    /// The task names one for all nodes.
    Named { interface: String },
    /// The task sets all variables.
    Variables,
    /// The task wants to be told alone.
    Suggest,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceDecision {
    /// Each node's own, by its place.
    Set { interfaces: Vec<String>, text: Text },
    /// Ranks use what they would use without a preflight.
    Left { text: Text },
    /// There is nothing to decide.
    Nothing,
}

/// A node of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceFound<'a> {
    pub node: &'a str,
    /// At which all others get through.
    pub interface: Option<&'a str>,
    /// Its agent is of a release that goes by it.
    pub is_able: bool,
}

impl InterfaceRule {
    pub fn of(spec: &TaskSpec) -> Self {
        if let Some(interface) = &spec.options.interface {
            return Self::Named { interface: interface.clone() };
        }
        let env = match &spec.work {
            Work::Command { env, .. } | Work::Recipe { env, .. } => Some(env),
            Work::Builtin { .. } => None,
        };
        let of_secrets: Vec<&str> = spec.secrets().map(|(variable, _)| variable).collect();
        let sets = |name: &&str| env.is_some_and(|env| env.contains_key(*name)) || of_secrets.contains(name);
        let kept: Vec<&'static str> = VARIABLES.into_iter().filter(|name| sets(name)).collect();
        match kept.len() {
            all if all == VARIABLES.len() => Self::Variables,
            _ if !spec.policies.preflight_interface.is_set() => Self::Suggest,
            _ => Self::Preflight { kept },
        }
    }

    /// All nodes or none: an interface that is chosen for some and left to the others may be of two networks.
    pub fn decide(&self, found: &[InterfaceFound<'_>]) -> InterfaceDecision {
        if found.len() < 2 || found.iter().all(|it| it.interface.is_none()) {
            return InterfaceDecision::Nothing;
        }
        let without = named(found, |it| it.interface.is_none());
        let (zh, en) = each(found);
        let left = |zh: String, en: String| InterfaceDecision::Left { text: Text::new(zh, en) };
        match self {
            // What the task says is no news; that it says something else is.
            Self::Named { interface } if found.iter().all(|it| it.interface.is_none_or(|own| own == interface)) => {
                InterfaceDecision::Nothing
            }
            Self::Named { interface } => left(
                format!("预检发现各节点经 {zh} 互通；任务指定了网卡 {interface}，保持不变"),
                format!(
                    "the preflight finds that nodes reach each other over {en}; the task names {interface}, which stays"
                ),
            ),
            Self::Variables => left(
                format!("预检发现各节点经 {zh} 互通；任务自己设置了 {}，保持不变", VARIABLES.join("、")),
                format!(
                    "the preflight finds that nodes reach each other over {en}; the task sets {} itself, which stay",
                    VARIABLES.join(" and ")
                ),
            ),
            Self::Suggest => left(
                format!("预检发现各节点经 {zh} 互通；按任务的策略只提示，不设置"),
                format!("the preflight finds that nodes reach each other over {en}; it is not set, as the task wants"),
            ),
            Self::Preflight { .. } if !without.is_empty() => left(
                format!("没有设置网卡：{without} 没有所有节点都能到达的网卡"),
                format!("no interface was set: {without} has none at which all the others get through"),
            ),
            Self::Preflight { .. } if found.iter().any(|it| !it.is_able) => {
                let old = named(found, |it| !it.is_able);
                left(
                    format!("没有设置网卡：{old} 的代理版本较旧"),
                    format!("no interface was set: the agents of {old} are of an older release"),
                )
            }
            Self::Preflight { kept } => {
                let set: Vec<&str> = VARIABLES.into_iter().filter(|name| !kept.contains(name)).collect();
                let (mut zh, mut en) = (
                    format!("预检发现各节点经 {zh} 互通，已设置 {}", set.join("、")),
                    format!("the preflight finds that nodes reach each other over {en}: set as {}", set.join(" and ")),
                );
                if let Some(name) = kept.first() {
                    zh.push_str(&format!("；{name} 由任务自己设置，保持不变"));
                    en.push_str(&format!("; {name} stays as the task sets it"));
                }
                let interfaces = found.iter().filter_map(|it| it.interface.map(str::to_owned)).collect();
                InterfaceDecision::Set { interfaces, text: Text::new(zh, en) }
            }
        }
    }
}

/// `gn1, gn2`, of those that are meant.
fn named(found: &[InterfaceFound<'_>], is_meant: impl Fn(&InterfaceFound<'_>) -> bool) -> String {
    let names: Vec<&str> = found.iter().filter(|it| is_meant(it)).map(|it| it.node).collect();
    names.join(", ")
}

/// `eth1`, where all nodes have the same; else who has which.
fn each(found: &[InterfaceFound<'_>]) -> (String, String) {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in found {
        if let Some(interface) = it.interface {
            all.entry(interface).or_default().push(it.node);
        }
    }
    let only = all.keys().next().filter(|_| all.len() == 1);
    if let Some(interface) = only {
        return ((*interface).to_owned(), (*interface).to_owned());
    }
    let part = |way: &str| {
        let parts: Vec<String> =
            all.iter().map(|(interface, nodes)| format!("{interface} ({})", nodes.join(", "))).collect();
        parts.join(way)
    };
    (part("、"), part(", "))
}

/// A name as the kernel gives it; what an agent sends may be anything.
pub(super) fn checked(name: String) -> Option<String> {
    let is_fine = |letter: char| letter.is_ascii_graphic() && letter != '/';
    (!name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_fine)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{DistributedConfig, LaunchOptions, Policies, Selection};

    fn spec(env: &[&str]) -> TaskSpec {
        let env = env.iter().map(|name| ((*name).to_owned(), "eth9".to_owned())).collect();
        let argv = vec!["true".to_owned()];
        TaskSpec {
            name: "t".into(),
            dataset: None,
            model_id: None,
            selection: Selection::Environments,
            work: Work::Command { argv, env, directory: None, secrets: BTreeMap::new(), interpreter: None },
            source: None,
            distributed: DistributedConfig::default(),
            options: LaunchOptions::default(),
            policies: Policies::default(),
            priority: 0,
            labels: BTreeMap::default(),
        }
    }

    fn found<'a>(interfaces: &[Option<&'a str>]) -> Vec<InterfaceFound<'a>> {
        let names = ["gn1", "gn2", "gn3"];
        let node = |(interface, node): (&Option<&'a str>, &'static str)| InterfaceFound {
            node,
            interface: *interface,
            is_able: true,
        };
        interfaces.iter().zip(names).map(node).collect()
    }

    fn said(decision: InterfaceDecision) -> String {
        match decision {
            InterfaceDecision::Set { interfaces, text } => format!("{interfaces:?} {}", text.en),
            InterfaceDecision::Left { text } => text.en.to_string(),
            InterfaceDecision::Nothing => "nothing".into(),
        }
    }

    #[test]
    fn what_the_preflight_finds_is_set_where_the_task_says_nothing() {
        let rule = InterfaceRule::of(&spec(&[]));
        let decide = |interfaces: &[Option<&str>]| said(rule.decide(&found(interfaces)));
        let same = "[\"eth1\", \"eth1\"] the preflight finds that nodes reach each other over eth1: set as \
                    NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME";
        assert_eq!(decide(&[Some("eth1"), Some("eth1")]), same);
        let own = "[\"eth1\", \"ens5\", \"eth1\"] the preflight finds that nodes reach each other over ens5 (gn2), eth1 (gn1, \
                   gn3): set as NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME";
        assert_eq!(decide(&[Some("eth1"), Some("ens5"), Some("eth1")]), own);
        let partly = "no interface was set: gn2 has none at which all the others get through";
        assert_eq!(decide(&[Some("eth1"), None, Some("eth1")]), partly);
        assert_eq!([decide(&[None, None]), decide(&[Some("eth1")])], ["nothing", "nothing"]);
        let mut old = found(&[Some("eth1"), Some("eth1")]);
        old[1].is_able = false;
        assert_eq!(said(rule.decide(&old)), "no interface was set: the agents of gn2 are of an older release");
    }

    #[test]
    fn what_the_task_says_itself_stays() {
        let decide = |spec: &TaskSpec, interface| {
            said(InterfaceRule::of(spec).decide(&found(&[Some(interface), Some(interface)])))
        };
        let mut named = spec(&[]);
        named.options.interface = Some("eth0".into());
        let stays = "the preflight finds that nodes reach each other over eth1; the task names eth0, which stays";
        assert_eq!([decide(&named, "eth1"), decide(&named, "eth0")], [stays, "nothing"]);
        let both = "the preflight finds that nodes reach each other over eth1; the task sets NCCL_SOCKET_IFNAME and \
                    GLOO_SOCKET_IFNAME itself, which stay";
        assert_eq!(decide(&spec(&VARIABLES), "eth1"), both);
        let one = "[\"eth1\", \"eth1\"] the preflight finds that nodes reach each other over eth1: set as \
                   GLOO_SOCKET_IFNAME; NCCL_SOCKET_IFNAME stays as the task sets it";
        assert_eq!(decide(&spec(&VARIABLES[..1]), "eth1"), one);
        let mut told = spec(&[]);
        told.policies.preflight_interface = PreflightInterface::Suggest;
        let suggested = "the preflight finds that nodes reach each other over eth1; it is not set, as the task wants";
        assert_eq!(decide(&told, "eth1"), suggested);
    }

    #[test]
    fn a_name_that_no_kernel_gives_is_none() {
        let names = ["eth0", "enp94s0f0np0", "bond0.100", "", "eth 0", "a/b", "网卡", "abcdefghijklmnop", "e\n"];
        let fine: Vec<String> = names.into_iter().filter_map(|name| checked(name.to_owned())).collect();
        assert_eq!(fine, ["eth0", "enp94s0f0np0", "bond0.100"]);
    }
}
