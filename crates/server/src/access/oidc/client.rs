//! Sends browsers to the company's service and finds out whom it has named when they come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fermi_domain::access::oidc::{ExpectedToken, OidcProblem, name_of};
use tokio::sync::Semaphore;

use super::fetch::late;
use super::flow::BegunLogIn;
use super::provider::Provider;
use super::settings::OidcSettings;

/// So many ask the service at a time; who comes then is asked to come again.
const AT_ONCE: usize = 8;
/// All that one log-in asks of the service.
const PATIENCE: Duration = Duration::from_secs(15);
/// Should a thread wait for another one's turn.
const LONGEST: Duration = Duration::from_secs(25);

/// Whom the service has named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asserted {
    pub subject: String,
    /// What a new user would be called; what the service said, where that is no name.
    pub name: Result<String, String>,
    pub groups: Vec<String>,
}

/// A handle; cheap to clone.
#[derive(Clone)]
pub struct OidcClient {
    settings: Arc<OidcSettings>,
    secret: Option<String>,
    provider: Arc<Provider>,
    turns: Arc<Semaphore>,
}

impl std::fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl OidcClient {
    pub fn new(settings: OidcSettings, secret: Option<String>) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self { settings: Arc::new(settings), secret, provider: Arc::default(), turns }
    }

    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// Where a browser goes to log in.
    pub async fn authorization_url(&self, begun: BegunLogIn) -> Result<String, OidcProblem> {
        self.on_a_thread(move |client, until| {
            let parts = client.provider.parts(&client.settings, until)?;
            Ok(begun.authorization_url(&client.settings, &parts.authorization))
        })
        .await
    }

    /// Whom the code is about that came back.
    pub async fn redeem(&self, begun: BegunLogIn, code: String, now_ms: u64) -> Result<Asserted, OidcProblem> {
        self.on_a_thread(move |client, until| client.asserted(&begun, &code, now_ms, until)).await
    }

    fn asserted(&self, begun: &BegunLogIn, code: &str, now_ms: u64, until: Instant) -> Result<Asserted, OidcProblem> {
        let settings = &*self.settings;
        let handed = self.provider.redeem(settings, self.secret.as_deref(), code, &begun.verifier, until)?;
        let mut claims = self.provider.open(settings, &handed, until)?;
        let expected =
            ExpectedToken { issuer: &settings.issuer, client_id: &settings.client_id, nonce: &begun.nonce, now_ms };
        let subject = claims.check(&expected).map_err(OidcProblem::Token)?;
        let names_by_address = settings.user_claim == "email";
        let mut wanted = vec![settings.user_claim.as_str()];
        wanted.extend(settings.groups_claim.as_deref());
        wanted.extend(names_by_address.then_some("email_verified"));
        if wanted.into_iter().any(|claim| !claims.0.contains_key(claim)) {
            claims.complete(self.provider.user_info(settings, &handed, &subject, until)?);
        }
        // An address that anyone could have typed in names nobody.
        let is_proved = !names_by_address || claims.0.get("email_verified") == Some(&true.into());
        let said = claims.text(&settings.user_claim).filter(|_| is_proved).unwrap_or_default();
        let groups = settings.groups_claim.as_ref().map(|claim| claims.texts(claim)).unwrap_or_default();
        Ok(Asserted { subject, name: name_of(said).map_err(|_| said.to_owned()), groups })
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, Instant) -> Result<T, OidcProblem> + Send + 'static,
    ) -> Result<T, OidcProblem> {
        let turn = self.turns.clone().try_acquire_owned().map_err(|_| OidcProblem::Busy)?;
        let client = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&client, Instant::now() + PATIENCE);
            drop(turn);
            done
        });
        match tokio::time::timeout(LONGEST, done).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(OidcProblem::Unreachable { reason: error.to_string() }),
            Err(_) => Err(late()),
        }
    }
}
