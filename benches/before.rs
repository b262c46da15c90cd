//! Another build that is measured beside this one: FERMI_BENCH_BEFORE names its binary.
//!
//! Both take their turns within the same rounds or parts of one run, so that whatever else the machine does hits both
//! alike.

use std::path::PathBuf;

const FERMI_BENCH_BEFORE: &str = "FERMI_BENCH_BEFORE";

/// Which of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    Now,
    Before,
}

/// The binary of the other build, where one was named.
pub fn named() -> Result<Option<PathBuf>, String> {
    let Some(path) = std::env::var_os(FERMI_BENCH_BEFORE).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    if path.is_file() { Ok(Some(path)) } else { Err(format!("{FERMI_BENCH_BEFORE} names no file: {}", path.display())) }
}
