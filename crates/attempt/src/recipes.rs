//! The recipes: `fermi_train` with the reader of its file, carried in the binary, so that a machine needs the libraries
//! alone and its package is always the one that belongs to its `fermi`.

use std::io;
use std::path::{Path, PathBuf};

use crate::carried::CarriedFiles;

const FILES: CarriedFiles = CarriedFiles(include!(concat!(env!("OUT_DIR"), "/recipes.rs")));

/// Writes the recipes into the folder where Fermi keeps its records, and gives what Python runs: a folder with a
/// `__main__.py`, to which the words of `fermi_train` are given.
pub fn write_below(state: &Path) -> io::Result<PathBuf> {
    let folder = state.join("recipes").join(FILES.fingerprint());
    FILES.write(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_can_run_the_folder() {
        let state = tempfile::tempdir().unwrap();
        let folder = write_below(state.path()).unwrap();
        assert!(folder.join("__main__.py").is_file() && folder.join("fermi_train/recipes/ppo/loss.py").is_file());
        assert!(folder.join("fermi_training/training.schema.json").is_file());
    }
}
