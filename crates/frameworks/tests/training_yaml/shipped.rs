//! What is made from the reader, or read by it, and lies in the repository.

use std::fs;

use fermi_domain::language::Explained;
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

#[test]
fn strangers_files_are_read_or_refused_with_their_mistakes() {
    let shipped = ["config_distributed_example.yaml", "config_deepspeed_example.yaml"];
    let shipped = shipped.map(|name| fs::read(folder("../..").join(name)).unwrap());
    let short =
        b"training:\n  algorithm: sft\n  batch_size: 8\noptimizer: {lr: 5e-5}\nx: &a [1, 2]\ny: *a\n<<: {a: yes}\n";
    fermi_mutator::try_all(&[&shipped[0], &shipped[1], short], 800, |case| match read(case) {
        Ok(file) => drop(file.resolve(FOUR_GPUS)),
        Err(mistakes) => assert!(mistakes.0.iter().all(|mistake| !mistake.text().en.is_empty())),
    });
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
