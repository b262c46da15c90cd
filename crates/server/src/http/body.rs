//! Bodies: JSON of a bounded size, refused with the place and the reason.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use fermi_domain::language::{Text, reason};
use fermi_domain::principal::Principal;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::idempotency::{self, Key};
use super::shapes::shapes;
use super::suggestion::closest;
use crate::envelope::ApiProblem;
use crate::guard::Standing;

/// The largest body of a JSON request.
pub const LARGEST_BODY: usize = 1 << 20;

/// A request read from JSON.
#[derive(Debug)]
pub struct JsonBody<T> {
    pub value: T,
    pub sent: Sent,
}

/// The same where nothing at all means that nothing special is wanted.
#[derive(Debug)]
pub struct OptionalBody<T> {
    pub value: T,
    pub sent: Sent,
}

/// The bytes of a body, and the key by which it is known when it comes again.
#[derive(Debug)]
pub struct Sent {
    bytes: Bytes,
    key: Option<HeaderValue>,
}

impl Sent {
    fn new(headers: &HeaderMap, bytes: Bytes) -> Self {
        Self { bytes, key: headers.get(idempotency::HEADER).cloned() }
    }

    /// `scope` is what is made, such as `training-tasks`.
    pub fn key(&self, caller: &Principal, scope: &str) -> Result<Option<Key>, ApiProblem> {
        self.key.as_ref().map(|key| Key::of(key, caller, scope, &self.bytes)).transpose()
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiProblem> {
        let (parts, body) = request.into_parts();
        must_be_json(&parts.headers)?;
        let bytes = whole(&parts, body).await?;
        Ok(Self { value: read(&bytes)?, sent: Sent::new(&parts.headers, bytes) })
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiProblem> {
        let (parts, body) = request.into_parts();
        if parts.headers.contains_key(header::CONTENT_TYPE) {
            must_be_json(&parts.headers)?;
        }
        let bytes = whole(&parts, body).await?;
        if bytes.is_empty() {
            return Ok(Self { value: T::default(), sent: Sent::new(&parts.headers, bytes) });
        }
        must_be_json(&parts.headers)?;
        Ok(Self { value: read(&bytes)?, sent: Sent::new(&parts.headers, bytes) })
    }
}

/// A form of a foreign page cannot send this type without asking first.
fn must_be_json(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = content.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let is_utf8 = parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
        !name.trim().eq_ignore_ascii_case("charset") || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    if is_json && is_utf8 && !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    Err(ApiProblem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        Text::new("请求体必须是 JSON", "the body must be JSON"),
    )
    .hint(Text::new(
        "使用 Content-Type: application/json，UTF-8 编码，不压缩",
        "send `Content-Type: application/json`, in UTF-8, not compressed",
    )))
}

/// The whole body. It may take its time, in which the caller's token may have been revoked.
async fn whole(parts: &Parts, body: Body) -> Result<Bytes, ApiProblem> {
    let bytes = read_whole(&parts.headers, body).await?;
    parts.extensions.get::<Standing>().map_or(Ok(()), Standing::ask_again)?;
    Ok(bytes)
}

async fn read_whole(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiProblem> {
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|length| length > LARGEST_BODY) {
        return Err(too_large());
    }
    let mut stream = body.into_data_stream();
    let mut all = Bytes::new();
    let mut joined: Vec<u8> = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| {
            ApiProblem::new(StatusCode::BAD_REQUEST, "body_cut", Text::new("请求体不完整", "the body is not complete"))
        })?;
        if all.is_empty() && joined.is_empty() {
            all = piece;
        } else {
            if joined.is_empty() {
                joined.extend_from_slice(&all);
            }
            joined.extend_from_slice(&piece);
        }
        if all.len().max(joined.len()) > LARGEST_BODY {
            return Err(too_large());
        }
    }
    Ok(if joined.is_empty() { all } else { joined.into() })
}

fn too_large() -> ApiProblem {
    ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", Text::new("请求体过大", "the body is too large"))
        .hint(Text::new("最多 1 MiB", "at most 1 MiB"))
}

/// Reads JSON; says where and what if it cannot be read, or if a field means nothing.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiProblem> {
    let mut unknown = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_ignored::deserialize(&mut deserializer, |path| {
        unknown.get_or_insert_with(|| path.to_string());
    });
    match value.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => match unknown {
            // A field that may be left out stands as a question mark in the path.
            Some(path) => Err(unknown_field(&path.replace(".?", ""), &[])),
            None => object_as_list(bytes).map_or(Ok(value), |path| Err(no_object(&path))),
        },
        Err(_) => Err(why::<T>(bytes)),
    }
}

/// The path of an object that was written as a list.
fn object_as_list(bytes: &[u8]) -> Option<String> {
    fn find(value: &Value, path: &str) -> Option<String> {
        let fields = value.as_object()?;
        fields.iter().filter(|(name, _)| shapes().objects.contains(name.as_str())).find_map(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if value.is_array() { Some(path) } else { find(value, &path) }
        })
    }
    // Most bodies hold no list where one could be meant so.
    if !bytes.contains(&b'[') {
        return None;
    }
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if value.is_array() { Some("body".to_owned()) } else { find(&value, "") }
}

fn no_object(path: &str) -> ApiProblem {
    ApiProblem::unprocessable(
        "field_invalid",
        path,
        Text::new(format!("字段 {path} 应为对象，而不是列表"), format!("the field {path} is an object, not a list")),
    )
}

/// Reads once more, slower, to learn where it went wrong.
fn why<T: DeserializeOwned>(bytes: &[u8]) -> ApiProblem {
    if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        return bad_json(
            Text::new(format!("请求体不是 UTF-8（第 {at} 字节）"), format!("the body is not UTF-8 (byte {at})")),
            Text::new("使用 UTF-8 编码", "use UTF-8"),
        );
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let error = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(error) => error,
        Ok(_) => {
            let Err(error) = deserializer.end() else { return bad_request() };
            return syntax(&error);
        }
    };
    let path = error.path().to_string();
    let inner = error.into_inner();
    let body: Option<Value> = serde_json::from_slice(bytes).ok();
    let Some(body) = body.filter(|_| path != "." || inner.is_data()) else { return syntax(&inner) };
    let reason = inner.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    if let Some((name, known)) = unknown_name(reason, "unknown field ") {
        let path = match path.as_str() {
            "." => name,
            path if path.ends_with(&name) => path.to_owned(),
            path => format!("{path}.{name}"),
        };
        return unknown_field(&path, &known);
    }
    let field = if path == "." { "body".to_owned() } else { path };
    if let Some((name, known)) = unknown_name(reason, "unknown variant ") {
        let text = Text::new(format!("字段 {field} 不能是 “{name}”"), format!("the field {field} cannot be '{name}'"));
        return ApiProblem::unprocessable("field_invalid", field, text).hint(did_you_mean(&name, &words(&known)));
    }
    let said = body.pointer(&pointer(&field)).and_then(Value::as_str).map(str::to_owned);
    let names = names_at::<T>(body, &field);
    let text = match (said, names.as_deref()) {
        // A name that says which one, such as a group's.
        (Some(said), Some(names)) if names.contains(&said) => Text::new(
            format!("字段 {field} 的 {said} 要写成 {{\"{said}\": …}}"),
            format!("the field {field} takes {said} as {{\"{said}\": …}}"),
        ),
        (_, Some(names)) => Text::new(
            format!("字段 {field} 应为 {}", names.join("、")),
            format!("the field {field} must be {}", names.join(" or ")),
        ),
        (_, None) => wrong_type(&field, reason),
    };
    let docs = Text::new("字段的类型见 /api/docs", "/api/docs tells the type of each field");
    ApiProblem::unprocessable("field_invalid", field, text).hint(docs)
}

fn words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// A path as JSON's own pointers are written.
fn pointer(field: &str) -> String {
    format!("/{}", field.replace(['.', '['], "/").replace(']', ""))
}

/// The names that a field takes, where it takes names: those that the reader lists when it meets one it does not know.
fn names_at<T: DeserializeOwned>(mut body: Value, field: &str) -> Option<Vec<String>> {
    *body.pointer_mut(&pointer(field))? = Value::String("?".to_owned());
    let reason = serde_json::from_value::<T>(body).err()?.to_string();
    unknown_name(&reason, "unknown variant ").map(|(_, names)| names)
}

/// What is wrong with a field, from serde's words for it.
fn wrong_type(field: &str, reason: &str) -> Text {
    let named = |start: &str| reason.strip_prefix(start).and_then(|rest| rest.split('`').nth(1));
    if let Some(name) = named("missing field ") {
        let path = if field == "body" { name.to_owned() } else { format!("{field}.{name}") };
        return Text::new(format!("缺少字段 {path}"), format!("the field {path} is missing"));
    }
    if let Some(name) = named("duplicate field ") {
        return Text::new(format!("字段 {name} 重复"), format!("the field {name} is given twice"));
    }
    let Some((found, expected)) = reason.split_once(", expected ") else {
        let reason: String = reason.chars().take(200).collect::<String>().escape_debug().to_string();
        let zh = match own_rule(&reason) {
            Some(rule) => format!("字段 {field} 无效（{rule}）"),
            None => format!("字段 {field} 无效"),
        };
        return Text::new(zh, format!("the field {field} is not valid ({reason})"));
    };
    let is_number = |name: &str| name.len() <= 5 && name.starts_with(['u', 'i']) && name != "unit";
    let (zh, en) = match expected {
        number if is_number(number) && (found.contains("integer") || found.starts_with("invalid value")) => {
            return Text::new(format!("字段 {field} 超出范围"), format!("the field {field} is out of range"));
        }
        number if is_number(number) => ("整数", "a whole number"),
        "f32" | "f64" => ("数字", "a number"),
        "a string" | "a borrowed string" => ("字符串", "a string"),
        "a boolean" => ("true 或 false", "true or false"),
        "a sequence" => ("列表", "a list"),
        _ => ("对象", "an object"),
    };
    Text::new(format!("字段 {field} 应为{zh}"), format!("the field {field} must be {en}"))
}

/// The rules of a field's own type speak for themselves, in English: their Chinese, where there are words for it.
fn own_rule(reason: &str) -> Option<String> {
    if reason == "an empty object selects nothing" {
        return Some("空对象没有选择任何环境".to_owned());
    }
    if let Some((one, other)) =
        reason.strip_suffix(", not both").and_then(|it| it.strip_prefix("either ")?.split_once(" or "))
    {
        return Some(format!("{one} 与 {other} 只能选一个"));
    }
    if let Some(example) = reason.strip_prefix("a group is named: ") {
        return Some(format!("要写出分组的名称：{example}"));
    }
    let worker = reason.strip_prefix('`')?.split_once("` is not a worker")?.0;
    Some(format!("“{worker}”不是 Worker 名称：应为 <节点>-<编号>，例如 gn6-0"))
}

fn syntax(error: &serde_json::Error) -> ApiProblem {
    let Text { zh, en } = reason::of_json(error);
    bad_json(
        Text::new(format!("请求体不是有效的 JSON：{zh}"), format!("the body is not valid JSON: {en}")),
        Text::new("检查引号、逗号与括号", "look at quotes, commas and brackets"),
    )
}

fn bad_json(text: Text, hint: Text) -> ApiProblem {
    ApiProblem::new(StatusCode::BAD_REQUEST, "json_invalid", text).hint(hint)
}

fn bad_request() -> ApiProblem {
    ApiProblem::new(StatusCode::BAD_REQUEST, "bad_request", Text::new("请求无效", "the request is not valid"))
}

/// Takes serde's sentence apart: the name, and the names it knows.
fn unknown_name(reason: &str, start: &str) -> Option<(String, Vec<String>)> {
    let rest = reason.strip_prefix(start)?.strip_prefix('`')?;
    let (name, rest) = rest.split_once("`, ")?;
    let known = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((name.to_owned(), known))
}

fn unknown_field(path: &str, known: &[String]) -> ApiProblem {
    let path: String = path.chars().take(200).collect::<String>().escape_debug().to_string();
    let (parent, name) = path.rsplit_once('.').map_or(("", path.as_str()), |(parent, name)| (parent, name));
    let open = &shapes().open_fields;
    let all: Vec<&str> = open.keys().map(String::as_str).collect();
    let here = words(known);
    let beside = closest(name, &here)
        .map(|close| if parent.is_empty() { close.to_owned() } else { format!("{parent}.{close}") });
    let elsewhere = || closest(name, &all).and_then(|close| open.get(close)).map(|known| where_written(parent, known));
    let hint = match beside.or_else(elsewhere) {
        Some(close) => meant(&close),
        None => available(if here.is_empty() { &all } else { &here }),
    };
    let text = Text::new(format!("未知字段 {path}"), format!("the field {path} is not known"));
    ApiProblem::unprocessable("field_unknown", path, text).hint(hint)
}

/// An object may stand at several places of bodies: the one that was written is meant.
fn where_written(parent: &str, known: &str) -> String {
    let last = |path: &str| path.rsplit('.').next().map(str::to_owned);
    match known.rsplit_once('.') {
        Some((object, field)) if last(object) == last(parent) => format!("{parent}.{field}"),
        _ => known.to_owned(),
    }
}

fn did_you_mean(name: &str, known: &[&str]) -> Text {
    closest(name, known).map_or_else(|| available(known), meant)
}

fn meant(close: &str) -> Text {
    Text::new(format!("是否想写 {close}？"), format!("did you mean {close}?"))
}

fn available(known: &[&str]) -> Text {
    let shown = known.iter().take(20).copied().collect::<Vec<_>>();
    Text::new(format!("可用：{}", shown.join("、")), format!("there is {}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use fermi_api::v1::{BulkRequest, CreateRequest};
    use fermi_domain::language::{Explained, FrontEnd};

    use super::*;

    fn refused(body: &str) -> (u16, String, Option<String>, String) {
        let problem = read::<CreateRequest>(body.as_bytes()).unwrap_err();
        let hint = problem.hint.map(|hint| hint.spelled(FrontEnd::Api).en.into_owned()).unwrap_or_default();
        (problem.status.as_u16(), problem.id.into_owned(), problem.field, hint)
    }

    #[test]
    fn a_misspelt_field_is_named_with_what_was_meant() {
        let refused_for = |body: &str| {
            let (code, id, field, hint) = refused(body);
            (code, id, field.unwrap_or_default(), hint)
        };
        let expected = |field: &str, hint: &str| (422, "field_unknown".to_owned(), field.to_owned(), hint.to_owned());
        assert_eq!(refused_for(r#"{"taskname":"x"}"#), expected("taskname", "did you mean taskName?"));
        assert_eq!(
            refused_for(r#"{"distributedConfig":{"masterNod":"x"}}"#),
            expected("distributedConfig.masterNod", "did you mean distributedConfig.masterNode?")
        );
        assert_eq!(
            refused_for(r#"{"distributedConfig":{"strategy":{"dataParalel":2}}}"#),
            expected("distributedConfig.strategy.dataParalel", "did you mean distributedConfig.strategy.dataParallel?")
        );
        for body in [r#"{"policies":{"maxRestarts":1}}"#, r#"{"maxRestart":1}"#] {
            assert_eq!(refused_for(body).3, "did you mean policies.restart.maxRestarts?", "{body}");
        }
        assert_eq!(refused_for(r#"{"policies":{"restart":{"maxRestarts":1,"x":1}}}"#).2, "policies.restart.x");
    }

    #[test]
    fn the_rules_of_a_fields_own_type_are_told_in_both_languages() {
        for (said, zh) in [
            ("an empty object selects nothing", "字段 x 无效（空对象没有选择任何环境）"),
            ("either auto or group, not both", "字段 x 无效（auto 与 group 只能选一个）"),
            ("a group is named: {}", "字段 x 无效（要写出分组的名称：{}）"),
            ("attempts count from 1", "字段 x 无效"),
        ] {
            assert_eq!(wrong_type("x", said), Text::new(zh, format!("the field x is not valid ({said})")));
        }
        let worker = "gn6".parse::<fermi_domain::ids::WorkerId>().unwrap_err();
        let told = wrong_type("x", &worker.to_string());
        assert_eq!(told.zh, format!("字段 x 无效（{}）", worker.text().zh));
    }

    #[test]
    fn a_wrong_type_names_its_field() {
        for (body, field) in [
            (r#"{"taskName":5}"#, "taskName"),
            (r#"{"distributedConfig":{"nodeIds":"env-001"}}"#, "distributedConfig.nodeIds"),
            (r#"{"distributedConfig":{"strategy":{"dataParallel":-1}}}"#, "distributedConfig.strategy.dataParallel"),
            (r#"{"priority":99999999999}"#, "priority"),
            ("[]", "body"),
            (r#"{"policies":[]}"#, "policies"),
            (r#"{"distributedConfig":{"strategy":[1,2,3]}}"#, "distributedConfig.strategy"),
            ("null", "body"),
            (r#"{"taskName":"a","taskName":"b"}"#, "body"),
            (r#"{"launchMode":5}"#, "launchMode"),
            (r#"{"launchMode":["existing"]}"#, "launchMode"),
            (r#"{"policies":{"onDisconnect":true}}"#, "policies.onDisconnect"),
        ] {
            let (code, id, found, _) = refused(body);
            assert_eq!((code, id.as_str()), (422, "field_invalid"), "{body}");
            assert_eq!(found.as_deref(), Some(field), "{body}");
        }
    }

    #[test]
    fn what_a_field_takes_is_said_in_both_languages() {
        for (body, zh, en) in [
            (
                r#"{"launchMode":5}"#,
                "字段 launchMode 应为 existing、auto、group、new",
                "the field launchMode must be existing or auto or group or new",
            ),
            (
                r#"{"launchMode":"group"}"#,
                "字段 launchMode 的 group 要写成 {\"group\": …}",
                "the field launchMode takes group as {\"group\": …}",
            ),
            (
                r#"{"policies":{"onDisconnect":[1]}}"#,
                "字段 policies.onDisconnect 应为 keep、stopAfter",
                "the field policies.onDisconnect must be keep or stopAfter",
            ),
            (r#"{"taskName":5}"#, "字段 taskName 应为字符串", "the field taskName must be a string"),
            (r#"{"priority":"x"}"#, "字段 priority 应为整数", "the field priority must be a whole number"),
            (r#"{"priority":99999999999}"#, "字段 priority 超出范围", "the field priority is out of range"),
            (r#"{"policies":5}"#, "字段 policies 应为对象", "the field policies must be an object"),
            (
                r#"{"policies":{"restart":{}}}"#,
                "缺少字段 policies.restart.maxRestarts",
                "the field policies.restart.maxRestarts is missing",
            ),
            (r#"{"taskName":"a","taskName":"b"}"#, "字段 taskName 重复", "the field taskName is given twice"),
            (r#"{"launchMode":"groop"}"#, "字段 launchMode 不能是 “groop”", "the field launchMode cannot be 'groop'"),
        ] {
            let problem = read::<CreateRequest>(body.as_bytes()).unwrap_err();
            assert_eq!((&*problem.text.zh, &*problem.text.en), (zh, en), "{body}");
            assert!(problem.hint.is_some(), "{body}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for body in [
            "",
            "{",
            "{\"taskName\":\"x\"} x",
            "{'a':1}",
            "{\"taskName\":NaN}",
            "\u{feff}{}",
            "{\"taskName\":\"\\ud800\"}",
        ] {
            let problem = read::<CreateRequest>(body.as_bytes()).unwrap_err();
            assert_eq!((problem.status.as_u16(), &*problem.id), (400, "json_invalid"), "{body}");
            assert!(problem.text.en.contains("line "), "{}", problem.text.en);
        }
        let problem = read::<CreateRequest>(b"{\"taskName\":\"\xff\"}").unwrap_err();
        assert_eq!(problem.text.en, "the body is not UTF-8 (byte 13)");
        let deep = "[".repeat(10_000);
        assert_eq!(read::<BulkRequest>(deep.as_bytes()).unwrap_err().status.as_u16() / 100, 4);
    }

    #[test]
    fn an_unknown_variant_offers_the_known_ones() {
        let problem = read::<BulkRequest>(br#"{"action":"stopp","ids":[]}"#).unwrap_err();
        assert_eq!(problem.hint.unwrap().spelled(FrontEnd::Api).en, "did you mean stop?");
    }
}
