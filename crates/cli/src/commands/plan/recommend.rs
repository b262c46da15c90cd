//! `fermi plan`: the recommended strategy and everything about it.

use clap::Args;
use fermi_domain::guidance::CrossZone;
use fermi_domain::language::{Language, Text};
use fermi_planner::error::PlanError;
use fermi_planner::interval::Verdict;
use fermi_planner::memory::GIB;
use fermi_planner::plan::Plan;
use fermi_planner::remedies::Remedy;
use fermi_planner::scale::{LearningRates, learning_rates};
use fermi_planner::search::Candidate;
use fermi_planner::strategy::{Choice, Strategy, best_of_each, framework_by_table};
use serde_json::{Value, json};

use super::show::{bar, columns, number, padded, seconds};
use super::workload::{Workload, WorkloadFlags};
use super::{KnowledgeFlags, PlanRefusal, files};
use crate::speech::{self, Paint};

/// Flags of the plain command.
#[derive(Debug, Args)]
pub struct RecommendFlags {
    #[command(flatten)]
    workload: WorkloadFlags,
    /// How many layouts to list
    #[arg(long, value_name = "N", default_value_t = 8)]
    top: usize,
    /// A learning rate, to be scaled to this number of GPUs
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f64>,
    /// GPUs that the learning rate was found with
    #[arg(long, value_name = "N", default_value_t = 1, requires = "learning_rate")]
    base_gpus: u64,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    knowledge: KnowledgeFlags,
}

/// Everything that is shown.
struct Shown<'a> {
    workload: &'a Workload,
    plan: &'a Plan<'a>,
    remedies: Vec<Remedy>,
    rates: Option<LearningRates>,
    /// What was simplified about the machines, and where the plan is not quite what was asked for.
    notes: Vec<Text>,
    top: usize,
}

pub fn execute(flags: &RecommendFlags) -> Result<(), PlanRefusal> {
    let (catalogue, constants) = files::knowledge(&flags.knowledge)?;
    let workload = flags.workload.read(&catalogue)?;
    if flags.learning_rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        return Err(PlanError::zero("learning-rate").into());
    }
    if flags.base_gpus == 0 {
        return Err(PlanError::zero("base-gpus").into());
    }
    let plan = Plan::of(workload.request, &constants)?;
    let shown = Shown {
        remedies: plan.remedies(),
        rates: flags.learning_rate.map(|rate| learning_rates(rate, flags.base_gpus, plan.request.cluster.gpus)),
        notes: workload.machines.notes.iter().cloned().chain(plan.notes()).collect(),
        workload: &workload,
        plan: &plan,
        top: flags.top.clamp(1, 1000),
    };
    let language = speech::language();
    if flags.json {
        let text = serde_json::to_string_pretty(&shown.json(language)).unwrap_or_default();
        speech::print(&(text + "\n"));
    } else {
        speech::print(&shown.text(language, Paint::for_stdout()));
    }
    Ok(())
}

/// What a layout is called in a table.
fn layout_words(c: &Candidate) -> String {
    let l = &c.job.layout;
    if Strategy::of(c) == Strategy::ThreeD {
        format!(
            "dp{} tp{} pp{}{} {}",
            l.dp,
            l.tp,
            l.pp,
            if l.vp > 1 { format!("×{}", l.vp) } else { String::new() },
            l.sharding.name()
        )
    } else {
        format!("dp{}", l.dp)
    }
}

fn candidate_json(c: &Candidate) -> Value {
    let l = &c.job.layout;
    let memory: serde_json::Map<String, Value> = c
        .memory
        .terms()
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), json!((bytes / GIB * 100.0).round() / 100.0)))
        .collect();
    json!({
        "strategy": Strategy::of(c), "name": Strategy::of(c).name(),
        "layout": { "dp": l.dp, "tp": l.tp, "pp": l.pp, "vp": l.vp, "sharding": l.sharding.name(), "micro_batch": l.micro_batch,
            "grad_accum": l.accumulation, "recompute": l.recompute.name(), "sequence_parallel": l.sequence_parallel },
        "global_batch": l.global_batch(),
        "memory_gib": memory, "needed_gib": c.memory.needed_gib(), "missing_gib": c.missing_gib(), "fits": c.fits,
        "verdict": c.verdict, "needed_interval_gib": c.needed_interval(), "step_time_interval_s": c.seconds_interval(),
        "step_time_s": c.seconds(), "tokens_per_s": c.tokens_per_s(), "mfu": c.mfu(), "time": c.step,
    })
}

impl Shown<'_> {
    fn json(&self, language: Language) -> Value {
        let r = &self.plan.request;
        let listed: Vec<Value> =
            self.plan.ranked.iter().filter(|c| c.fits).take(self.top).map(candidate_json).collect();
        let not_fitting: Vec<Value> =
            best_of_each(&self.plan.ranked).iter().filter(|(_, c)| !c.fits).map(|(_, c)| candidate_json(c)).collect();
        json!({
            "version": 1,
            "model": self.workload.model, "params": r.architecture.params(), "gpus": r.cluster.gpus,
            "nodes": r.cluster.nodes(), "network_gbps": r.cluster.network.node_gbps, "seq_len": r.seq_len,
            "global_batch": r.global_batch,
            "recommended": self.plan.choice.as_ref().map(|choice| {
                let mut value = candidate_json(&choice.candidate);
                value["reason"] = json!(choice.reason.in_language(language));
                value["decided_by"] = json!(choice.decided_by);
                value["table_says"] = json!(choice.table_says);
                value
            }),
            "framework_by_table": framework_by_table(r.architecture.params()),
            "alternatives": listed, "does_not_fit": not_fitting,
            "would_fit": self.remedies.iter().map(|m| json!({ "what": m.what.in_language(language), "needed_gib": m.needed_gib,
                "host_gib": m.host_gib, "host_missing_gib": m.host_missing_gib, "fits": m.fits, "step_time_s": m.step_time_s })).collect::<Vec<_>>(),
            "layouts": self.plan.ranked.len(), "learning_rate": self.rates,
            "notes": self.notes.iter().map(|n| n.in_language(language)).collect::<Vec<_>>(),
        })
    }

    fn text(&self, language: Language, paint: Paint) -> String {
        let zh = language == Language::ZhCn;
        let say = |z: &'static str, e: &'static str| if zh { z } else { e };
        let r = &self.plan.request;
        let mut out = format!(
            "\n{}  {:.2}B {} · {} × {} · {} {} · {} {}\n",
            paint.bold(&self.workload.model),
            r.architecture.params() as f64 / 1e9,
            say("参数", "parameters"),
            r.cluster.gpus,
            self.workload.machines.name,
            say("序列", "sequence"),
            r.seq_len,
            say("全局批次", "global batch"),
            r.global_batch,
        );
        for note in &self.notes {
            out += &paint.dim(&format!("{}\n", note.in_language(language)));
        }
        match &self.plan.choice {
            Some(choice) => self.recommendation(&mut out, choice, language, paint),
            None => self.nothing_fits(&mut out, language, paint),
        }
        self.alternatives(&mut out, language, paint);
        self.advice(&mut out, language, paint);
        if let Some(rates) = self.rates {
            out += &format!(
                "\n{}  {} {:.3e} · {} {:.3e}\n",
                paint.bold(say("学习率", "Learning rate")),
                say("线性", "linear"),
                rates.linear,
                say("平方根", "square root"),
                rates.square_root
            );
        }
        out
    }

    /// What the table of frameworks says of a model of this size, what several zones mean, and where the tables are.
    fn advice(&self, out: &mut String, language: Language, paint: Paint) {
        let zh = language == Language::ZhCn;
        let cluster = &self.plan.request.cluster;
        if cluster.gpus > 1 {
            let framework = framework_by_table(self.plan.request.architecture.params());
            let about = if zh { "按规模建议的框架" } else { "Framework by size" };
            *out += &format!("\n{}  {framework}\n", paint.bold(about));
        }
        if cluster.zones.is_some() {
            *out += &format!("\n{}\n", paint.bold(if zh { "跨可用区" } else { "Several zones" }));
            for side in CrossZone::ALL {
                *out += &format!("  {}\n", side.sentence().in_language(language));
            }
        }
        let more = if zh {
            "策略对比与场景表：fermi plan guide"
        } else {
            "Strategies and situations compared: fermi plan guide"
        };
        *out += &paint.dim(&format!("\n{more}\n"));
    }

    fn recommendation(&self, out: &mut String, choice: &Choice, language: Language, paint: Paint) {
        let zh = language == Language::ZhCn;
        let say = |z: &'static str, e: &'static str| if zh { z } else { e };
        let c = &choice.candidate;
        let l = &c.job.layout;
        *out += &format!(
            "\n{}  {}\n  {}\n",
            paint.bold(say("推荐", "Recommended")),
            paint.green(&format!("{}  {}", choice.strategy.name(), layout_words(c))),
            choice.reason.in_language(language)
        );
        *out += &format!(
            "  {} {} × {} {} × {} {} = {} {}; {} {}\n",
            say("微批", "micro-batch"),
            l.micro_batch,
            say("累积", "accumulation"),
            l.accumulation,
            say("副本", "replicas"),
            l.dp,
            l.global_batch(),
            say("个序列每步", "sequences a step"),
            say("重计算", "recompute"),
            l.recompute.text().in_language(language)
        );
        *out += &format!(
            "\n{}  {} {} ({}–{}) · {} tokens/s · MFU {:.1} %\n",
            paint.bold(say("速度", "Speed")),
            say("每步", "step"),
            seconds(c.seconds()),
            seconds(c.seconds_interval().low),
            seconds(c.seconds_interval().high),
            number(c.tokens_per_s()),
            c.mfu() * 100.0
        );
        let total = c.seconds();
        let parts = [
            (say("计算", "compute"), c.step.compute),
            (say("张量并行", "tensor"), c.step.tensor),
            (say("流水线", "pipeline"), c.step.pipeline),
            (say("数据并行", "data"), c.step.data),
            (say("优化器", "optimizer"), c.step.update),
            (say("固定", "fixed"), c.step.fixed),
        ];
        let shown: Vec<String> = parts
            .iter()
            .filter(|(_, part)| *part / total >= 0.005)
            .map(|(name, part)| format!("{name} {:.0} %", part / total * 100.0))
            .collect();
        *out += &format!("  {}\n", paint.dim(&shown.join(" · ")));
        memory_bars(out, c, zh, paint);
        let within =
            say("括号内：五次这样的运行有四次在此区间。", "In brackets: four of five such runs are between these.");
        *out += &format!("  {}\n", paint.dim(within));
        if c.verdict == Verdict::Tight {
            let tight = say(
                "勉强放得下：按区间上限会放不下，请留意显存或换一个方案。",
                "Just fits: at the upper end of the interval it does not. Watch the memory, or take another layout.",
            );
            *out += &format!("  {}\n", paint.red(tight));
        }
    }

    fn nothing_fits(&self, out: &mut String, language: Language, paint: Paint) {
        let zh = language == Language::ZhCn;
        let nearest = self.plan.ranked.first();
        let missing = nearest.map_or(0.0, Candidate::missing_gib);
        *out += &format!(
            "\n{}\n",
            paint.red(&if zh {
                format!("没有布局放得下：最接近的每张 GPU 还差 {missing:.1} GiB")
            } else {
                format!("Nothing fits: the nearest layout lacks {missing:.1} GiB per GPU")
            })
        );
        let way_out = self.remedies.iter().find(|m| m.fits).map_or_else(
            || {
                Text::new(
                    "以下办法都不够，需要显存大得多的 GPU，或更短的序列",
                    "None of the ways below is enough: it takes GPUs with far more memory, or shorter sequences",
                )
            },
            |m| {
                let step = seconds(m.step_time_s);
                Text::new(
                    format!("{}，就放得下：每张 GPU {:.1} GiB，每步 {step}", m.what.zh, m.needed_gib),
                    format!("It does fit if you {}: {:.1} GiB per GPU, {step} a step", m.what.en, m.needed_gib),
                )
            },
        );
        *out += &format!("{}\n", way_out.in_language(language));
        if let Some(nearest) = nearest {
            memory_bars(out, nearest, zh, paint);
        }
        *out += &format!("\n{}\n", paint.bold(if zh { "怎样放得下" } else { "What would make it fit" }));
        let rows: Vec<Vec<String>> = self
            .remedies
            .iter()
            .map(|m| {
                vec![
                    if m.fits { paint.green("✓") } else { paint.red("✗") },
                    m.what.in_language(language).to_owned(),
                    format!("{:.1} GiB", m.needed_gib),
                    if m.fits { seconds(m.step_time_s) } else { String::new() },
                ]
            })
            .collect();
        *out += &columns(&rows);
    }

    fn alternatives(&self, out: &mut String, language: Language, paint: Paint) {
        let zh = language == Language::ZhCn;
        let head = if zh {
            ["策略", "布局", "微批", "重计算", "每步", "tokens/s", "MFU", "显存 GiB"]
        } else {
            ["strategy", "layout", "micro", "recompute", "step", "tokens/s", "MFU", "memory GiB"]
        };
        let line = |c: &Candidate| {
            vec![
                Strategy::of(c).name().to_owned(),
                layout_words(c),
                c.job.layout.micro_batch.to_string(),
                c.job.layout.recompute.text().in_language(language).to_owned(),
                seconds(c.seconds()),
                number(c.tokens_per_s()),
                format!("{:.1} %", c.mfu() * 100.0),
                format!("{:.1}", c.memory.needed_gib()),
            ]
        };
        let each = best_of_each(&self.plan.ranked);
        let mut fitting: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
        fitting.extend(each.iter().filter(|(_, c)| c.fits).map(|(_, c)| line(c)));
        // The fastest layouts of the leading strategy follow the best of each.
        let more = self.top.saturating_sub(fitting.len() - 1);
        let listed = |c: &Candidate| each.iter().any(|(_, e)| e.job == c.job);
        fitting.extend(self.plan.ranked.iter().filter(|c| c.fits && !listed(c)).take(more).map(line));
        if fitting.len() > 1 {
            *out += &format!(
                "\n{}\n{}",
                paint.bold(if zh { "能放下的方案" } else { "Ranked alternatives" }),
                columns(&fitting)
            );
        }
        let lacking: Vec<Vec<String>> = each
            .iter()
            .filter(|(_, c)| !c.fits)
            .map(|(s, c)| {
                vec![
                    paint.red("✗"),
                    s.name().to_owned(),
                    if zh {
                        format!("差 {:.1} GiB", c.missing_gib())
                    } else {
                        format!("{:.1} GiB too much", c.missing_gib())
                    },
                ]
            })
            .collect();
        if !lacking.is_empty() {
            *out += &format!("\n{}\n{}", paint.bold(if zh { "放不下的" } else { "Does not fit" }), columns(&lacking));
        }
        let count = self.plan.ranked.len();
        *out += &paint.dim(&if zh {
            format!("\n共估算 {count} 种布局\n")
        } else {
            format!("\n{count} layouts estimated\n")
        });
    }
}

/// Memory per GPU, one bar a term.
fn memory_bars(out: &mut String, c: &Candidate, zh: bool, paint: Paint) {
    let card = c.job.cluster.gpu.memory_gib;
    let needed = c.memory.needed_gib();
    let names = ["参数", "梯度", "优化器", "激活", "logits", "临时", "上下文"];
    *out += &format!(
        "\n{}  {:.1} ({:.1}–{:.1}) / {:.0} GiB · {:.0} %\n",
        paint.bold(if zh { "每张 GPU 的显存" } else { "Memory per GPU" }),
        needed,
        c.needed_interval().low,
        c.needed_interval().high,
        card,
        needed / card * 100.0
    );
    let longest = needed.max(card);
    for (at, (name, bytes)) in c.memory.terms().into_iter().enumerate() {
        let gib = bytes / GIB;
        let label = if zh { names[at] } else { name };
        *out += &format!("  {} {:>7.2} {}\n", padded(label, 12), gib, paint.nth(at as u32, &bar(gib / longest, 40)));
    }
}
