//! What is made from the reader, or read by it, and lies in the repository.

use std::fs;

use fermi_frameworks::training_yaml::{Facts, read, schema};
use serde_json::{Map, Value};

use crate::{FOUR_GPUS, folder};

#[test]
fn the_shipped_files_are_read() {
    for name in ["config_distributed_example.yaml", "config_deepspeed_example.yaml"] {
        let text = fs::read_to_string(folder("../..").join(name)).unwrap();
        let zero2 = fs::read_to_string(folder("../../configs/deepspeed/zero2.json")).unwrap();
        let zero2: Map<String, Value> = serde_json::from_str(&zero2).unwrap();
        let facts = Facts { deepspeed_file: Some(&zero2), ..FOUR_GPUS };
        let resolved = read(&text).unwrap().resolve(facts).unwrap();
        assert!(resolved.warnings.is_empty(), "{name}: {:?}", resolved.warnings);
    }
}

/// The Python package has a copy, because it is installed without the rest.
#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    for path in ["../../configs/training.schema.json", "../../python/fermi_training/training.schema.json"] {
        if std::env::var_os("FERMI_UPDATE_SCHEMA").is_some() {
            fs::write(folder(path), &made).unwrap();
        }
        let shipped = fs::read_to_string(folder(path)).unwrap_or_default();
        assert_eq!(shipped, made, "{path}: run the test again with FERMI_UPDATE_SCHEMA=1");
    }
}
