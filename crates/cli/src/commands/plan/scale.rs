//! `fermi plan scale`: throughput on more and more GPUs.

use std::path::{Path, PathBuf};

use clap::Args;
use fermi_domain::language::{Language, Text};
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::error::PlanError;
use fermi_planner::job::Cluster;
use fermi_planner::network::Network;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::precision::Precision;
use fermi_planner::scale::{Point, Workload};
use fermi_planner::search::Request;
use fermi_planner::sharding::Sharding;

use super::show::{columns, number, seconds};
use super::workload::WorkloadFlags;
use super::{KnowledgeFlags, PlanRefusal, files};
use crate::chart::{CurvePoint, Drawing, Labels, Series, curves};
use crate::speech;

const USUAL_MICRO_BATCH: u64 = 8;
const USUAL_ACCUMULATION: u64 = 4;
const USUAL_SHARDING: &str = "ddp";

/// Predict how throughput grows with the number of GPUs
///
/// Without a model, the reference workload of the scaling tables in the documentation.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi plan scale --model llama2-7b --gpus 8xH100 --sharding fsdp_full --nodes-list 2 4"
)]
pub struct ScaleFlags {
    #[command(flatten)]
    workload: WorkloadFlags,
    /// GPUs of one node to compare
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1u64, 2, 4, 8])]
    num_gpus_list: Vec<u64>,
    /// Nodes to compare as well, with the GPUs of --gpus each
    #[arg(long, value_name = "N", num_args = 1..)]
    nodes_list: Vec<u64>,
    /// Networks between them, in Gbps per node
    #[arg(long, value_name = "GBPS", num_args = 1.., default_values_t = [10.0, 100.0])]
    gbps_list: Vec<f64>,
    /// Sequences that a GPU takes at once
    #[arg(long, value_name = "N", default_value_t = USUAL_MICRO_BATCH)]
    micro_batch: u64,
    /// Micro-batches per step
    #[arg(long, value_name = "N", default_value_t = USUAL_ACCUMULATION)]
    accumulation: u64,
    /// ddp, zero1, zero2, zero3, fsdp_full
    #[arg(long, default_value = USUAL_SHARDING)]
    sharding: String,
    /// What each doubling of ranks costs in waiting for the slowest, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    jitter: f64,
    /// Where the chart goes: as PNG if the name ends in .png, else as SVG
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Where table (JSON) and chart go
    #[arg(long, value_name = "DIR")]
    results_dir: Option<PathBuf>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    knowledge: KnowledgeFlags,
}

pub fn execute(flags: &ScaleFlags) -> Result<(), PlanRefusal> {
    let (catalogue, constants) = files::knowledge(&flags.knowledge)?;
    let (workload, name) = flags.workload(&catalogue)?;
    let points = flags.points(&workload, &constants)?;
    let language = speech::language();
    let zh = language == Language::ZhCn;
    let shown = name.in_language(language);
    let json = serde_json::json!({ "version": 1, "workload": shown, "points": points });
    if let Some(path) = &flags.chart {
        write_chart(path, &name, &points)?;
    }
    if let Some(folder) = &flags.results_dir {
        files::write(&folder.join("scaling.json"), (json.to_string() + "\n").as_bytes())?;
        write_chart(&folder.join("scaling.svg"), &name, &points)?;
        write_chart(&folder.join("scaling.png"), &name, &points)?;
    }
    if flags.json {
        speech::print(&(json.to_string() + "\n"));
        return Ok(());
    }
    let head = if zh {
        ["节点", "GPU", "网络", "批次", "每步", "tokens/s", "加速", "效率"]
    } else {
        ["nodes", "GPUs", "network", "batch", "step", "tokens/s", "speed-up", "efficiency"]
    };
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(points.iter().map(|p| {
        vec![
            p.nodes.to_string(),
            p.gpus.to_string(),
            p.network_gbps.map_or_else(|| "–".to_owned(), |g| format!("{g:.0} Gbps")),
            p.global_batch.to_string(),
            seconds(p.step_time_s),
            number(p.tokens_per_s),
            format!("{:.2}×", p.speedup),
            format!("{:.1} %", p.efficiency * 100.0),
        ]
    }));
    speech::print(&format!("\n{shown}\n{}", columns(&table)));
    Ok(())
}

impl ScaleFlags {
    fn workload(&self, catalogue: &Catalogue) -> Result<(Workload, Text), PlanRefusal> {
        let named = self.workload.model.is_some() || self.workload.is_described();
        if !named {
            return match self.first_given() {
                Some(flag) => Err(without_model(flag)),
                None => Ok(reference(catalogue)?),
            };
        }
        let sharding = Sharding::parse(&self.sharding).ok_or_else(|| {
            PlanError::unknown(
                "sharding",
                &self.sharding,
                &["ddp".to_owned(), "zero2".to_owned(), "fsdp_full".to_owned()],
            )
        })?;
        if !(0.0..=100.0).contains(&self.jitter) {
            return Err(PlanError::too_large("jitter").into());
        }
        if self.workload.global_batch.is_some() {
            return Err(batch_of_all());
        }
        let read = self.workload.read(catalogue)?;
        let name = format!("{}, {} {}", read.model, read.machines.name, sharding.name());
        let workload = Workload {
            request: read.request,
            sharding,
            micro_batch: self.micro_batch,
            accumulation: self.accumulation,
            jitter: self.jitter / 100.0,
        };
        Ok((workload, Text::new(name.clone(), name)))
    }

    /// The first flag that would change the reference workload, which is a fixed one.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--micro-batch", self.micro_batch != USUAL_MICRO_BATCH),
            ("--accumulation", self.accumulation != USUAL_ACCUMULATION),
            ("--sharding", self.sharding != USUAL_SHARDING),
            ("--jitter", self.jitter != 0.0),
        ];
        let own = given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag);
        self.workload.first_given().or(own)
    }

    fn points(&self, workload: &Workload, constants: &Constants) -> Result<Vec<Point>, PlanRefusal> {
        let counts = self.num_gpus_list.iter().chain(&self.nodes_list);
        for count in counts.copied().chain([self.micro_batch, self.accumulation]) {
            if count == 0 {
                return Err(PlanError::zero("num-gpus-list, nodes-list, micro-batch, accumulation").into());
            }
            if count > 1 << 20 {
                return Err(PlanError::too_large("num-gpus-list, nodes-list, micro-batch, accumulation").into());
            }
        }
        if self.gbps_list.iter().any(|g| !(g.is_finite() && *g > 0.0)) {
            return Err(PlanError::zero("gbps-list").into());
        }
        let near = workload.request.cluster.network;
        let most = self.num_gpus_list.iter().copied().max().unwrap_or(8);
        let mut points: Vec<Point> =
            self.num_gpus_list.iter().map(|gpus| workload.point(*gpus, most, near, constants)).collect();
        let per_node = workload.request.cluster.gpus_per_node.max(1);
        for gbps in &self.gbps_list {
            for nodes in self.nodes_list.iter().filter(|n| **n > 1) {
                points.push(workload.point(nodes * per_node, per_node, Network::of_gbps(*gbps), constants));
            }
        }
        Ok(points)
    }
}

/// As the ending of the file says; the letters of a picture are Latin ones.
fn write_chart(path: &Path, name: &Text, points: &[Point]) -> Result<(), PlanRefusal> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        let picture = drawing(name, points, Language::En).png().map_err(|error| files::unwritten(path, &error))?;
        return files::write(path, &picture);
    }
    files::write(path, drawing(name, points, speech::language()).svg().as_bytes())
}

fn drawing(name: &Text, points: &[Point], language: Language) -> Drawing {
    let zh = language == Language::ZhCn;
    let title = format!("{}{}", name.in_language(language), if zh { "：预测的扩展性" } else { ": predicted scaling" });
    let labels = Labels {
        title: &title,
        gpus: if zh { "GPU 数（按倍数）" } else { "GPUs (by doublings)" },
        speedup: if zh { "相对单卡的加速比" } else { "speed-up over one GPU" },
        ideal: if zh { "理想" } else { "ideal" },
    };
    curves(&series(points, zh), labels)
}

/// One node first, then several nodes network by network.
fn series(points: &[Point], zh: bool) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for point in points {
        let name = match point.network_gbps {
            None => if zh { "单节点" } else { "one node" }.to_owned(),
            Some(gbps) => format!("{} {gbps:.0} Gbps", if zh { "多节点" } else { "several nodes," }),
        };
        let place = CurvePoint { gpus: point.gpus, speedup: point.speedup, efficiency: point.efficiency };
        match all.iter_mut().find(|one| one.name == name) {
            Some(found) => found.points.push(place),
            None => all.push(Series { name, points: vec![place] }),
        }
    }
    all.iter_mut().for_each(|one| one.points.sort_by_key(|point| point.gpus));
    all
}

fn without_model(flag: &str) -> PlanRefusal {
    PlanRefusal::new(
        Text::new(
            format!("{flag} 需要 --model：不指定模型时使用固定的参考负载（gpt2，T4）"),
            format!("{flag} needs --model: without one a fixed reference workload is shown (gpt2 on T4s)"),
        ),
        Text::new(
            format!("加上 --model，例如 --model gpt2，或去掉 {flag}"),
            format!("add --model, such as --model gpt2, or leave {flag} out"),
        ),
    )
}

fn batch_of_all() -> PlanRefusal {
    PlanRefusal::new(
        Text::new(
            "--global-batch 不适用：GPU 增多时，每张 GPU 的批次不变",
            "--global-batch does not apply: with more GPUs, the batch of each stays the same",
        ),
        Text::new(
            "用 --micro-batch 和 --accumulation 给出每张 GPU 的批次",
            "say by --micro-batch and --accumulation what one GPU takes",
        ),
    )
}

/// The workload for which the scaling tables of the documentation hold: GPT-2 on T4s over PCIe, 16 × 16 sequences of 1,024 tokens per GPU and
/// step, DDP, and 4 % lost to the slowest rank with each doubling.
fn reference(catalogue: &Catalogue) -> Result<(Workload, Text), PlanError> {
    let name = Text::new("gpt2, T4, ddp（参考负载）", "gpt2, T4, ddp (reference workload)");
    let entry = catalogue.model("gpt2").ok_or_else(|| PlanError::missing("model"))?;
    let cluster = Cluster {
        gpu: catalogue.gpu("T4", None)?,
        gpus: 4,
        gpus_per_node: 4,
        network: Network::of_gbps(10.0),
        zones: None,
        host_gib: None,
    };
    let request = Request {
        architecture: entry.architecture(),
        seq_len: 1024,
        global_batch: 64,
        cluster,
        precision: Precision::AmpBf16,
        optimizer: Optimizer::Adam,
        lora: None,
    };
    let workload = Workload { request, sharding: Sharding::Ddp, micro_batch: 16, accumulation: 16, jitter: 0.04 };
    Ok((workload, name))
}
