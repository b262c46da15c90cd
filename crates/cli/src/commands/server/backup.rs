//! `fermi server backup` and `fermi server restore`.

use std::path::PathBuf;
use std::process::ExitCode;

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;
use fermi_server::backup::{self, Manifest, RestoredFolder};
use serde_json::json;

use super::data_dir;
use crate::connection::{CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table;

/// Copy everything that a server keeps to a folder, while it runs
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: fermi server backup /backup/fermi-monday --logs")]
pub struct BackupFlags {
    /// The folder to make
    to: PathBuf,
    /// The server's data folder [default: the state folder's server/]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Also what ranks have written
    #[arg(long)]
    logs: bool,
    /// What was copied as JSON
    #[arg(long)]
    json: bool,
}

/// Put a backup back; the server of the folder must not run, trainings go on
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: fermi server restore /backup/fermi-monday")]
pub struct RestoreFlags {
    /// The folder that `fermi server backup` has made
    #[arg(required_unless_present = "here")]
    from: Option<PathBuf>,
    /// The data folder itself was put back by other means, such as a snapshot of its disk: only take note of it
    #[arg(long, conflicts_with = "from")]
    here: bool,
    /// The server's data folder [default: the state folder's server/]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// What was done as JSON
    #[arg(long)]
    json: bool,
}

pub fn back_up(flags: &BackupFlags) -> Outcome {
    let data = data_dir(flags.data_dir.clone())?;
    let manifest = backup::back_up(&data, &flags.to, flags.logs, span::now_ms());
    let manifest = manifest.map_err(|error| CommandProblem::of(&error))?;
    if flags.json {
        speech::print(&format!("{}\n", json!(manifest)));
        return Ok(ExitCode::SUCCESS);
    }
    speech::print(&told(&manifest, Paint::for_stdout()));
    Ok(ExitCode::SUCCESS)
}

fn told(manifest: &Manifest, paint: Paint) -> String {
    let logs = if manifest.has_logs {
        pick("包含", "included")
    } else {
        pick("不包含（--logs）", "not included (--logs)")
    };
    table::facts(
        [
            (pick("集群", "cluster"), Some(manifest.cluster.clone())),
            (pick("最新任务", "newest task"), Some(format!("task-{}", manifest.last_task))),
            (pick("文件", "files"), Some(format!("{}, {}", manifest.files, Bytes(manifest.bytes).rounded()))),
            (pick("日志", "logs"), Some(logs.to_owned())),
            (pick("密钥", "secrets"), sealed(manifest)),
        ],
        paint,
    )
}

/// Says that the key is not in the backup, where something hangs on it.
fn sealed(manifest: &Manifest) -> Option<String> {
    let count = manifest.secrets;
    (count > 0).then(|| {
        said(
            format!("{count} 个，已加密；密钥文件 secrets.key 不在备份中，请另行保存"),
            format!(
                "{count}, sealed; their key, secrets.key of the data folder, is not in the backup: keep it elsewhere"
            ),
        )
    })
}

fn said(zh: String, en: String) -> String {
    Text::new(zh, en).in_language(speech::language()).to_owned()
}

pub fn restore(flags: &RestoreFlags) -> Outcome {
    let data = data_dir(flags.data_dir.clone())?;
    let restored = match &flags.from {
        Some(from) => backup::restore(from, &data, span::now_ms()),
        None => backup::restored_by_other_means(&data, span::now_ms()),
    };
    let RestoredFolder { manifest, set_aside, last_number, ends, kept } =
        restored.map_err(|error| CommandProblem::of(&error))?;
    if flags.json {
        let answer = json!({ "manifest": manifest, "setAside": set_aside, "lastNumber": last_number, "ends": ends,
            "kept": kept });
        speech::print(&format!("{answer}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown = told(&manifest, Paint::for_stdout());
    if let Some(folder) = set_aside {
        let folder = folder.display();
        shown.push_str(&said(
            format!("\n原来的数据库保存在 {folder}。\n"),
            format!("\nThe database of before is in {folder}.\n"),
        ));
    }
    if ends > 0 {
        shown.push_str(&said(
            format!("有 {ends} 个任务在备份之后已结束：其结果取自原来的数据库，不会再次运行。\n"),
            format!("{ends} of its tasks had ended since: their ends are taken from the database of before, none runs again.\n"),
        ));
    }
    if !kept.is_empty() {
        let kept = kept.join(", ");
        shown.push_str(&said(
            format!("原来的数据库无法读取，不知其属于哪个集群：保留了目录中现有的 {kept}，备份中的未采用。\n"),
            format!(
                "The database of before cannot be read, and whose it was is not known: {kept} of the folder stay as they are; those \
                 of the backup were not put back.\n"
            ),
        ));
    }
    shown.push_str(&said(
        format!(
            "新任务从 task-{} 开始编号。启动服务端后：备份之后启动的训练继续运行，用 fermi server strays 查看；备份中未结束的任\
             务等所有开发环境连接后再启动，机器已关闭的用 fermi env lost 说明。\n",
            last_number + 1
        ),
        format!(
            "New tasks are counted from task-{}. Start the server: trainings that were started since the backup go on, see \
             fermi server strays; tasks of the backup that are not over start once all environments have come; of a machine \
             that is off, say fermi env lost.\n",
            last_number + 1
        ),
    ));
    speech::print(&shown);
    Ok(ExitCode::SUCCESS)
}
