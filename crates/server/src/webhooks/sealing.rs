//! Addresses and secrets of webhooks lie sealed in the database, so that a backup does not hold them.

use fermi_domain::language::Text;
use fermi_store::{StoreError, WriteError};

use crate::core::Core;

/// Seals those of before, once.
pub async fn seal_old(core: &Core) -> Result<(), StoreError> {
    let vault = core.vault().clone();
    let read: Result<_, StoreError> = core.store().read(|view| view.webhooks()).await;
    let open: Vec<_> = read?.into_iter().filter(|kept| kept.sealed.is_none()).collect();
    if open.is_empty() {
        return Ok(());
    }
    let sealed = core.store().write(move |tx| {
        for kept in open {
            match vault.seal_webhook(&kept.name, &kept.webhook) {
                Ok((shown, sealed)) => tx.seal_webhook(&kept.id, &shown, &sealed)?,
                // The next start tries again.
                Err(error) => tracing::warn!(%error, webhook = kept.id, "a webhook could not be sealed"),
            }
        }
        Ok(())
    });
    sealed.await.map_err(WriteError::<StoreError>::flatten)
}

/// Why nothing is sent to a webhook of a database that came without its key.
pub fn sealed_elsewhere() -> Text {
    Text::new(
        "其地址是用另一把密钥文件加密的，无法打开",
        "its address cannot be opened: it was sealed with another key file",
    )
}
