//! Notices who has fallen silent and who is back, and says so once.

use std::collections::HashMap;
use std::time::Duration;

use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, WriteError};

use crate::core::Core;
use crate::hub::Liveness;

const EVERY: Duration = Duration::from_millis(250);

pub async fn run(core: Core) {
    let mut told: HashMap<EnvironmentId, Liveness> = HashMap::new();
    loop {
        if let Err(error) = look(&core, &mut told).await {
            tracing::error!(%error, "environments could not be looked after");
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn look(core: &Core, told: &mut HashMap<EnvironmentId, Liveness>) -> Result<(), StoreError> {
    let mut events = Vec::new();
    for environment in core.known_environments().iter() {
        let liveness = core.hub().liveness(&environment.id);
        let before = told.insert(environment.id.clone(), liveness);
        if before.is_some_and(|before| before != liveness) {
            tracing::info!(environment = %environment.id, ?liveness, "an environment's state has changed");
            events.push(event(core, &environment.id, &environment.name, liveness));
        }
    }
    if events.is_empty() {
        return Ok(());
    }
    core.store()
        .write(move |tx| {
            for event in events {
                tx.append_event(event)?;
            }
            Ok::<_, StoreError>(())
        })
        .await
        .map_err(WriteError::flatten)?;
    core.refresh_environments().await?;
    core.ring();
    Ok(())
}

fn event(core: &Core, id: &EnvironmentId, name: &str, liveness: Liveness) -> NewEvent {
    let (kind, text) = match liveness {
        Liveness::Here => (
            "environment.back",
            Text::new(format!("开发环境 {name} 已恢复"), format!("the environment {name} is back")),
        ),
        Liveness::Suspect => (
            "environment.suspect",
            Text::new(
                format!("开发环境 {name} 暂时没有心跳；其上的训练不受影响"),
                format!("nothing is heard of the environment {name}; what trains there goes on"),
            ),
        ),
        Liveness::Offline => (
            "environment.offline",
            Text::new(
                format!("开发环境 {name} 已离线：检查机器与网络，或重新启动 fermi agent"),
                format!(
                    "the environment {name} is offline: look at the machine and its network, or start `fermi agent` again"
                ),
            ),
        ),
    };
    NewEvent {
        time_ms: core.now_ms(),
        task: None,
        environment: Some(id.clone()),
        kind: kind.to_owned(),
        attempt: None,
        rank: None,
        text,
        data: None,
    }
}
