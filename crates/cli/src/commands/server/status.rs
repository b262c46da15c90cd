//! `fermi server status`.

use std::fmt::Write;

use fermi_api::v1::{BackgroundLoop, KeptKind, ServerStatus};
use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{self, Cell, Colour, Table};

/// What a server keeps and why, what its disk has, and how its background loops fare
#[derive(Clone, Debug, clap::Args)]
pub struct StatusFlags {
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &StatusFlags) -> Outcome {
    let answer = flags.ask.connect()?.server_status()?;
    flags.ask.show(&answer, text)
}

fn say(text: &Text) -> String {
    text.in_language(speech::language()).to_owned()
}

fn text(status: &ServerStatus, paint: Paint) -> String {
    let disk = &status.disk;
    let size = |bytes: u64| Bytes(bytes).rounded();
    let dropped = (status.log_bytes_dropped > 0).then(|| size(status.log_bytes_dropped));
    let mut shown = table::facts(
        [
            (pick("集群", "cluster"), Some(format!("{}  fermi {}", status.cluster, status.version))),
            (pick("指纹", "fingerprint"), status.fingerprint.map(|fingerprint| fingerprint.to_string())),
            (pick("数据目录", "data"), Some(status.data_dir.clone())),
            (
                pick("磁盘", "disk"),
                Some(format!(
                    "{} {} / {}, {} {}",
                    pick("剩余", "free"),
                    size(disk.free_bytes),
                    size(disk.size_bytes),
                    pick("为数据库预留", "kept for the database"),
                    size(disk.reserve_bytes)
                )),
            ),
            (pick("未保存的日志", "logs not kept"), dropped),
        ],
        paint,
    );
    if let Some(complaint) = &disk.complaint {
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "\n{} {}", paint.yellow("!"), say(complaint));
    }
    if status.strays > 0 {
        let count = status.strays;
        let text = Text::new(
            format!("{count} 个运行不是由这个数据库启动的；查看：fermi server strays"),
            format!("{count} runs were not launched by this database; see fermi server strays"),
        );
        let _ = writeln!(shown, "\n{} {}", paint.yellow("!"), say(&text));
    }
    for row in &status.unreadable {
        let _ = writeln!(shown, "\n{} {}", paint.yellow("!"), say(row));
    }
    shown.push('\n');
    shown.push_str(&kept(&status.kept).render(paint));
    shown.push('\n');
    shown.push_str(&loops(&status.loops).render(paint));
    shown
}

fn kept(kinds: &[KeptKind]) -> Table {
    let headings = [
        pick("种类", "KIND"),
        pick("数量", "COUNT"),
        pick("大小", "SIZE"),
        pick("已清理", "REMOVED"),
        pick("保留规则", "KEPT"),
    ];
    let mut table = Table::new(headings);
    for kind in kinds {
        table.row([
            Cell::coloured(say(&kind.name), Colour::Strong),
            Cell::number(kind.count.to_string()),
            Cell::number(kind.bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).rounded())),
            Cell::number(kind.removed.to_string()),
            say(&kind.rule).into(),
        ]);
    }
    table
}

fn loops(loops: &[BackgroundLoop]) -> Table {
    let headings = [
        pick("后台循环", "LOOP"),
        pick("运行", "RUNS"),
        pick("失败", "FAILED"),
        pick("上次", "LAST"),
        pick("结果", "OUTCOME"),
    ];
    let mut table = Table::new(headings);
    for background in loops {
        let last = background.last_run.as_ref();
        table.row([
            Cell::coloured(&background.name, Colour::Strong),
            Cell::number(background.runs.to_string()),
            Cell::number((background.failures + background.panics).to_string()),
            last.map_or_else(|| "-".to_owned(), |last| span::long(span::now_ms().saturating_sub(last.ended_at))).into(),
            last.map_or_else(|| "-".to_owned(), |last| last.outcome.clone()).into(),
        ]);
    }
    table
}
