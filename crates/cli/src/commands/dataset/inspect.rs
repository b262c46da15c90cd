//! `fermi dataset inspect`: what nodes would see at a path, looked at here.

use std::path::Path;
use std::process::ExitCode;

use fermi_agent::dataset;
use fermi_domain::dataset::{Checksum, ChecksumKind, LookOrder, Seen, SeenKind};
use fermi_domain::language::Text;
use fermi_domain::language::reason::{self, NeitherFileNorFolder};
use serde_json::json;

use crate::connection::{CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table;

/// Look at data on this machine: size, format and the checksums that a version can state
///
/// sha256 is that of one file, as sha256sum prints it; nodes compare it for files of up to 1 GiB. sampled is made of the
/// names and sizes of all files and of the beginning, middle and end of up to 64 of them: cheap at any size, for folders too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi dataset inspect /data/corpus")]
pub struct InspectFlags {
    /// A file or a folder
    path: String,
    /// What is found as JSON
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &InspectFlags) -> Outcome {
    let seen = look(&flags.path, ChecksumKind::Sampled)?;
    let whole = match seen.kind {
        SeenKind::File => look(&flags.path, ChecksumKind::Sha256)?.checksum,
        SeenKind::Folder => None,
    };
    let text = |checksum: &Option<Checksum>| checksum.as_ref().map(ToString::to_string);
    let formats: Vec<&str> = seen.formats.iter().map(|format| format.as_str()).collect();
    if flags.json {
        let found = json!({
            "path": flags.path, "size": seen.bytes, "files": seen.files, "isWhole": seen.is_whole, "formats": formats,
            "sha256": text(&whole), "sampled": text(&seen.checksum),
        });
        speech::print_json(&found);
        return Ok(ExitCode::SUCCESS);
    }
    let at_least = if seen.is_whole { "" } else { pick("至少 ", "at least ") };
    let facts = [
        (pick("大小", "size"), Some(format!("{at_least}{} ({})", span::bytes(seen.bytes), seen.bytes))),
        (pick("文件", "files"), Some(format!("{at_least}{}", seen.files))),
        (pick("格式", "format"), (!formats.is_empty()).then(|| formats.join(", "))),
        ("sha256", text(&whole)),
        ("sampled", text(&seen.checksum)),
    ];
    speech::print(&table::facts(facts, Paint::for_stdout()));
    Ok(ExitCode::SUCCESS)
}

/// What is at a path of this machine, with a checksum of this kind.
pub fn look(path: &str, kind: ChecksumKind) -> Result<Seen, CommandProblem> {
    let seen = dataset::look(Path::new(path), LookOrder { checksum: Some(kind) }).map_err(|error| {
        let why = reason::of_io(&error);
        let hint = if NeitherFileNorFolder::is_why(&error) {
            Text::new(
                "把数据写入文件，给出文件或目录的路径",
                "write the data to a file, and give the path of a file or a folder",
            )
        } else {
            Text::new(
                "在看得到数据的机器上运行，或用 --size、--checksum、--format 直接写明",
                "run it where the data can be seen, or state --size, --checksum and --format",
            )
        };
        CommandProblem::usage(
            Text::new(format!("本机读不了 {path}：{}", why.zh), format!("this machine cannot read {path}: {}", why.en)),
            hint,
        )
    })?;
    if let Some(misnamed) = &seen.misnamed {
        let (file, said) = (&misnamed.file, misnamed.said);
        return Err(CommandProblem::usage(
            Text::new(
                format!("{file} 名为 {said}，内容却不是"),
                format!("{file} is called {said}, and its content is not"),
            ),
            Text::new("检查这个文件", "look at this file"),
        ));
    }
    Ok(seen)
}
