//! Keeps means of what machines did in files, now and then.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use fermi_domain::disk::DiskPressure;
use fermi_domain::ids::EnvironmentId;
use fermi_store::StoreError;

use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::kept::Kind;
use crate::sample_files;

pub struct SampleKeeper {
    core: Core,
    /// Up to when the means of each environment are kept.
    kept_ms: HashMap<EnvironmentId, u64>,
}

impl SampleKeeper {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), kept_ms: HashMap::new() }
    }
}

impl BackgroundLoop for SampleKeeper {
    const NAME: &'static str = "sample keeper";
    const PERIOD: Duration = Duration::from_secs(60);

    async fn run(&mut self) -> Result<(), StoreError> {
        let folder = self.core.samples();
        let news = self.core.hub().means(|id| self.kept_ms.get(id).copied().unwrap_or(0));
        let known = self.core.known_environments();
        self.kept_ms.retain(|id, _| known.iter().any(|environment| environment.id == *id));
        let is_low = self.core.disk().pressure() != DiskPressure::None;
        let newest: Vec<(EnvironmentId, u64)> =
            news.iter().filter_map(|(id, means)| Some((id.clone(), means.last()?.time_ms))).collect();
        let seen: HashSet<EnvironmentId> = self.kept_ms.keys().cloned().collect();
        let kept = tokio::task::spawn_blocking(move || {
            // What came back from a file when the server started is in it already.
            let mut news = news;
            for (id, means) in news.iter_mut().filter(|(id, _)| !seen.contains(id)) {
                let last = sample_files::last(&folder, id);
                means.retain(|mean| mean.time_ms > last);
            }
            let kept = if is_low { Ok(()) } else { sample_files::append(&folder, &news) };
            let stock = sample_files::tidy(&folder, |id| known.iter().any(|environment| environment.id == *id));
            (kept, stock)
        });
        match kept.await {
            Ok((Ok(()), (files, bytes))) => {
                self.kept_ms.extend(newest);
                self.core.account().found(Kind::Samples, files, Some(bytes));
            }
            Ok((Err(error), _)) => tracing::warn!(%error, "what machines did could not be kept"),
            Err(error) => tracing::error!(%error, "keeping what machines did panicked"),
        }
        Ok(())
    }
}
