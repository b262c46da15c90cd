//! Preflights: begun, listed, looked at while they go on and afterwards.

use axum::extract::{Path, State};
use fermi_api::v1::{Envelope, Failure, Page, Preflight, PreflightNode, Principal, StartPreflight};
use fermi_domain::access::Deed;
use fermi_domain::environment::Environment;
use fermi_domain::finding::FindingCounts;
use fermi_domain::language::Text;
use fermi_domain::preflight::{MOST_NODES, PreflightWish};

use super::body::JsonBody;
use super::id;
use crate::access::permit;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, ENVIRONMENT, EnvelopeAnswer, PREFLIGHT, Reply};
use crate::preflights::{self, KeptPreflight, PreflightRequest, StartProblem};

const LONGEST_PATH: usize = 1_024;

/// Lets the agents of these environments check each other: versions, who reaches whom and how fast, clocks, a real
/// all-reduce, a shared folder. It takes a minute at most and goes on by itself; ask for it again by its id.
#[utoipa::path(post, path = "/api/v1/preflights", tag = "preflights", request_body = StartPreflight,
    responses((status = 200, body = Envelope<Preflight>), (status = 404, body = Failure), (status = 409, body = Failure),
        (status = 422, body = Failure)))]
pub async fn start(State(core): State<Core>, Caller(caller): Caller, body: JsonBody<StartPreflight>) -> Reply {
    let StartPreflight { environments, path, master_port, python, engine } = body.value;
    let environments = named(&core, &environments)?;
    let path = path.map(|path| checked_path(path.trim())).transpose()?;
    // The agents look at it, and leave a mark there for a moment, with their own rights.
    if path.is_some() {
        permit(&caller, Deed::Operate, None)?;
    }
    if master_port == Some(0) {
        let text = Text::new("端口 0 不能使用", "port 0 cannot be used");
        return Err(ApiProblem::unprocessable("port_invalid", "masterPort", text)
            .hint(Text::new("使用 1 到 65535", "choose 1 to 65535")));
    }
    if engine.is_some() && python == Some(false) {
        let text = Text::new("试引擎需要 Python", "an engine cannot be tried without Python");
        return Err(ApiProblem::unprocessable("engine_needs_python", "engine", text)
            .hint(Text::new("去掉 python: false", "leave python: false out")));
    }
    let wish = PreflightWish { path, master_port, asks_python: python.unwrap_or(true), engine, word: None };
    let request = PreflightRequest { environments, wish, by: caller, launch: None };
    let kept = preflights::start(&core, request).await.map_err(refused)?;
    EnvelopeAnswer::said(Text::new("预检已开始", "the preflight has begun"), &view(&core, &kept))
}

/// The preflights that are going on and the last of those that are over, the newest first.
#[utoipa::path(get, path = "/api/v1/preflights", tag = "preflights",
    responses((status = 200, body = Envelope<Page<Preflight>>)))]
pub async fn list(State(core): State<Core>) -> Reply {
    EnvelopeAnswer::ok(&Page::whole(core.preflights().list().iter().map(|kept| view(&core, kept)).collect()))
}

/// How far a preflight is, or what it has found.
#[utoipa::path(get, path = "/api/v1/preflights/{id}", tag = "preflights", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Preflight>), (status = 404, body = Failure)))]
pub async fn show(State(core): State<Core>, Path(id): Path<String>) -> Reply {
    let id = id::checked(id, &PREFLIGHT)?;
    let kept = core.preflights().find(&id).ok_or_else(|| {
        let hint = Text::new(
            "预检只保留最近的，服务器重启后清空；重新开始一次",
            "only the last ones are kept, until the server ends: begin another",
        );
        ApiProblem::not_found(&PREFLIGHT, &id).hint(hint)
    })?;
    EnvelopeAnswer::ok(&view(&core, &kept))
}

/// The environments of these names or ids, each once.
fn named(core: &Core, asked: &[String]) -> Result<Vec<Environment>, ApiProblem> {
    let known = core.known_environments();
    let mut found: Vec<Environment> = Vec::new();
    for text in asked.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        let by_id = known.iter().find(|it| it.id.as_str() == text);
        let environment = by_id.or_else(|| known.iter().find(|it| it.name == text));
        let environment = environment.ok_or_else(|| ApiProblem::not_found(&ENVIRONMENT, text))?;
        if !found.iter().any(|it| it.id == environment.id) {
            found.push(environment.clone());
        }
    }
    if found.is_empty() || found.len() > MOST_NODES {
        let text =
            Text::new(format!("请选择 1 到 {MOST_NODES} 个开发环境"), format!("choose 1 to {MOST_NODES} environments"));
        return Err(ApiProblem::unprocessable("environments_required", "environments", text)
            .hint(Text::new("用名称或 id", "by name or id")));
    }
    Ok(found)
}

fn checked_path(path: &str) -> Result<String, ApiProblem> {
    if path.starts_with('/') && path.len() <= LONGEST_PATH && !path.chars().any(char::is_control) {
        return Ok(path.to_owned());
    }
    let text = Text::new("文件夹须是绝对路径", "the folder must be an absolute path");
    Err(ApiProblem::unprocessable("path_invalid", "path", text)
        .hint(Text::new("例如 /data/wiki", "such as /data/wiki")))
}

fn refused(problem: StartProblem) -> ApiProblem {
    match problem {
        StartProblem::Store(error) => error.into(),
        StartProblem::Busy { environment, preflight } => {
            let text = match preflight {
                Some(preflight) => Text::new(
                    format!("{environment} 正在参加另一次预检（{preflight}）"),
                    format!("{environment} takes part in another preflight ({preflight})"),
                ),
                None => Text::new(
                    format!("有任务在等待 {environment} 的启动前检查，由它先做"),
                    format!("a task waits for the check of {environment} before its start, and comes first"),
                ),
            };
            ApiProblem::conflict("preflight_running", text)
                .hint(Text::new("它一分钟内结束，之后再试", "it is over within a minute: try again then"))
        }
    }
}

fn view(core: &Core, kept: &KeptPreflight) -> Preflight {
    let course = kept.course();
    let ended_at = course.ended_ms();
    let counts = FindingCounts::of(course.findings());
    let report = course.report().filter(|_| ended_at.is_some());
    let took_ms = ended_at.unwrap_or_else(|| core.now_ms()).saturating_sub(course.began_ms());
    Preflight {
        id: kept.id().to_owned(),
        created_by: Principal::from(kept.by()),
        task_id: kept.task().map(ToString::to_string),
        path: kept.wish().path.clone(),
        started_at: course.began_ms(),
        ended_at,
        seconds: took_ms as f64 / 1e3,
        ok: ended_at.filter(|_| !course.is_called_off()).map(|_| counts.errors == 0),
        progress: course.progress(),
        nodes: course
            .nodes()
            .map(|(node, account)| PreflightNode {
                environment: node.environment.to_string(),
                name: node.name.clone(),
                zone: node.zone.clone(),
                state: account.word().to_owned(),
            })
            .collect(),
        counts,
        findings: course.findings().to_vec(),
        differences: report.map(|report| report.differences.clone()).unwrap_or_default(),
        round_trips_us: report.map(|report| report.round_trips_us.clone()).unwrap_or_default(),
        untried: report
            .map(|report| report.untried.iter().map(|(from, to)| [*from, *to]).collect())
            .unwrap_or_default(),
        interfaces: report.map(|report| report.interfaces.clone()).unwrap_or_default(),
        bytes_per_second: report.map(|report| report.bytes_per_second.clone()).unwrap_or_default(),
    }
}
