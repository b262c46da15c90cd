//! From a request that names a group to one that names its workers.

use fermi_api::v1::CreateRequest;
use fermi_domain::environment::Environment;
use fermi_domain::group::{Check, CheckState, Group, GroupRefusal, checks, fill, first_failure, refill};
use fermi_domain::ids::{GroupId, WorkerId};
use fermi_domain::language::Text;
use fermi_domain::rank_map::of_group;
use fermi_domain::task::{LaunchOptions, Selection, TaskSpec};
use fermi_store::{StoreError, Transaction};

use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::probing;

/// What was asked, with the group's workers written out.
#[derive(Clone, Debug)]
pub struct OnGroup<T> {
    pub asked: T,
    pub group: Group,
    /// The workers beyond its world size.
    pub standby: Vec<WorkerId>,
    /// What was looked at before.
    pub checks: Vec<Check>,
}

impl<T> OnGroup<T> {
    /// What of the checks should be known later, in the task's events.
    pub fn notes(&self) -> Vec<Text> {
        let warnings = self.checks.iter().filter(|check| check.state == CheckState::Warning);
        warnings.map(|check| check.text.clone()).collect()
    }
}

/// A request as it is started: its nodes are asked for what they find. None where it names no group.
pub async fn of_request(
    core: &Core,
    request: &CreateRequest,
    known: &[Environment],
) -> Result<Option<OnGroup<CreateRequest>>, ApiProblem> {
    let Some(mut found) = written_out(core, request, known).await? else { return Ok(None) };
    found.checks = looked_at(core, &found.group, known, &mut found.asked.options).await?;
    Ok(Some(found))
}

/// A request as it would be started; no node is asked.
pub async fn written_out(
    core: &Core,
    request: &CreateRequest,
    known: &[Environment],
) -> Result<Option<OnGroup<CreateRequest>>, ApiProblem> {
    let Selection::Group(named) = &request.selection else { return Ok(None) };
    let group = find(core, named).await?;
    let asked = fill(request, &group, known)?;
    Ok(Some(OnGroup { asked, checks: Vec::new(), standby: standby(&group, known), group }))
}

/// A copy of a task, on the group as it is now.
pub async fn of_copy(
    core: &Core,
    spec: &TaskSpec,
    known: &[Environment],
) -> Result<Option<OnGroup<TaskSpec>>, ApiProblem> {
    let Selection::Group(named) = &spec.selection else { return Ok(None) };
    let group = find(core, named).await?;
    let mut asked = refill(spec, &group, known)?;
    let checks = looked_at(core, &group, known, &mut asked.options).await?;
    Ok(Some(OnGroup { asked, standby: standby(&group, known), group, checks }))
}

fn standby(group: &Group, known: &[Environment]) -> Vec<WorkerId> {
    of_group(&group.members(known).workers, &group.launch).map(|ranks| ranks.standby).unwrap_or_default()
}

/// Asks the nodes, refuses what cannot start, and takes the master's name where all of them know it.
async fn looked_at(
    core: &Core,
    group: &Group,
    known: &[Environment],
    options: &mut LaunchOptions,
) -> Result<Vec<Check>, ApiProblem> {
    let (found, has_proven_name) = all_checks(core, group, known).await;
    if let Some(failed) = first_failure(&found) {
        let mut problem = ApiProblem::conflict(failed.id, failed.text.clone());
        problem.hint = failed.hint.clone();
        return Err(problem);
    }
    if has_proven_name {
        options.master_address = options.master_address.take().or_else(|| group.launch.master().map(str::to_owned));
    }
    Ok(found)
}

/// All checks, those that nodes answer included; and whether every node reaches the master by its name.
pub async fn all_checks(core: &Core, group: &Group, known: &[Environment]) -> (Vec<Check>, bool) {
    match of_group(&group.members(known).workers, &group.launch) {
        Err(_) => (checks(group, known, None), false),
        Ok(ranks) => {
            let probes = probing::probe(core, group, &ranks.map, known).await;
            (checks(group, known, Some(&probes)), probes.has_proven_name())
        }
    }
}

/// The group of an id, or else of a name.
async fn find(core: &Core, named: &GroupId) -> Result<Group, ApiProblem> {
    let wanted = named.clone();
    let read: Result<_, StoreError> = core
        .store()
        .read(move |view| {
            let found = match view.group(&wanted)? {
                Some(found) => Some(found),
                None => view.group_by_name(wanted.as_str().trim())?,
            };
            let names = if found.is_some() { Vec::new() } else { view.groups()? };
            Ok((found, names))
        })
        .await;
    let (found, others) = read?;
    let unknown = || {
        let group: String = named.as_str().chars().take(80).collect::<String>().escape_debug().to_string();
        GroupRefusal::Unknown { group, known: others.into_iter().map(|row| row.group.name).collect() }
    };
    Ok(found.ok_or_else(unknown)?.group)
}

/// Refuses to store a task on a group that was changed or deleted since it was looked at.
pub fn must_be_the_same(tx: &Transaction<'_>, seen: Option<&Group>) -> Result<(), ApiProblem> {
    let Some(seen) = seen else { return Ok(()) };
    match tx.group(&seen.id)? {
        None => Err(GroupRefusal::Unknown { group: seen.name.clone(), known: Vec::new() }.into()),
        Some(row) if row.group.version != seen.version => {
            Err(GroupRefusal::Changed { group: row.group.name, expected: seen.version, found: row.group.version }
                .into())
        }
        Some(_) => Ok(()),
    }
}
