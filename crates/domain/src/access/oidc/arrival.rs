//! Whom somebody becomes here whom the company's service has named.
//!
//! The link is by subject. A name is only what a new user is called: one that exists is never taken over.

use super::{Grant, OidcProblem};
use crate::access::{AccountRefusal, check_name};
use crate::principal::Role;

/// The user that a subject is linked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedUser {
    pub name: String,
    pub role: Role,
    pub is_removed: bool,
}

/// What becomes of a log-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A user who was here before; `is_other_role` where the groups say so since.
    Known { name: String, role: Role, is_other_role: bool },
    /// One who is made now.
    New { name: String, role: Role },
}

/// Decides; `is_taken` says whether a user of the name that a new one would get is or was here.
pub fn arrive(
    subject: &str,
    linked: Option<&LinkedUser>,
    name: Result<String, String>,
    is_taken: bool,
    grant: Grant,
) -> Result<Arrival, OidcProblem> {
    if let Some(LinkedUser { name, is_removed: true, .. }) = linked {
        return Err(OidcProblem::Removed { name: name.clone(), subject: subject.to_owned() });
    }
    let granted = match (grant, linked) {
        (Grant::Nothing, _) => return Err(OidcProblem::NoGroup),
        (Grant::AtFirst(_), Some(user)) => user.role,
        (Grant::AtFirst(role) | Grant::Always(role), _) => role,
    };
    if let Some(user) = linked {
        let is_other_role = user.role != granted;
        return Ok(Arrival::Known { name: user.name.clone(), role: granted, is_other_role });
    }
    let name = name.map_err(|said| OidcProblem::NameUnfit { said, subject: subject.to_owned() })?;
    if is_taken {
        return Err(OidcProblem::NameTaken { name, subject: subject.to_owned() });
    }
    Ok(Arrival::New { name, role: granted })
}

/// What a user would be called whom the service calls so: in small letters, without the host of an address.
pub fn name_of(said: &str) -> Result<String, AccountRefusal> {
    let name = said.split_once('@').map_or(said, |(name, _)| name).trim().to_ascii_lowercase();
    check_name(&name).map(|()| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann(role: Role, is_removed: bool) -> LinkedUser {
        LinkedUser { name: "ann".to_owned(), role, is_removed }
    }

    #[test]
    fn a_subject_is_its_user_whatever_the_name_is_now() {
        let member = ann(Role::Member, false);
        let come = |linked, grant| arrive("u1", linked, Ok("other".to_owned()), true, grant);
        let known = |role, is_other_role| Ok(Arrival::Known { name: "ann".to_owned(), role, is_other_role });
        assert_eq!(come(Some(&member), Grant::Always(Role::Member)), known(Role::Member, false));
        assert_eq!(come(Some(&member), Grant::Always(Role::Viewer)), known(Role::Viewer, true));
        assert_eq!(come(Some(&member), Grant::AtFirst(Role::Viewer)), known(Role::Member, false));
        assert_eq!(come(Some(&member), Grant::Nothing), Err(OidcProblem::NoGroup));
        let removed = come(Some(&ann(Role::Administrator, true)), Grant::Always(Role::Member));
        assert_eq!(removed, Err(OidcProblem::Removed { name: "ann".to_owned(), subject: "u1".to_owned() }));
    }

    #[test]
    fn a_new_subject_gets_a_name_that_is_nobodys() {
        let come = |name: Result<&str, &str>, is_taken, grant| {
            arrive("u1", None, name.map(str::to_owned).map_err(str::to_owned), is_taken, grant)
        };
        let new = Arrival::New { name: "bob".to_owned(), role: Role::Viewer };
        assert_eq!(come(Ok("bob"), false, Grant::AtFirst(Role::Viewer)), Ok(new.clone()));
        assert_eq!(come(Ok("bob"), false, Grant::Always(Role::Viewer)), Ok(new));
        assert_eq!(come(Ok("bob"), false, Grant::Nothing), Err(OidcProblem::NoGroup));
        let taken = OidcProblem::NameTaken { name: "bob".to_owned(), subject: "u1".to_owned() };
        assert_eq!(come(Ok("bob"), true, Grant::Always(Role::Administrator)), Err(taken));
        let unfit = OidcProblem::NameUnfit { said: "李".to_owned(), subject: "u1".to_owned() };
        assert_eq!(come(Err("李"), false, Grant::Always(Role::Member)), Err(unfit));
    }

    #[test]
    fn names_are_made_of_what_services_say() {
        for (said, name) in
            [("Ann.Lee", Ok("ann.lee")), ("ann@example.com", Ok("ann")), (" bob ", Ok("bob")), ("李", Err(()))]
        {
            assert_eq!(name_of(said).map_err(|_| ()), name.map(str::to_owned), "{said}");
        }
        assert!(name_of("token").is_err() && name_of("").is_err() && name_of("@x").is_err());
    }
}
