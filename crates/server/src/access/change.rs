//! The one way in which accounts change.

use fermi_store::events::NewEvent;
use fermi_store::{Transaction, WriteError};

use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::lifecycle::to_the_end;

impl Core {
    /// Changes users or tokens and tells it in the event log, both or neither; the next request sees it, also when the caller
    /// hangs up meanwhile.
    pub async fn change_accounts<T: Send + 'static>(
        &self,
        event: NewEvent,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, ApiProblem> + Send + 'static,
    ) -> Result<T, ApiProblem> {
        self.change_accounts_telling(move |tx| Ok((work(tx)?, event))).await
    }

    /// The same, where what is told is known only when it is done.
    pub async fn change_accounts_telling<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<(T, NewEvent), ApiProblem> + Send + 'static,
    ) -> Result<T, ApiProblem> {
        let core = self.clone();
        to_the_end(async move {
            let done = core.store().write(move |tx| {
                let (done, event) = work(tx)?;
                tx.append_event(event)?;
                Ok::<_, ApiProblem>(done)
            });
            let done = done.await.map_err(WriteError::flatten)?;
            core.refresh_accounts().await?;
            Ok(done)
        })
        .await
    }
}
