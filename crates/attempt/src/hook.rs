//! The hook: files of Python that ranks load before their script, put first on PYTHONPATH.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fermi_domain::contract::{FERMI_HOOK, PYTHONPATH};
use serde::{Deserialize, Serialize};

const FILES: [(&str, &str); 4] = [
    ("sitecustomize.py", include_str!("../../../python/fermi_hook/sitecustomize.py")),
    ("fermi_pulse.py", include_str!("../../../python/fermi_hook/fermi_pulse.py")),
    ("fermi_watch.py", include_str!("../../../python/fermi_hook/fermi_watch.py")),
    ("fermi_park.py", include_str!("../../../python/fermi_hook/fermi_park.py")),
];

/// Where the hook of a run is, and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookPlan {
    /// Many runs share it, so that Python finds the files compiled.
    pub folder: PathBuf,
    /// Whether interpreters are parked beside ranks.
    pub warm: bool,
    /// After how long a hang ends the attempt; none where it is only told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_hung_after_ms: Option<u64>,
}

impl HookPlan {
    /// In the folder where Fermi keeps its records; other contents have another folder.
    pub fn below(state: &Path, warm: bool) -> Self {
        let folder = state.join("hook").join(format!("{:016x}", fingerprint()));
        Self { folder, warm, restart_hung_after_ms: None }
    }

    /// Writes the files, unless they are there as they should be.
    pub fn write(&self) -> io::Result<()> {
        if self.is_intact() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        for (name, text) in FILES {
            let path = self.folder.join(name);
            let new = self.folder.join(format!(".{name}.{}", std::process::id()));
            fs::write(&new, text)?;
            fs::rename(&new, &path)?;
        }
        Ok(())
    }

    /// Whether the files are as they should be.
    pub fn is_intact(&self) -> bool {
        FILES.iter().all(|(name, text)| fs::read(self.folder.join(name)).is_ok_and(|read| read == text.as_bytes()))
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

/// FNV-1a over the files.
fn fingerprint() -> u64 {
    let bytes = FILES.iter().flat_map(|(_, text)| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_written_once_and_again_where_they_were_changed() {
        let state = tempfile::tempdir().unwrap();
        let hook = HookPlan::below(state.path(), false);
        assert!(!hook.is_intact());
        hook.write().unwrap();
        assert!(hook.is_intact());
        let file = hook.folder.join("sitecustomize.py");
        fs::write(&file, "raise SystemExit").unwrap();
        assert!(!hook.is_intact());
        hook.write().unwrap();
        assert!(hook.is_intact());
        assert_eq!(fs::read_dir(&hook.folder).unwrap().count(), FILES.len());
    }

    #[test]
    fn the_folder_comes_before_what_the_rank_has() {
        let hook = HookPlan { folder: "/state/hook".into(), warm: false, restart_hung_after_ms: None };
        let own = [("PYTHONPATH".to_owned(), "/mine".to_owned()), ("A".to_owned(), "b".to_owned())];
        let variables = hook.variables(&own, "1 2 -".to_owned()).unwrap();
        let value = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(value("PYTHONPATH"), Some("/state/hook:/mine"));
        assert_eq!((value("FERMI_HOOK"), value("A"), variables.len()), (Some("1 2 -"), Some("b"), 3));
    }
}
