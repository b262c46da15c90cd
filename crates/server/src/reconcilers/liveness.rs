//! Notices who has fallen silent and who is back, and says so once.

use std::collections::HashMap;
use std::time::Duration;

use fermi_domain::fleet;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, WriteError};

use crate::background::BackgroundLoop;
use crate::core::Core;

pub struct Liveness {
    core: Core,
    /// What was said last of each environment.
    told: HashMap<EnvironmentId, fleet::Liveness>,
}

impl Liveness {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), told: HashMap::new() }
    }
}

impl BackgroundLoop for Liveness {
    const NAME: &'static str = "liveness";
    const PERIOD: Duration = Duration::from_millis(250);

    async fn run(&mut self) -> Result<(), StoreError> {
        let core = &self.core;
        let mut events = Vec::new();
        let mut changed = Vec::new();
        for environment in core.known_environments().iter() {
            let liveness = core.hub().liveness(&environment.id);
            let before = self.told.get(&environment.id).copied();
            if before == Some(liveness) {
                continue;
            }
            // What is seen for the first time is as it is; only a change is told.
            if before.is_some() {
                tracing::info!(environment = %environment.id, ?liveness, "an environment's state has changed");
                events.push(event(core.now_ms(), &environment.id, &environment.name, liveness));
            }
            changed.push((environment.id.clone(), liveness));
        }
        if !events.is_empty() {
            let told = core.store().write(move |tx| {
                for event in events {
                    tx.append_event(event)?;
                }
                Ok(())
            });
            told.await.map_err(WriteError::<StoreError>::flatten)?;
            core.refresh_environments().await?;
            core.ring();
        }
        // Only what is stored has been told: a run that fails tells it again.
        self.told.extend(changed);
        Ok(())
    }
}

fn event(now_ms: u64, id: &EnvironmentId, name: &str, liveness: fleet::Liveness) -> NewEvent {
    let (kind, text) = match liveness {
        fleet::Liveness::Here => (
            "environment.back",
            Text::new(format!("开发环境 {name} 已恢复"), format!("the environment {name} is back")),
        ),
        fleet::Liveness::Suspect => (
            "environment.suspect",
            Text::new(
                format!("开发环境 {name} 暂时没有心跳；其上的训练不受影响"),
                format!("nothing is heard of the environment {name}; what trains there goes on"),
            ),
        ),
        fleet::Liveness::Offline => (
            "environment.offline",
            Text::new(
                format!("开发环境 {name} 已离线：检查机器与网络，或重新启动 fermi agent"),
                format!(
                    "the environment {name} is offline: look at the machine and its network, or start `fermi agent` again"
                ),
            ),
        ),
    };
    NewEvent::new(now_ms, kind, text, Principal::System).about_environment(id)
}
