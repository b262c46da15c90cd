//! What a create request would lead to.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{CardLine, CreateRequest, Envelope, Failure, Launch, Preview};
use fermi_domain::ids::TaskId;
use fermi_domain::placement::{Prospect, ranks_on};
use fermi_domain::task::Task;
use fermi_domain::validation::validate;
use fermi_domain::{messages, rank_map};

use crate::assignment;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply, front_end, language};
use crate::http::body::JsonBody;
use crate::http::groups::on_group;
use crate::lifecycle;
use crate::plan;

/// Checks a create request and shows what it would start; nothing is stored.
#[utoipa::path(post, path = "/api/v1/training-tasks/preview", tag = "training-tasks",
    request_body = CreateRequest,
    responses((status = 200, body = Envelope<Preview>), (status = 400, body = Failure), (status = 422, body = Failure)))]
pub async fn preview(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: JsonBody<CreateRequest>,
) -> Reply {
    let environments = core.known_environments();
    let on_group = on_group::written_out(&core, &body.value, &environments).await?;
    let mut accepted = validate(on_group.as_ref().map_or(&body.value, |found| &found.asked), &environments)?;
    accepted.spec.distributed.standby = on_group.map(|found| found.standby).unwrap_or_default();
    let language = language(&headers);
    let spec = &accepted.spec;
    let (named, asking) = (spec.clone(), caller.clone());
    core.store().read(move |view| lifecycle::check_references(view, &named, &asking)).await?;
    let mut task = Task::new(TaskId::from("task-new"), spec.clone(), core.now_ms());
    task.created_by = Some(caller);
    // A long queue is not copied, or everybody would wait for it.
    let trial = core.scheduler().for_trial();
    let prospect = trial.and_then(|trial| trial.would(task, core.now_ms()));
    let ranks = match &prospect {
        Some(Prospect::Starts(start)) => ranks_on(spec, &start.workers, &environments).ok(),
        Some(Prospect::Waits(_)) | None => rank_map::of_spec(spec, &environments).ok(),
    };
    let launch = match &ranks {
        None => None,
        Some(ranks) => {
            let paths = assignment::paths(&core, spec).await?;
            Some(Launch::of(&assignment::launch(spec, ranks, &environments, &paths)?, spec))
        }
    };
    let plan = plan::advice(&core, spec, &environments).await?;
    let framework = spec.distributed.framework.unwrap_or_default();
    let card = accepted.aggregate.as_ref().map(|sum| messages::CardLine::all(sum, framework)).unwrap_or_default();
    EnvelopeAnswer::ok(&Preview {
        aggregate: accepted.aggregate,
        warnings: plan::warnings(&accepted.warnings, spec, &environments, plan.as_ref(), language, front_end(&headers)),
        rank_map: ranks.map(Vec::from).unwrap_or_default(),
        launch,
        card: card.iter().map(|line| CardLine { text: line.text() }).collect(),
        plan: plan.as_ref().and_then(plan::shown),
        placement: prospect.map(|prospect| prospect.text()),
    })
}
