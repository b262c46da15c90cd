//! The preflights that are going on, and the last of those that are over.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fermi_domain::ids::{EnvironmentId, Generation, TaskId};
use fermi_domain::preflight::{InterfaceDecision, InterfaceFound, NodeAccount, PreflightCourse, PreflightWish};
use fermi_domain::principal::Principal;

use super::{CheckedLaunch, PreflightRequest};

/// Older ones that are over are forgotten.
const MOST_KEPT: usize = 64;
/// A launch asks again within a second or two.
const CLAIM_MS: u64 = 10_000;

/// A preflight; cheap to clone.
#[derive(Clone, Debug)]
pub struct KeptPreflight(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    by: Principal,
    launch: Option<CheckedLaunch>,
    wish: PreflightWish,
    course: Mutex<PreflightCourse>,
}

impl KeptPreflight {
    pub fn id(&self) -> &str {
        &self.0.id
    }

    pub fn by(&self) -> &Principal {
        &self.0.by
    }

    pub fn task(&self) -> Option<&TaskId> {
        self.0.launch.as_ref().map(|launch| &launch.task)
    }

    /// What comes of the interfaces that it has found, where a launch waits for it.
    pub fn interfaces(&self, is_able: impl Fn(&EnvironmentId) -> bool) -> InterfaceDecision {
        let Some(launch) = &self.0.launch else { return InterfaceDecision::Nothing };
        let course = self.course();
        let interfaces = course.report().map(|report| report.interfaces.as_slice()).unwrap_or_default();
        let found = course.nodes().enumerate().map(|(place, (node, _))| InterfaceFound {
            node: &node.name,
            interface: interfaces.get(place).and_then(Option::as_deref),
            is_able: is_able(&node.environment),
        });
        launch.rule.decide(&found.collect::<Vec<_>>())
    }

    pub fn wish(&self) -> &PreflightWish {
        &self.0.wish
    }

    pub fn course(&self) -> MutexGuard<'_, PreflightCourse> {
        self.0.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_of(&self, task: &TaskId, generation: Generation) -> bool {
        self.0.launch.as_ref().is_some_and(|it| it.task == *task && it.generation == generation)
    }

    fn is_over(&self) -> bool {
        self.course().ended_ms().is_some()
    }
}

/// All that are remembered, the newest last. They are gone with the server: agents end their parts by themselves.
#[derive(Debug, Default)]
pub struct Preflights {
    kept: Mutex<VecDeque<KeptPreflight>>,
    /// Environments that a launch waits for, and until when it has said so last: nobody else gets them first.
    claims: Mutex<HashMap<EnvironmentId, u64>>,
}

impl Preflights {
    fn all(&self) -> MutexGuard<'_, VecDeque<KeptPreflight>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<EnvironmentId, u64>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a new one; or the environment that takes part in another, with that one's id, or that a launch waits for.
    pub fn keep(
        &self,
        request: &PreflightRequest,
        course: PreflightCourse,
        now_ms: u64,
    ) -> Result<KeptPreflight, (String, Option<String>)> {
        let mut all = self.all();
        for going in all.iter().filter(|kept| !kept.is_over()) {
            let course = going.course();
            let mut taken = course.nodes().filter(|(_, account)| !matches!(account, NodeAccount::Absent));
            let shared = taken.find(|(node, _)| request.environments.iter().any(|it| it.id == node.environment));
            if let Some((node, _)) = shared {
                if request.launch.is_some() {
                    self.claims().insert(node.environment.clone(), now_ms.saturating_add(CLAIM_MS));
                }
                return Err((node.name.clone(), Some(going.id().to_owned())));
            }
        }
        let mut claims = self.claims();
        claims.retain(|_, until_ms| *until_ms > now_ms);
        match &request.launch {
            Some(_) => claims.retain(|claimed, _| request.environments.iter().all(|it| it.id != *claimed)),
            None => {
                if let Some(claimed) = request.environments.iter().find(|it| claims.contains_key(&it.id)) {
                    return Err((claimed.name.clone(), None));
                }
            }
        }
        drop(claims);
        // Numbers of a server before this one are not given again.
        let mut id = format!("preflight-{now_ms}");
        while all.iter().any(|kept| kept.id() == id) {
            id.push('0');
        }
        let inner = Inner {
            id,
            by: request.by.clone(),
            launch: request.launch.clone(),
            wish: request.wish.clone(),
            course: Mutex::new(course),
        };
        let kept = KeptPreflight(Arc::new(inner));
        all.push_back(kept.clone());
        // What a launch has found is still to be read.
        let is_free = |kept: &KeptPreflight| kept.is_over() && kept.task().is_none();
        while all.len() > MOST_KEPT
            && let Some(oldest) = all.iter().position(is_free).or_else(|| all.iter().position(KeptPreflight::is_over))
        {
            all.remove(oldest);
        }
        Ok(kept)
    }

    pub fn forget(&self, kept: &KeptPreflight) {
        self.all().retain(|it| it.id() != kept.id());
    }

    pub fn find(&self, id: &str) -> Option<KeptPreflight> {
        self.all().iter().find(|kept| kept.id() == id).cloned()
    }

    /// The newest of a launch of a task.
    pub fn of_launch(&self, task: &TaskId, generation: Generation) -> Option<KeptPreflight> {
        self.all().iter().rev().find(|kept| kept.is_of(task, generation)).cloned()
    }

    pub fn count_of_launch(&self, task: &TaskId, generation: Generation) -> usize {
        self.all().iter().filter(|kept| kept.is_of(task, generation)).count()
    }

    /// Ends those of launches that do not wait.
    pub fn call_off(&self, now_ms: u64, waits: impl Fn(&TaskId, Generation) -> bool) {
        for kept in self.all().iter().filter(|kept| !kept.is_over()) {
            if kept.0.launch.as_ref().is_some_and(|it| !waits(&it.task, it.generation)) {
                kept.course().call_off(now_ms);
            }
        }
    }

    /// The newest first.
    pub fn list(&self) -> Vec<KeptPreflight> {
        self.all().iter().rev().cloned().collect()
    }
}
