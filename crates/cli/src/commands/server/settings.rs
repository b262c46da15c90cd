//! The server's YAML file: a few keys, each known, each with the form that it must have.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fermi_domain::access::AddressRange;
use fermi_domain::language::{Explained, FrontEnd, Text, reason};
use fermi_domain::queue::Rules;
use fermi_domain::retention::RetentionPolicy;
use fermi_server::Encryption;
use serde_json::Value;

use super::oidc::{self, OidcFlags};
use super::values;
use crate::connection::CommandProblem;

/// The keys that there are.
const KEYS: [&str; 14] = [
    "listen",
    "data_dir",
    "allowed_hosts",
    "public_url",
    "token_file",
    "tls",
    "trust_proxy",
    "oidc",
    "log_budget_per_task",
    "log_budget",
    "disk_reserve",
    "drain_faulty_gpus",
    "queue",
    "retention",
];

/// What a file says; all of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub listen: Option<SocketAddr>,
    pub data_dir: Option<PathBuf>,
    pub allowed_hosts: Vec<String>,
    pub public_url: Option<String>,
    pub token_file: Option<PathBuf>,
    pub encryption: Encryption,
    pub trust_proxy: Vec<AddressRange>,
    pub oidc: OidcFlags,
    pub log_budget_per_task: Option<u64>,
    pub log_budget: Option<u64>,
    pub disk_reserve: Option<u64>,
    pub drain_faulty_gpus: bool,
    pub queue: Rules,
    pub retention: RetentionPolicy,
}

/// Reads a file; paths in it are relative to its folder.
pub fn read(path: &Path) -> Result<Settings, CommandProblem> {
    let text = fermi_named_file::read_text(path).map_err(|error| {
        let (path, why) = (path.display(), reason::of_io(&error));
        CommandProblem::usage(
            Text::new(format!("无法读取 {path}：{}", why.zh), format!("{path} cannot be read: {}", why.en)),
            Text::new("--config 指向一个 YAML 文件", "--config names a YAML file"),
        )
    })?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    parse(&text, folder).map_err(|SettingsRefusal { message, hint }| {
        let path = path.display();
        CommandProblem::usage(Text::new(format!("{path}：{}", message.zh), format!("{path}: {}", message.en)), hint)
    })
}

/// Why a file is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsRefusal {
    pub message: Text,
    pub hint: Text,
}

impl From<SettingsRefusal> for CommandProblem {
    fn from(SettingsRefusal { message, hint }: SettingsRefusal) -> Self {
        Self::usage(message, hint)
    }
}

/// Where a file is no YAML, or more than one file's worth; what its reader says beyond that is for programmers.
fn not_yaml(error: &serde_saphyr::Error) -> Text {
    use serde_saphyr::Error;
    let line = error.location().map_or(0, |at| at.line());
    match error.without_snippet() {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or_default().escape_debug().to_string();
            return Text::new(
                format!("第 {line} 行的键 “{key}” 已经写过"),
                format!("line {line} has the key '{key}' once more"),
            );
        }
        Error::MultipleDocuments { .. } => {
            return Text::new(
                format!("第 {line} 行开始了另一个 YAML 文档，只能有一个"),
                format!("another YAML document begins at line {line}, and there may be one alone"),
            );
        }
        _ => {}
    }
    match error.location() {
        Some(at) => Text::new(
            format!("第 {} 行第 {} 列不是有效的 YAML", at.line(), at.column()),
            format!("line {}, column {} is not YAML", at.line(), at.column()),
        ),
        None => Text::new("不是有效的 YAML", "this is not YAML"),
    }
}

fn parse(text: &str, folder: &Path) -> Result<Settings, SettingsRefusal> {
    let known = || Text::new(format!("可用的键：{}", KEYS.join("、")), format!("the keys are {}", KEYS.join(", ")));
    let value: Value = if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        Value::Null
    } else {
        serde_saphyr::from_str(text).map_err(|error| SettingsRefusal { message: not_yaml(&error), hint: known() })?
    };
    let map = match value {
        Value::Null => return Ok(Settings::default()),
        Value::Object(map) => map,
        _ => {
            return Err(SettingsRefusal {
                message: Text::new("应为 键: 值 的形式", "keys with values are expected"),
                hint: known(),
            });
        }
    };
    let mut settings = Settings::default();
    for (key, value) in map {
        match key.as_str() {
            "listen" => settings.listen = Some(values::address(&key, &said(&key, &value)?)?),
            "data_dir" => settings.data_dir = Some(folder.join(word(&key, &value)?)),
            "public_url" => settings.public_url = Some(values::page(&key, &word(&key, &value)?)?),
            "token_file" => settings.token_file = Some(folder.join(word(&key, &value)?)),
            "log_budget_per_task" => settings.log_budget_per_task = Some(values::size(&key, &said(&key, &value)?)?),
            "log_budget" => settings.log_budget = Some(values::size(&key, &said(&key, &value)?)?),
            "disk_reserve" => settings.disk_reserve = Some(values::size(&key, &said(&key, &value)?)?),
            "drain_faulty_gpus" => settings.drain_faulty_gpus = yes_or_no(&key, &value)?,
            "queue" => settings.queue = rules(value)?,
            "retention" => settings.retention = retention(&value)?,
            "tls" => settings.encryption = encryption(&value, folder)?,
            "trust_proxy" => {
                let ranges = words(&key, &value, "10.0.0.7")?.into_iter().map(|text| values::proxy(&key, &text));
                settings.trust_proxy = ranges.collect::<Result<_, _>>()?;
            }
            "oidc" => settings.oidc = oidc::read(&value, folder)?,
            "allowed_hosts" => settings.allowed_hosts = words(&key, &value, "fermi.example.com")?,
            _ => return Err(unknown(&key, known())),
        }
    }
    Ok(settings)
}

fn yes_or_no(key: &str, value: &Value) -> Result<bool, SettingsRefusal> {
    value.as_bool().ok_or_else(|| SettingsRefusal {
        message: Text::new(format!("{key} 应为 true 或 false"), format!("{key} must be true or false")),
        hint: Text::new(format!("例如 {key}: true"), format!("write {key}: true")),
    })
}

fn word(key: &str, value: &Value) -> Result<String, SettingsRefusal> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(SettingsRefusal {
            message: Text::new(format!("{key} 应为一段文字"), format!("{key} must be a text")),
            hint: Text::new(format!("例如 {key}: \"…\""), format!("write {key}: \"…\"")),
        }),
    }
}

/// `true` for an authority of the server's own, or the files of another one's.
fn encryption(value: &Value, folder: &Path) -> Result<Encryption, SettingsRefusal> {
    let refused = || SettingsRefusal {
        message: Text::new("tls 的值形式不对", "tls has a value of the wrong form"),
        hint: Text::new(
            "写成 tls: true，或 tls: {cert: server.pem, key: server.key}",
            "write tls: true, or tls: {cert: server.pem, key: server.key}",
        ),
    };
    match value {
        Value::Bool(true) => Ok(Encryption::OwnAuthority),
        Value::Bool(false) => Ok(Encryption::None),
        Value::Object(fields) if fields.len() == 2 => {
            let path = |key: &str| fields.get(key).and_then(Value::as_str).filter(|path| !path.trim().is_empty());
            let file = |key: &str| path(key).map(|path| folder.join(path));
            let (certificate, key) = file("cert").zip(file("key")).ok_or_else(refused)?;
            Ok(Encryption::Files { certificate, key })
        }
        _ => Err(refused()),
    }
}

/// A word, or a number as it is written.
fn said(key: &str, value: &Value) -> Result<String, SettingsRefusal> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        _ => word(key, value),
    }
}

/// The keys below `queue`.
const QUEUE_KEYS: [&str; 6] = ["half_life", "aging", "limits", "users", "preemption", "long_wait"];

/// The rules of the queue have keys of their own.
fn rules(value: Value) -> Result<Rules, SettingsRefusal> {
    let hint = || {
        Text::new(
            "例如 queue: {limits: {workers: 16, tasks: 4}, users: {alice: {share: 2}}, preemption: {after: 120}}；时间以秒计",
            "write queue: {limits: {workers: 16, tasks: 4}, users: {alice: {share: 2}}, preemption: {after: 120}}; times are in \
             seconds",
        )
    };
    let fields = match value {
        Value::Null => return Ok(Rules::default()),
        Value::Object(fields) => fields,
        _ => {
            let message = Text::new("queue 应为 键: 值 的形式", "queue must have keys with values");
            return Err(SettingsRefusal { message, hint: hint() });
        }
    };
    for (key, value) in &fields {
        if !QUEUE_KEYS.contains(&key.as_str()) {
            let known = QUEUE_KEYS.join(", ");
            return Err(SettingsRefusal {
                message: Text::new(format!("没有键 “queue.{key}”"), format!("there is no key 'queue.{key}'")),
                hint: Text::new(format!("可用的键：{known}"), format!("the keys are {known}")),
            });
        }
        let alone = Value::Object([(key.clone(), value.clone())].into_iter().collect());
        if serde_json::from_value::<Rules>(alone).is_err() {
            let message =
                Text::new(format!("queue.{key} 的值形式不对"), format!("queue.{key} has a value of the wrong form"));
            return Err(SettingsRefusal { message, hint: hint() });
        }
    }
    let rules: Rules = serde_json::from_value(Value::Object(fields)).map_err(|_| SettingsRefusal {
        message: Text::new("queue 的值形式不对", "queue has a value of the wrong form"),
        hint: hint(),
    })?;
    match rules.check() {
        Ok(()) => Ok(rules),
        Err(refusal) => Err(SettingsRefusal {
            message: refusal.text(),
            hint: refusal.hint().map_or_else(hint, |hint| hint.spelled(FrontEnd::CommandLine)),
        }),
    }
}

/// The keys below `retention`.
const RETENTION_KEYS: [&str; 5] = ["logs", "code", "events", "most_events", "grace"];

fn retention(value: &Value) -> Result<RetentionPolicy, SettingsRefusal> {
    let mut policy = RetentionPolicy::default();
    let fields = match value {
        Value::Null => return Ok(policy),
        Value::Object(fields) => fields,
        _ => {
            return Err(SettingsRefusal {
                message: Text::new("retention 应为 键: 值 的形式", "retention must have keys with values"),
                hint: Text::new("例如 retention: {logs: 30d, code: 7d}", "write retention: {logs: 30d, code: 7d}"),
            });
        }
    };
    for (name, value) in fields {
        let key = format!("retention.{name}");
        match name.as_str() {
            "logs" => policy.logs_ms = values::span_ms(&key, &said(&key, value)?)?,
            "code" => policy.snapshots_ms = values::span_ms(&key, &said(&key, value)?)?,
            "events" => policy.events_ms = values::span_ms(&key, &said(&key, value)?)?,
            "grace" => policy.grace_ms = values::span_ms(&key, &said(&key, value)?)?,
            "most_events" => policy.most_events = values::count(&key, &said(&key, value)?)?,
            _ => {
                let known = RETENTION_KEYS.join(", ");
                return Err(SettingsRefusal {
                    message: Text::new(format!("没有键 “{key}”"), format!("there is no key '{key}'")),
                    hint: Text::new(format!("可用的键：{known}"), format!("the keys are {known}")),
                });
            }
        }
    }
    Ok(policy)
}

fn words(key: &str, value: &Value, such_as: &str) -> Result<Vec<String>, SettingsRefusal> {
    match value {
        Value::Array(items) => items.iter().map(|item| word(key, item)).collect(),
        _ => Err(SettingsRefusal {
            message: Text::new(format!("{key} 应为列表"), format!("{key} must be a list")),
            hint: Text::new(format!("例如 {key}: [{such_as}]"), format!("write {key}: [{such_as}]")),
        }),
    }
}

fn unknown(key: &str, known: Text) -> SettingsRefusal {
    let near = KEYS.iter().map(|name| (strsim::jaro_winkler(name, key), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match near {
        Some((likeness, name)) if likeness > 0.8 => {
            Text::new(format!("是不是 {name}？"), format!("did you mean {name}?"))
        }
        _ => known,
    };
    SettingsRefusal { message: Text::new(format!("没有键 “{key}”"), format!("there is no key '{key}'")), hint }
}

#[cfg(test)]
mod tests {
    use fermi_domain::queue::Preemption;
    use fermi_domain::units::Seconds;

    use super::*;

    #[test]
    fn a_whole_file_is_read_and_paths_are_relative_to_it() {
        let text = "# comment\nlisten: 0.0.0.0:7070\ndata_dir: data\ntoken_file: /etc/fermi/token\nallowed_hosts:\n  - fermi.example.com\n";
        let settings = parse(text, Path::new("/srv")).unwrap();
        assert_eq!(settings.listen, Some(([0, 0, 0, 0], 7070).into()));
        assert_eq!(settings.data_dir, Some("/srv/data".into()));
        assert_eq!(settings.token_file, Some("/etc/fermi/token".into()));
        assert_eq!(settings.allowed_hosts, ["fermi.example.com"]);
        let sizes = parse("log_budget: 8GB\ndisk_reserve: 1024\n", Path::new("")).unwrap();
        assert_eq!((sizes.log_budget, sizes.disk_reserve), (Some(8 << 30), Some(1_024)));
        assert_eq!(
            parse("\u{feff}log_budget: 1k", Path::new("")).unwrap().log_budget,
            Some(1_024),
            "a mark of Windows"
        );
        assert!(parse("drain_faulty_gpus: true", Path::new("")).unwrap().drain_faulty_gpus);
        assert!(parse("drain_faulty_gpus: 3", Path::new("")).is_err());
        let rules =
            parse("queue:\n  half_life: 3600\n  limits: {tasks: 4}\n  users: {li: {share: 2}}\n", Path::new(""));
        let rules = rules.unwrap().queue;
        assert_eq!((rules.limits.tasks, rules.share("li"), rules.half_life.0), (Some(4), 2, 3_600));
        for off in ["queue: {preemption: off}", "queue: {preemption: \"off\"}", "queue:\n"] {
            assert_eq!(parse(off, Path::new("")).unwrap().queue, Rules::default(), "{off}");
        }
        let on = parse("queue: {preemption: {after: 120}}", Path::new("")).unwrap().queue.preemption;
        assert_eq!(on, Preemption::After(Seconds(120)));
        let kept =
            parse("retention: {logs: 30d, code: 90, grace: 0, most_events: 500}", Path::new("")).unwrap().retention;
        assert_eq!((kept.logs_ms, kept.snapshots_ms, kept.grace_ms), (30 * 86_400_000, 90_000, 0));
        assert_eq!((kept.most_events, kept.events_ms), (500, RetentionPolicy::default().events_ms));
        let tls = |text: &str| parse(text, Path::new("/srv")).unwrap().encryption;
        assert_eq!(tls("tls: true"), Encryption::OwnAuthority);
        let files = Encryption::Files { certificate: "/srv/a.pem".into(), key: "/etc/a.key".into() };
        assert_eq!(tls("tls: {cert: a.pem, key: /etc/a.key}"), files);
        assert_eq!(parse("# nothing\n\n", Path::new("")).unwrap(), Settings::default());
    }

    #[test]
    fn what_is_not_understood_is_refused_with_a_hint() {
        assert_eq!(parse("lisen: x", Path::new("")).unwrap_err().hint.en, "did you mean listen?");
        for text in [
            "colour: red",
            "- a",
            "listen: 7",
            "listen: [a]",
            "allowed_hosts: x",
            "a: [",
            "listen:",
            "queue: {share: 1}",
            "queue: 5",
            "tls: yes please",
            "tls: {cert: a}",
            "trust_proxy: 10.0.0.1",
            "tls: {cert: \"\", key: \"\"}",
        ] {
            assert!(parse(text, Path::new("")).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_by_its_key_and_as_it_was_written() {
        for (text, said) in [
            ("log_budget: -5", "log_budget cannot be '-5'"),
            ("log_budget: 1.5", "log_budget cannot be '1.5'"),
            ("retention: {logs: soon}", "retention.logs cannot be 'soon'"),
            ("retention: {logs: 2000000d}", "retention.logs cannot be '2000000d'"),
            ("retention: {most_events: 0}", "retention.most_events cannot be '0'"),
            ("retention: {outputs: 1d}", "there is no key 'retention.outputs'"),
            ("retention: 5", "retention must have keys with values"),
            ("disk_reserve: 999999999TB", "disk_reserve cannot be '999999999TB'"),
            ("log_budget_per_task: much", "log_budget_per_task cannot be 'much'"),
            ("listen: 7070", "listen cannot be '7070'"),
            ("listen: gn1:7070", "listen cannot be 'gn1:7070'"),
            ("public_url: fermi", "public_url cannot be 'fermi'"),
            ("trust_proxy: [10.0.0.0/40]", "trust_proxy cannot be '10.0.0.0/40'"),
            ("log_budget: 1GB\nlog_budget: 2GB", "line 2 has the key 'log_budget' once more"),
            ("tls: true\n---\ntls: false", "another YAML document begins at line 3, and there may be one alone"),
        ] {
            assert_eq!(parse(text, Path::new("")).unwrap_err().message.en, said, "{text}");
        }
    }
}
