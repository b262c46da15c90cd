//! `fermi plan guide`: strategies and situations side by side, for a choice without numbers.

use clap::Args;
use fermi_domain::auto::AutoStrategy;
use fermi_domain::guidance::{CrossZone, DataParallelStrategy, StrategyCard, machine_rules, situations};
use fermi_domain::language::{Language, Text};
use fermi_planner::strategy::framework_by_table;
use serde_json::{Value, json};

use super::show::columns;
use crate::speech::{self, Paint};

/// Compare DDP and ZeRO, frameworks by size, situations, and zones
#[derive(Debug, Args)]
pub struct GuideFlags {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &GuideFlags) {
    let language = speech::language();
    if flags.json {
        speech::print_json(&as_json(language));
    } else {
        speech::print(&as_text(language, Paint::for_stdout()));
    }
}

/// Sizes of a model, and what is advised for each.
fn sizes() -> [(&'static str, AutoStrategy, &'static str); 5] {
    const BILLION: u64 = 1_000_000_000;
    [
        ("<1B", BILLION / 2),
        ("1-7B", 5 * BILLION),
        ("7-10B", 9 * BILLION),
        ("10-100B", 50 * BILLION),
        (">100B", 200 * BILLION),
    ]
    .map(|(size, parameters)| (size, AutoStrategy::of(parameters), framework_by_table(parameters)))
}

fn strategy_name(row: AutoStrategy) -> &'static str {
    match row {
        AutoStrategy::Ddp => "DDP",
        AutoStrategy::Zero2 => "DeepSpeed ZeRO-2",
        AutoStrategy::Zero3 => "DeepSpeed ZeRO-3",
    }
}

fn as_json(language: Language) -> Value {
    let say = |text: &Text| text.in_language(language).to_owned();
    let strategies: Vec<Value> = DataParallelStrategy::ALL
        .map(DataParallelStrategy::card)
        .iter()
        .map(|card| {
            json!({ "value": card.value, "label": card.label, "modelSize": card.model_size, "memory": say(&card.memory),
                "communication": say(&card.communication), "setup": say(&card.setup), "suits": say(&card.suits) })
        })
        .collect();
    let sizes: Vec<Value> = sizes()
        .iter()
        .map(|(size, row, framework)| json!({ "modelSize": size, "auto": strategy_name(*row), "framework": framework }))
        .collect();
    let situations: Vec<Value> = situations()
        .iter()
        .map(|row| {
            json!({ "name": say(&row.name), "nodes": row.nodes, "gpus": row.gpus, "framework": say(&row.framework),
                "about": say(&row.about) })
        })
        .collect();
    let zones: Vec<Value> = CrossZone::ALL
        .iter()
        .map(|side| json!({ "title": say(&side.title()), "points": side.points().iter().map(say).collect::<Vec<_>>() }))
        .collect();
    json!({ "version": 1, "strategies": strategies, "sizes": sizes, "situations": situations, "crossZone": zones,
        "machines": machine_rules().iter().map(say).collect::<Vec<_>>() })
}

fn as_text(language: Language, paint: Paint) -> String {
    let say = |zh: &str, en: &str| if language == Language::ZhCn { zh.to_owned() } else { en.to_owned() };
    let told = |text: &Text| text.in_language(language).to_owned();
    let mut out = String::new();
    let mut part = |title: String, body: String| out += &format!("\n{}\n{body}", paint.bold(&title));

    let cards = DataParallelStrategy::ALL.map(DataParallelStrategy::card);
    let line = |name: String, of: &dyn Fn(&StrategyCard) -> String| -> Vec<String> {
        [name].into_iter().chain(cards.iter().map(of)).collect()
    };
    let comparison = [
        line(String::new(), &|card| card.label.to_owned()),
        line(say("模型大小", "model size"), &|card| card.model_size.to_owned()),
        line(say("内存使用", "memory"), &|card| told(&card.memory)),
        line(say("通信开销", "communication"), &|card| told(&card.communication)),
        line(say("设置复杂度", "setup"), &|card| told(&card.setup)),
        line(say("推荐场景", "suits"), &|card| told(&card.suits)),
    ];
    part(say("DDP 与 DeepSpeed ZeRO", "DDP and DeepSpeed ZeRO"), columns(&comparison));

    let mut rows =
        vec![vec![say("参数", "parameters"), say("auto 选择", "auto takes"), say("建议的框架", "framework advised")]];
    rows.extend(sizes().iter().map(|(size, row, framework)| {
        vec![(*size).to_owned(), strategy_name(*row).to_owned(), (*framework).to_owned()]
    }));
    part(say("按模型大小", "By the size of the model"), columns(&rows));

    let mut rows = vec![vec![
        say("场景", "situation"),
        say("节点", "nodes"),
        "GPU".to_owned(),
        say("框架", "framework"),
        say("特点", "what it is"),
    ]];
    rows.extend(situations().iter().map(|row| {
        vec![told(&row.name), row.nodes.to_owned(), row.gpus.to_owned(), told(&row.framework), told(&row.about)]
    }));
    part(say("使用场景", "Situations"), columns(&rows));

    let lines = |sentences: Vec<String>| sentences.iter().map(|line| format!("  {line}\n")).collect::<String>();
    part(say("跨可用区", "Several zones"), lines(CrossZone::ALL.iter().map(|side| told(&side.sentence())).collect()));
    part(say("选择机器", "Choosing machines"), lines(machine_rules().iter().map(told).collect()));
    out += &paint.dim(&say(
        "\n按数字选择：fermi plan --model llama2-7b --gpus 2x8xA100-80G\n",
        "\nBy numbers: fermi plan --model llama2-7b --gpus 2x8xA100-80G\n",
    ));
    out
}
