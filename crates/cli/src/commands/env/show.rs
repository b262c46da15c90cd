//! `fermi env show`.

use fermi_api::v1::Environment;

use super::{find, list};
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, Paint, pick};
use crate::{span, table};

/// Show one environment: what it has, what it does, who holds its workers
#[derive(Debug, clap::Args)]
pub struct ShowFlags {
    /// Its name or id
    environment: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ShowFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let known = find::all(&client)?;
    let answer = client.environment(&find::one(&known, &flags.environment)?.id)?;
    flags.ask.show(&answer, render)
}

fn render(environment: &Environment, paint: Paint) -> String {
    let language = speech::language();
    let say = |text: &fermi_domain::language::Text| text.in_language(language).to_owned();
    let status = list::colour(environment.status).paint(paint, &say(&environment.status_text));
    let mut out = format!("{}  [{}] [{status}]\n\n", paint.bold(&environment.name), say(&environment.kind_text));
    let versions = &environment.versions;
    let version = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let installed: Vec<String> = [
        version("fermi", &versions.agent),
        version("python", &versions.python),
        version("torch", &versions.torch),
        version("CUDA", &versions.cuda),
        version("driver", &versions.driver),
        version("NCCL", &versions.nccl),
    ]
    .into_iter()
    .flatten()
    .collect();
    let labels: Vec<String> = environment.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let some = |text: String| (!text.is_empty()).then_some(text);
    out.push_str(&table::facts(
        [
            ("ID", Some(environment.id.clone())),
            (pick("可用区", "zone"), environment.zone.clone()),
            (pick("镜像", "image"), environment.image.clone()),
            (pick("地址", "address"), environment.address.clone()),
            ("GPU", some(list::gpus(environment)).filter(|text| text != "-")),
            ("CPU", Some(format!("{}{}", environment.cpu_cores, pick(" 核", " cores")))),
            (pick("内存", "memory"), Some(format!("{} GB", environment.memory))),
            (pick("版本", "versions"), some(installed.join(", "))),
            (pick("标签", "labels"), some(labels.join(", "))),
            (pick("心跳", "heard"), environment.heartbeat_age_ms.map(list::heard)),
            (
                pick("现在", "now"),
                environment.machine.map(|now| {
                    format!(
                        "CPU {:.0} %  {} {} / {}",
                        now.cpu * 100.0,
                        pick("内存", "memory"),
                        span::bytes(now.memory_used),
                        span::bytes(now.memory_total)
                    )
                }),
            ),
        ],
        paint,
    ));
    for gpu in &environment.gpu_samples {
        out.push_str(&format!(
            "  GPU {}  {:.0} %  {} / {}\n",
            gpu.index,
            gpu.use_share * 100.0,
            span::bytes(gpu.memory_used),
            span::bytes(gpu.memory_total)
        ));
    }
    out.push_str("\n  Worker\n");
    for worker in &environment.workers {
        let holder = match &worker.task_id {
            Some(task) => paint.yellow(task),
            None => paint.green(pick("空闲", "free")),
        };
        out.push_str(&format!("  {}  {holder}\n", worker.id));
    }
    out
}
