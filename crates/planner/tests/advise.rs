//! What a task is told before it starts, and that it is what `fermi plan` says of the same machines.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::{Duration, Instant};

use fermi_domain::framework::Framework;
use fermi_planner::advise::{Advice, AdviceId, Decided, Engine};
use fermi_planner::job::Cluster;
use fermi_planner::machines::Machine;
use fermi_planner::plan::{Knowledge, Plan};
use fermi_planner::search::Request;
use fermi_planner::sharding::{Offload, Sharding};
use fermi_planner::strategy::Strategy;

/// So many machines with so many of these GPUs each.
fn machines(kinds: &[(usize, u64, &str)]) -> Vec<Machine> {
    let of = |&(count, gpus, gpu): &(usize, u64, &str)| {
        vec![Machine { gpu: gpu.to_owned(), gpus, memory_gib: None, host_gib: None }; count]
    };
    kinds.iter().flat_map(of).collect()
}

fn plan(model: &str, kinds: &[(usize, u64, &str)]) -> Option<Plan<'static>> {
    let known = Knowledge::builtin();
    let cluster = Cluster::of_machines(&machines(kinds), &known.catalogue)?;
    Plan::of(Request::usual(known.catalogue.model(model)?.architecture(), cluster), &known.constants).ok()
}

fn decided(framework: Framework, zero_stage: Option<u64>) -> Decided {
    Decided { engine: Engine::of(framework, zero_stage), micro_batch: None }
}

fn advice(model: &str, framework: Framework, kinds: &[(usize, u64, &str)]) -> Advice {
    plan(model, kinds).unwrap().advice(decided(framework, None)).unwrap()
}

#[test]
fn what_fits_is_told_with_its_memory_and_speed() {
    let answer = advice("gpt2", Framework::PytorchDdp, &[(1, 8, "NVIDIA A100-SXM4-80GB")]);
    assert!(answer.fits && answer.missing_gib == 0.0 && answer.memory_high_gib > answer.memory_gib);
    assert!(answer.step_time_low_s < answer.step_time_s && answer.step_time_s < answer.step_time_high_s);
    assert_eq!(answer.strategy, Strategy::Ddp);
    assert!(answer.step_time_s.unwrap() > 0.0 && answer.tokens_per_s.unwrap() > 1e5);
    assert!(answer.sentence.en.starts_with("DDP fits: about"), "{}", answer.sentence.en);
}

#[test]
fn what_does_not_fit_is_told_by_how_much_and_what_does() {
    let answer = advice("llama2-7b", Framework::PytorchDdp, &[(1, 8, "A100-80G")]);
    assert_eq!(answer.id, AdviceId::DoesNotFit);
    assert!(!answer.fits && answer.missing_gib > 5.0 && answer.step_time_s.is_none());
    let instead = answer.suggestion.unwrap();
    assert_ne!(instead.strategy, Strategy::Ddp);
    assert!(instead.memory_gib < 80.0);
    assert!(answer.sentence.en.contains("GiB too much per GPU; with DeepSpeed"), "{}", answer.sentence.en);
    assert!(answer.sentence.zh.contains("放不下") && answer.sentence.zh.contains("就放得下"), "{}", answer.sentence.zh);
}

#[test]
fn where_nothing_fits_more_gpus_are_asked_for() {
    let answer = advice("llama3.1-405b", Framework::Deepspeed, &[(1, 2, "RTX 4090")]);
    assert!(!answer.fits && answer.suggestion.is_none(), "{answer:?}");
    assert!(answer.sentence.en.contains("more or larger GPUs"), "{}", answer.sentence.en);
}

#[test]
fn states_that_the_machines_cannot_hold_are_told_as_such() {
    let known = Knowledge::builtin();
    let architecture = known.catalogue.model("gpt3-175b").unwrap().architecture();
    let ask = |host_gib: f64| {
        let machine = Machine { gpu: "A100-80G".to_owned(), gpus: 2, memory_gib: None, host_gib: Some(host_gib) };
        let cluster = Cluster::of_machines(&vec![machine; 7], &known.catalogue).unwrap();
        let plan = Plan::of(Request::usual(architecture, cluster), &known.constants).unwrap();
        plan.advice(decided(Framework::Deepspeed, Some(3))).unwrap()
    };
    // 16 GiB hold not even the buffers of an offload to drives.
    let small = ask(16.0);
    assert!(!small.fits && small.suggestion.is_none(), "{}", small.sentence.en);
    assert!(small.sentence.en.contains("does not fit in host memory"), "{}", small.sentence.en);
    assert!(small.sentence.zh.contains("主机内存放不下"), "{}", small.sentence.zh);
    let offload = |host_gib: f64| ask(host_gib).suggestion.map(|said| said.offload);
    assert_eq!(offload(128.0), Some(Offload::AllNvme));
    assert_eq!(offload(1024.0), Some(Offload::OptimizerCpu));
}

/// The table of cases in which a task and `fermi plan` are asked about the same machines.
#[test]
fn a_suggestion_is_the_choice_of_the_plan_and_the_numbers_are_those_of_its_ranking() {
    let models = ["gpt2", "facebook/opt-1.3b", "llama2-7b", "llama3-70b", "llama3.1-405b"];
    let clusters: [&[(usize, u64, &str)]; 6] = [
        &[(1, 1, "A100-80G")],
        &[(1, 8, "A100-80G")],
        &[(1, 2, "RTX 4090")],
        &[(4, 8, "H100")],
        &[(16, 8, "H100")],
        &[(1, 4, "A100-80G"), (1, 4, "V100-32")],
    ];
    let engines = [
        decided(Framework::PytorchDdp, None),
        decided(Framework::PytorchFsdp, None),
        decided(Framework::Deepspeed, Some(1)),
        decided(Framework::Deepspeed, Some(3)),
        decided(Framework::MegatronLm, None),
        Decided { micro_batch: Some(3), ..decided(Framework::Deepspeed, Some(2)) },
    ];
    let (mut faster, mut fitting, mut remedied) = (0, 0, 0);
    for (model, kinds) in models.iter().flat_map(|model| clusters.map(|kinds| (*model, kinds))) {
        let plan = plan(model, kinds).unwrap();
        for engine in engines {
            let case = format!("{model} on {kinds:?} with {engine:?}");
            let answer = plan.advice(engine).unwrap_or_else(|| panic!("{case}"));
            let asked = plan.as_decided(engine).unwrap();
            assert_eq!((answer.fits, answer.memory_gib), (asked.fits, asked.memory.needed_gib()), "{case}");
            if engine.micro_batch.is_none() {
                let listed = plan.ranked.iter().find(|candidate| candidate.job.layout == asked.job.layout).unwrap();
                assert_eq!((listed.fits, listed.seconds()), (asked.fits, asked.seconds()), "{case}");
            }
            match (&answer.suggestion, &plan.choice) {
                (Some(said), Some(choice)) => {
                    assert_eq!(
                        (said.strategy, said.memory_gib, said.step_time_s),
                        (choice.strategy, choice.candidate.memory.needed_gib(), choice.candidate.seconds()),
                        "{case}"
                    );
                    if answer.fits { faster += 1 } else { fitting += 1 }
                }
                (Some(said), None) => {
                    let remedy = plan.remedies().into_iter().find(|remedy| remedy.fits).unwrap();
                    assert_eq!(said.memory_gib, remedy.needed_gib, "{case}");
                    assert!(!answer.fits && said.offload != Offload::None, "{case}");
                    remedied += 1;
                }
                // A task that fits and is not clearly slower is left alone; one that does not fit never is.
                (None, Some(_)) => assert!(answer.fits, "{case}"),
                (None, None) => {
                    let alone: Vec<_> = plan.remedies().into_iter().filter(|remedy| remedy.fits).collect();
                    assert!(alone.iter().all(|remedy| remedy.what.en.starts_with("use ")), "{case}: {alone:?}");
                }
            }
        }
    }
    assert!(faster > 0 && fitting > 0 && remedied > 0, "{faster} {fitting} {remedied}");
}

#[test]
fn the_framework_decides_what_is_judged() {
    let plan_of = |kinds| plan("gpt2", kinds).unwrap();
    for (framework, stage, strategy) in [
        (Framework::PytorchDdp, None, Strategy::Ddp),
        (Framework::PytorchFsdp, None, Strategy::Fsdp),
        (Framework::Deepspeed, None, Strategy::Zero2),
        (Framework::Deepspeed, Some(0), Strategy::Ddp),
        (Framework::Deepspeed, Some(3), Strategy::Zero3),
        (Framework::Horovod, None, Strategy::Ddp),
        (Framework::Command, None, Strategy::Ddp),
    ] {
        let answer = plan_of(&[(1, 8, "H100")]).advice(decided(framework, stage)).unwrap();
        assert_eq!(answer.strategy, strategy, "{framework} {stage:?}");
        let alone = plan_of(&[(1, 1, "H100")]).advice(decided(framework, stage)).unwrap();
        assert_eq!(alone.strategy, Strategy::Ddp, "{framework} {stage:?} on one GPU");
    }
    let megatron = advice("llama3-70b", Framework::MegatronLm, &[(4, 8, "H100")]);
    assert!(megatron.fits);
    assert_eq!(megatron.strategy, Strategy::ThreeD);
}

#[test]
fn a_micro_batch_that_the_search_would_not_try_is_judged_as_it_is() {
    let plan = plan("llama2-7b", &[(1, 8, "A100-80G")]).unwrap();
    for (asked, judged) in [(1, 1), (3, 3), (100, 8)] {
        let wanted = Decided { engine: Engine::Replicas(Sharding::Zero3), micro_batch: Some(asked) };
        assert_eq!(plan.advice(wanted).unwrap().micro_batch, judged);
    }
}

#[test]
fn nothing_is_said_of_what_is_unknown() {
    assert!(plan("no-such-model", &[(1, 8, "A100")]).is_none());
    for kinds in [&[][..], &[(1, 0, "")], &[(1, 8, "A100"), (1, 0, "")], &[(1, 8, "Z9000")]] {
        assert!(plan("gpt2", kinds).is_none(), "{kinds:?}");
    }
    assert!(plan("gpt2", &[(1, u64::MAX, "A100"), (1, 2, "A100")]).is_none());
    let known = plan("gpt2", &[(1, 1, "A100")]).unwrap().request;
    assert!(Plan::of(Request { seq_len: u64::MAX, ..known }, &Knowledge::builtin().constants).is_err());
}

#[test]
fn mixed_gpus_are_judged_by_the_smallest_and_the_slowest() {
    let mixed = advice("opt-1.3b", Framework::PytorchFsdp, &[(1, 4, "A100-80G"), (1, 4, "V100-32")]);
    let slow = advice("opt-1.3b", Framework::PytorchFsdp, &[(2, 4, "V100-32")]);
    assert_eq!(mixed.gpu_memory_gib, 32.0);
    assert!(mixed.step_time_s.unwrap() >= 0.95 * slow.step_time_s.unwrap());
}

#[test]
fn the_answer_is_written_in_camel_case() {
    let answer = advice("llama2-7b", Framework::PytorchDdp, &[(1, 8, "A100")]);
    let json = serde_json::to_value(answer).unwrap();
    for field in ["fits", "missingGib", "memoryGib", "stepTimeS", "tokensPerS", "suggestion", "microBatch"] {
        assert!(json.get(field).is_some(), "{field} is not in {json}");
    }
    assert_eq!(json["id"], "doesNotFit");
    assert!(json["sentence"]["zh-CN"].is_string());
}

#[test]
fn an_answer_for_a_thousand_gpus_comes_while_a_person_types() {
    // Optimised builds take 2 ms; the others are ten times slower.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 5 });
    for (model, framework) in [("llama3-70b", Framework::MegatronLm), ("llama2-7b", Framework::Deepspeed)] {
        // The machine may be busy with something else: the best of several tries counts.
        let best = (0..20).map(|_| {
            let before = Instant::now();
            advice(model, framework, &[(128, 8, "H100")]);
            before.elapsed()
        });
        let best = best.min().unwrap();
        assert!(best < limit, "{model}: {best:?}");
    }
}
