//! What handlers answer with. They say it in both languages; the middleware writes it down in the caller's.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use fermi_api::FRONT_END;
use fermi_domain::group::GroupRefusal;
use fermi_domain::language::{Explained, FrontEnd, Hint, Language, Text};
use fermi_domain::messages::RequestRefusal;
use fermi_domain::task::MissingPart;
use fermi_store::{StoreError, UpdateError};
use serde::Serialize;

use crate::lifecycle::LifecycleError;

/// What a handler gives back.
pub type Reply = Result<EnvelopeAnswer, ApiProblem>;

/// A yes, with its data already in JSON.
#[derive(Clone, Debug)]
pub struct EnvelopeAnswer {
    pub status: StatusCode,
    pub message: Text,
    pub data: Bytes,
}

impl EnvelopeAnswer {
    /// A yes that needs no words.
    pub fn ok<T: Serialize>(data: &T) -> Reply {
        Self::said(Text::new("成功", "OK"), data)
    }

    /// A yes with a sentence.
    pub fn said<T: Serialize>(message: Text, data: &T) -> Reply {
        let data = serde_json::to_vec(data).map_err(|error| ApiProblem::broken("cannot write the answer", &error))?;
        Ok(Self { status: StatusCode::OK, message, data: data.into() })
    }
}

/// A no: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiProblem {
    pub status: StatusCode,
    pub id: Cow<'static, str>,
    pub field: Option<String>,
    pub text: Text,
    pub hint: Option<Hint>,
}

impl ApiProblem {
    pub fn new(status: StatusCode, id: &'static str, text: Text) -> Self {
        Self { status, id: Cow::Borrowed(id), field: None, text, hint: None }
    }

    /// The request is understood and cannot be carried out.
    pub fn unprocessable(id: &'static str, field: impl Into<String>, text: Text) -> Self {
        Self { field: Some(field.into()), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, id, text) }
    }

    /// Says any message of the domain: the one way from [`Explained`] to an answer.
    pub fn refused(message: &impl Explained) -> Self {
        Self {
            field: message.field(),
            hint: message.hint(),
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, message.id(), message.text())
        }
    }

    pub fn conflict(id: &'static str, text: Text) -> Self {
        Self::new(StatusCode::CONFLICT, id, text)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// There is no such thing. What was asked for is repeated only as far as it can be shown.
    pub fn not_found(noun: &Noun, id: &str) -> Self {
        let shown: String = id.chars().take(80).collect::<String>().escape_debug().to_string();
        let text = Text::new(format!("{} {shown} 不存在", noun.zh), format!("there is no {} {shown}", noun.en));
        Self { hint: noun.hint(), ..Self::new(StatusCode::NOT_FOUND, "not_found", text) }
    }

    /// Something on this side is broken. It is logged here, with a number that the caller is told.
    pub fn broken(what: &'static str, error: &dyn std::error::Error) -> Self {
        let number = random_number();
        tracing::error!(number, error = %Chain(error), what, "a request failed");
        Self::internal(&number)
    }

    /// A handler panicked; the hook has told where.
    pub fn panicked() -> Self {
        let number = random_number();
        tracing::error!(number, "a request failed: its handler panicked");
        Self::internal(&number)
    }

    /// The disk of the data folder has no room for what was sent.
    pub fn no_space() -> Self {
        let text = Text::new("服务器的磁盘已满，未保存任何内容", "the server's disk is full, nothing was stored");
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "no_space", text).hint(Text::new(
            "在服务器上腾出空间后重试；fermi server status 显示各部分占用",
            "make room on the server and try again; fermi server status shows what takes it",
        ))
    }

    fn internal(number: &str) -> Self {
        let text =
            Text::new(format!("服务器内部错误（{number}）"), format!("something went wrong in the server ({number})"));
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", text)
            .hint(Text::new(format!("在服务器日志中查找 {number}"), format!("look for {number} in the server's log")))
    }

    /// An answer that the router gave by itself, such as 405.
    fn of_status(status: StatusCode) -> Self {
        let (id, text) = match status {
            StatusCode::NOT_FOUND => ("not_found", Text::new("没有这个地址", "there is nothing at this address")),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("method_not_allowed", Text::new("此地址不支持该方法", "this address does not take that method"))
            }
            StatusCode::PAYLOAD_TOO_LARGE => ("too_large", Text::new("请求体过大", "the body is too large")),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ("unsupported_media_type", Text::new("不支持的内容类型", "this content type is not taken"))
            }
            StatusCode::GATEWAY_TIMEOUT => {
                ("timeout", Text::new("服务器未能及时回答", "the server did not answer in time"))
            }
            status if status.is_server_error() => {
                ("internal", Text::new("服务器内部错误", "something went wrong in the server"))
            }
            _ => ("bad_request", Text::new("请求无效", "the request is not valid")),
        };
        Self::new(status, id, text)
    }
}

impl From<RequestRefusal> for ApiProblem {
    fn from(refusal: RequestRefusal) -> Self {
        Self::refused(&refusal)
    }
}

impl From<MissingPart> for ApiProblem {
    fn from(missing: MissingPart) -> Self {
        Self { status: StatusCode::NOT_FOUND, ..Self::refused(&missing) }
    }
}

impl From<GroupRefusal> for ApiProblem {
    fn from(refusal: GroupRefusal) -> Self {
        let status = if refusal.is_conflict() { StatusCode::CONFLICT } else { StatusCode::UNPROCESSABLE_ENTITY };
        Self { status, ..Self::refused(&refusal) }
    }
}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "shutting_down",
                Text::new("服务器正在关闭", "the server is shutting down"),
            )
            .hint(Text::new("稍后重试", "try again in a moment")),
            error if error.is_full() => {
                tracing::error!(error = %Chain(&error), "a request failed: the disk is full");
                Self::no_space()
            }
            error => Self::broken("the store failed", &error),
        }
    }
}

impl From<LifecycleError> for ApiProblem {
    fn from(error: LifecycleError) -> Self {
        match error {
            LifecycleError::NotFound(id) => Self::not_found(&TASK, id.as_str()),
            LifecycleError::Update(UpdateError::Store(error)) | LifecycleError::Store(error) => error.into(),
            LifecycleError::Update(error @ (UpdateError::Conflict { .. } | UpdateError::Missing)) => {
                Self::broken("a task changed within its own transaction", &error)
            }
        }
    }
}

/// What is asked for by its name or id, as it stands in sentences.
#[derive(Clone, Copy, Debug)]
pub struct Noun {
    pub zh: &'static str,
    pub en: &'static str,
    /// The command that lists all of them.
    list: Option<&'static str>,
}

pub const TASK: Noun = Noun::listed("训练任务", "task", "fermi task list");
pub const ENVIRONMENT: Noun = Noun::listed("开发环境", "environment", "fermi env list");
pub const DATASET: Noun = Noun::listed("数据集", "dataset", "fermi dataset list");
pub const GROUP: Noun = Noun::listed("分组", "group", "fermi group list");
pub const MODEL: Noun = Noun::listed("模型", "model", "fermi model list");
pub const USER: Noun = Noun::listed("用户", "user", "fermi user list");
pub const TOKEN: Noun = Noun::listed("令牌", "token", "fermi token list");
pub const WEBHOOK: Noun = Noun::listed("webhook", "webhook", "fermi webhook list");
pub const SECRET: Noun = Noun::listed("密钥", "secret", "fermi secret list");
pub const STRAY: Noun = Noun::listed("未登记的运行", "stray run", "fermi server strays");
pub const VERSION: Noun = Noun::unlisted("版本", "version");
pub const PREFLIGHT: Noun = Noun::unlisted("预检", "preflight");
pub const SNAPSHOT: Noun = Noun::unlisted("代码快照", "snapshot");
pub const FILE: Noun = Noun::unlisted("文件", "file");

impl Noun {
    const fn listed(zh: &'static str, en: &'static str, list: &'static str) -> Self {
        Self { zh, en, list: Some(list) }
    }

    const fn unlisted(zh: &'static str, en: &'static str) -> Self {
        Self { zh, en, list: None }
    }

    /// Where those stand that there are.
    fn hint(&self) -> Option<Hint> {
        let Self { zh, en, list } = self;
        let everywhere =
            Hint::new(format!("列表中有现有的全部{zh}"), format!("the list of {en}s has all that there are"));
        list.map(|list| everywhere.on_command_line(format!("{list} 列出全部{zh}"), format!("'{list}' shows them all")))
    }
}

/// An error with all that caused it, in one line.
struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

fn random_number() -> String {
    let mut bytes = [0_u8; 6];
    // Without randomness the number is always the same, which still marks the line.
    let _ = getrandom::fill(&mut bytes);
    HEXLOWER.encode(&bytes)
}

impl IntoResponse for EnvelopeAnswer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

#[derive(Serialize)]
struct Head<'a> {
    code: u16,
    message: &'a str,
}

#[derive(Serialize)]
struct No<'a> {
    code: u16,
    message: &'a str,
    data: Option<()>,
    error: NoBody<'a>,
}

#[derive(Serialize)]
struct NoBody<'a> {
    id: &'a str,
    field: Option<&'a str>,
    hint: Option<&'a str>,
}

impl EnvelopeAnswer {
    /// The whole envelope.
    fn written(&self, language: Language) -> Vec<u8> {
        let head = Head { code: self.status.as_u16(), message: self.message.in_language(language) };
        let mut body = Vec::with_capacity(self.data.len() + 64);
        // Numbers and strings can always be written.
        let _ = serde_json::to_writer(&mut body, &head);
        body.pop();
        body.extend_from_slice(b",\"data\":");
        body.extend_from_slice(&self.data);
        body.push(b'}');
        body
    }
}

impl ApiProblem {
    pub fn written(&self, language: Language, front_end: FrontEnd) -> Vec<u8> {
        let hint = self.hint.as_ref().map(|hint| hint.spelled(front_end));
        let no = No {
            code: self.status.as_u16(),
            message: self.text.in_language(language),
            data: None,
            error: NoBody {
                id: &self.id,
                field: self.field.as_deref(),
                hint: hint.as_ref().map(|hint| hint.in_language(language)),
            },
        };
        serde_json::to_vec(&no).unwrap_or_default()
    }
}

/// Writes the envelope into a response that has none yet. Everything else passes as it is.
pub fn render(response: Response, language: Language, front_end: FrontEnd, is_head: bool) -> Response {
    let (mut parts, body) = response.into_parts();
    let written = if let Some(answer) = parts.extensions.remove::<EnvelopeAnswer>() {
        answer.written(language)
    } else if let Some(problem) = parts.extensions.remove::<ApiProblem>() {
        problem.written(language, front_end)
    } else if is_bare_refusal(parts.status, &parts.headers) {
        ApiProblem::of_status(parts.status).written(language, front_end)
    } else {
        return Response::from_parts(parts, body);
    };
    let headers = &mut parts.headers;
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(written.len()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-language, fermi-front-end"));
    headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(tag(language)));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    Response::from_parts(parts, if is_head { Body::empty() } else { Body::from(written) })
}

/// A refusal of the router or of an extractor: a status with a line of text at most.
fn is_bare_refusal(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_refusal = status.is_client_error() || status.is_server_error();
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    is_refusal && content.is_none_or(|content| content.starts_with("text/plain"))
}

fn tag(language: Language) -> &'static str {
    match language {
        Language::ZhCn => "zh-CN",
        Language::En => "en",
    }
}

/// Where the caller shows what it is told. One that says nothing is a program.
pub fn front_end(headers: &HeaderMap) -> FrontEnd {
    let named = headers.get(FRONT_END).and_then(|value| value.to_str().ok());
    named.and_then(FrontEnd::parse).unwrap_or(FrontEnd::Api)
}

/// The language that a caller wants most. Nothing said is Chinese; a language that is not spoken here is English.
pub fn language(headers: &HeaderMap) -> Language {
    let Some(wanted) = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()) else {
        return Language::ZhCn;
    };
    let mut best: Option<(f32, Language)> = None;
    let mut said_something = false;
    for entry in wanted.split(',') {
        let mut parts = entry.split(';');
        let tag = parts.next().unwrap_or_default().trim();
        let weight = parts.find_map(|part| part.trim().strip_prefix("q=")?.trim().parse::<f32>().ok()).unwrap_or(1.0);
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        said_something |= !tag.is_empty() && tag != "*" && weight > 0.0;
        let language = match primary {
            "zh" | "ZH" | "Zh" => Language::ZhCn,
            "en" | "EN" | "En" => Language::En,
            _ => continue,
        };
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, language));
        }
    }
    match best {
        Some((_, language)) => language,
        None if said_something => Language::En,
        None => Language::ZhCn,
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Setting;

    use super::*;

    fn spoken(wanted: &str) -> Language {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_str(wanted).unwrap());
        language(&headers)
    }

    #[test]
    fn the_callers_language_is_spoken() {
        assert_eq!(language(&HeaderMap::new()), Language::ZhCn);
        for chinese in ["zh-CN", "zh", "en;q=0.2, zh-TW;q=0.8", "*", "", "fr, zh;q=0.1", "en;q=0"] {
            assert_eq!(spoken(chinese), Language::ZhCn, "{chinese}");
        }
        for english in ["en", "en-GB,zh;q=0.9", "fr-FR", "zh;q=0.3,en;q=0.5", "zh;q=0, de"] {
            assert_eq!(spoken(english), Language::En, "{english}");
        }
    }

    #[test]
    fn envelopes_have_the_shape_of_the_specification() {
        let answer =
            EnvelopeAnswer::said(Text::new("训练任务创建成功", "created"), &serde_json::json!({"taskId": "t"}))
                .unwrap();
        let body = String::from_utf8(answer.written(Language::ZhCn)).unwrap();
        assert_eq!(body, r#"{"code":200,"message":"训练任务创建成功","data":{"taskId":"t"}}"#);
        let problem = ApiProblem::from(RequestRefusal::DatasetRequired);
        let body = String::from_utf8(problem.written(Language::ZhCn, FrontEnd::Api)).unwrap();
        assert_eq!(
            body,
            r#"{"code":422,"message":"请选择数据集","data":null,"error":{"id":"dataset_required","field":"datasetId","hint":"在 datasetId 中填写数据集及其版本"}}"#
        );
    }

    #[test]
    fn a_hint_is_spelled_for_the_front_end_that_asks() {
        let asks = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(FRONT_END, HeaderValue::from_static(name));
            front_end(&headers)
        };
        assert_eq!(front_end(&HeaderMap::new()), FrontEnd::Api);
        assert_eq!((asks("console"), asks("command-line")), (FrontEnd::Console, FrontEnd::CommandLine));
        assert_eq!(asks("something else"), FrontEnd::Api);
        let port = Setting::MasterPort;
        let problem = ApiProblem::conflict("x", Text::new("甲", "a")).hint(Hint::new("", format!("change {port}")));
        let hint = |front_end| {
            let body: serde_json::Value = serde_json::from_slice(&problem.written(Language::En, front_end)).unwrap();
            body["error"]["hint"].as_str().unwrap().to_owned()
        };
        assert_eq!(hint(FrontEnd::Api), "change options.masterPort");
        assert_eq!(hint(FrontEnd::Console), "change 'Master port'");
        assert_eq!(hint(FrontEnd::CommandLine), "change --master-port");
    }

    #[test]
    fn what_was_asked_for_is_shown_harmlessly() {
        let problem = ApiProblem::not_found(&TASK, "a\u{1b}[31m\n");
        assert_eq!(problem.text.en, "there is no task a\\u{1b}[31m\\n");
    }

    #[test]
    fn who_asks_for_what_is_not_there_hears_where_those_stand_that_are() {
        let hint = |noun: &Noun, front_end| noun.hint().map(|hint| hint.spelled(front_end).en.into_owned());
        let list = Some("'fermi env list' shows them all".to_owned());
        assert_eq!(hint(&ENVIRONMENT, FrontEnd::CommandLine), list);
        assert_eq!(hint(&DATASET, FrontEnd::Console), Some("the list of datasets has all that there are".to_owned()));
        assert_eq!(hint(&SNAPSHOT, FrontEnd::Api), None);
    }
}
