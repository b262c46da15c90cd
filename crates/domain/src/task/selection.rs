//! Where a task's workers come from: one [`Selection`] for every way of choosing them.
//!
//! On the wire it is `launchMode`: `"existing"`, `{"group": "name"}`, `"auto"` or `{"auto": {…}}`, `"new"`.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};

use crate::ids::GroupId;

/// Where the workers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Selection {
    /// 使用现有开发环境: the environments of `nodeIds`, in the user's order.
    #[default]
    #[serde(rename = "existing")]
    Environments,
    /// The workers of a group, by its id or name. When the task is created they become its `nodeIds`, `masterNode` and
    /// `workers`, in the group's order, so that what was checked is what starts.
    Group(GroupId),
    /// Fermi picks. `"auto"` alone asks for one worker.
    Auto(AutoSelection),
    /// 新建环境: read so that it can be answered with what to do instead; no task is stored with it.
    New,
}

/// What Fermi shall pick: as many nodes, with as much on each, of such a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AutoSelection {
    pub nodes: u32,
    /// Workers with a GPU on each node. At most one of this and `workersPerNode` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_per_node: Option<u32>,
    /// Workers on each node, with a GPU or without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_per_node: Option<u32>,
    /// Such as `A100`; any where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    /// The zone in which all nodes shall be; any where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Labels that each environment must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Default for AutoSelection {
    fn default() -> Self {
        Self {
            nodes: 1,
            gpus_per_node: None,
            workers_per_node: None,
            gpu_type: None,
            zone: None,
            labels: BTreeMap::new(),
        }
    }
}

impl AutoSelection {
    /// How many workers each node gives; one where nothing is said.
    pub fn per_node(&self) -> u32 {
        self.gpus_per_node.or(self.workers_per_node).unwrap_or(1)
    }

    /// Whether only workers with a GPU will do.
    pub fn needs_gpus(&self) -> bool {
        self.gpus_per_node.is_some() || self.gpu_type.is_some()
    }
}

impl Selection {
    /// Whether more than one node is to be picked.
    pub fn picks_several(&self) -> bool {
        matches!(self, Self::Auto(auto) if auto.nodes > 1)
    }

    /// The group that the workers come from.
    pub fn group(&self) -> Option<&GroupId> {
        match self {
            Self::Group(group) => Some(group),
            Self::Environments | Self::Auto(_) | Self::New => None,
        }
    }
}

const NAMES: &[&str] = &["existing", "auto", "group", "new"];

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a bare word or an object with one field, as derived readers of enums do; `auto` may be both.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Selection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", NAMES.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Selection, E> {
        match word {
            "existing" => Ok(Selection::Environments),
            "auto" => Ok(Selection::Auto(AutoSelection::default())),
            "new" => Ok(Selection::New),
            "group" => Err(E::custom("a group is named: {\"group\": \"name\"}")),
            other => Err(E::unknown_variant(other, NAMES)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Selection, A::Error> {
        let Some(word) = map.next_key::<String>()? else {
            return Err(A::Error::custom("an empty object selects nothing"));
        };
        let selection = match word.as_str() {
            "group" => Selection::Group(map.next_value()?),
            "auto" => Selection::Auto(map.next_value()?),
            "existing" | "new" => {
                map.next_value::<IgnoredAny>()?;
                self.visit_str(&word)?
            }
            other => return Err(A::Error::unknown_variant(other, NAMES)),
        };
        match map.next_key::<String>()? {
            None => Ok(selection),
            Some(second) => Err(A::Error::custom(format!("either {word} or {second}, not both"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Selection, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn every_spelling_of_the_launch_mode_is_read() {
        assert_eq!(read(r#""existing""#), Ok(Selection::Environments));
        assert_eq!(read(r#""new""#), Ok(Selection::New));
        assert_eq!(read(r#"{"group": "llm"}"#), Ok(Selection::Group("llm".into())));
        assert_eq!(read(r#""auto""#), Ok(Selection::Auto(AutoSelection::default())));
        assert_eq!(read(r#"{"auto": {}}"#), Ok(Selection::Auto(AutoSelection::default())));
        let picked = read(
            r#"{"auto": {"nodes": 2, "gpusPerNode": 4, "gpuType": "A100", "zone": "a", "labels": {"team": "nlp"}}}"#,
        );
        let Ok(Selection::Auto(auto)) = picked else { panic!("{picked:?}") };
        assert_eq!((auto.nodes, auto.per_node(), auto.gpu_type.as_deref()), (2, 4, Some("A100")));
        assert_eq!((auto.zone.as_deref(), auto.labels["team"].as_str(), auto.needs_gpus()), (Some("a"), "nlp", true));
    }

    #[test]
    fn what_is_written_is_read_back_and_stored_tasks_keep_their_words() {
        for (selection, json) in [
            (Selection::Environments, r#""existing""#),
            (Selection::Group("group-001".into()), r#"{"group":"group-001"}"#),
            (Selection::Auto(AutoSelection::default()), r#"{"auto":{"nodes":1}}"#),
            (Selection::New, r#""new""#),
        ] {
            assert_eq!(serde_json::to_string(&selection).unwrap(), json);
            assert_eq!(read(json), Ok(selection));
        }
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for json in [
            "{}",
            "5",
            r#""group""#,
            r#""Existing""#,
            r#"["existing"]"#,
            r#"{"auto": {"node": 2}}"#,
            r#"{"group": "a", "auto": {}}"#,
            r#"{"group": 5}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read(r#""groop""#).unwrap_err().starts_with("unknown variant `groop`, expected one of"));
    }
}
