//! Rows as people write them: gaps are filled, nonsense gets a sentence, nothing panics.
#![allow(clippy::unwrap_used, clippy::panic)]

use fermi_domain::language::Language;
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::interval::Verdict;
use fermi_planner::predict::{RowPrediction, predict};
use fermi_planner::run::Run;
use proptest::prelude::*;

fn answer(json: &str) -> RowPrediction {
    let run: Run = serde_json::from_str(json).unwrap();
    predict(&run, &Catalogue::builtin(), &Constants::builtin(), Language::En)
}

fn reason(json: &str) -> String {
    match answer(json) {
        RowPrediction::Reason { reason, .. } => reason,
        RowPrediction::Numbers(numbers) => panic!("{json} was answered with {numbers:?}"),
    }
}

#[test]
fn what_is_absent_is_derived() {
    let full = r#"{"model_name":"llama3.1-8b","params":8030261248,"layers":32,"hidden":4096,"heads":32,"kv_heads":8,"ffn":14336,
        "vocab":128256,"seq_len":8192,"gpu":"H100-SXM","gpu_mem_gib":80,"nodes":2,"gpus":16,"gpus_per_node":8,"tp":2,"pp":1,"cp":1,
        "dp":8,"sharding":"zero1","precision":"bf16","micro_batch":1,"grad_accum":16,"global_batch":128,"recompute":"none",
        "framework":"NeMo"}"#;
    let sparse = r#"{"model_name":"llama3.1-8b","seq_len":8192,"gpu":"H100-SXM","nodes":2,"gpus_per_node":8,"tp":2,
        "sharding":"zero1","precision":"bf16","micro_batch":1,"global_batch":128,"recompute":"none","framework":"NeMo"}"#;
    let (full, sparse) = (answer(full), answer(sparse));
    let (full, sparse) = (full.numbers().unwrap(), sparse.numbers().unwrap());
    assert_eq!(full.step_time_s, sparse.step_time_s);
    assert_eq!(full.peak_mem_gib, sparse.peak_mem_gib);
    assert!(full.explain.contains("compute"));
}

fn seconds(json: &str) -> f64 {
    answer(json).numbers().unwrap().step_time_s
}

#[test]
fn what_is_not_compiled_is_slower_however_that_is_said() {
    let row = |note: &str, tp: u64| {
        format!(
            r#"{{"model_name":"llama2-13b","seq_len":4096,"gpu":"H200","gpus":8,"tp":{tp},"sharding":"fsdp_full","micro_batch":4,
            "recompute":"full","framework":"PyTorch FSDP2+DTensor TP, torch.compile","note":"{note}"}}"#
        )
    };
    let fused = seconds(&row("", 1));
    assert!(seconds(&row("compile=false", 1)) > 1.05 * fused);
    assert_eq!(seconds(&row("compile=false", 1)), seconds(&row("eager", 1)));
    // Under tensor parallelism the hooks of its plan stand between what could be fused.
    assert_eq!(seconds(&row("", 2)), seconds(&row("eager", 2)));
}

#[test]
fn zero_3_gathers_once_more_what_is_computed_again() {
    // So little to compute that the wire decides: three gathers and a reduction where there were two and one.
    let row = |framework: &str, recompute: &str| {
        format!(
            r#"{{"model_name":"GPT-175B","layers":96,"hidden":12288,"heads":96,"vocab":51200,"seq_len":64,"gpu":"A100-80","nodes":16,
            "gpus_per_node":8,"sharding":"zero3","precision":"fp16","micro_batch":1,"recompute":"{recompute}","framework":"{framework}"}}"#
        )
    };
    let dearer = |framework: &str| seconds(&row(framework, "full")) / seconds(&row(framework, "none"));
    assert!((1.25..1.4).contains(&dearer("DeepSpeed ZeRO-3")), "{}", dearer("DeepSpeed ZeRO-3"));
    assert!(dearer("Composer FSDP1") < 1.15, "{}", dearer("Composer FSDP1"));
}

#[test]
fn stages_that_end_one_after_the_other_hide_their_gradients() {
    // Percent of the step in which gradients and parameters are waited for.
    let waited = |more: &str| -> u32 {
        let row = format!(
            r#"{{"model_name":"GPT-175B","layers":96,"hidden":12288,"heads":96,"vocab":51200,"seq_len":8192,"gpu":"H100","nodes":16,
            "gpus_per_node":8,"tp":8,"pp":4,"dp":4,"sharding":"zero1","precision":"bf16","micro_batch":1,"grad_accum":8,"recompute":"none",
            "framework":"NeMo"{more}}}"#
        );
        let explained = answer(&row).numbers().unwrap().explain.clone();
        let (_, after) = explained.split_once("data-parallel communication ").unwrap_or_default();
        after.split(' ').next().and_then(|percent| percent.parse().ok()).unwrap_or(0)
    };
    let (one, six) = (waited(""), waited(r#","vp":6"#));
    assert!(2 * six < one, "{one} % and {six} %");
}

#[test]
fn omni_path_carries_less_than_its_cards_say() {
    let row = |network: &str| {
        format!(
            r#"{{"model_name":"llama2-7b","seq_len":512,"gpu":"A100-80","nodes":4,"gpus_per_node":8,"sharding":"fsdp_full","precision":"bf16",
            "micro_batch":1,"recompute":"none","framework":"Composer FSDP1","network":"4x 100 Gbps {network}"}}"#
        )
    };
    assert!(seconds(&row("Omni-Path")) > 1.4 * seconds(&row("InfiniBand")));
}

#[test]
fn blocks_of_more_operations_cost_more_of_the_processor() {
    // So few tokens that launches are the limit: a block of Llama is written in more than twice the operations of BERT's.
    let row = |model: &str| {
        format!(
            r#"{{"model_name":"{model}","layers":24,"hidden":1024,"heads":16,"ffn":4096,"vocab":32000,"seq_len":64,"gpu":"H200","gpus":1,
            "micro_batch":1,"precision":"bf16_pure","recompute":"none","framework":"transformers"}}"#
        )
    };
    assert!(seconds(&row("llama-350m")) > 1.3 * seconds(&row("bert-large")));
}

#[test]
fn what_describes_no_run_gets_a_sentence() {
    let base = |extra: &str| {
        format!(
            r#"{{"model_name":"x","layers":2,"hidden":512,"heads":8,"vocab":1000,"seq_len":128,"gpu":"A100-80"{extra}}}"#
        )
    };
    assert!(answer(&base("")).numbers().is_some());
    for (row, words) in [
        (r#"{}"#.to_owned(), "layers is missing"),
        (r#"{"model_name":"no-such-model"}"#.to_owned(), "unknown model"),
        (r#"{"model_name":"gpt2","seq_len":128,"gpu":"Z9000"}"#.to_owned(), "unknown gpu"),
        (base(r#","gpus":0"#), "gpus must be above 0"),
        (base(r#","precision":"int3""#), "unknown precision"),
        (base(r#","sharding":"maybe""#), "unknown sharding"),
        (base(r#","micro_batch":1e300"#), "larger than"),
        (r#"{"layers":0,"hidden":512,"heads":8,"seq_len":128,"gpu":"A100-80"}"#.to_owned(), "layers must be above 0"),
        (r#"{"layers":2,"hidden":500,"heads":8,"seq_len":128,"gpu":"A100-80"}"#.to_owned(), "does not divide"),
        (r#"{"layers":2,"hidden":512,"heads":0,"seq_len":128,"gpu":"A100-80"}"#.to_owned(), "heads must be above 0"),
        (r#"{"layers":1e12,"hidden":1e12,"heads":1,"seq_len":128,"gpu":"A100-80"}"#.to_owned(), "larger than"),
        (r#"{"layers":-3,"hidden":512,"heads":8,"seq_len":128,"gpu":"A100-80"}"#.to_owned(), "above 0"),
    ] {
        let said = reason(&row);
        assert!(said.contains(words), "{row}: {said}");
    }
}

#[test]
fn a_pipeline_of_torchtitan_has_as_many_micro_batches_as_stages() {
    let layout = |extra: &str| {
        let run: Run = serde_json::from_str(&format!(
            r#"{{"model_name":"llama3.1-405b","seq_len":8192,"gpu":"H100","gpus":512,"tp":8,"pp":8,"dp":8,"global_batch":256,
            "sharding":"fsdp_full","precision":"fp8","recompute":"full","framework":"torchtitan FSDP2"{extra}}}"#
        ))
        .unwrap();
        let job = fermi_planner::resolve::job(&run, &Catalogue::builtin()).unwrap().job;
        (job.layout.micro_batch, job.layout.accumulation, job.hides_tensor)
    };
    assert_eq!(layout(""), (4, 8, false));
    assert_eq!(layout(r#","micro_batch":1,"note":"AsyncTP; micro-batch not stated""#), (4, 8, true));
    assert_eq!(layout(r#","vp":2"#), (2, 16, false));
    assert_eq!(layout(r#","micro_batch":1"#), (1, 32, false));
}

#[test]
fn every_number_comes_with_the_interval_around_it() {
    let row = r#"{"model_name":"llama2-7b","seq_len":4096,"gpu":"A100-80","nodes":2,"gpus_per_node":8,"sharding":"zero1",
        "precision":"bf16","global_batch":128,"framework":"NeMo"}"#;
    let answer = answer(row);
    let numbers = answer.numbers().unwrap();
    assert!(numbers.step_time_low_s < numbers.step_time_s && numbers.step_time_s < numbers.step_time_high_s);
    assert!(numbers.peak_mem_low_gib < numbers.peak_mem_gib && numbers.peak_mem_gib < numbers.peak_mem_high_gib);
    assert_eq!(numbers.fits, numbers.verdict == Verdict::Fits);
}

#[test]
fn numbers_may_be_written_as_text_and_odd_cells_count_as_absent() {
    let row = r#"{"model_name":"gpt2","seq_len":"1024","gpu":"H200","gpus":"8","micro_batch":null,"tp":[],"pp":{},"dp":true,"note":7}"#;
    assert!(answer(row).numbers().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_row_panics_and_every_answer_is_finite(
        layers in 0f64..1e4, hidden in 0f64..1e6, heads in 0f64..1e4, seq in 0f64..1e7, gpus in 0f64..1e6,
        tp in 0f64..1e9, pp in 0f64..1e9, dp in 0f64..1e12, batch in 0f64..1e12, micro in 0f64..1e9, vp in 0f64..1e13,
        sharding in prop::sample::select(vec!["ddp", "zero3", "hsdp_8", "hsdp_99999999999999", "fsdp_grad_op"]),
        framework in prop::sample::select(vec!["", "NeMo", "Megatron-DeepSpeed", "torchtitan", "DeepSpeed", "transformers"]),
        gpu in prop::sample::select(vec!["A100-80", "B200", "T4", ""]),
    ) {
        let json = serde_json::json!({
            "layers": layers.floor(), "hidden": (hidden / 64.0).floor() * 64.0, "heads": heads.floor().min(8.0), "seq_len": seq.floor(),
            "gpus": gpus.floor(), "tp": tp, "pp": pp, "dp": dp, "global_batch": batch, "micro_batch": micro, "vp": vp, "ep": vp,
            "sharding": sharding, "framework": framework, "gpu": gpu,
        });
        if let Some(numbers) = answer(&json.to_string()).numbers() {
            prop_assert!(numbers.step_time_s.is_finite() && numbers.step_time_s > 0.0);
            prop_assert!(numbers.peak_mem_gib.is_finite() && numbers.peak_mem_gib > 0.0);
        }
    }
}
