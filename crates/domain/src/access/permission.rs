//! Deed × role × owner: who may do what.

use serde::{Deserialize, Serialize};

use crate::language::{Explained, Hint, Text};
use crate::principal::{Principal, Role};

/// What a request does, as far as it matters who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Deed {
    /// See environments, tasks, their logs, events, what the server keeps.
    Look,
    /// See and change what is one's own: session, password, tokens.
    OwnAccount,
    /// Make a task, a dataset, a model or a group, or send sources.
    Create,
    /// Stop, restart, delete or change something that has an owner.
    Change,
    /// Say of an environment that it is drained or lost, remove it, end runs that no task knows.
    Operate,
    /// Make an environment of a machine.
    Join,
    /// Users, their roles, and the tokens of others.
    Administer,
}

impl Deed {
    pub const ALL: [Self; 7] =
        [Self::Look, Self::OwnAccount, Self::Create, Self::Change, Self::Operate, Self::Join, Self::Administer];

    fn text(self) -> Text {
        match self {
            Self::Look => Text::new("查看", "to look"),
            Self::OwnAccount => Text::new("管理自己的账户", "to change one's own account"),
            Self::Create => Text::new("创建", "to create things"),
            Self::Change => Text::new("操作他人的内容", "to act on what is not one's own"),
            Self::Operate => Text::new("管理开发环境", "to act on environments"),
            Self::Join => Text::new("接入开发环境", "to bring environments in"),
            Self::Administer => Text::new("管理用户", "to manage users"),
        }
    }
}

/// The smallest role that may do it; `is_own` says whether the thing is the asker's.
fn least_role(deed: Deed, is_own: bool) -> Role {
    match (deed, is_own) {
        (Deed::Look | Deed::OwnAccount, _) => Role::Viewer,
        (Deed::Create, _) | (Deed::Change, true) => Role::Member,
        (Deed::Change, false) | (Deed::Operate | Deed::Join, _) => Role::Operator,
        (Deed::Administer, _) => Role::Administrator,
    }
}

/// Why something may not be done by the one who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    deed: Deed,
    /// Whose it is, where it is another's.
    owner: Option<String>,
    /// Who asks; an agent has no role.
    role: Option<Role>,
}

impl Denied {
    fn least(&self) -> Role {
        // Where a thing of one's own could not be changed either, that role is the one to have.
        let may_change_own = self.role.is_some_and(|role| role >= least_role(self.deed, true));
        least_role(self.deed, self.deed == Deed::Change && !may_change_own)
    }
}

impl Explained for Denied {
    fn id(&self) -> &'static str {
        "not_permitted"
    }

    fn text(&self) -> Text {
        let (deed, least) = (self.deed.text(), self.least());
        let (is_for_members, least) = (least == Role::Member, least.text());
        let (who_zh, who_en) = match self.role {
            Some(role) => {
                let article = if matches!(role, Role::Operator | Role::Administrator) { "an" } else { "a" };
                let role = role.text();
                (format!("当前角色是{}", role.zh), format!("this is {article} {}'s request", role.en))
            }
            None => ("当前是代理".to_owned(), "this is an agent's request".to_owned()),
        };
        match (self.deed, &self.owner) {
            (Deed::Change, Some(owner)) => Text::new(
                format!("它属于 {owner}；只有其所有者、运维和管理员可以操作（{who_zh}）"),
                format!("it belongs to {owner}: its owner, operators and administrators may do this ({who_en})"),
            ),
            (Deed::Change, None) if is_for_members => Text::new(
                format!("操作自己的内容需要角色“{}”（{who_zh}）", least.zh),
                format!("to change what is one's own takes the role {} ({who_en})", least.en),
            ),
            _ => Text::new(
                format!("{}需要角色“{}”（{who_zh}）", deed.zh, least.zh),
                format!("{} takes the role {} ({who_en})", deed.en, least.en),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match (self.deed, &self.owner) {
            (Deed::Change, Some(owner)) => Hint::new(
                format!("请 {owner} 或运维来做；fermi user list 列出所有人"),
                format!("ask {owner} or an operator; 'fermi user list' shows everyone"),
            ),
            _ => Hint::new(
                "用有此角色的账户登录（fermi login），或请管理员用 fermi user role 更改角色",
                "log in as someone with that role (fermi login), or ask an administrator for it (fermi user role)",
            ),
        })
    }
}

/// Whether the principal may do it to something of this owner; none where it has no owner, or belongs to no user.
pub fn permit(principal: &Principal, deed: Deed, owner: Option<&str>) -> Result<(), Denied> {
    let (role, name) = match principal {
        Principal::System => return Ok(()),
        Principal::Agent { .. } if deed == Deed::Join => return Ok(()),
        Principal::Agent { .. } => return Err(Denied { deed, owner: None, role: None }),
        Principal::User { role, name } => (*role, name),
    };
    let is_own = owner == Some(name);
    if role >= least_role(deed, is_own) {
        return Ok(());
    }
    Err(Denied { deed, owner: owner.filter(|_| !is_own).map(str::to_owned), role: Some(role) })
}

/// Whether the principal may do it at all: to something of its own, if to nothing else.
pub fn may_ever(principal: &Principal, deed: Deed) -> Result<(), Denied> {
    permit(principal, deed, principal.user())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(role: Role) -> Principal {
        Principal::User { role, name: "ann".to_owned() }
    }

    /// Who may: viewer, member, operator, administrator.
    const TABLE: [(Deed, Option<&str>, [bool; 4]); 10] = [
        (Deed::Look, None, [true, true, true, true]),
        (Deed::Look, Some("bob"), [true, true, true, true]),
        (Deed::OwnAccount, None, [true, true, true, true]),
        (Deed::Create, None, [false, true, true, true]),
        (Deed::Change, Some("ann"), [false, true, true, true]),
        (Deed::Change, Some("bob"), [false, false, true, true]),
        (Deed::Change, None, [false, false, true, true]),
        (Deed::Operate, None, [false, false, true, true]),
        (Deed::Join, None, [false, false, true, true]),
        (Deed::Administer, None, [false, false, false, true]),
    ];

    #[test]
    fn the_table_holds_for_every_deed_role_and_owner() {
        for (deed, owner, may) in TABLE {
            for (role, may) in Role::ALL.into_iter().zip(may) {
                assert_eq!(permit(&user(role), deed, owner).is_ok(), may, "{deed:?} {owner:?} {role:?}");
            }
        }
        assert!(Deed::ALL.iter().all(|deed| TABLE.iter().any(|(known, ..)| known == deed)));
    }

    #[test]
    fn the_server_may_do_everything_and_an_agent_may_only_join() {
        let agent = Principal::agent_of("env-001".into());
        for deed in Deed::ALL {
            assert!(permit(&Principal::System, deed, Some("bob")).is_ok());
            assert_eq!(permit(&agent, deed, None).is_ok(), deed == Deed::Join, "{deed:?}");
        }
    }

    #[test]
    fn at_all_means_to_what_is_ones_own() {
        assert!(may_ever(&user(Role::Member), Deed::Change).is_ok());
        assert!(may_ever(&user(Role::Viewer), Deed::Change).is_err());
        assert!(may_ever(&user(Role::Member), Deed::Operate).is_err());
    }

    #[test]
    fn a_refusal_says_who_may() {
        let said = |role, deed, owner| permit(&user(role), deed, owner).unwrap_err().text().en.into_owned();
        let of_bob = said(Role::Member, Deed::Change, Some("bob"));
        assert_eq!(
            of_bob,
            "it belongs to bob: its owner, operators and administrators may do this (this is a member's request)"
        );
        assert_eq!(
            said(Role::Viewer, Deed::Create, None),
            "to create things takes the role member (this is a viewer's request)"
        );
        assert!(said(Role::Member, Deed::Change, None).contains("the role operator"));
        assert!(said(Role::Operator, Deed::Administer, None).contains("this is an operator's request"));
        assert_eq!(
            said(Role::Viewer, Deed::Change, Some("ann")),
            "to change what is one's own takes the role member (this is a viewer's request)"
        );
    }
}
