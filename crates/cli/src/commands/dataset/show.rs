//! The versions of a dataset, and where they are visible.

use fermi_api::v1::{DatasetVersion, DatasetVisibility};
use fermi_domain::dataset::ChecksumProof;
use fermi_domain::language::Text;

use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// So many environments of a version are shown; the API lists more.
const SHOWN: usize = 20;

/// A table of the versions, and under it where each has been seen.
pub fn versions(versions: &[DatasetVersion], paint: Paint) -> String {
    if versions.is_empty() {
        return String::new();
    }
    let head = [
        pick("版本", "VERSION"),
        "ID",
        pick("路径", "PATH"),
        pick("大小", "SIZE"),
        pick("格式", "FORMAT"),
        pick("校验和", "CHECKSUM"),
        pick("创建", "CREATED"),
    ];
    let mut table = Table::new(head);
    for version in versions {
        table.row([
            Cell::coloured(&version.version, Colour::Strong),
            Cell::coloured(&version.id, Colour::Faint),
            version.path.as_str().into(),
            version.size.map_or_else(|| "-".to_owned(), span::bytes).into(),
            version.format.as_deref().unwrap_or("-").into(),
            short(version.checksum.as_deref()).into(),
            span::ago(version.created_at).into(),
        ]);
    }
    let mut out = format!("\n{}", table.render(paint));
    for version in versions {
        out.push_str(&visibility(version, paint));
    }
    out
}

/// `sampled:0123456789ab…`.
fn short(checksum: Option<&str>) -> String {
    let Some(text) = checksum else { return "-".to_owned() };
    let shown = text.find(':').map_or(12, |colon| colon + 13);
    text.get(..shown).map_or_else(|| text.to_owned(), |head| format!("{head}…"))
}

fn visibility(version: &DatasetVersion, paint: Paint) -> String {
    let Some(text) = &version.visibility else { return String::new() };
    let mut out = format!("\n{}  {}\n", paint.bold(&version.version), text.in_language(speech::language()));
    if version.visible_on.is_empty() {
        return out;
    }
    let head = [
        pick("开发环境", "ENVIRONMENT"),
        pick("所见大小", "SIZE SEEN"),
        pick("文件", "FILES"),
        pick("格式", "FORMAT"),
        pick("校验和", "CHECKSUM"),
        pick("验证", "PROVEN"),
    ];
    let mut table = Table::new(head);
    for seen in version.visible_on.iter().take(SHOWN) {
        table.row([
            Cell::coloured(&seen.environment_name, Colour::Strong),
            size(seen).into(),
            Cell::number(seen.files.to_string()),
            seen.format.as_deref().unwrap_or("-").into(),
            checksum(seen.checksum).into(),
            span::ago(seen.proven_at).into(),
        ]);
    }
    out.push_str(&table.render(paint));
    let more = version.visible_on_count.saturating_sub(SHOWN as u64);
    if more > 0 {
        let more = Text::new(format!("还有 {more} 个"), format!("and {more} more"));
        out.push_str(&format!("  {}\n", more.in_language(speech::language())));
    }
    out
}

fn size(seen: &DatasetVisibility) -> String {
    let size = span::bytes(seen.size);
    if seen.is_whole { size } else { format!("{}{size}", pick("至少 ", "at least ")) }
}

fn checksum(proof: ChecksumProof) -> &'static str {
    match proof {
        ChecksumProof::None => "-",
        ChecksumProof::Matches => pick("一致", "matches"),
        ChecksumProof::NotChecked => pick("未检查", "not checked"),
    }
}
