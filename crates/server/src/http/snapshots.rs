//! Folders of code that are sent once, packed as `tar.gz`, and known by their digest.

use std::io;
use std::path::{Path, PathBuf};

use axum::Extension;
use axum::body::{Body, BodyDataStream};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use data_encoding::HEXLOWER;
use fermi_api::v1::{DIGEST_HEADER, Envelope, Failure, Snapshot};
use fermi_domain::language::Text;
use fermi_store::snapshots::Snapshot as Kept;
use fermi_store::{StoreError, WriteError};
use futures_util::StreamExt;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

use crate::core::Core;
use crate::disk::is_full;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, SNAPSHOT};
use crate::guard::Standing;
use crate::key_file::keep_name;

/// The largest snapshot.
const LARGEST: u64 = 512 << 20;
/// Between two looks at the disk.
const LOOK_EVERY: u64 = 4 << 20;
/// The two bytes that every gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Sends a folder of code. The header says what its digest must be.
#[utoipa::path(post, path = "/api/v1/snapshots", tag = "snapshots",
    params(("X-Fermi-Digest" = String, Header, description = "`sha256:` and 64 hexadecimal digits")),
    request_body(content = Vec<u8>, content_type = "application/gzip"),
    responses((status = 200, body = Envelope<Snapshot>), (status = 413, body = Failure), (status = 415, body = Failure),
        (status = 422, body = Failure)))]
pub async fn take(
    State(core): State<Core>,
    Extension(standing): Extension<Standing>,
    headers: HeaderMap,
    body: Body,
) -> Reply {
    must_be_packed(&headers)?;
    let digest = headers.get(DIGEST_HEADER).and_then(|value| value.to_str().ok()).and_then(hexadecimal);
    let digest = digest.ok_or_else(|| {
        ApiProblem::unprocessable(
            "digest_invalid",
            "X-Fermi-Digest",
            Text::new("缺少有效的摘要", "there is no valid digest"),
        )
        .hint(Text::new("X-Fermi-Digest: sha256:<64 位十六进制>", "X-Fermi-Digest: sha256:<64 hexadecimal digits>"))
    })?;
    let file = file(&core, &digest);
    let wanted = digest.clone();
    let known: Result<_, StoreError> = core.store().read(move |view| view.snapshot(&wanted)).await;
    if known?.is_some() && file.is_file() {
        let (wanted, now_ms) = (digest.clone(), core.now_ms());
        let renewed = core.store().write(move |tx| tx.renew_snapshot(&wanted, now_ms)).await;
        if let Some(known) = renewed.map_err(WriteError::<StoreError>::flatten)?.filter(|_| file.is_file()) {
            return answer(&digest, known.bytes);
        }
    }
    let size: Option<u64> = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if let Err(problem) = must_fit(&core, size.unwrap_or(0).max(LOOK_EVERY)) {
        heard_out(body.into_data_stream()).await;
        return Err(problem);
    }
    let part = Part::new(&core.snapshots())?;
    let size = write(&core, &part.0, body, &digest).await?;
    standing.ask_again()?;
    let broken = |error: io::Error| ApiProblem::broken("a snapshot could not be kept", &error);
    tokio::fs::rename(&part.0, &file).await.map_err(broken)?;
    let named = tokio::task::spawn_blocking(move || keep_name(&file)).await;
    named.map_err(io::Error::other).flatten().map_err(broken)?;
    let kept =
        Kept { digest: digest.clone(), name: format!("{digest}.tar.gz"), bytes: size, created_ms: core.now_ms() };
    let noted = core.store().write(move |tx| tx.put_snapshot(&kept)).await;
    noted.map_err(WriteError::flatten)?;
    answer(&digest, size)
}

fn answer(digest: &str, size: u64) -> Reply {
    EnvelopeAnswer::said(
        Text::new("代码快照已保存", "the snapshot was kept"),
        &Snapshot { digest: format!("sha256:{digest}"), size },
    )
}

/// The snapshot itself; `HEAD` tells whether it is there.
#[utoipa::path(get, path = "/api/v1/snapshots/{digest}", tag = "snapshots", params(("digest" = String, Path)),
    responses((status = 200, description = "The packed folder", content_type = "application/gzip"),
        (status = 404, body = Failure)))]
pub async fn give(
    State(core): State<Core>,
    axum::extract::Path(text): axum::extract::Path<String>,
) -> Result<Response, ApiProblem> {
    let missing = || ApiProblem::not_found(&SNAPSHOT, &text);
    let digest = hexadecimal(&text).ok_or_else(missing)?;
    let opened = tokio::fs::File::open(file(&core, &digest)).await;
    let found = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(),
        _ => ApiProblem::broken("a snapshot cannot be read", &error),
    })?;
    let length = found.metadata().await.map_err(|error| ApiProblem::broken("a snapshot cannot be read", &error))?.len();
    let mut response = Response::new(Body::from_stream(ReaderStream::new(found)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

/// Reads what is left and keeps none of it: who is still sending would not hear why it is refused.
async fn heard_out(mut stream: BodyDataStream) {
    let mut size = 0;
    while let Some(Ok(piece)) = stream.next().await {
        size += piece.len() as u64;
        if size > LARGEST {
            return;
        }
    }
}

/// What is sent gives way before the database does.
fn must_fit(core: &Core, bytes: u64) -> Result<(), ApiProblem> {
    if core.disk().has_room_for(bytes) { Ok(()) } else { Err(ApiProblem::no_space()) }
}

fn must_be_packed(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if ["application/gzip", "application/x-gzip", "application/octet-stream"].contains(&kind) {
        return Ok(());
    }
    Err(ApiProblem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        Text::new("请求体必须是 tar.gz", "the body must be a tar.gz"),
    )
    .hint(Text::new("使用 Content-Type: application/gzip", "send `Content-Type: application/gzip`")))
}

/// `sha256:` may be left out.
fn hexadecimal(text: &str) -> Option<String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| digits.to_ascii_lowercase())
}

/// A digest is hexadecimal, so that it cannot lead out of the folder.
fn file(core: &Core, digest: &str) -> PathBuf {
    core.snapshots().join(format!("{digest}.tar.gz"))
}

/// A file in the making, removed unless it was renamed.
struct Part(PathBuf);

impl Part {
    fn new(folder: &Path) -> Result<Self, ApiProblem> {
        let mut number = [0_u8; 12];
        getrandom::fill(&mut number).map_err(|error| ApiProblem::broken("there is no randomness", &error))?;
        let name = HEXLOWER.encode(&number);
        Ok(Self(folder.join(format!(".part-{name}"))))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It is gone already when all went well.
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn write(core: &Core, path: &Path, body: Body, digest: &str) -> Result<u64, ApiProblem> {
    let broken = |error: io::Error| match is_full(&error) {
        true => ApiProblem::no_space(),
        false => ApiProblem::broken("a snapshot cannot be written", &error),
    };
    let mut file = tokio::fs::File::create_new(path).await.map_err(broken)?;
    let mut hash = Sha256::new();
    let mut size = 0_u64;
    let mut stream = body.into_data_stream();
    let mut head: Vec<u8> = Vec::new();
    let mut looked = 0;
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| {
            ApiProblem::new(StatusCode::BAD_REQUEST, "body_cut", Text::new("请求体不完整", "the body is not complete"))
        })?;
        size += piece.len() as u64;
        if size > LARGEST {
            let text = Text::new("代码快照过大", "the snapshot is too large");
            return Err(ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text)
                .hint(Text::new("最多 512 MiB；数据请放在共享盘上", "at most 512 MiB; put data on a shared disk")));
        }
        if size - looked >= LOOK_EVERY {
            looked = size;
            if let Err(problem) = must_fit(core, LOOK_EVERY) {
                heard_out(stream).await;
                return Err(problem);
            }
        }
        if head.len() < 2 {
            head.extend(piece.iter().take(2 - head.len()));
        }
        hash.update(&piece);
        file.write_all(&piece).await.map_err(broken)?;
    }
    let found = HEXLOWER.encode(&hash.finalize());
    if found != digest {
        let text = Text::new("摘要与内容不符", "the digest does not fit the body");
        return Err(ApiProblem::unprocessable("digest_mismatch", "X-Fermi-Digest", text)
            .hint(Text::new(format!("收到的内容是 sha256:{found}"), format!("what came is sha256:{found}"))));
    }
    if head != GZIP {
        return Err(ApiProblem::unprocessable(
            "snapshot_invalid",
            "body",
            Text::new("内容不是 gzip", "the body is no gzip file"),
        ));
    }
    file.sync_all().await.map_err(broken)?;
    Ok(size)
}
