//! Packs a folder of code and sends it, so that every node runs what is on this machine now.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use fermi_api::client::Client;
use fermi_domain::language::{Text, reason};
use flate2::{Compression, write::GzEncoder};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::connection::CommandProblem;
use crate::speech::{self, pick};
use crate::{exit_code, span};

/// Code is small; a folder with more holds data, which belongs into a dataset.
const MOST_BYTES: u64 = 512 << 20;
/// What is never code.
const LEFT_OUT: [&str; 14] = [
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    ".venv",
    "venv",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".ipynb_checkpoints",
    ".tox",
    ".DS_Store",
    ".idea",
];

/// What goes into the archive.
#[derive(Debug)]
struct Contents {
    /// Relative to the folder, sorted.
    files: Vec<PathBuf>,
    bytes: u64,
}

/// Packs and sends; answers with the digest.
pub fn send(client: &Client, folder: &Path) -> Result<String, CommandProblem> {
    let contents = look(folder)?;
    let mut packed = pack(folder, &contents).map_err(|error| unreadable(folder, &error))?;
    let digest = digest(&mut packed).map_err(|error| unreadable(folder, &error))?;
    let length = packed.metadata().map_or(0, |metadata| metadata.len());
    let bar = bar(length);
    let answer = client.upload_snapshot(&digest, length, bar.wrap_read(packed))?;
    bar.finish_and_clear();
    speech::say(&format!(
        "{} {}: {} {}, {}\n",
        pick("已发送", "sent"),
        folder.display(),
        contents.files.len(),
        pick("个文件", "files"),
        span::bytes(length)
    ));
    Ok(answer.data.digest)
}

/// Refuses a script that is not in the folder: every rank on every node would fail for it.
pub fn require_script(folder: &Path, directory: Option<&str>, argv: &[String]) -> Result<(), CommandProblem> {
    let Some(script) = script_of(argv) else { return Ok(()) };
    let inside = Path::new(directory.unwrap_or_default()).join(script);
    // What is absolute, or a value of a sweep, is for the nodes to find.
    if inside.is_absolute() || script.contains('{') || folder.join(&inside).exists() || !folder.is_dir() {
        return Ok(());
    }
    let (inside, folder) = (inside.display(), folder.display());
    Err(CommandProblem::usage(
        Text::new(
            format!("--source {folder} 中没有脚本 {inside}"),
            format!("there is no {inside} in --source {folder}"),
        ),
        Text::new(
            "脚本的路径从 --source 的目录算起（--workdir 为其中的目录）",
            "the script's path begins at the folder of --source, or at --workdir inside it",
        ),
    ))
}

/// The file that Python runs, where the command is one.
fn script_of(argv: &[String]) -> Option<&str> {
    let mut words = argv.iter().map(String::as_str);
    let first = words.next()?;
    let script = if matches!(first, "python" | "python3") {
        // Behind -m, -c and what they take nothing is a script.
        words.find(|word| *word != "-u")?
    } else {
        first
    };
    (script.ends_with(".py") && !script.starts_with('-')).then_some(script)
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = "{msg} [{bar:30}] {bytes}/{total_bytes}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(pick("发送代码", "sending the code"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The files, in an order that is the same everywhere, so that the same code has the same digest.
fn look(folder: &Path) -> Result<Contents, CommandProblem> {
    let mut contents = Contents { files: Vec::new(), bytes: 0 };
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        let entries = fs::read_dir(folder.join(&relative)).map_err(|error| unreadable(folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let name = entry.file_name();
            let is_left_out = name.to_str().is_some_and(|name| LEFT_OUT.contains(&name) || name.ends_with(".pyc"));
            let kind = entry.file_type().map_err(|error| unreadable(folder, &error))?;
            let path = relative.join(name);
            if is_left_out {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                if kind.is_symlink() {
                    check_link(folder, &path)?;
                }
                contents.bytes += entry.metadata().map_or(0, |metadata| metadata.len());
                contents.files.push(path);
            }
            if contents.bytes > MOST_BYTES {
                return Err(too_large(folder));
            }
        }
    }
    contents.files.sort();
    Ok(contents)
}

/// A link that leads out of the folder, or might by another one, leads nowhere on a node, which would refuse the whole archive.
fn check_link(folder: &Path, link: &Path) -> Result<(), CommandProblem> {
    let target = fs::read_link(folder.join(link)).map_err(|error| unreadable(folder, &error))?;
    let depth = link.components().count().saturating_sub(1);
    if fermi_agent::stays_inside(&target, depth) {
        return Ok(());
    }
    let (link, target) = (link.display(), target.display());
    Err(CommandProblem::usage(
        Text::new(
            format!("--source 中的链接 {link} 指向目录之外，或在名称之后又用 .. 向上：{target}"),
            format!("the link {link} in --source leads out of the folder, or climbs by .. behind a name: {target}"),
        ),
        Text::new(
            "把它换成文件本身，或用 --source-path 指向各节点共享的目录",
            "put the file itself in its place, or name a folder that all nodes share with --source-path",
        ),
    ))
}

fn pack(folder: &Path, contents: &Contents) -> io::Result<File> {
    let file = tempfile::tempfile()?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    // Times and owners of this machine do not belong to the code and would change the digest.
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    for path in &contents.files {
        archive.append_path_with_name(folder.join(path), path)?;
    }
    let mut file = archive.into_inner()?.finish()?;
    file.flush()?;
    Ok(file)
}

/// `sha256:…` of the whole file, which is left at its beginning.
fn digest(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(format!("sha256:{}", HEXLOWER.encode(&hash.finalize())))
}

fn unreadable(folder: &Path, error: &io::Error) -> CommandProblem {
    let (folder, why) = (folder.display(), reason::of_io(error));
    CommandProblem::usage(
        Text::new(format!("无法打包 {folder}：{}", why.zh), format!("{folder} cannot be packed: {}", why.en)),
        Text::new("--source 指向一个可读的代码目录", "--source names a folder of code that can be read"),
    )
}

fn too_large(folder: &Path) -> CommandProblem {
    let (folder, most) = (folder.display(), span::bytes(MOST_BYTES));
    CommandProblem::Own {
        message: Text::new(format!("{folder} 超过 {most}"), format!("{folder} is larger than {most}")),
        hint: Text::new(
            "代码随任务发送，数据请注册为数据集（fermi dataset create），或用 --source-path 指向共享磁盘",
            "code travels with the task; register data with 'fermi dataset create', or name a shared disk with --source-path",
        ),
        code: exit_code::USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_is_not_in_the_folder_is_named_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/train.py"), "").unwrap();
        let is_taken = |directory: Option<&str>, command: &str| {
            let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
            require_script(folder.path(), directory, &argv).is_ok()
        };
        for command in ["src/train.py", "python -u src/train.py", "python -m a.py", "sh no.py", "/x/no.py", "{v}.py"] {
            assert!(is_taken(None, command), "{command}");
        }
        for command in ["nofile.py", "train.py --epochs 3", "python3 nofile.py"] {
            assert!(!is_taken(None, command), "{command}");
        }
        assert!(is_taken(Some("src"), "train.py") && is_taken(Some("/elsewhere"), "no.py"));
    }

    #[test]
    fn a_link_that_leads_out_is_named_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lib")).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        link("../train.py", "lib/inside");
        assert!(look(folder.path()).is_ok());
        link("../../elsewhere", "lib/outside");
        let problem = format!("{:?}", look(folder.path()).unwrap_err());
        assert!(problem.contains("lib/outside"), "{problem}");
    }

    #[test]
    fn the_same_code_has_the_same_digest_and_what_is_no_code_stays_here() {
        let make = || {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in
                [("train.py", "x"), ("lib/a.py", "y"), (".git/HEAD", "z"), ("lib/__pycache__/a.pyc", "w")]
            {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let contents = look(folder.path()).unwrap();
            assert_eq!(contents.files, [PathBuf::from("lib/a.py"), PathBuf::from("train.py")]);
            digest(&mut pack(folder.path(), &contents).unwrap()).unwrap()
        };
        assert_eq!(make(), make());
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused() {
        assert!(look(Path::new("/nonexistent/folder")).is_err());
    }
}
