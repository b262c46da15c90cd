//! Ends strangers that take too long, as long as the server lives.

use std::time::Duration;

use fermi_store::StoreError;

use super::{Connections, PATIENCE};
use crate::background::BackgroundLoop;

#[derive(Debug)]
pub struct ConnectionsWatch(pub Connections);

impl BackgroundLoop for ConnectionsWatch {
    const NAME: &'static str = "connections";
    const PERIOD: Duration = Duration::from_secs(1);

    async fn run(&mut self) -> Result<(), StoreError> {
        self.0.end_strangers(PATIENCE);
        Ok(())
    }
}
