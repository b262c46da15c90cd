use super::*;
use crate::environment::{EnvironmentStatus, tests::environment};
use crate::ladder::{Rung, StopLadder};
use crate::language::{Explained, FrontEnd};
use crate::task::{AutoSelection, OnDisconnect, OnHang, Warm};
use crate::units::Seconds;

fn known() -> Vec<Environment> {
    vec![
        environment("env-001", "pytorch-dev-env", 2, "A100", "北京可用区A"),
        environment("env-003", "llm-training-env", 4, "A100", "深圳可用区C"),
        environment("env-005", "nlp-research-lab", 8, "A100", "上海可用区A"),
    ]
}

/// The request of the specification.
fn request() -> CreateRequest {
    serde_json::from_str(
        r#"{"taskName": "gpt3-pretraining", "datasetId": "dataset-001", "datasetVersionId": "version-001",
            "modelId": "model-001", "launchMode": "existing",
            "distributedConfig": {"enabled": true, "nodeIds": ["env-001", "env-003", "env-005"],
                "masterNode": "env-001", "framework": "deepspeed",
                "strategy": {"dataParallel": 2, "pipelineParallel": 4, "tensorParallel": 8}}}"#,
    )
    .unwrap()
}

#[test]
fn the_request_of_the_specification_is_accepted_with_a_warning() {
    let accepted = validate(&request(), &known()).unwrap();
    assert_eq!(accepted.aggregate.as_ref().unwrap().total_gpus, 14);
    assert_eq!(accepted.spec.distributed.framework, Some(Framework::Deepspeed));
    let ids: Vec<&str> = accepted.warnings.iter().map(Warning::id).collect();
    assert_eq!(ids, ["several_nodes", "cross_zone", "layout_mismatch", "builtin_trainer"]);
}

#[test]
fn a_recipe_has_its_settings_from_one_place_and_its_data_from_either() {
    let ask = |name: &str, config: Option<&str>, has_training: bool| {
        let recipe =
            RequestedRecipe { name: name.to_owned(), config: config.map(str::to_owned), ..RequestedRecipe::default() };
        let mut asked = CreateRequest { recipe: Some(recipe), dataset_id: None, dataset_version_id: None, ..request() };
        asked.options.training = has_training.then(serde_json::Map::new);
        asked.distributed_config.strategy = None;
        validate(&asked, &known()).map(|accepted| accepted.spec.work).map_err(|refusal| refusal.id())
    };
    for name in RECIPES {
        assert!(matches!(ask(name, None, true), Ok(Work::Recipe { .. })), "{name}");
    }
    assert!(matches!(ask("sft", Some("/disk/training.yaml"), false), Ok(Work::Recipe { config: Some(_), .. })));
    assert_eq!(ask("sft", None, false), Err("recipe_settings"));
    assert_eq!(ask("sft", Some("/disk/training.yaml"), true), Err("recipe_settings"));
    assert_eq!(ask("alchemy", None, true), Err("recipe_unknown"));
    assert_eq!(ask(BUILTIN, None, true), Err("dataset_required"));
}

#[test]
fn each_mistake_is_answered_with_its_sentence_and_field() {
    type Change = fn(&mut CreateRequest);
    let table: [(&str, &str, &str, Change); 25] = [
        ("name_required", "taskName", "请输入任务名称", |it| it.task_name = "  \t".to_owned()),
        ("name_reserved", "taskName", "任务不能命名为“task-10004”", |it| {
            it.task_name = "task-10004".to_owned()
        }),
        ("name_reserved", "taskName", "任务不能命名为“last”", |it| it.task_name = " last ".to_owned()),
        ("name_control_characters", "taskName", "任务名称含有控制字符", |it| {
            it.task_name = "a\u{7}b".to_owned()
        }),
        (
            "name_unseen_letter",
            "taskName",
            "名称含有 U+202E：这个字符看不见，或会改变文字的方向",
            |it| it.task_name = "a\u{202e}b".to_owned(),
        ),
        (
            "labels_invalid",
            "labels",
            "标签含有 U+200B：这个字符看不见，或会改变文字的方向",
            |it| drop(it.labels.insert("team".to_owned(), "n\u{200b}lp".to_owned())),
        ),
        ("path_invalid", "command.workingDirectory", "command.workingDirectory 含有控制字符", |it| {
            let argv = vec!["true".to_owned()];
            it.command =
                Some(RequestedCommand { argv, working_directory: Some("/x\u{1b}[2J".to_owned()), ..Default::default() })
        }),
        ("name_too_long", "taskName", "任务名称过长", |it| it.task_name = "长".repeat(129)),
        ("dataset_required", "datasetId", "请选择数据集", |it| it.dataset_id = None),
        ("dataset_required", "datasetId", "请选择数据集", |it| it.dataset_id = Some(" ".to_owned())),
        ("dataset_required", "datasetVersionId", "请选择数据集", |it| it.dataset_version_id = None),
        ("environment_required", "distributedConfig.nodeIds", "请至少选择一个开发环境", |it| {
            it.distributed_config.node_ids.clear()
        }),
        ("environment_duplicate", "distributedConfig.nodeIds", "开发环境 env-001 重复", |it| {
            it.distributed_config.node_ids.push("env-001".into())
        }),
        ("environment_unknown", "distributedConfig.nodeIds", "开发环境 env-9 不存在", |it| {
            it.distributed_config.node_ids.push("env-9".into())
        }),
        (
            "distributed_disabled",
            "distributedConfig.enabled",
            "选择了 3 个节点，但分布式训练未启用",
            |it| it.distributed_config.enabled = Some(false),
        ),
        ("master_invalid", "distributedConfig.masterNode", "请选择有效的主节点", |it| {
            it.distributed_config.master_node = None
        }),
        ("master_invalid", "distributedConfig.masterNode", "请选择有效的主节点", |it| {
            it.distributed_config.master_node = Some("env-7".into())
        }),
        ("framework_required", "distributedConfig.framework", "请选择分布式框架", |it| {
            it.distributed_config.framework = None
        }),
        ("framework_required", "distributedConfig.framework", "请选择分布式框架", |it| {
            it.distributed_config.framework = Some(String::new())
        }),
        ("framework_unknown", "distributedConfig.framework", "不支持的分布式框架 tf", |it| {
            it.distributed_config.framework = Some("tf".to_owned())
        }),
        ("strategy_invalid", "distributedConfig.strategy", "并行度至少为 1", |it| {
            it.distributed_config.strategy = Some(Strategy { data_parallel: 0, ..Strategy::default() })
        }),
        ("layout_mismatch", "distributedConfig.strategy", "2×4×8 = 64，与 14 个 rank 不符", |it| {
            it.distributed_config.framework = Some("megatron-lm".to_owned())
        }),
        // Two mistakes: the one that the form meets first is named.
        ("name_required", "taskName", "请输入任务名称", |it| {
            it.task_name.clear();
            it.dataset_id = None
        }),
        ("dataset_required", "datasetId", "请选择数据集", |it| {
            it.dataset_id = None;
            it.distributed_config.node_ids.clear()
        }),
        ("master_invalid", "distributedConfig.masterNode", "请选择有效的主节点", |it| {
            it.distributed_config.master_node = None;
            it.distributed_config.framework = None
        }),
    ];
    for (id, field, zh, change) in table {
        let mut request = request();
        change(&mut request);
        let refused = validate(&request, &known()).unwrap_err();
        assert_eq!((refused.id(), refused.field().as_deref(), &*refused.text().zh), (id, Some(field), zh));
        for text in [refused.text(), refused.hint().unwrap().spelled(FrontEnd::Api)] {
            assert!(!text.zh.is_empty() && !text.en.is_empty(), "{id}");
        }
    }
}

#[test]
fn an_offline_environment_is_refused_and_a_busy_one_waited_for() {
    let mut known = known();
    known[1].status = EnvironmentStatus::Offline;
    let refused = validate(&request(), &known).unwrap_err();
    assert_eq!((refused.id(), &*refused.text().zh), ("environment_offline", "开发环境 llm-training-env 已离线"));
    known[1].status = EnvironmentStatus::Busy;
    let accepted = validate(&request(), &known).unwrap();
    assert!(accepted.warnings.contains(&Warning::Busy { environments: vec!["llm-training-env".to_owned()] }));
}

#[test]
fn one_node_needs_neither_master_nor_framework() {
    for enabled in [None, Some(false), Some(true)] {
        let mut request = request();
        request.distributed_config =
            RequestedNodes { enabled, node_ids: vec!["env-003".into()], ..RequestedNodes::default() };
        let accepted = validate(&request, &known()).unwrap();
        assert!(!accepted.spec.distributed.enabled && accepted.warnings == [Warning::BuiltinTrainer]);
        assert_eq!(accepted.spec.distributed.master_node, Some("env-003".into()));
    }
}

#[test]
fn a_megatron_refusal_offers_layouts_that_fit() {
    let mut request = request();
    request.distributed_config.framework = Some("megatron-lm".to_owned());
    let refused = validate(&request, &known()).unwrap_err();
    let hint = refused.hint().unwrap();
    for (front_end, layout) in [
        (FrontEnd::CommandLine, "--data-parallel 1, --pipeline-parallel 7, --tensor-parallel 2"),
        (
            FrontEnd::Api,
            "distributedConfig.strategy.dataParallel 1, distributedConfig.strategy.pipelineParallel 7, \
             distributedConfig.strategy.tensorParallel 2",
        ),
        (FrontEnd::Console, "'Data parallel' 1, 'Pipeline parallel' 7, 'Tensor parallel' 2"),
    ] {
        assert!(hint.spelled(front_end).en.contains(layout), "{}", hint.spelled(front_end).en);
    }
    request.distributed_config.strategy = Some(Strategy { data_parallel: 1, pipeline_parallel: 7, tensor_parallel: 2 });
    assert!(validate(&request, &known()).is_ok());
}

#[test]
fn names_are_trimmed_and_may_be_chinese() {
    let mut request = request();
    request.task_name = format!("  {}  ", "训".repeat(LONGEST_NAME));
    assert_eq!(validate(&request, &known()).unwrap().spec.name.chars().count(), LONGEST_NAME);
}

#[test]
fn the_model_is_optional() {
    let mut request = request();
    request.model_id = None;
    assert_eq!(validate(&request, &known()).unwrap().spec.model_id, None);
}

#[test]
fn a_port_that_nobody_could_reach_is_refused() {
    let mut request = request();
    request.options.master_port = Some(0);
    let refused = validate(&request, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("master_port_invalid", Some("options.masterPort")));
}

#[test]
fn a_checkpoint_folder_means_the_same_on_every_node() {
    for (path, is_taken) in [
        ("/shared/训练 1/ckpt", true),
        ("checkpoints", false),
        ("", false),
        ("~/ckpt", false),
        ("/shared/../etc", false),
        ("/", false),
        ("//./", false),
        ("/shared/$USER", false),
        ("/shared/{task}", false),
        ("/a\nb", false),
    ] {
        let mut request = request();
        request.options.checkpoint_dir = Some(path.into());
        match validate(&request, &known()) {
            Ok(accepted) => {
                assert!(is_taken, "{path}");
                assert_eq!(accepted.spec.options.checkpoint_dir.as_deref(), Some(path));
            }
            Err(refused) => {
                assert!(!is_taken, "{path}");
                let told = (refused.id(), refused.field());
                assert_eq!(told, ("checkpoint_folder_invalid", Some("options.checkpointDir".into())));
                assert!(refused.hint().unwrap().spelled(FrontEnd::CommandLine).zh.contains("--checkpoint-dir"));
            }
        }
    }
}

#[test]
fn what_nobody_would_carry_out_is_refused_and_can_still_be_read_back() {
    let refused = validate(&CreateRequest { selection: Selection::New, ..request() }, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("new_not_supported", Some("launchMode")));

    let mut stop_after = request();
    stop_after.policies.on_disconnect = OnDisconnect::StopAfter(OnDisconnect::SHORTEST);
    assert!(validate(&stop_after, &known()).is_ok());
    stop_after.policies.on_disconnect = OnDisconnect::StopAfter(Seconds(19));
    let refused = validate(&stop_after, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("stop_after_too_short", Some("policies.onDisconnect")));
    stop_after.policies = Policies { start_timeout: Some(Seconds(0)), ..Policies::default() };
    let refused = validate(&stop_after, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("start_timeout_invalid", Some("policies.startTimeout")));
}

#[test]
fn spans_that_no_clock_can_hold_and_signals_that_nobody_obeys_are_refused() {
    let ladder = |signal: i32, grace_ms: u64| {
        let stop = StopLadder { checkpoint: Some(Rung { signal, grace_ms }), ..StopLadder::default() };
        Policies { stop, ..Policies::default() }
    };
    let beyond = Seconds(LONGEST_SPAN.0 + 1);
    let usual = Policies::default;
    let (planned_grace_ms, failure_grace_ms) = (u64::MAX, u64::MAX);
    let table = [
        ("policies.nodeLostAfter", Policies { node_lost_after: Seconds(u64::MAX), ..usual() }),
        ("policies.onDisconnect.stopAfter", Policies { on_disconnect: OnDisconnect::StopAfter(beyond), ..usual() }),
        ("policies.startTimeout", Policies { start_timeout: Some(Seconds(u64::MAX)), ..usual() }),
        ("policies.hangAfter", Policies { hang_after: Some(beyond), ..usual() }),
        (
            "policies.stop.plannedGraceMs",
            Policies { stop: StopLadder { planned_grace_ms, ..StopLadder::default() }, ..usual() },
        ),
        (
            "policies.stop.failureGraceMs",
            Policies { stop: StopLadder { failure_grace_ms, ..StopLadder::default() }, ..usual() },
        ),
        ("policies.stop.checkpoint.graceMs", ladder(10, u64::MAX)),
        ("policies.stop.checkpoint.signal", ladder(-9, 1_000)),
        ("policies.stop.checkpoint.signal", ladder(0, 1_000)),
        ("policies.stop.checkpoint.signal", ladder(9, 1_000)),
        ("policies.stop.checkpoint.signal", ladder(19, 1_000)),
        ("policies.stop.checkpoint.signal", ladder(65, 1_000)),
    ];
    for (field, policies) in table {
        let refused = validate(&CreateRequest { policies, ..request() }, &known()).unwrap_err();
        assert_eq!(refused.field().as_deref(), Some(field));
    }
    assert!(validate(&CreateRequest { policies: ladder(10, 600_000), ..request() }, &known()).is_ok());
}

#[test]
fn what_fermi_shall_pick_is_checked_and_names_no_environments() {
    let auto = |auto: AutoSelection| {
        let mut request = CreateRequest { selection: Selection::Auto(auto), ..request() };
        request.distributed_config.node_ids.clear();
        request.distributed_config.master_node = None;
        request.distributed_config.strategy = None;
        request
    };
    let two = AutoSelection { nodes: 2, gpus_per_node: Some(4), ..AutoSelection::default() };
    let accepted = validate(&auto(two.clone()), &known()).unwrap();
    assert!(accepted.spec.distributed.enabled && accepted.spec.distributed.node_ids.is_empty());
    assert!(validate_copy(&accepted.spec, None, &known()).is_ok());
    let id = |request: &CreateRequest| validate(request, &known()).map(|_| ()).map_err(|refused| refused.id());
    let named = CreateRequest { selection: Selection::Auto(two.clone()), ..request() };
    assert_eq!(id(&named), Err("auto_with_environments"));
    assert_eq!(id(&auto(AutoSelection { nodes: 0, ..two.clone() })), Err("auto_invalid"));
    assert_eq!(id(&auto(AutoSelection { nodes: u32::MAX, ..two.clone() })), Err("auto_invalid"));
    assert_eq!(id(&auto(AutoSelection { workers_per_node: Some(1), ..two.clone() })), Err("auto_invalid"));
    for word in ["\u{1b}]0;x\u{7}".to_owned(), "A".repeat(LONGEST_NAME + 1)] {
        let (gpu_type, zone) = (Some(word.clone()), Some(word));
        assert_eq!(id(&auto(AutoSelection { gpu_type, ..two.clone() })), Err("auto_word_invalid"));
        assert_eq!(id(&auto(AutoSelection { zone, ..two.clone() })), Err("auto_word_invalid"));
    }
    let mut without = auto(two);
    without.distributed_config.framework = None;
    assert_eq!(id(&without), Err("framework_required"));
    without.selection = Selection::Auto(AutoSelection::default());
    assert_eq!(id(&without), Ok(()));
    without.policies.time_limit = Some(Seconds(0));
    assert_eq!(id(&without), Err("time_limit_invalid"));
}

#[test]
fn a_master_address_is_a_host_without_a_port() {
    for (given, is_right) in
        [("gn6", true), ("10.0.0.6", true), ("fe80::1", true), ("gn6:29500", false), ("", false), ("a b", false)]
    {
        let mut named = request();
        named.options.master_address = Some(given.into());
        let id = validate(&named, &known()).map_err(|refused| refused.id());
        assert_eq!(id.map(|_| ()), if is_right { Ok(()) } else { Err("master_address_invalid") }, "{given}");
    }
}

#[test]
fn a_copy_is_checked_as_a_request_is() {
    let spec = validate(&request(), &known()).unwrap().spec;
    let copy = validate_copy(&spec, None, &known()).unwrap();
    assert_eq!(copy.spec.name, "gpt3-pretraining-copy");
    assert_eq!(copy.aggregate, validate(&request(), &known()).unwrap().aggregate);
    assert_eq!(validate_copy(&spec, Some(" two "), &known()).unwrap().spec.name, "two");

    let refusal = |spec: &TaskSpec, name: Option<&str>, known: &[Environment]| {
        validate_copy(spec, name, known).map(|_| ()).unwrap_err().id()
    };
    assert_eq!(refusal(&spec, Some(" "), &known()), "name_required");
    assert_eq!(refusal(&spec, Some("a\nb"), &known()), "name_control_characters");
    assert_eq!(refusal(&spec, None, &known()[..2]), "environment_unknown");
    let mut offline = known();
    offline[1].status = EnvironmentStatus::Offline;
    assert_eq!(refusal(&spec, None, &offline), "environment_offline");
    let picked = TaskSpec { selection: Selection::New, ..spec.clone() };
    assert_eq!(refusal(&picked, None, &known()), "new_not_supported");
    // The machine has fewer workers than when the original was made.
    let mut chosen = spec.clone();
    chosen.distributed.workers.insert("env-005".into(), vec![7]);
    let mut smaller = known();
    smaller[2] = environment("env-005", "nlp-research-lab", 4, "A100", "上海可用区A");
    assert_eq!(refusal(&chosen, None, &smaller), "workers_unknown");
    let long = TaskSpec { name: "长".repeat(LONGEST_NAME), ..spec };
    assert_eq!(validate_copy(&long, None, &known()).unwrap().spec.name.chars().count(), LONGEST_NAME);
}

#[test]
fn a_hang_cannot_end_an_attempt_whose_ranks_are_left_alone() {
    let mut request = request();
    request.policies.on_hang = OnHang::Restart;
    assert!(validate(&request, &known()).is_ok());
    request.options.hook = Some(false);
    let refused = validate(&request, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("hang_without_hook", Some("policies.onHang")));
}

#[test]
fn interpreters_are_not_parked_beside_ranks_that_are_left_alone() {
    let mut request = request();
    request.policies.warm = Warm::On;
    assert!(validate(&request, &known()).is_ok());
    request.options.hook = Some(false);
    let refused = validate(&request, &known()).unwrap_err();
    assert_eq!((refused.id(), refused.field().as_deref()), ("warm_without_hook", Some("policies.warm")));
}
