//! The hook: files of Python that ranks load before their script, put first on PYTHONPATH.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use fermi_domain::contract::{FERMI_HOOK, PYTHONPATH};
use serde::{Deserialize, Serialize};

use crate::carried::CarriedFiles;

const FILES: CarriedFiles = CarriedFiles(&[
    ("sitecustomize.py", include_str!("../../../python/fermi_hook/sitecustomize.py")),
    ("fermi_pulse.py", include_str!("../../../python/fermi_hook/fermi_pulse.py")),
    ("fermi_watch.py", include_str!("../../../python/fermi_hook/fermi_watch.py")),
    ("fermi_collectives.py", include_str!("../../../python/fermi_hook/fermi_collectives.py")),
    ("fermi_park.py", include_str!("../../../python/fermi_hook/fermi_park.py")),
]);

/// Where the hook of a run is, and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookPlan {
    /// Many runs share it, so that Python finds the files compiled.
    pub folder: PathBuf,
    /// Whether interpreters are parked beside ranks.
    pub warm: bool,
    /// Whether they take the GPU of their rank as well.
    #[serde(default)]
    pub warm_cuda: bool,
    /// After how long a hang ends the attempt; none where it is only told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_hung_after_ms: Option<u64>,
}

impl HookPlan {
    /// In the folder where Fermi keeps its records; other contents have another folder.
    pub fn below(state: &Path, warm: bool) -> Self {
        let folder = state.join("hook").join(FILES.fingerprint());
        Self { folder, warm, warm_cuda: false, restart_hung_after_ms: None }
    }

    /// Writes the files, unless they are there as they should be.
    pub fn write(&self) -> io::Result<()> {
        FILES.write(&self.folder)
    }

    /// Whether the files are as they should be.
    pub fn is_intact(&self) -> bool {
        FILES.are_intact(&self.folder)
    }

    /// The variables of a rank with those that bring the hook; none where PYTHONPATH cannot be written as text.
    pub fn variables(&self, own: &[(String, String)], given: String) -> Option<Vec<(String, String)>> {
        let folder = self.folder.to_str()?;
        let named = own.iter().find(|(name, _)| name == PYTHONPATH).map(|(_, value)| OsString::from(value));
        let before = named.or_else(|| std::env::var_os(PYTHONPATH)).unwrap_or_default().into_string().ok()?;
        let path = if before.is_empty() { folder.to_owned() } else { format!("{folder}:{before}") };
        let mut variables: Vec<_> = own.iter().filter(|(name, _)| name != PYTHONPATH).cloned().collect();
        variables.extend([(PYTHONPATH.to_owned(), path), (FERMI_HOOK.to_owned(), given)]);
        Some(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_comes_before_what_the_rank_has() {
        let hook = HookPlan::below(Path::new("/state"), false);
        let hook = HookPlan { folder: "/state/hook".into(), ..hook };
        let own = [("PYTHONPATH".to_owned(), "/mine".to_owned()), ("A".to_owned(), "b".to_owned())];
        let variables = hook.variables(&own, "1 2 -".to_owned()).unwrap();
        let value = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(value("PYTHONPATH"), Some("/state/hook:/mine"));
        assert_eq!((value("FERMI_HOOK"), value("A"), variables.len()), (Some("1 2 -"), Some("b"), 3));
    }
}
