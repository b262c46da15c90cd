//! Memory against published figures, and what must hold of it always.
#![allow(clippy::unwrap_used, clippy::panic)]

use fermi_planner::catalogue::Catalogue;
use fermi_planner::memory::{self, GIB};
use fermi_planner::resolve;
use fermi_planner::run::Run;
use proptest::prelude::*;

fn row(json: &str) -> Run {
    serde_json::from_str(json).unwrap()
}

/// Korthikanti et al. 2022, figure 1: parameters and optimizer 45.56 GiB, activations as listed.
#[test]
fn activations_of_korthikantis_figure_come_out() {
    let catalogue = Catalogue::builtin();
    let models = [
        (
            r#""layers":48,"hidden":6144,"heads":64,"tp":8,"pp":1,"gpus":8,"micro_batch":4,"global_batch":4"#,
            [59.25, 9.5625],
        ),
        (
            r#""layers":96,"hidden":12288,"heads":96,"tp":8,"pp":8,"vp":3,"gpus":64,"micro_batch":1,"global_batch":64"#,
            [66.84, 12.35],
        ),
    ];
    for (shape, expected) in models {
        for (recompute, sequence_parallel, gib) in [("none", false, expected[0]), ("selective_attn", true, expected[1])]
        {
            let run = row(&format!(
                r#"{{{shape},"model_name":"GPT","vocab":51200,"seq_len":2048,"gpu":"A100-80","precision":"fp16",
                "framework":"Megatron-LM 2022","recompute":"{recompute}","seq_parallel":{sequence_parallel}}}"#
            ));
            let used = memory::estimate(&resolve::job(&run, &catalogue).unwrap().job);
            let activations = used.activations / GIB;
            assert!((activations - gib).abs() < 0.06, "{shape} {recompute}: {activations} instead of {gib}");
            let states = (used.parameters + used.gradients + used.optimizer) / GIB;
            assert!((states - 45.56).abs() < 0.1, "states {states}");
        }
    }
}

/// Measured with torch 2.11 and transformers 5.17 on one H200.
#[test]
fn a_measured_run_is_met_within_two_percent() {
    let catalogue = Catalogue::builtin();
    for (model, precision, recompute, batch, seq, measured) in [
        ("llama-1.1b", "bf16_pure", "none", 8, 2048, 41.591),
        ("llama-1.1b", "amp_bf16", "full", 4, 2048, 18.322),
        ("opt-1.3b", "amp_bf16", "none", 8, 2048, 50.658),
        ("qwen2.5-1.5b", "bf16_pure", "none", 4, 4096, 80.91),
    ] {
        let run = row(&format!(
            r#"{{"model_name":"{model}","precision":"{precision}","recompute":"{recompute}","micro_batch":{batch},
            "global_batch":{batch},"seq_len":{seq},"gpu":"H200","gpus":1,"sharding":"ddp",
            "framework":"torch 2.11 + transformers 5.17, sdpa, fused AdamW"}}"#
        ));
        let peak = memory::estimate(&resolve::job(&run, &catalogue).unwrap().job).peak_gib();
        assert!((peak / measured - 1.0).abs() < 0.02, "{model} {precision} {recompute}: {peak} instead of {measured}");
    }
}

/// DeepSpeed's BF16 optimizer keeps 8 bytes per parameter on every rank and spreads 16; its 16-bit one keeps 4.5.
#[test]
fn gradients_accumulated_in_32_bits_are_not_spread() {
    let catalogue = Catalogue::builtin();
    let states = |precision: &str, dp: u32| {
        let run = row(&format!(
            r#"{{"model_name":"GPT","layers":40,"hidden":8192,"heads":64,"vocab":51200,"seq_len":2048,"gpu":"A100-80","tp":8,
            "pp":1,"dp":{dp},"micro_batch":1,"grad_accum":8,"sharding":"zero1","precision":"{precision}","recompute":"full",
            "framework":"Megatron-DeepSpeed 2022"}}"#
        ));
        let used = memory::estimate(&resolve::job(&run, &catalogue).unwrap().job);
        // Buckets have a fixed size.
        used.parameters + used.gradients + used.optimizer - 3e9
    };
    let per_rank = states("bf16", 1) / 24.0;
    for (dp, bytes) in [(1, 24.0), (2, 16.0), (4, 12.0), (16, 9.0)] {
        let got = states("bf16", dp) / per_rank;
        assert!((got - bytes).abs() < 0.01, "{dp}: {got} bytes instead of {bytes}");
    }
    assert!(states("bf16", 16) > 1.4 * states("fp16", 16));
}

/// Measured by KempnerForge on H200: the sequence is cut between blocks, the embedding is whole on every rank, logits are
/// gathered, and gradients stay whole in 32 bits while they are accumulated.
#[test]
fn fsdp2_with_tensor_parallelism_is_met_within_one_percent() {
    let catalogue = Catalogue::builtin();
    for (shape, tp, dp, micro_batch, accumulation, measured) in [
        (r#""layers":32,"hidden":4096,"heads":32,"ffn":14336"#, 2, 2, 4, 2, 45.9),
        (r#""layers":32,"hidden":4096,"heads":32,"ffn":14336"#, 4, 8, 4, 2, 27.6),
        (r#""layers":80,"hidden":8192,"heads":64,"ffn":28672"#, 4, 8, 2, 4, 93.2),
    ] {
        let run = row(&format!(
            r#"{{"model_name":"Llama3-like",{shape},"kv_heads":8,"vocab":128256,"seq_len":4096,"gpu":"H200","tp":{tp},"dp":{dp},
            "micro_batch":{micro_batch},"grad_accum":{accumulation},"sharding":"fsdp_full","recompute":"full",
            "precision":"bf16_pure_fp32reduce","framework":"PyTorch FSDP2+DTensor TP, torch.compile"}}"#
        ));
        let job = resolve::job(&run, &catalogue).unwrap().job;
        assert!(job.layout.sequence_parallel);
        let peak = memory::estimate(&job).peak_gib();
        assert!((peak / measured - 1.0).abs() < 0.01, "{shape} tp{tp}: {peak} instead of {measured}");
    }
}

proptest! {
    #[test]
    fn more_replicas_never_raise_the_states_of_a_gpu(
        dp in 1u32..512, times in 1u32..8, tp in 0u32..4, pp in 0u32..3,
        sharding in prop::sample::select(vec!["ddp", "zero1", "zero2", "zero3", "fsdp_full"]),
    ) {
        let catalogue = Catalogue::builtin();
        let states = |dp: u32| {
            let run = row(&format!(
                r#"{{"model_name":"llama3-8b","seq_len":4096,"gpu":"H100","tp":{},"pp":{},"dp":{dp},"micro_batch":1,"grad_accum":4,
                "sharding":"{sharding}","precision":"bf16","recompute":"full","framework":"own loop"}}"#, 1 << tp, 1 << pp));
            let job = resolve::job(&run, &catalogue).unwrap().job;
            let used = memory::estimate(&job);
            used.parameters + used.optimizer
        };
        prop_assert!(states(dp * times) <= states(dp) * (1.0 + 1e-9));
    }

    #[test]
    fn recomputing_more_never_needs_more(batch in 1u32..64, seq in 64u32..8192) {
        let catalogue = Catalogue::builtin();
        let activations = |recompute: &str| {
            let run = row(&format!(
                r#"{{"model_name":"llama2-7b","seq_len":{seq},"gpu":"H100","micro_batch":{batch},"global_batch":{batch},
                "precision":"bf16","recompute":"{recompute}","framework":"NeMo"}}"#));
            memory::estimate(&resolve::job(&run, &catalogue).unwrap().job).allocated()
        };
        prop_assert!(activations("full") <= activations("selective_op") * 1.001);
        prop_assert!(activations("selective_op") <= activations("none") * 1.001);
    }
}
