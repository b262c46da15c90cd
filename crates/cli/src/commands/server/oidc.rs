//! The company's log-in service, as flags and the file of `--config` name it.

use std::path::{Path, PathBuf};

use fermi_domain::access::oidc::RoleRules;
use fermi_domain::language::Text;
use fermi_domain::principal::Role;
use fermi_server::oidc::{CALLBACK_PATH, OidcSettings, is_private};
use serde_json::{Map, Value};

use super::settings::SettingsRefusal;
use crate::connection::CommandProblem;

const USER_CLAIM: &str = "preferred_username";
const GROUPS_CLAIM: &str = "groups";
const SCOPES: [&str; 3] = ["openid", "profile", "email"];

/// What is said of it; all of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct OidcFlags {
    /// Let people log in with their company account: the address of its OpenID Connect service
    #[arg(long = "oidc-issuer", value_name = "URL")]
    pub issuer: Option<String>,
    /// As which client the service knows this server; its redirect address is --public-url with /oidc/callback
    #[arg(long = "oidc-client-id", value_name = "ID")]
    pub client_id: Option<String>,
    /// A file with the client's secret; none for a public client
    #[arg(long = "oidc-client-secret-file", value_name = "FILE")]
    pub client_secret_file: Option<PathBuf>,
    /// What is asked for [default: openid profile email]
    #[arg(long = "oidc-scopes", value_name = "SCOPES", value_delimiter = ' ')]
    pub scopes: Vec<String>,
    /// The claim that names a new user, such as email [default: preferred_username]
    #[arg(long = "oidc-user-claim", value_name = "CLAIM")]
    pub user_claim: Option<String>,
    /// The claim that lists groups [default: groups]
    #[arg(long = "oidc-groups-claim", value_name = "CLAIM")]
    pub groups_claim: Option<String>,
    /// The role of a group, at every log-in, such as administrator=ml-admins,member=ml (repeatable)
    #[arg(long = "oidc-role", value_name = "ROLE=GROUP")]
    pub roles: Vec<String>,
    /// The role of who is in no such group, or none: not let in [default: viewer; none with --oidc-role]
    #[arg(long = "oidc-default-role", value_name = "ROLE")]
    pub default_role: Option<String>,
}

impl OidcFlags {
    /// The service, if one is named; what flags say wins over the file.
    pub fn settings(
        &self,
        file: Self,
        public_url: Option<&str>,
        is_open: bool,
    ) -> Result<Option<OidcSettings>, CommandProblem> {
        let said = self.clone().over(file);
        let Some(issuer) = said.issuer.clone() else {
            return if said == Self::default() {
                Ok(None)
            } else {
                Err(needed("--oidc-issuer", "https://id.example.com"))
            };
        };
        if !is_private(&issuer) {
            return Err(CommandProblem::usage(
                Text::new(
                    format!("--oidc-issuer “{issuer}” 不是 https 地址"),
                    format!("--oidc-issuer '{issuer}' is no https address"),
                ),
                Text::new(
                    "写成该服务自己公布的地址，例如 https://id.example.com/realms/ml",
                    "write the address by which the service names itself, such as https://id.example.com/realms/ml",
                ),
            ));
        }
        if is_open {
            return Err(CommandProblem::usage(
                Text::new("--oidc-issuer 不能与 --no-token 一起使用", "--oidc-issuer does not go with --no-token"),
                Text::new(
                    "去掉其中一个：--no-token 不询问任何人是谁",
                    "leave one out: --no-token asks nobody who it is",
                ),
            ));
        }
        let client_id = said.client_id.ok_or_else(|| needed("--oidc-client-id", "fermi"))?;
        let public_url = public_url.ok_or_else(|| needed("--public-url", "https://fermi.example.com"))?.to_owned();
        let mut by_group = Vec::new();
        for text in &said.roles {
            by_group.extend(text.parse::<RoleRules>().map_err(|_| no_rule(text))?.by_group);
        }
        let default = said.default_role.as_deref().map(default_role).transpose()?;
        let groups_claim = said.groups_claim.or_else(|| (!by_group.is_empty()).then(|| GROUPS_CLAIM.to_owned()));
        let mut scopes: Vec<String> = said.scopes.into_iter().filter(|scope| !scope.is_empty()).collect();
        if scopes.is_empty() {
            scopes = SCOPES.map(str::to_owned).to_vec();
        }
        if !scopes.iter().any(|scope| scope == "openid") {
            scopes.insert(0, "openid".to_owned());
        }
        Ok(Some(OidcSettings {
            issuer,
            client_id,
            client_secret_file: said.client_secret_file,
            scopes,
            user_claim: said.user_claim.unwrap_or_else(|| USER_CLAIM.to_owned()),
            groups_claim,
            roles: RoleRules { by_group, otherwise: None }.with_default(default),
            public_url,
        }))
    }

    fn over(self, file: Self) -> Self {
        let or = |said: Vec<String>, file: Vec<String>| if said.is_empty() { file } else { said };
        Self {
            issuer: self.issuer.or(file.issuer),
            client_id: self.client_id.or(file.client_id),
            client_secret_file: self.client_secret_file.or(file.client_secret_file),
            scopes: or(self.scopes, file.scopes),
            user_claim: self.user_claim.or(file.user_claim),
            groups_claim: self.groups_claim.or(file.groups_claim),
            roles: or(self.roles, file.roles),
            default_role: self.default_role.or(file.default_role),
        }
    }
}

fn default_role(text: &str) -> Result<Option<Role>, CommandProblem> {
    if text == "none" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        CommandProblem::usage(
            Text::new(
                format!("--oidc-default-role 不能是 “{text}”"),
                format!("--oidc-default-role cannot be '{text}'"),
            ),
            Text::new(
                "可用的值：viewer、member、operator、administrator、none",
                "use viewer, member, operator, administrator or none",
            ),
        )
    })
}

fn no_rule(text: &str) -> CommandProblem {
    CommandProblem::usage(
        Text::new(format!("--oidc-role 不能是 “{text}”"), format!("--oidc-role cannot be '{text}'")),
        Text::new("写成 角色=组，例如 administrator=ml-admins", "write ROLE=GROUP, such as administrator=ml-admins"),
    )
}

fn needed(flag: &str, example: &str) -> CommandProblem {
    CommandProblem::usage(
        Text::new(format!("公司账号登录还需要 {flag}"), format!("log-ins with a company account need {flag} too")),
        Text::new(
            format!("例如 {flag} {example}；在该服务登记的回调地址是 --public-url 加 {CALLBACK_PATH}"),
            format!(
                "such as {flag} {example}; the redirect address at the service is --public-url with {CALLBACK_PATH}"
            ),
        ),
    )
}

/// The keys below `oidc` of the file.
const KEYS: [&str; 8] =
    ["issuer", "client_id", "client_secret_file", "scopes", "user_claim", "groups_claim", "roles", "default_role"];

/// What the file says; paths in it are relative to its folder.
pub fn read(value: &Value, folder: &Path) -> Result<OidcFlags, SettingsRefusal> {
    let fields = value.as_object().ok_or_else(|| wrong_form("oidc"))?;
    if let Some(key) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let known = KEYS.join(", ");
        return Err(SettingsRefusal {
            message: Text::new(format!("没有键 “oidc.{key}”"), format!("there is no key 'oidc.{key}'")),
            hint: Text::new(format!("可用的键：{known}"), format!("the keys are {known}")),
        });
    }
    let word = |key: &str| match fields.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(wrong_form(&format!("oidc.{key}"))),
    };
    Ok(OidcFlags {
        issuer: word("issuer")?,
        client_id: word("client_id")?,
        client_secret_file: word("client_secret_file")?.map(|path| folder.join(path)),
        scopes: fields.get("scopes").map(|value| words("oidc.scopes", value)).transpose()?.unwrap_or_default(),
        user_claim: word("user_claim")?,
        groups_claim: word("groups_claim")?,
        roles: roles(fields)?,
        default_role: word("default_role")?,
    })
}

/// `roles: {administrator: [ml-admins]}`.
fn roles(fields: &Map<String, Value>) -> Result<Vec<String>, SettingsRefusal> {
    let Some(value) = fields.get("roles") else { return Ok(Vec::new()) };
    let by_role = value.as_object().ok_or_else(|| wrong_form("oidc.roles"))?;
    let mut rules = Vec::new();
    for (role, groups) in by_role {
        rules.extend(words("oidc.roles", groups)?.into_iter().map(|group| format!("{role}={group}")));
    }
    Ok(rules)
}

fn words(key: &str, value: &Value) -> Result<Vec<String>, SettingsRefusal> {
    let items = value.as_array().ok_or_else(|| wrong_form(key))?;
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong_form(key))).collect()
}

fn wrong_form(key: &str) -> SettingsRefusal {
    SettingsRefusal {
        message: Text::new(format!("{key} 的值形式不对"), format!("{key} has a value of the wrong form")),
        hint: Text::new(
            "例如 oidc: {issuer: \"https://id.example.com\", client_id: fermi, roles: {administrator: [ml-admins]}}",
            "write oidc: {issuer: \"https://id.example.com\", client_id: fermi, roles: {administrator: [ml-admins]}}",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flags(pairs: &[(&str, &str)]) -> OidcFlags {
        let fields: Map<String, Value> = pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        read(&Value::Object(fields), Path::new("/etc/fermi")).unwrap()
    }

    #[test]
    fn a_service_is_set_up_by_flags_over_the_file() {
        let file = read(
            &json!({"issuer": "https://id.example", "client_id": "file", "client_secret_file": "secret",
                "roles": {"administrator": ["ml-admins"], "member": ["a", "cn=b,ou=c"]}}),
            Path::new("/etc/fermi"),
        )
        .unwrap();
        let given = flags(&[("client_id", "flag")]);
        let settings = given.settings(file, Some("https://fermi.example"), false).unwrap().unwrap();
        assert_eq!((settings.client_id.as_str(), settings.user_claim.as_str()), ("flag", "preferred_username"));
        assert_eq!(settings.client_secret_file, Some("/etc/fermi/secret".into()));
        assert_eq!(settings.groups_claim.as_deref(), Some("groups"));
        assert_eq!(settings.roles.by_group.len(), 3);
        assert!(settings.roles.by_group.contains(&(Role::Member, "cn=b,ou=c".to_owned())));
        assert_eq!(settings.roles.otherwise, None);
        assert_eq!(settings.redirect_uri(), "https://fermi.example/oidc/callback");
        assert_eq!(OidcFlags::default().settings(OidcFlags::default(), None, true).unwrap(), None);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let whole = [("issuer", "https://id.example"), ("client_id", "fermi")];
        let judged = |pairs: &[(&str, &str)], public: Option<&str>, is_open| {
            flags(pairs).settings(OidcFlags::default(), public, is_open).is_ok()
        };
        let public = Some("https://fermi.example");
        assert!(judged(&whole, public, false));
        assert!(!judged(&whole, None, false) && !judged(&whole, public, true) && !judged(&whole[1..], public, false));
        assert!(!judged(&whole[..1], public, false));
        assert!(!judged(&[("issuer", "http://id.example"), ("client_id", "fermi")], public, false));
        assert!(!judged(&[&whole[..], &[("default_role", "king")]].concat(), public, false));
        let bad_rule = OidcFlags { roles: vec!["ml-admins".to_owned()], ..flags(&whole) };
        assert!(bad_rule.settings(OidcFlags::default(), public, false).is_err());
        for value in
            [json!("x"), json!({"isuer": "x"}), json!({"issuer": 7}), json!({"roles": ["a"]}), json!({"scopes": "a"})]
        {
            assert!(read(&value, Path::new("")).is_err(), "{value}");
        }
    }
}
