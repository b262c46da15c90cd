//! Webhooks.

use super::{API, ApiAnswer, Client, ClientError, Query, segment};
use crate::v1::{CreateWebhook, Empty, Id, Page, Webhook};

type Got<T> = Result<ApiAnswer<T>, ClientError>;

impl Client {
    pub fn webhooks(&self) -> Got<Page<Webhook>> {
        self.get(&format!("{API}/webhooks"), &Query::new())
    }

    pub fn add_webhook(&self, request: &CreateWebhook) -> Got<Id> {
        self.post(&format!("{API}/webhooks"), request)
    }

    pub fn remove_webhook(&self, id: &str) -> Got<Empty> {
        self.delete(&format!("{API}/webhooks/{}", segment(id)), &Query::new())
    }

    /// Sends a test message, and waits for what becomes of it.
    pub fn test_webhook(&self, id: &str) -> Got<Empty> {
        self.post(&format!("{API}/webhooks/{}/test", segment(id)), &Empty {})
    }
}
