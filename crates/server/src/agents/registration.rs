//! Who comes, and under which name and with what it is kept: decided by what is stored, and stored, in one transaction.

use std::net::IpAddr;

use fermi_api::link::Hello;
use fermi_domain::access::{FixedPlace, TokenScope};
use fermi_domain::environment::{Duty, Environment, EnvironmentStatus};
use fermi_domain::fleet::{self, Admission, Identity, Impostor, Introduction, Standing};
use fermi_domain::ids::{EnvironmentId, is_id};
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::environments::Registration;
use fermi_store::events::NewEvent;
use fermi_store::tokens::Token;
use fermi_store::{StoreError, Transaction};

use super::admission::AdmissionRefusal;
use super::identity;
use crate::core::Core;
use crate::guard;

/// By what a machine was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A token; none of the server's own, or where none is asked for.
    Token(Option<String>),
    /// The credential of this environment.
    Credential(EnvironmentId),
}

impl Entry {
    pub fn of(caller: guard::Caller) -> Self {
        match (caller.holder, caller.principal) {
            (None, Principal::Agent { environment }) => Self::Credential(environment),
            (holder, _) => Self::Token(holder.and_then(|holder| holder.token)),
        }
    }
}

/// Somebody who has said hello, as the registration needs it.
pub struct Arrival {
    hello: Hello,
    registration: Registration,
    entry: Entry,
    core: Core,
    now_ms: u64,
}

impl Arrival {
    pub fn of(core: &Core, hello: &Hello, peer: IpAddr, entry: Entry) -> Self {
        let (hello, registration) = (hello.clone(), registration(hello, peer));
        Self { hello, registration, entry, core: core.clone(), now_ms: core.now_ms() }
    }
}

/// Who was stored: with the credential that was issued, and whether the machine was started anew since the last time.
pub struct Registered {
    pub environment: EnvironmentId,
    pub credential: Option<String>,
    pub is_new_boot: bool,
    /// It took the name by a token that is good for one machine less now.
    pub has_used_token: bool,
}

/// Decides by what is stored, and stores, in one transaction.
pub fn register(
    tx: &mut Transaction<'_>,
    arrival: &Arrival,
    issued: String,
) -> Result<Result<Registered, AdmissionRefusal>, StoreError> {
    let Arrival { hello, registration, entry, core, now_ms } = arrival;
    let shown = hello.credential.as_deref().map(identity::digest);
    let introduction = Introduction {
        instance: &hello.instance,
        machine: hello.machine.as_deref(),
        boot: &hello.boot,
        credential: shown.as_deref(),
        seal: hello.seal.as_deref(),
        next_seal: hello.next_seal.as_deref(),
        pending_seals: &hello.pending_seals,
    };
    let known = tx.environment_by_name(&hello.name)?;
    if known.is_none() && is_id(&hello.name, "env") {
        return Ok(Err(AdmissionRefusal::NameReserved { name: hello.name.clone() }));
    }
    let may_have_runs = match &known {
        Some(row) => {
            let (tasks, strays) = (tx.live_tasks_on(&row.environment.id)?, tx.strays()?);
            fleet::may_have_runs(tasks.iter().map(|task| &task.value), &strays, &row.environment.id)
        }
        None => false,
    };
    let history = tx.history()?;
    let is_restored = known.as_ref().is_some_and(|row| history.unheard.contains(&row.environment.id));
    let token = match entry {
        Entry::Token(Some(id)) => tx.tokens()?.into_iter().find(|token| token.id == *id),
        Entry::Token(None) | Entry::Credential(_) => None,
    };
    let standing = Standing {
        is_answering: known
            .as_ref()
            .is_some_and(|row| core.hub().is_answering(&row.environment.id, hello.process.as_deref())),
        may_have_runs,
        is_restored,
        is_by_join_token: token.as_ref().is_some_and(|token| token.token.scope == TokenScope::Agent),
        is_lost: known.as_ref().is_some_and(|row| matches!(row.duty, Duty::Lost | Duty::LostAndDrained)),
    };
    let identity = known.as_ref().and_then(|row| row.identity.as_ref());
    let has_used_token = token.is_some();
    let mut admission = fleet::admit(identity, standing, &introduction);
    let was_replaced = shown.as_deref().is_some_and(|shown| identity.is_some_and(|known| known.has_replaced(shown)));
    if was_replaced && admission == Admission::Register && matches!(entry, Entry::Credential(_)) {
        // Nobody has come in its place yet, and it has no token to take the name again.
        admission = Admission::Refuse(Impostor::Replaced);
    }
    let is_new_boot = match admission {
        Admission::Refuse(impostor) => return Ok(Err(refusal(impostor, hello, core.store().cluster()))),
        Admission::Register => false,
        Admission::Return { is_new_boot } => is_new_boot,
    };
    let place = match admission {
        Admission::Register => match joins(tx, entry, token, identity, &hello.name)? {
            Ok(place) => place,
            Err(refusal) => return Ok(Err(refusal)),
        },
        _ => {
            let own = known.as_ref().map(|row| &row.environment.id);
            if matches!(entry, Entry::Credential(of) if Some(of) != own) {
                return Ok(Err(AdmissionRefusal::TokenNeeded { name: hello.name.clone() }));
            }
            identity.map(|identity| identity.place.clone()).unwrap_or_default()
        }
    };
    let issued = introduction.needs_credential(identity, admission).then_some(issued);
    let credential = issued.as_deref().map(identity::digest).or_else(|| shown.clone());
    let mut registration = registration.clone();
    let FixedPlace { zone, labels } = place.over(hello.zone.clone(), hello.labels.clone());
    (registration.environment.zone, registration.environment.labels) = (zone, labels.clone());
    registration.labels = labels;
    // One that an operator wants and that the agent cannot keep now is issued at a later hello.
    let must_renew = issued.is_none() && identity.is_some_and(|identity| identity.must_renew);
    let kept = Identity::after(&introduction, credential).in_place_of(identity, shown.as_deref());
    registration.identity = Some(Identity { place, must_renew, ..kept });
    let row = tx.register_environment(&registration, *now_ms)?;
    let (name, id) = (&row.environment.name, row.environment.id.clone());
    let text = Text::new(format!("开发环境 {name} 已连接"), format!("the environment {name} is connected"));
    let connected = NewEvent::new(*now_ms, "environment.connected", text, Principal::agent_of(id.clone()));
    tx.append_event(connected.about_environment(&id))?;
    let has_used_token = has_used_token && admission == Admission::Register;
    Ok(Ok(Registered { environment: id, credential: issued, is_new_boot, has_used_token }))
}

fn refusal(impostor: Impostor, hello: &Hello, cluster: &str) -> AdmissionRefusal {
    let name = hello.name.clone();
    match impostor {
        // Runs of another server are nothing to this one.
        Impostor::Replaced if hello.cluster.as_deref() != Some(cluster) => {
            AdmissionRefusal::Replaced { name, end: Vec::new() }
        }
        Impostor::Replaced => {
            let living = hello.runs.iter().filter(|known| known.alive);
            AdmissionRefusal::Replaced { name, end: living.map(|known| known.run.clone()).collect() }
        }
        Impostor::NameTaken => AdmissionRefusal::NameTaken { name },
        Impostor::NameHeld => AdmissionRefusal::NameHeld { name },
        Impostor::NameKept => AdmissionRefusal::NameKept { name },
        Impostor::Copy => AdmissionRefusal::Copy { name },
        Impostor::CannotKeep => AdmissionRefusal::CannotKeep { name },
    }
}

/// A machine takes a name: its token must be good for one more, and made after what was known of the name was revoked, also if
/// the environment was deleted since. The answer is what the token says of the machine.
fn joins(
    tx: &mut Transaction<'_>,
    entry: &Entry,
    token: Option<Token>,
    known: Option<&Identity>,
    name: &str,
) -> Result<Result<FixedPlace, AdmissionRefusal>, StoreError> {
    if matches!(entry, Entry::Credential(_)) {
        return Ok(Err(AdmissionRefusal::TokenNeeded { name: name.to_owned() }));
    }
    let made_ms = token.as_ref().map(|token| token.token.created_ms);
    let noted = tx.name_revoked_ms(name)?.map(Identity::revoked);
    if known.into_iter().chain(&noted).any(|known| !known.is_open_to(made_ms)) {
        return Ok(Err(AdmissionRefusal::Revoked { name: name.to_owned() }));
    }
    match token {
        Some(token) if !tx.use_token(&token.id)? => Ok(Err(AdmissionRefusal::TokenUsedUp)),
        Some(token) => Ok(Ok(token.token.join.place)),
        // One that was revoked since the link was opened.
        None if *entry != Entry::Token(None) => Ok(Err(AdmissionRefusal::TokenNeeded { name: name.to_owned() })),
        None => Ok(Ok(FixedPlace::default())),
    }
}

fn registration(hello: &Hello, peer: IpAddr) -> Registration {
    let address = hello.address.clone().unwrap_or_else(|| peer.to_string());
    Registration {
        environment: Environment {
            // The store gives the id by the name.
            id: EnvironmentId::from(""),
            name: hello.name.clone(),
            kind: hello.kind,
            zone: hello.zone.clone(),
            image: hello.image.clone(),
            gpus: hello.gpus.clone(),
            cpu_cores: hello.cpu_cores,
            memory: hello.memory,
            address: Some(address),
            versions: hello.versions.clone(),
            cpu_workers: hello.cpu_workers,
            labels: hello.labels.clone(),
            declared: hello.declared,
            status: EnvironmentStatus::Running,
        },
        // Made when it is decided who comes.
        identity: None,
        labels: hello.labels.clone(),
    }
}
