//! Batch sizes are consistent, or refused with a sentence.

use fermi_domain::framework::Framework;
use fermi_domain::language::Explained;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::machines::{Gpus, Scene, file, ranks, variable};

fn scene(framework: Framework, nodes: &[u32], numbers: [Option<u64>; 3]) -> Scene {
    let mut scene = Scene::new(framework, &[("a", 1, "z")], Gpus::OnePerRank);
    let names: Vec<String> = (0..nodes.len()).map(|node| format!("n{node}")).collect();
    let nodes: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(nodes.iter().copied()).collect();
    scene.ranks = ranks(&nodes, Gpus::OnePerRank);
    for (key, number) in ["microBatchSize", "gradientAccumulationSteps", "globalBatchSize"].iter().zip(numbers) {
        if let Some(number) = number {
            scene = scene.set(key, number);
        }
    }
    scene
}

fn with_numbers(keys: &[&str], numbers: [Option<u64>; 3]) -> Map<String, Value> {
    let given = keys.iter().zip(numbers);
    given.filter_map(|(key, number)| Some(((*key).to_owned(), number?.into()))).collect()
}

fn numbers() -> impl Strategy<Value = [Option<u64>; 3]> {
    let number = || proptest::option::of(prop_oneof![0_u64..40, 1_u64..5000, any::<u64>()]);
    (number(), number(), number()).prop_map(|(micro, accumulation, global)| [micro, accumulation, global])
}

proptest! {
    #[test]
    fn deepspeed_files_hold_for_their_world(
        nodes in proptest::collection::vec(1_u32..9, 1..5), numbers in numbers(), stage in 0_u64..4,
    ) {
        let world: u64 = nodes.iter().map(|ranks| u64::from(*ranks)).sum();
        match scene(Framework::Deepspeed, &nodes, numbers).set("zeroStage", stage).launch() {
            Ok(launch) => {
                let json: Value = serde_json::from_str(&file(&launch, "ds_config.json")).unwrap();
                let number = |key: &str| json[key].as_u64().unwrap();
                let micro = number("train_micro_batch_size_per_gpu");
                let accumulation = number("gradient_accumulation_steps");
                prop_assert!(micro > 0 && accumulation > 0);
                prop_assert_eq!(number("train_batch_size"), micro * accumulation * world);
                for (given, used) in numbers.iter().zip([micro, accumulation]) {
                    prop_assert!(given.is_none_or(|given| given == used));
                }
            }
            Err(refusal) => prop_assert!(!refusal.text().zh.is_empty() && refusal.hint().is_some()),
        }
    }

    #[test]
    fn a_file_of_ones_own_and_a_training_yaml_hold_for_their_world(
        nodes in proptest::collection::vec(1_u32..9, 1..5), numbers in numbers(), own in numbers(), said in numbers(),
    ) {
        let world: u64 = nodes.iter().map(|ranks| u64::from(*ranks)).sum();
        let keys = ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size"];
        let own_file: Map<String, Value> = with_numbers(&keys, own);
        let mut yaml = with_numbers(&["per_device_train_batch_size", "gradient_accumulation_steps"], said);
        yaml.insert("distributed_strategy".into(), "deepspeed".into());
        let mut scene = scene(Framework::Deepspeed, &nodes, numbers).set("config", own_file);
        scene.spec.options.training = Some(Map::from_iter([("training".to_owned(), yaml.into())]));
        match scene.launch() {
            Ok(launch) => {
                let json: Value = serde_json::from_str(&file(&launch, "ds_config.json")).unwrap();
                let [micro, accumulation, global] = keys.map(|key| json[key].as_u64().unwrap());
                prop_assert!(micro > 0 && accumulation > 0);
                prop_assert_eq!(global, micro * accumulation * world);
                // The task's own words win over the YAML's, and those over the JSON's.
                for (place, used) in [micro, accumulation].into_iter().enumerate() {
                    let wanted = numbers[place].or(said[place].filter(|_| numbers[2].is_none()));
                    prop_assert!(wanted.is_none_or(|wanted| wanted == used), "{wanted:?} became {used}");
                }
                if let [None, _, Some(whole)] | [_, None, Some(whole)] = numbers {
                    prop_assert_eq!(global, whole, "a whole batch that the task gives is the whole batch");
                }
                let words = launch.notes.iter().map(|note| note.en.as_ref()).collect::<Vec<_>>();
                prop_assert!(words.iter().any(|note| note.contains(&format!("effective batch {global} ="))), "{words:?}");
            }
            Err(refusal) => prop_assert!(!refusal.text().zh.is_empty() && refusal.hint().is_some()),
        }
    }

    #[test]
    fn megatron_arguments_hold_for_their_layout(
        tensor in 1_u32..5, pipeline in 1_u32..5, data in 1_u32..5, numbers in numbers(),
    ) {
        let scene = scene(Framework::MegatronLm, &[tensor * pipeline * data], numbers).strategy(data, pipeline, tensor);
        if let Ok(launch) = scene.launch() {
            let words: Vec<String> = launch.argv().map(|word| word.shown()).collect();
            let after = |flag: &str| -> u64 {
                let at = words.iter().position(|word| word == flag).unwrap();
                words[at + 1].parse().unwrap()
            };
            let accumulation: u64 = variable(&launch, "FERMI_GRADIENT_ACCUMULATION_STEPS").unwrap().parse().unwrap();
            prop_assert_eq!(after("--global-batch-size"), after("--micro-batch-size") * accumulation * u64::from(data));
        }
    }
}

#[test]
fn a_global_batch_that_fits_is_shared_out() {
    let launch = scene(Framework::Deepspeed, &[2, 4, 8], [Some(2), None, Some(84)]).launch().unwrap();
    let json: Value = serde_json::from_str(&file(&launch, "ds_config.json")).unwrap();
    assert_eq!((&json["train_batch_size"], &json["gradient_accumulation_steps"]), (&84.into(), &3.into()));
}

#[test]
fn micro_batch_and_accumulation_win_over_the_whole() {
    let launch = scene(Framework::Deepspeed, &[2, 4, 8], [Some(4), Some(8), Some(32)]).launch().unwrap();
    let json: Value = serde_json::from_str(&file(&launch, "ds_config.json")).unwrap();
    assert_eq!(json["train_batch_size"], 448);
    assert!(launch.notes.iter().any(|note| note.en.contains("448, not 32")), "{:?}", launch.notes);
}
