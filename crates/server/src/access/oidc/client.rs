//! Sends browsers to the company's service and finds out whom it has named when they come back.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fermi_domain::access::oidc::{ExpectedToken, OidcProblem, name_of};
use fermi_domain::language::reason;

use super::fetch::late;
use super::flow::BegunLogIn;
use super::provider::Provider;
use super::settings::OidcSettings;
use super::turns::Turns;

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
    /// Where the session at the service is ended, and the token that says whose; none where the service does not say.
    pub log_out: Option<(String, String)>,
}

/// A handle; cheap to clone.
#[derive(Clone)]
pub struct OidcClient {
    settings: Arc<OidcSettings>,
    secret: Option<String>,
    provider: Arc<Provider>,
    turns: Arc<Turns>,
}

impl std::fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl OidcClient {
    pub fn new(settings: OidcSettings, secret: Option<String>) -> Self {
        Self { settings: Arc::new(settings), secret, provider: Arc::default(), turns: Arc::default() }
    }

    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// Where a browser goes to log in that comes from this network.
    pub async fn authorization_url(&self, begun: BegunLogIn, network: IpAddr) -> Result<String, OidcProblem> {
        if let Some(parts) = self.provider.known_parts() {
            return Ok(begun.authorization_url(&self.settings, &parts.authorization));
        }
        self.on_a_thread(network, move |client, until| {
            let parts = client.provider.parts(&client.settings, until)?;
            Ok(begun.authorization_url(&client.settings, &parts.authorization))
        })
        .await
    }

    /// Whom the code is about that came back.
    pub async fn redeem(
        &self,
        begun: BegunLogIn,
        code: String,
        now_ms: u64,
        network: IpAddr,
    ) -> Result<Asserted, OidcProblem> {
        self.on_a_thread(network, move |client, until| client.asserted(&begun, &code, now_ms, until)).await
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
        let endpoint = self.provider.parts(settings, until)?.end_session;
        let log_out = endpoint.map(|endpoint| (endpoint, handed.id_token));
        Ok(Asserted { subject, name: name_of(said).map_err(|_| said.to_owned()), groups, log_out })
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        network: IpAddr,
        work: impl FnOnce(&Self, Instant) -> Result<T, OidcProblem> + Send + 'static,
    ) -> Result<T, OidcProblem> {
        let turn = self.turns.take(network).await.ok_or(OidcProblem::Busy)?;
        let client = self.clone();
        // Who is not waited for any more keeps the turn until the thread is through.
        let done = tokio::task::spawn_blocking(move || (work(&client, Instant::now() + PATIENCE), turn));
        match tokio::time::timeout(LONGEST, done).await {
            Ok(Ok((Err(problem), turn))) => {
                turn.end_later();
                Err(problem)
            }
            Ok(Ok((done, _))) => done,
            Ok(Err(error)) => Err(OidcProblem::Unreachable { reason: reason::of_said(&error.to_string()) }),
            Err(_) => Err(late()),
        }
    }
}
