//! The search for Python, and for programs as a shell finds them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fermi_domain::contract;

use super::virtual_env;

/// There is no such Python here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no Python was found: {tried}")]
pub struct NoPython {
    pub tried: String,
}

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct PythonSearch {
    /// PYTHON_EXEC.
    pub named: Option<PathBuf>,
    /// VIRTUAL_ENV.
    pub environment: Option<PathBuf>,
    /// PATH.
    pub path: OsString,
}

impl PythonSearch {
    /// As the variables of this process say.
    pub fn by_variables() -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            named: path(contract::PYTHON_EXEC),
            environment: path(contract::VIRTUAL_ENV),
            path: std::env::var_os(contract::PATH).unwrap_or_default(),
        }
    }

    /// PYTHON_EXEC, then the active virtual environment's, then `python` and `python3` on the PATH.
    pub fn usual(&self) -> Result<PathBuf, NoPython> {
        if let Some(named) = &self.named {
            return self.program(named).ok_or_else(|| NoPython { tried: named.display().to_string() });
        }
        let in_environment = self.environment.as_ref().map(|folder| folder.join("bin/python"));
        [in_environment, Some("python".into()), Some("python3".into())]
            .into_iter()
            .flatten()
            .find_map(|candidate| self.program(&candidate))
            .ok_or_else(|| NoPython { tried: "python, python3".to_owned() })
    }

    /// The Python that a user names, a file or a folder with `bin/python`, seen from `base`; a bare name that is no file
    /// there is looked for on the PATH.
    pub fn of_this_name(&self, name: &str, base: &Path) -> Result<PathBuf, NoPython> {
        let path = base.join(name);
        let found = if path.is_dir() {
            ["bin/python", "bin/python3"].map(|inside| path.join(inside)).into_iter().find(|file| is_executable(file))
        } else if name.contains('/') {
            Some(path).filter(|file| is_executable(file))
        } else {
            self.program(Path::new(name))
        };
        found.ok_or_else(|| NoPython { tried: name.to_owned() })
    }

    /// As the shell does: a name with a slash is a path, any other is looked for on the PATH.
    pub fn program(&self, name: &Path) -> Option<PathBuf> {
        if name.components().count() > 1 {
            return is_executable(name).then(|| name.to_owned());
        }
        std::env::split_paths(&self.path).map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
    }

    /// The PATH of ranks that this interpreter runs, where it is not the one that they inherit.
    pub fn path_for(&self, python: &Path) -> Option<String> {
        virtual_env::search_path(python, &self.path)
    }
}

pub fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_python_is_a_file_or_a_folder_that_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("venv 甲/bin/python");
        let search = PythonSearch::default();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert!(search.of_this_name("venv 甲", folder.path()).is_err(), "it cannot be executed yet");
        executable(&file);
        assert_eq!(search.of_this_name("venv 甲", folder.path()).unwrap(), file);
        assert_eq!(search.of_this_name(file.to_str().unwrap(), Path::new("/")).unwrap(), file);
        assert_eq!(search.of_this_name("/no/such", Path::new("/")), Err(NoPython { tried: "/no/such".into() }));
    }

    #[test]
    fn the_usual_one_is_the_named_then_the_environments_then_that_of_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let [named, environment, python3] =
            ["mine/py", "venv/bin/python", "bin/python3"].map(|name| folder.path().join(name));
        for file in [&named, &environment, &python3] {
            executable(file);
        }
        let mut search = PythonSearch { path: folder.path().join("bin").into(), ..PythonSearch::default() };
        assert_eq!(search.usual().unwrap(), python3);
        search.environment = Some(folder.path().join("venv"));
        assert_eq!(search.usual().unwrap(), environment);
        search.named = Some(named.clone());
        assert_eq!(search.usual().unwrap(), named);
        search.named = Some("/no/such".into());
        assert_eq!(search.usual(), Err(NoPython { tried: "/no/such".into() }));
    }
}
