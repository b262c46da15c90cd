//! The search and the choice of a strategy.
#![allow(clippy::unwrap_used, clippy::panic)]

use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::job::{Cluster, Zones};
use fermi_planner::network::Network;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::plan::Plan;
use fermi_planner::precision::Precision;
use fermi_planner::scale::learning_rates;
use fermi_planner::search::{Request, layouts, rank};
use fermi_planner::strategy::{Decision, Strategy, by_table, choose, framework_by_table};

fn request(model: &str, gpu: &str, gpus: u64, gbps: f64) -> Request {
    let catalogue = Catalogue::builtin();
    Request {
        architecture: catalogue.model(model).unwrap().architecture(),
        seq_len: 2048,
        global_batch: gpus * 8,
        cluster: Cluster {
            gpu: catalogue.gpu(gpu, None).unwrap(),
            gpus,
            gpus_per_node: gpus.min(8),
            network: Network::of_gbps(gbps),
            zones: None,
            host_gib: None,
        },
        precision: Precision::Bf16,
        optimizer: Optimizer::Adam,
        lora: None,
    }
}

#[test]
fn the_tables_choose_by_size_and_a_boundary_belongs_to_the_middle() {
    assert_eq!(by_table(999_999_999), Strategy::Ddp);
    assert_eq!(by_table(1_000_000_000), Strategy::Zero2);
    assert_eq!(by_table(7_000_000_000), Strategy::Zero2);
    assert_eq!(by_table(7_000_000_001), Strategy::Zero3);
    assert_eq!(framework_by_table(331_000_000), "PyTorch DDP");
    assert_eq!(framework_by_table(175_000_000_000), "Megatron-LM + DeepSpeed");
}

#[test]
fn a_small_model_gets_ddp_by_the_table() {
    let ranked = rank(&request("facebook/opt-350m", "A100-80", 8, 1600.0), &Constants::builtin());
    let choice = choose(&ranked).unwrap();
    assert_eq!((choice.strategy, choice.decided_by), (Strategy::Ddp, Decision::Table));
    assert!(choice.candidate.fits);
}

#[test]
fn a_large_model_overrules_the_table_only_with_a_reason() {
    let ranked = rank(&request("llama3-70b", "H100", 64, 3200.0), &Constants::builtin());
    let choice = choose(&ranked).unwrap();
    assert_ne!(choice.strategy, Strategy::Ddp);
    assert!(choice.candidate.fits);
    assert!(!choice.reason.zh.is_empty() && !choice.reason.en.is_empty());
}

#[test]
fn what_does_not_fit_comes_with_remedies_and_at_least_one_works() {
    let request = request("llama3-70b", "A100-80", 8, 1600.0);
    let constants = Constants::builtin();
    let plan = Plan::of(request, &constants).unwrap();
    assert!(plan.choice.is_none());
    assert!(plan.ranked[0].missing_gib() > 0.0);
    assert!(plan.remedies().iter().any(|r| r.fits));
}

#[test]
fn states_that_do_not_fit_into_the_machines_are_no_remedy() {
    let mut request = request("gpt3-175b", "A100-80", 14, 100.0);
    request.cluster.gpus_per_node = 2;
    let constants = Constants::builtin();
    let offload = |request: Request| {
        let plan = Plan::of(request, &constants).unwrap();
        let remedies = plan.remedies();
        let remedy = remedies.iter().find(|remedy| remedy.what.en.starts_with("also offload")).unwrap();
        (remedy.fits, remedy.host_gib, remedy.what.en.clone())
    };
    // 175 B parameters with 16 bytes of states each and half as much for buffers, an equal share for each of 7 nodes.
    let (_, needed, words) = offload(request);
    assert!((500.0..620.0).contains(&needed), "{needed}");
    assert!(words.contains("GiB of memory per node"), "{words}");
    request.cluster.host_gib = Some(128.0);
    let (fits, _, words) = offload(request);
    assert!(!fits && words.contains("GiB too much"), "896 GB in all do not hold 2 TB of states: {words}");
    request.cluster.host_gib = Some(1024.0);
    assert!(offload(request).0, "7 TB do");
}

#[test]
fn every_layout_uses_all_gpus_and_the_whole_batch() {
    let request = request("llama2-7b", "A100-80", 32, 100.0);
    let all = layouts(&request);
    assert!(all.len() > 100);
    for layout in all {
        assert_eq!(layout.gpus(), 32);
        assert_eq!(layout.global_batch(), request.global_batch);
        assert_eq!(request.architecture.layers % layout.pp, 0);
        assert_eq!(request.architecture.heads % layout.tp, 0);
    }
}

#[test]
fn a_batch_that_replicas_cannot_share_is_said_and_wins_nothing_by_being_smaller() {
    let constants = Constants::builtin();
    let planned = |global_batch| {
        let request = Request { global_batch, ..request("gpt2", "A100-80", 8, 1600.0) };
        Plan::of(request, &constants).unwrap()
    };
    let plan = planned(100);
    assert_eq!(plan.choice.as_ref().unwrap().candidate.job.layout.global_batch(), 96);
    let [note] = plan.notes().try_into().unwrap();
    assert!(note.en.contains("takes 96 a step; 104 could") && note.zh.contains("每步取 96 个；104"), "{note:?}");
    assert!(planned(96).notes().is_empty());
    // Eight replicas would take 8 of these, and be done first.
    let speeds: Vec<f64> = planned(15).ranked.iter().filter(|it| it.fits).map(|it| it.tokens_per_s()).collect();
    assert!(speeds.is_sorted_by(|a, b| *a >= b * 0.999_999), "{speeds:?}");
}

#[test]
fn numbers_that_a_gpu_does_not_multiply_are_refused_or_said() {
    let constants = Constants::builtin();
    let planned = |gpu: &str, precision| {
        let request = Request { precision, ..request("gpt2", gpu, 8, 1600.0) };
        Plan::of(request, &constants).map(|plan| plan.notes().len()).map_err(|error| error.field)
    };
    assert_eq!([Precision::Bf16, Precision::Fp16].map(|it| planned("V100", it)), [Ok(1), Ok(0)]);
    for gpu in ["A100-80", "V100", "MI250X"] {
        assert_eq!(planned(gpu, Precision::Fp8), Err("precision"), "{gpu}");
    }
    for (gpu, precision) in [("H100", Precision::Fp8), ("MI300X", Precision::Fp8), ("B200", Precision::Nvfp4)] {
        assert_eq!(planned(gpu, precision), Ok(0), "{gpu}");
    }
    assert_eq!(planned("H100", Precision::Nvfp4), Err("precision"));
}

#[test]
fn experts_that_are_not_spread_are_said() {
    let constants = Constants::builtin();
    let plan = Plan::of(request("mixtral-8x7b", "H100", 16, 3200.0), &constants).unwrap();
    assert!(plan.notes().iter().any(|note| note.en.contains("expert parallelism")));
}

#[test]
fn a_slower_network_never_makes_a_layout_faster() {
    let (fast, slow) = (request("llama2-7b", "A100-80", 32, 1600.0), request("llama2-7b", "A100-80", 32, 25.0));
    let constants = Constants::builtin();
    for layout in layouts(&fast) {
        let (a, b) = (fast.estimate(layout, &constants), slow.estimate(layout, &constants));
        assert!(b.seconds() >= a.seconds() * 0.999_999, "{layout:?}");
    }
}

#[test]
fn zones_far_apart_cost_and_spreading_parameters_over_them_costs_most() {
    let near = request("llama2-7b", "A100-80", 32, 1600.0);
    let mut far = near;
    far.cluster.zones = Some(Zones { count: 2, gbps: 10.0, round_trip_ms: 30.0 });
    let constants = Constants::builtin();
    let plain = near.plain_layout();
    let sharded = fermi_planner::job::Layout { sharding: fermi_planner::sharding::Sharding::Zero3, ..plain };
    let extra = |layout| far.estimate(layout, &constants).seconds() - near.estimate(layout, &constants).seconds();
    assert!(extra(plain) > 1.0);
    assert!(extra(sharded) > extra(plain));
}

#[test]
fn stages_on_several_nodes_talk_over_the_network() {
    // Four ranks have a stage, so that two stages share a node: every other boundary still lies between nodes.
    let constants = Constants::builtin();
    let (fast, slow) = (request("llama2-7b", "RTX-4090", 64, 3200.0), request("llama2-7b", "RTX-4090", 64, 25.0));
    let layout = layouts(&fast).into_iter().find(|l| (l.tp, l.pp, l.dp) == (1, 16, 4)).unwrap();
    assert!(slow.estimate(layout, &constants).step.pipeline > fast.estimate(layout, &constants).step.pipeline * 2.0);
}

#[test]
fn a_reason_says_no_more_than_is_true() {
    let constants = Constants::builtin();
    let reason = |request: &Request| choose(&rank(request, &constants)).unwrap().reason.en;
    let tight = request("llama2-70b", "H100", 16, 3200.0);
    assert!(!reason(&tight).contains("within 10 %"), "{}", reason(&tight));
    let mut small = request("llama2-7b", "H100", 8, 3200.0);
    small.global_batch = 3;
    assert!(reason(&small).contains("one sequence per GPU"), "{}", reason(&small));
}

#[test]
fn learning_rates_scale_linearly_or_by_the_root() {
    let rates = learning_rates(5e-5, 1, 16);
    assert!((rates.linear - 8e-4).abs() < 1e-12);
    assert!((rates.square_root - 2e-4).abs() < 1e-12);
}
