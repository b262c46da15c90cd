//! What datasets and models have in common: a name of their own, an owner, and that open tasks keep them.

use fermi_api::v1::{Empty, Id};
use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::catalogue::{CreateError, Entry};
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction, WriteError};

use super::filter::{conditions, invalid};
use super::idempotency::{Key, once};
use super::names;
use super::paging::{self, Wanted};
use super::params::Params;
use crate::access::ownership;
use crate::core::Core;
use crate::envelope::{ApiProblem, DATASET, EnvelopeAnswer, MODEL, Noun, Reply};

/// Which part of the catalogue is meant.
#[derive(Clone, Copy, Debug)]
pub enum Catalogue {
    Datasets,
    Models,
}

impl Catalogue {
    const fn noun(self) -> Noun {
        match self {
            Self::Datasets => DATASET,
            Self::Models => MODEL,
        }
    }

    /// Creates an entry, once for each key.
    pub async fn create(
        self,
        core: &Core,
        key: Option<Key>,
        name: String,
        maker: Principal,
        make: impl FnOnce(&mut Transaction<'_>, u64) -> Result<Entry, CreateError> + Send + 'static,
    ) -> Reply {
        let now_ms = core.now_ms();
        let made = core.store().write(move |tx| {
            once(tx, key.as_ref(), now_ms, |tx| {
                let made = make(tx, now_ms).map_err(|error| self.refused(error, &name))?;
                self.told(tx, made, maker, now_ms)
            })
        });
        made.await.map_err(WriteError::flatten)
    }

    fn refused(self, error: CreateError, name: &str) -> ApiProblem {
        match error {
            CreateError::NameTaken => names::taken(&self.noun(), name),
            CreateError::Missing => ApiProblem::not_found(&self.noun(), name),
            CreateError::Store(error) => error.into(),
        }
    }

    /// A new entry is its maker's, and is told.
    fn told(self, tx: &mut Transaction<'_>, made: Entry, maker: Principal, now_ms: u64) -> Reply {
        ownership::give(tx, &made.id, &maker)?;
        let (Noun { zh, en, .. }, name) = (self.noun(), &made.name);
        let kind = match self {
            Self::Datasets => "dataset.created",
            Self::Models => "model.created",
        };
        let text = Text::new(format!("{zh}“{name}”已创建"), format!("the {en} '{name}' was created"));
        tx.append_event(NewEvent::new(now_ms, kind, text, maker))?;
        let said = Text::new(format!("{zh}创建成功"), format!("the {en} was created"));
        EnvelopeAnswer::said(said, &Id { id: made.id })
    }

    /// Forgets an entry that no open task needs.
    pub async fn delete(self, core: &Core, id: String, caller: Principal) -> Reply {
        let now_ms = core.now_ms();
        let deleted = core.store().write(move |tx| self.forget(tx, &id, caller, now_ms));
        deleted.await.map_err(WriteError::flatten)?;
        EnvelopeAnswer::said(Text::new("已删除", format!("the {} was deleted", self.noun().en)), &Empty {})
    }

    fn forget(self, tx: &mut Transaction<'_>, id: &str, caller: Principal, now_ms: u64) -> Result<(), ApiProblem> {
        let Entry { name, .. } = self.find(tx, id)?.ok_or_else(|| ApiProblem::not_found(&self.noun(), id))?;
        ownership::permit_change(tx, id, &caller)?;
        let (needed, kind) = match self {
            Self::Datasets => (tx.open_tasks_with_dataset(id)?, "dataset.deleted"),
            Self::Models => (tx.open_tasks_with_model(id)?, "model.deleted"),
        };
        if !needed.is_empty() {
            return Err(needed_by(&needed));
        }
        match self {
            Self::Datasets => tx.delete_dataset(id)?,
            Self::Models => tx.delete_model(id)?,
        };
        tx.forget_owner(id)?;
        let Noun { zh, en, .. } = self.noun();
        let text = Text::new(format!("{zh}“{name}”已删除"), format!("the {en} '{name}' was deleted"));
        tx.append_event(NewEvent::new(now_ms, kind, text, caller))?;
        Ok(())
    }

    fn find(self, tx: &Transaction<'_>, id: &str) -> Result<Option<Entry>, StoreError> {
        match self {
            Self::Datasets => tx.dataset(id),
            Self::Models => tx.model(id),
        }
    }
}

/// What a list is asked for: a page, and a part of the names.
pub fn listed(query: Option<&str>) -> Result<(Wanted, Option<String>), ApiProblem> {
    let params = Params::read(query, &["pageSize", "pageToken", "filter"])?;
    Ok((paging::wanted(&params)?, name_filter(&params)?))
}

/// `name~part`, the one thing that catalogues can be filtered by.
pub fn name_filter(params: &Params) -> Result<Option<String>, ApiProblem> {
    let text = params.text("filter").unwrap_or_default();
    let example = Text::new("例如 name~wiki", "for example name~wiki");
    let mut found = conditions(text).map_err(|problem| problem.hint(example.clone()))?;
    match found.pop() {
        None => Ok(None),
        Some(condition) if condition.key == "name" && found.is_empty() => Ok(Some(condition.value)),
        Some(_) => Err(invalid(text).hint(example)),
    }
}

/// So many tasks are named in a refusal.
const MOST_NAMED: usize = 20;

/// Tasks that are not over still need it.
fn needed_by(tasks: &[TaskId]) -> ApiProblem {
    let named: Vec<&str> = tasks.iter().take(MOST_NAMED).map(TaskId::as_str).collect();
    let (count, more) = (tasks.len(), tasks.len().saturating_sub(named.len()));
    let text = match (count, more) {
        (1, _) => Text::new(format!("{} 正在使用它", named.join("、")), format!("{} uses it", named.join(", "))),
        (_, 0) => Text::new(
            format!("{count} 个任务正在使用它：{}", named.join("、")),
            format!("{count} tasks use it: {}", named.join(", ")),
        ),
        (_, more) => Text::new(
            format!("{count} 个任务正在使用它：{} 等，还有 {more} 个", named.join("、")),
            format!("{count} tasks use it: {} and {more} more", named.join(", ")),
        ),
    };
    ApiProblem::conflict("in_use", text)
        .hint(Text::new("等这些任务结束，或停止它们，再删除", "delete it when these are over, or stop them first"))
}
