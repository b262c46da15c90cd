//! The framework's settings that a file comes to; the Python reader has none of them.

use std::fs;

use fermi_domain::framework::Framework;
use fermi_frameworks::training_yaml::{Facts, read};
use serde_json::Value;

use crate::{FOUR_GPUS, outcome::cases};

#[test]
fn every_block_of_the_specification_has_its_settings() {
    let mut page = String::new();
    for case in cases().into_iter().filter(|case| case.name.starts_with("blocks/")) {
        let resolved = read(fs::read(&case.yaml).unwrap()).unwrap().resolve(FOUR_GPUS).unwrap();
        page += &format!("{}\n  {}\n", case.name, Value::Object(resolved.settings().clone()));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn the_strategy_names_the_framework() {
    let framework = |text: &str, facts: Facts<'_>| read(text).unwrap().resolve(facts).unwrap().strategy.framework();
    let auto = "training: {distributed_strategy: auto}";
    assert_eq!(framework(auto, FOUR_GPUS), Framework::PytorchDdp);
    let large = Facts { model_parameters: Some(13_000_000_000), ..FOUR_GPUS };
    assert_eq!(framework(auto, large), Framework::Deepspeed);
    assert_eq!(framework("distributed_strategy: fsdp", FOUR_GPUS), Framework::PytorchFsdp);
}

#[test]
fn a_key_is_found_by_any_of_its_spellings() {
    let file = read("dataloader: {batch_size: 4}\nseed: 7").unwrap();
    for path in ["training.per_device_train_batch_size", "training.dataloader.batch_size", "dataloader.batch_size"] {
        assert_eq!(file.get(path), Some(&Value::from(4)), "{path}");
    }
    assert_eq!((file.get("seed"), file.get("training.seed")), (Some(&Value::from(7)), Some(&Value::from(7))));
    assert_eq!((file.get("save_steps"), file.get("nothing")), (None, None));
}
