//! Where the ranks of a task stand right now.

use std::collections::BTreeMap;

use axum::extract::State;
use fermi_api::v1::{Empty, Envelope, Failure, Stacks};
use fermi_domain::access::Deed;
use fermi_domain::hang::{Frame, StackGroup, grouped};
use fermi_domain::language::Text;
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::NodeRunState;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::show::find;
use crate::access::permit;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply};
use crate::http::body::OptionalBody;
use crate::http::id::TaskPath;

/// Asks all ranks of a running task where they stand. Each gets a signal, at which its hook writes the stacks of its threads.
#[utoipa::path(post, path = "/api/v1/training-tasks/{id}/stacks", tag = "training-tasks", params(("id" = String, Path)),
    request_body = Option<Empty>,
    responses((status = 200, body = Envelope<Stacks>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn stacks(
    State(core): State<Core>,
    Caller(caller): Caller,
    TaskPath(id): TaskPath,
    _body: OptionalBody<Empty>,
) -> Reply {
    let task = find(&core, &id).await?;
    permit(&caller, Deed::Change, task.owner())?;
    if task.phase != TaskPhase::Running {
        let status = task.phase.text();
        return Err(ApiProblem::conflict(
            "not_running",
            Text::new(
                format!("任务{}，没有可查看的 rank", status.zh),
                format!("the task is {} and has no ranks to ask", status.en),
            ),
        )
        .hint(Text::new("在任务运行时再试", "ask while it runs")));
    }
    let asked = task.nodes.iter().filter(|node| node.state == NodeRunState::Alive).map(|node| {
        let (run, core) = (task.run_key(node), core.clone());
        async move {
            let told = match core.hub().ask_for_stacks(&node.environment, &run) {
                Some(mut asked) => timeout(Stacks::PATIENCE, asked.answer()).await.ok().flatten(),
                None => None,
            };
            (node.name.clone(), told)
        }
    });
    let mut answer = Stacks { attempt: task.newest_attempt(), ..Stacks::default() };
    let mut stacks: BTreeMap<u32, Vec<Frame>> = BTreeMap::new();
    for (name, told) in join_all(asked).await {
        let Some(told) = told else {
            answer.silent_nodes.push(name);
            continue;
        };
        answer.silent.extend(told.silent);
        for StackGroup { ranks, frames } in told.stacks {
            stacks.extend(ranks.into_iter().map(|rank| (rank, frames.clone())));
        }
    }
    answer.silent.sort_unstable();
    answer.groups = grouped(&stacks);
    EnvelopeAnswer::ok(&answer)
}
