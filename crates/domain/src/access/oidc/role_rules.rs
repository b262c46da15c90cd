//! Which role somebody gets by the groups that the company's service names.

use std::str::FromStr;

use crate::principal::Role;

/// What operators have said of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleRules {
    pub by_group: Vec<(Role, String)>,
    /// For who is in none of them; none: not let in.
    pub otherwise: Option<Role>,
}

/// What the rules give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// From this log-in on.
    Always(Role),
    /// To who comes for the first time; later an administrator says.
    AtFirst(Role),
    Nothing,
}

impl RoleRules {
    /// The rules with what was said of who is in no group, if anything was: where groups have roles, they are not let in.
    #[must_use]
    pub fn with_default(self, said: Option<Option<Role>>) -> Self {
        let otherwise = said.unwrap_or_else(|| self.by_group.is_empty().then_some(Role::Viewer));
        Self { otherwise, ..self }
    }

    /// The greatest of the roles of these groups.
    pub fn grant(&self, groups: &[String]) -> Grant {
        let found = self.by_group.iter().filter(|(_, group)| groups.contains(group)).map(|(role, _)| *role).max();
        match (found, self.otherwise) {
            (Some(role), _) => Grant::Always(role),
            (None, None) => Grant::Nothing,
            (None, Some(role)) if self.by_group.is_empty() => Grant::AtFirst(role),
            (None, Some(role)) => Grant::Always(role),
        }
    }
}

/// Why a text says nothing of groups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write ROLE=GROUP, such as administrator=ml-admins")]
pub struct NoRoleRule;

/// `administrator=ml-admins,operator=ml-ops`; a comma that no role follows belongs to the group, as in
/// `member=cn=ml,ou=groups`.
impl FromStr for RoleRules {
    type Err = NoRoleRule;

    fn from_str(text: &str) -> Result<Self, NoRoleRule> {
        let mut by_group: Vec<(Role, String)> = Vec::new();
        for part in text.split(',') {
            let begun = part.split_once('=').and_then(|(role, group)| Some((role.trim().parse().ok()?, group)));
            match (begun, by_group.last_mut()) {
                (Some((role, group)), _) => by_group.push((role, group.to_owned())),
                (None, Some((_, group))) => *group = format!("{group},{part}"),
                (None, None) => return Err(NoRoleRule),
            }
        }
        by_group.iter_mut().for_each(|(_, group)| *group = group.trim().to_owned());
        if by_group.iter().any(|(_, group)| group.is_empty()) {
            return Err(NoRoleRule);
        }
        Ok(Self { by_group, otherwise: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_role_of_the_groups_counts() {
        let rules: RoleRules = "administrator=ml-admins,operator=ops,member=ml".parse().unwrap();
        let grant = |otherwise, groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            RoleRules { otherwise, ..rules.clone() }.grant(&groups)
        };
        assert_eq!(grant(None, &["ml", "ml-admins", "x"]), Grant::Always(Role::Administrator));
        assert_eq!(grant(Some(Role::Viewer), &["ml"]), Grant::Always(Role::Member));
        assert_eq!(grant(Some(Role::Viewer), &["ML"]), Grant::Always(Role::Viewer));
        assert_eq!(grant(None, &[]), Grant::Nothing);
        let of_no_group = RoleRules { by_group: Vec::new(), otherwise: Some(Role::Viewer) };
        assert_eq!(of_no_group.grant(&["ml-admins".to_owned()]), Grant::AtFirst(Role::Viewer));
    }

    #[test]
    fn rules_are_read_also_where_groups_hold_commas() {
        let read = |text: &str| text.parse::<RoleRules>().map(|rules| rules.by_group);
        let rule = |role, group: &str| (role, group.to_owned());
        assert_eq!(
            read("member=cn=ml,ou=groups, operator=ops"),
            Ok(vec![rule(Role::Member, "cn=ml,ou=groups"), rule(Role::Operator, "ops")])
        );
        for text in ["", "ml-admins", "king=x", "member=", "member=a,operator="] {
            assert_eq!(read(text), Err(NoRoleRule), "{text}");
        }
    }

    #[test]
    fn without_a_group_one_looks_where_groups_mean_nothing_and_stays_outside_where_they_do() {
        let by_group: RoleRules = "member=ml".parse().unwrap();
        let otherwise = |rules: &RoleRules, said| rules.clone().with_default(said).otherwise;
        assert_eq!(otherwise(&RoleRules::default(), None), Some(Role::Viewer));
        assert_eq!(otherwise(&by_group, None), None);
        assert_eq!(otherwise(&by_group, Some(Some(Role::Viewer))), Some(Role::Viewer));
        assert_eq!(otherwise(&RoleRules::default(), Some(None)), None);
    }
}
