//! Settings files as people write them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]

mod cases;
#[path = "../../../../tests/training/outcome.rs"]
mod outcome;
mod settings;
mod shipped;

use std::path::{Path, PathBuf};

use fermi_frameworks::training_yaml::Facts;

const FOUR_GPUS: Facts<'_> = Facts { ranks: 4, on_gpus: true, model_parameters: None, deepspeed_file: None };

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}
