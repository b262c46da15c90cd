//! What activating a virtual environment would do for the programs beside its Python.

use std::ffi::OsStr;
use std::path::Path;

/// The PATH with this interpreter's folder first, where it is an environment's that was not activated: engines look there
/// for tools that were installed with them, as DeepSpeed does for ninja.
pub fn search_path(python: &Path, path: &OsStr) -> Option<String> {
    let programs = python.parent().filter(|folder| folder.is_absolute())?;
    let environment = programs.parent()?;
    let is_environment = ["pyvenv.cfg", "conda-meta"].iter().any(|name| environment.join(name).exists());
    if !is_environment || std::env::split_paths(path).any(|folder| folder == programs) {
        return None;
    }
    // An empty part would mean the working folder.
    let known = std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty());
    let folders = std::iter::once(programs.to_owned()).chain(known);
    std::env::join_paths(folders).ok()?.into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_an_environment_that_is_not_there_yet_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("bin/python");
        let usual = OsStr::new("/usr/bin:/bin");
        assert_eq!(search_path(&python, usual), None, "no environment");
        std::fs::write(folder.path().join("pyvenv.cfg"), "").unwrap();
        let found = search_path(&python, usual).unwrap();
        assert_eq!(found, format!("{}/bin:/usr/bin:/bin", folder.path().display()));
        assert_eq!(search_path(&python, OsStr::new(&found)), None, "it is activated");
        assert_eq!(search_path(Path::new("python"), usual), None);
    }
}
