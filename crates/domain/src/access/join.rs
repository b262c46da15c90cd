//! What comes with a token that brings machines in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How long such a token is good for when its maker does not say: a machine is brought in at once.
pub const USUAL_JOIN_MS: u64 = 3_600_000;

/// Where a machine stands and what it is called by, as an operator has said; what its agent says otherwise does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FixedPlace {
    pub zone: Option<String>,
    pub labels: BTreeMap<String, String>,
}

/// What a token for agents allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinTerms {
    /// How many machines may still come with it; none: as many as there are.
    pub uses_left: Option<u32>,
    pub place: FixedPlace,
}

impl FixedPlace {
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// What holds of a machine that says this of itself.
    pub fn over(&self, zone: Option<String>, labels: BTreeMap<String, String>) -> Self {
        let mut all = labels;
        all.extend(self.labels.clone());
        Self { zone: self.zone.clone().or(zone), labels: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_operator_has_said_counts_and_the_rest_is_the_machines() {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let fixed = FixedPlace { zone: Some("a".into()), labels: labels(&[("team", "nlp")]) };
        let own = labels(&[("team", "other"), ("disk", "fast")]);
        let held = fixed.over(Some("b".into()), own);
        assert_eq!(held, FixedPlace { zone: Some("a".into()), labels: labels(&[("team", "nlp"), ("disk", "fast")]) });
        let free = FixedPlace::default();
        assert!(free.is_free() && !fixed.is_free());
        assert_eq!(free.over(Some("b".into()), labels(&[])).zone.as_deref(), Some("b"));
    }
}
