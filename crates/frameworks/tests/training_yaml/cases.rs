//! The cases that this reader and the Python one share.

use std::fs;

use serde_json::{Value, json};

use crate::outcome::{Case, cases, outcome};

#[test]
fn every_shared_case_comes_out_as_it_says() {
    let update = std::env::var_os("FERMI_UPDATE_CASES").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let came = outcome(&fs::read(&case.yaml).unwrap(), &case.facts);
        if update {
            write(&case, &came);
        } else if came != case.expected {
            wrong.push(format!("{}\n  expected {}\n  came out {came}", case.name, case.expected));
        }
    }
    assert!(
        wrong.is_empty(),
        "run the test again with FERMI_UPDATE_CASES=1 and read the difference:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_block_of_the_specification_is_a_case_that_is_read() {
    let blocks: Vec<Case> = cases().into_iter().filter(|case| case.name.starts_with("blocks/")).collect();
    assert_eq!(blocks.len(), 18);
    for block in blocks {
        assert!(block.expected.get("mistakes").is_none(), "{}", block.name);
    }
}

fn write(case: &Case, came: &Value) {
    let json = case.yaml.with_extension("json");
    let said: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let whole = json!({"about": said["about"], "facts": said["facts"], "expected": came});
    // In one step, since another test may be reading it.
    let new = json.with_extension("new");
    fs::write(&new, serde_json::to_string_pretty(&whole).unwrap() + "\n").unwrap();
    fs::rename(new, json).unwrap();
}
