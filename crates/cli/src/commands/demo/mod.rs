//! `fermi demo`: a whole cluster on this machine, a training over three environments, and a report; nothing stays behind.
//!
//! Everything goes through the public API, as any client's would. [`display`] shows what happens, [`report`] says what
//! came of it and whether that is right.

mod display;
mod report;

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_api::client::{Client, LogQuery, Query};
use fermi_api::v1::{
    CreateDataset, CreateDatasetVersion, CreateModel, CreateRequest, RequestedNodes, RequestedRecipe, Task,
};
use fermi_domain::environment::{EnvironmentKind, EnvironmentStatus};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::{Text, reason};
use fermi_domain::task::NodeRunState;
use fermi_domain::validation::BUILTIN;

use super::env;
use super::up::cluster::{Cluster, ClusterOptions, Ending};
use super::up::{EnvironmentSpec, subreaper};
use crate::connection::{self, CommandProblem, Outcome};
use crate::{exit_code, signals, speech};
use display::DemoDisplay;
use report::DemoReport;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Show it: a server and three environments on this machine train together, then everything is gone again
#[derive(Clone, Debug, clap::Args)]
pub struct DemoFlags {
    /// Steps to train
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    steps: u64,
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &DemoFlags) -> ExitCode {
    connection::answer(run(flags))
}

fn run(flags: &DemoFlags) -> Outcome {
    let private = std::fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("fermi-demo-").permissions(private).tempdir().map_err(|error| {
        let why = reason::of_io(&error);
        CommandProblem::failed(
            Text::new(format!("无法创建临时目录：{}", why.zh), format!("no temporary folder can be made: {}", why.en)),
            Text::new("检查 TMPDIR 和磁盘空间", "check TMPDIR and the disk's space"),
        )
    })?;
    signals::listen();
    subreaper::adopt_orphans();
    let display = DemoDisplay::new(flags.json);
    display.opening();
    let options = ClusterOptions {
        listen: "127.0.0.1:0".to_owned(),
        folder: folder.path().to_owned(),
        environments: environments(),
        no_token: false,
        run_as: None,
    };
    let mut cluster = Cluster::start(&options)?;
    let played = play(&mut cluster, flags, &display);
    display.close();
    let is_clean = cluster.end(Ending::StopTasks, |line| speech::say(&format!("{line}\n")));
    let removed = folder.close();
    if signals::heard() > 0 {
        return Ok(exit_code::of_signal(signals::last()));
    }
    let report = played?;
    if flags.json {
        speech::print_json(&report.as_json(is_clean));
    } else {
        speech::print(&report.render(is_clean && removed.is_ok()));
    }
    if report.is_right() && is_clean { Ok(ExitCode::SUCCESS) } else { Ok(ExitCode::from(exit_code::FAILED)) }
}

/// The three of the specification, with two workers each on whatever CPU there is.
fn environments() -> Vec<EnvironmentSpec> {
    [
        ("pytorch-dev-env", "北京可用区A", EnvironmentKind::Jupyter),
        ("llm-training-env", "深圳可用区C", EnvironmentKind::Custom),
        ("nlp-research-lab", "上海可用区A", EnvironmentKind::Custom),
    ]
    .map(|(name, zone, kind)| EnvironmentSpec { name: name.to_owned(), zone: zone.to_owned(), workers: 2, kind })
    .to_vec()
}

fn play(cluster: &mut Cluster, flags: &DemoFlags, display: &DemoDisplay) -> Result<DemoReport, CommandProblem> {
    cluster.until_connected(|line| display.remark(line))?;
    let client = cluster.client();
    let nodes = until_usable(cluster, &client)?;
    display.cluster(cluster.server());
    let request = request(&client, nodes, flags.steps)?;
    let answer = client.create_task(&request)?;
    display.created(&answer.message, &answer.data);
    let id = answer.data.task_id;
    let deadline = Instant::now() + PATIENCE;
    let task = loop {
        cluster.look_after(|line| display.remark(line))?;
        let task = client.task(&id)?.data;
        let ranks = client.ranks(&id, None)?.data.items;
        display.show(&task, &ranks);
        if is_over(&task) {
            break task;
        }
        if signals::heard() > 0 {
            return Err(CommandProblem::failed(Text::new("已中断", "interrupted"), Text::new("", "")));
        }
        if Instant::now() >= deadline {
            return Err(stuck(&task));
        }
    };
    let ranks = client.ranks(&id, None)?.data.items;
    let logs = client.logs(&id, &LogQuery::default())?.data;
    let metrics = client.task_metrics(&id, &Query::new())?.data;
    Ok(DemoReport::of(&task, &ranks, &logs, &metrics))
}

/// The task's phase is final and its nodes have reported that no process is left.
fn is_over(task: &Task) -> bool {
    let is_gone = |state: NodeRunState| matches!(state, NodeRunState::Gone | NodeRunState::Waiting);
    task.row.status.is_final() && task.nodes.iter().all(|node| is_gone(node.state))
}

/// The ids of the environments in their order, once all of them can be used.
fn until_usable(cluster: &mut Cluster, client: &Client) -> Result<Vec<EnvironmentId>, CommandProblem> {
    let wanted = environments();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let known = env::find::all(client)?;
        let ids: Vec<EnvironmentId> = wanted
            .iter()
            .filter_map(|spec| known.iter().find(|found| found.name == spec.name))
            .filter(|found| found.status == EnvironmentStatus::Running)
            .map(|found| EnvironmentId::from(found.id.as_str()))
            .collect();
        if ids.len() == wanted.len() {
            return Ok(ids);
        }
        if Instant::now() >= deadline || signals::heard() > 0 {
            return Err(CommandProblem::failed(
                Text::new(
                    format!("{} 个开发环境中只有 {} 个可用", wanted.len(), ids.len()),
                    format!("only {} of {} environments can be used", ids.len(), wanted.len()),
                ),
                Text::new(
                    "再试一次；若仍失败，请查看 fermi up 的输出",
                    "try again; if it stays so, look at what 'fermi up' says",
                ),
            ));
        }
        cluster.look_after(|_| {})?;
    }
}

/// The request that the page of the specification would send, with a recipe that needs neither Python nor a GPU.
fn request(client: &Client, node_ids: Vec<EnvironmentId>, steps: u64) -> Result<CreateRequest, CommandProblem> {
    let dataset = client.create_dataset(&CreateDataset { name: "demo-corpus".into(), ..CreateDataset::default() })?;
    let version = CreateDatasetVersion { version: "v1".into(), path: "builtin".into(), ..Default::default() };
    let version = client.add_dataset_version(&dataset.data.id, &version)?;
    let model = client.create_model(&CreateModel { name: "tiny-transformer".into(), ..CreateModel::default() })?;
    Ok(CreateRequest {
        task_name: "demo-pretraining".to_owned(),
        dataset_id: Some(dataset.data.id),
        dataset_version_id: Some(version.data.id),
        model_id: Some(model.data.id),
        distributed_config: RequestedNodes {
            enabled: Some(true),
            master_node: node_ids.first().cloned(),
            node_ids,
            framework: Some("pytorch-ddp".to_owned()),
            ..RequestedNodes::default()
        },
        recipe: Some(RequestedRecipe {
            name: BUILTIN.to_owned(),
            args: ["--steps", &steps.to_string(), "--global-batch", "12", "--log-every", "10"]
                .map(str::to_owned)
                .to_vec(),
            ..RequestedRecipe::default()
        }),
        ..CreateRequest::default()
    })
}

fn stuck(task: &Task) -> CommandProblem {
    let status = &task.row.status_text;
    CommandProblem::failed(
        Text::new(
            format!("{} 秒后任务仍为“{}”", PATIENCE.as_secs(), status.zh),
            format!("after {} s the task is still {}", PATIENCE.as_secs(), status.en),
        ),
        Text::new(
            "机器可能太忙；用 --steps 减少步数后重试",
            "the machine may be too busy; try fewer steps with --steps",
        ),
    )
}
