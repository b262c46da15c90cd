//! Whether all nodes have one folder, or the same in each.

use std::collections::BTreeMap;

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use super::named;
use crate::nodes::survey::{FolderSeen, FolderSurvey, Survey};
use crate::{Finding, Topic};

pub fn check(survey: &Survey) -> Vec<Finding> {
    let Some(folder) = &survey.folder else { return Vec::new() };
    let mut findings: Vec<Finding> = folder.nodes.iter().filter_map(|(node, seen)| bad(survey, *node, seen)).collect();
    let is_found = |(_, seen): &&(usize, FolderSeen)| matches!(seen, FolderSeen::Found { .. });
    if folder.nodes.iter().filter(is_found).count() > 1 {
        findings.extend(shared(survey, folder).or_else(|| same(survey, folder)));
    }
    findings
}

fn bad(survey: &Survey, node: usize, seen: &FolderSeen) -> Option<Finding> {
    let path = &survey.folder.as_ref()?.path;
    let name = survey.name(node);
    let (zh, en) = match seen {
        FolderSeen::Found { .. } => return None,
        FolderSeen::Failed(reason) => {
            let why = reason.text();
            (format!("{name} 上无法读取 {path}：{}", why.zh), format!("{path} cannot be read on {name}: {}", why.en))
        }
        FolderSeen::Late { seconds } => (
            format!("{name} 上的 {path} 在 {seconds} 秒内没有应答：磁盘挂住了"),
            format!("{path} on {name} did not answer within {seconds} s: the disk hangs"),
        ),
    };
    let fix = Text::new("在该节点上看挂载与权限", "see what is mounted there, and who may read it");
    let finding = Finding::error("folder.read", Topic::Disk, Text::new(zh, en)).of(node);
    Some(finding.fix(fix, format!("ls -ld {path}; findmnt -T {path}")))
}

/// None where the mark does not prove it to be one folder and tells no contradiction either.
fn shared(survey: &Survey, folder: &FolderSurvey) -> Option<Finding> {
    let path = &folder.path;
    let mut seeing = Vec::new();
    let mut blind = Vec::new();
    for (node, seen) in &folder.nodes {
        if let FolderSeen::Found { sees_mark: Some(sees), .. } = seen {
            if *sees { seeing.push(*node) } else { blind.push(*node) }
        }
    }
    if blind.is_empty() && !seeing.is_empty() {
        let text =
            Text::new(format!("{path} 在所有节点上是同一个文件夹"), format!("{path} is one folder on all nodes"));
        return Some(Finding::ok("folder.shared", Topic::Disk, text));
    }
    // Each has its own, as is usual of local disks.
    if seeing.len() < 2 {
        return None;
    }
    let names = named(survey, blind.iter().copied());
    let text = Text::new(
        format!("{path} 在 {names} 上是另一个文件夹，在其他节点上是共享的"),
        format!("{path} is another folder on {names}, while the other nodes share one"),
    );
    let fix = Text::new("在这些节点上挂载同一个共享盘", "mount the shared disk there too");
    let finding = Finding::error("folder.shared", Topic::Disk, text).fix(fix, format!("findmnt -T {path}"));
    Some(blind.into_iter().fold(finding, Finding::of))
}

/// Of folders that are each node's own: whether the same lies in them.
fn same(survey: &Survey, folder: &FolderSurvey) -> Option<Finding> {
    let path = &folder.path;
    let mut kinds: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    let mut is_counted = true;
    for (node, seen) in &folder.nodes {
        if let FolderSeen::Found { entries, bytes, is_whole, .. } = seen {
            is_counted &= is_whole;
            kinds.entry((*entries, *bytes)).or_default().push(*node);
        }
    }
    let unproven = folder.unmarked.as_ref();
    let with = |finding: Finding| match unproven {
        Some(why) => finding.seen(why.clone()),
        None => finding,
    };
    if !is_counted {
        let text = Text::new(
            format!("{path} 在各节点上太大，没有数完，无法比较"),
            format!("{path} is too large to be counted and compared"),
        );
        return Some(with(Finding::skipped("folder.same", Topic::Disk, text)));
    }
    if kinds.len() == 1 {
        let text = Text::new(
            format!("{path} 不是共享的，但各节点上的文件数与大小相同"),
            format!("{path} is not shared; all nodes have as many files of the same size there"),
        );
        return Some(with(Finding::ok("folder.same", Topic::Disk, text)));
    }
    let each = kinds.iter().map(|((entries, bytes), nodes)| {
        let (size, names) = (Bytes(*bytes).rounded(), named(survey, nodes.iter().copied()));
        (format!("{entries} 个文件，{size}：{names}"), format!("{entries} entries, {size}: {names}"))
    });
    let (zh, en): (Vec<String>, Vec<String>) = each.unzip();
    let text = Text::new(
        format!("{path} 在各节点上不同：{}", zh.join("；")),
        format!("{path} differs between nodes: {}", en.join("; ")),
    );
    let fix = Text::new("使用共享盘，或把数据复制完整", "use a shared disk, or copy all of the data");
    let usual = kinds.values().map(Vec::len).max().unwrap_or(0);
    let odd: Vec<usize> = kinds.values().filter(|nodes| nodes.len() < usual).flatten().copied().collect();
    let finding = Finding::error("folder.same", Topic::Disk, text).fix(fix, format!("du -s --apparent-size {path}"));
    Some(with(odd.into_iter().fold(finding, Finding::of)))
}
