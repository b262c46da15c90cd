//! Where runs are recorded: a folder that was named, else one in the home, else a private one for temporary things.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use fermi_domain::contract;
use nix::unistd::{AccessFlags, eaccess, geteuid};

/// The folder, and whether it is the one that is taken where the home cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder {
    pub path: PathBuf,
    pub is_temporary: bool,
}

/// As the variables of this process say.
pub fn here() -> Option<StateFolder> {
    let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = path(contract::FERMI_STATE_DIR).or_else(|| path("XDG_STATE_HOME").map(|state| state.join("fermi")));
    choose(named, path("HOME"), &std::env::temp_dir())
}

/// What was named wins, whether it can be written or not: the user shall hear of it. A container with an arbitrary user
/// or a read-only disk has no home to write to, which is no reason not to train.
pub fn choose(named: Option<PathBuf>, home: Option<PathBuf>, temporary: &Path) -> Option<StateFolder> {
    if let Some(path) = named {
        return Some(StateFolder { path, is_temporary: false });
    }
    let in_home = home.map(|home| home.join(".local/state/fermi")).filter(|path| can_be_made(path));
    if let Some(path) = in_home {
        return Some(StateFolder { path, is_temporary: false });
    }
    let path = temporary.join(format!("fermi-{}", geteuid()));
    is_private(&path).then_some(StateFolder { path, is_temporary: true })
}

/// Makes the temporary one, for its owner alone.
pub fn make_private(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether this user may write into the folder; one that is not there is made, since only that tells.
fn can_be_made(path: &Path) -> bool {
    if path.is_dir() { can_be_written(path) } else { fs::create_dir_all(path).is_ok() }
}

fn can_be_written(folder: &Path) -> bool {
    eaccess(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// A folder for temporary things is everybody's: one there that others own or may write to is not used.
fn is_private(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(meta) => meta.is_dir() && meta.uid() == geteuid().as_raw() && meta.mode() & 0o022 == 0,
        Err(_) => path.parent().is_some_and(can_be_written),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_home_that_cannot_be_written_gives_way_to_a_private_temporary_folder() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        let of = |named: Option<&str>, home: Option<&Path>| {
            choose(named.map(PathBuf::from), home.map(Path::to_owned), place.path())
                .map(|it| (it.path, it.is_temporary))
        };
        let own = place.path().join(format!("fermi-{}", geteuid()));
        assert_eq!(of(Some("/proc/x"), Some(&home)), Some((PathBuf::from("/proc/x"), false)));
        assert_eq!(of(None, Some(&home)), Some((home.join(".local/state/fermi"), false)));
        // /proc can be written by no user, root included.
        assert_eq!(of(None, Some(Path::new("/proc/nowhere"))), Some((own.clone(), true)));
        assert_eq!(of(None, None), Some((own.clone(), true)));
        make_private(&own).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        assert_eq!(of(None, None), Some((own.clone(), true)));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(of(None, None), None);
        fs::remove_dir(&own).unwrap();
        symlink("/var", &own).unwrap();
        assert_eq!(of(None, None), None);
    }
}
