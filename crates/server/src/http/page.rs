//! Files that are part of the binary: the live page, and the viewer of the API's document.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use data_encoding::HEXLOWER;
use fermi_domain::language::Text;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::app_state::AppState;
use crate::envelope::ApiProblem;

/// The live page's files.
#[derive(Debug, RustEmbed)]
#[folder = "src/page/"]
struct Live;

/// The files of the viewer at `/api/docs`.
#[derive(Debug, RustEmbed)]
#[folder = "src/http/docs/"]
struct Viewer;

/// A file, unless the caller has this very one.
fn answer(file: Option<EmbeddedFile>, name: &str, headers: &HeaderMap) -> Result<Response, ApiProblem> {
    let file = file.ok_or_else(|| ApiProblem::not_found(&Text::new("文件", "file"), name))?;
    let digest = HEXLOWER.encode(&file.metadata.sha256_hash()[..8]);
    let tag = format!("\"{digest}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(file.data) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let fields = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(header::ETAG, tag);
    }
    for (name, value) in [
        ("content-type", kind(name)),
        ("cache-control", "no-cache"),
        ("content-security-policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
    ] {
        fields.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    Ok(response)
}

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

/// Addresses that a person may open: those that `route` in `page/app.js` knows. Any other has nothing to show.
const PAGES: &[&str] = &["/", "/training", "/training/{id}"];

/// The routes of all files.
pub fn routes() -> Router<AppState> {
    let mut router = Router::new()
        .route("/page/{*file}", get(live))
        .route("/api/docs", get(|headers: HeaderMap| async move { viewer("index.html", &headers) }))
        .route(
            "/api/docs/{file}",
            get(|Path(file): Path<String>, headers: HeaderMap| async move { viewer(&file, &headers) }),
        );
    for page in PAGES {
        router = router.route(page, get(index));
    }
    router
}

async fn index(headers: HeaderMap) -> Result<Response, ApiProblem> {
    answer(Live::get("index.html"), "index.html", &headers)
}

async fn live(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, ApiProblem> {
    answer(Live::get(&file), &file, &headers)
}

fn viewer(file: &str, headers: &HeaderMap) -> Result<Response, ApiProblem> {
    answer(Viewer::get(file), file, headers)
}
