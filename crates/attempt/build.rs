//! Lists the files of the recipes, which are part of the binary.
#![allow(clippy::print_stdout, reason = "cargo listens to it")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PACKAGES: [&str; 2] = ["fermi_train", "fermi_training"];
const MAIN: &str =
    "import sys\n\nfrom fermi_train.command import main\n\nif __name__ == \"__main__\":\n    sys.exit(main())\n";

fn main() -> io::Result<()> {
    let python = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../python");
    let mut rows = format!("(\"__main__.py\", {MAIN:?}),\n");
    for package in PACKAGES {
        for file in files_below(&python.join(package))? {
            // Each by itself: interpreters write their caches into the folders.
            println!("cargo::rerun-if-changed={}", file.display());
            let path = file.strip_prefix(&python).map_err(io::Error::other)?;
            rows += &format!("({path:?}, include_str!({:?})),\n", fs::canonicalize(&file)?);
        }
    }
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("recipes.rs"), format!("&[\n{rows}]"))
}

/// In the same order on every machine.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.extension().and_then(|extension| extension.to_str());
        if entry.is_dir() && entry.file_name().is_some_and(|name| name != "__pycache__") {
            files.extend(files_below(&entry)?);
        } else if matches!(kind, Some("py" | "json" | "typed")) {
            files.push(entry);
        }
    }
    Ok(files)
}
