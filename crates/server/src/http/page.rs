//! Files that are part of the binary: the console, and the viewer of the API's document.

use std::borrow::Cow;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::get;
use data_encoding::HEXLOWER;
use fermi_domain::language::Text;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::app_state::AppState;
use crate::envelope::{ApiProblem, FILE};

/// The console, as `npm run build` in `console/` makes it; nothing but a mark where it was not built.
#[derive(Debug, RustEmbed)]
#[folder = "../../console/dist/"]
#[allow_missing = true]
struct Console;

/// The files of the viewer at `/api/docs`.
#[derive(Debug, RustEmbed)]
#[folder = "src/http/docs/"]
struct Viewer;

/// Addresses that a person may open: those of `console/src/routes.tsx`, whose tests compare the two.
const PAGES: &[&str] = &[
    "/",
    "/training",
    "/training/{id}",
    "/environments",
    "/groups",
    "/planner",
    "/preflight",
    "/datasets",
    "/models",
    "/settings",
];

/// Files of the console that keep their names.
const PLAIN_FILES: &[&str] = &["/icon.svg", "/theme.js"];

/// Forms in which the build leaves a file beside it, the smallest first.
const PACKED: &[(&str, &str)] = &[("br", ".br"), ("gzip", ".gz")];

/// Relative addresses in the console's page lead up this many folders at most.
const DEEPEST: usize = 16;

/// The routes of all files.
pub fn routes() -> Router<AppState> {
    let mut router = Router::new()
        .route("/assets/{*file}", get(asset))
        .route("/api/docs", get(|headers: HeaderMap| async move { viewer("index.html", &headers) }))
        .route(
            "/api/docs/{file}",
            get(|Path(file): Path<String>, headers: HeaderMap| async move { viewer(&file, &headers) }),
        );
    for page in PAGES {
        router = router.route(page, get(index));
    }
    for file in PLAIN_FILES {
        router = router.route(file, get(plain_file));
    }
    router
}

async fn index(uri: Uri, headers: HeaderMap) -> Result<Response, ApiProblem> {
    page_at(uri.path(), &headers).ok_or_else(not_built)
}

/// A file whose name holds the checksum of its content: it never changes.
async fn asset(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let mut found = packed(&format!("assets/{file}"), &headers).ok_or_else(|| no_file(&file))?;
    found.cache_control = "public, max-age=31536000, immutable";
    Ok(found.answer(&headers))
}

async fn plain_file(uri: Uri, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let name = uri.path().trim_start_matches('/');
    Ok(packed(name, &headers).ok_or_else(|| no_file(name))?.answer(&headers))
}

fn viewer(name: &str, headers: &HeaderMap) -> Result<Response, ApiProblem> {
    let file = Viewer::get(name).ok_or_else(|| no_file(name))?;
    Ok(FileAnswer::of(file, name).answer(headers))
}

/// The console's own page about an address that it does not know, for a browser that opens one.
pub fn unknown(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_opened = *method == Method::GET && accepted.contains("text/html");
    let is_file = uri.path().rsplit('/').next().is_some_and(|last| last.contains('.'));
    if !is_opened || is_file || uri.path().starts_with("/api") {
        return None;
    }
    let mut response = page_at(uri.path(), &HeaderMap::new())?;
    *response.status_mut() = StatusCode::NOT_FOUND;
    Some(response)
}

fn not_built() -> ApiProblem {
    let text = Text::new("此程序不含控制台页面", "this binary was built without its console");
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "console_not_built", text).hint(Text::new(
        "在源码目录中运行 make build：它先构建 console/，再编译程序",
        "run `make build` in the source folder: it builds console/ first, then the binary",
    ))
}

fn no_file(name: &str) -> ApiProblem {
    ApiProblem::not_found(&FILE, name)
}

/// The console's page. What it names lies beside the first page, so that an address with folders leads up to it; nothing has
/// to know the path under which a proxy shows the server.
fn page_at(path: &str, headers: &HeaderMap) -> Option<Response> {
    let mut found = FileAnswer::of(Console::get("index.html")?, "index.html");
    found.data = led_up(found.data, path.matches('/').count().saturating_sub(1).min(DEEPEST));
    Some(found.answer(headers))
}

fn led_up(page: Cow<'static, [u8]>, folders: usize) -> Cow<'static, [u8]> {
    if folders == 0 {
        return page;
    }
    let text = String::from_utf8_lossy(&page).replace("=\"./", &format!("=\"./{}", "../".repeat(folders)));
    Cow::Owned(text.into_bytes())
}

/// A file of the console, packed if the caller takes that and there is such a copy.
fn packed(name: &str, headers: &HeaderMap) -> Option<FileAnswer> {
    let plain = FileAnswer::of(Console::get(name)?, name);
    let mut taken = PACKED.iter().filter(|(encoding, _)| takes(headers, encoding));
    let copy = taken.find_map(|(encoding, ending)| Some((*encoding, Console::get(&format!("{name}{ending}"))?)));
    Some(match copy {
        Some((encoding, file)) => FileAnswer { encoding: Some(encoding), ..FileAnswer::of(file, name) },
        None => plain,
    })
}

/// Whether `Accept-Encoding` names an encoding and does not rule it out.
fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let (name, weight) = entry.split_once(';').unwrap_or((entry, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case(encoding) && weight.is_none_or(|weight| weight > 0.0)
    })
}

/// A file on its way out.
#[derive(Debug)]
struct FileAnswer {
    data: Cow<'static, [u8]>,
    tag: String,
    content_type: &'static str,
    encoding: Option<&'static str>,
    cache_control: &'static str,
}

impl FileAnswer {
    fn of(file: EmbeddedFile, name: &str) -> Self {
        let digest = HEXLOWER.encode(&file.metadata.sha256_hash()[..8]);
        Self {
            data: file.data,
            tag: format!("\"{digest}\""),
            content_type: kind(name),
            encoding: None,
            cache_control: "no-cache",
        }
    }

    /// The file, unless the caller has this very one.
    fn answer(self, headers: &HeaderMap) -> Response {
        let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == self.tag);
        let mut response = Response::new(if is_known { Body::empty() } else { Body::from(self.data) });
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let fields = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            fields.insert(header::ETAG, tag);
        }
        if let Some(encoding) = self.encoding {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        for (name, value) in [
            ("content-type", self.content_type),
            ("cache-control", self.cache_control),
            ("vary", "accept-encoding"),
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
        ] {
            fields.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }
}

const POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_copy_goes_only_to_those_who_take_it() {
        for (accepted, br, gzip) in [
            ("", false, false),
            ("gzip, deflate, br", true, true),
            ("gzip;q=0.5, br;q=0", false, true),
            ("BR", true, false),
            ("identity", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!((takes(&headers, "br"), takes(&headers, "gzip")), (br, gzip), "{accepted}");
        }
    }

    #[test]
    fn a_page_in_folders_leads_up_to_its_files() {
        let page = || Cow::Borrowed(&b"<script src=\"./theme.js\"></script>"[..]);
        assert_eq!(&led_up(page(), 0)[..], b"<script src=\"./theme.js\"></script>");
        assert_eq!(&led_up(page(), 1)[..], b"<script src=\"./../theme.js\"></script>");
    }

    #[test]
    fn a_browser_gets_a_page_about_an_unknown_address_and_others_do_not() {
        let asked = |path: &str, accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            let uri = Uri::try_from(path).unwrap();
            unknown(&Method::GET, &uri, &headers).map(|response| response.status().as_u16())
        };
        let expected = Console::get("index.html").map(|_| 404);
        assert_eq!(asked("/nowhere/at/all", "text/html,*/*"), expected);
        for (path, accept) in [("/nowhere", "*/*"), ("/api/nothing", "text/html"), ("/old.js", "text/html")] {
            assert_eq!(asked(path, accept), None, "{path}");
        }
    }
}
