//! What the system lets a process have.

use fermi_domain::language::Text;

use crate::facts::LimitFacts;
use crate::{Finding, Topic};

/// Sockets to all other ranks, data files, shared tensors: each takes a descriptor.
const FILES: u64 = 4_096;
const FILES_NEEDED: u64 = 256;
const PROCESSES: u64 = 4_096;

pub fn check(limits: &LimitFacts, has_infiniband: bool) -> Vec<Finding> {
    let mut findings = vec![files(limits), processes(limits)];
    if has_infiniband {
        findings.push(locked(limits));
    }
    findings
}

fn shown(limit: Option<u64>) -> Text {
    limit.map_or_else(|| Text::new("不限", "no limit"), |limit| Text::new(limit.to_string(), limit.to_string()))
}

fn files(limits: &LimitFacts) -> Finding {
    let (now, hard) = (shown(limits.open_files), shown(limits.open_files_hard));
    let seen = Text::new(
        format!("ulimit -n 为 {}，最多可到 {}", now.zh, hard.zh),
        format!("ulimit -n is {}, at most {}", now.en, hard.en),
    );
    match limits.open_files {
        Some(files) if files < FILES => {
            let text = Text::new(
                "允许打开的文件太少，DataLoader 会以 Too many open files 失败",
                "few files may be open: data loaders fail with “Too many open files”",
            );
            let fix = Text::new("在启动前提高", "raise it before the start");
            let finding = if files < FILES_NEEDED { Finding::error } else { Finding::warning }(
                "limits.files",
                Topic::Limits,
                text,
            );
            finding.seen(seen).fix(fix, "ulimit -n 65536")
        }
        _ => Finding::ok(
            "limits.files",
            Topic::Limits,
            Text::new(format!("可打开文件数：{}", now.zh), format!("open files: {}", now.en)),
        ),
    }
}

fn processes(limits: &LimitFacts) -> Finding {
    let least = [limits.processes, limits.cgroup_processes].into_iter().flatten().min();
    let now = shown(least);
    match least {
        Some(processes) if processes < PROCESSES => {
            let by_cgroup = limits.cgroup_processes == Some(processes);
            let text = Text::new(
                format!("进程与线程最多 {processes} 个，多 rank 训练可能起不来"),
                format!("at most {processes} processes and threads: a training with many ranks may not start"),
            );
            let fix = Text::new("提高上限", "raise the limit");
            let command = if by_cgroup {
                "cat /sys/fs/cgroup/pids.max   # docker run --pids-limit=-1, systemd: TasksMax=infinity"
            } else {
                "ulimit -u unlimited"
            };
            Finding::warning("limits.processes", Topic::Limits, text).fix(fix, command)
        }
        _ => Finding::ok(
            "limits.processes",
            Topic::Limits,
            Text::new(format!("进程与线程数：{}", now.zh), format!("processes and threads: {}", now.en)),
        ),
    }
}

/// InfiniBand pins the memory that it sends from.
fn locked(limits: &LimitFacts) -> Finding {
    match limits.locked_memory {
        None => Finding::ok("limits.locked", Topic::Limits, Text::new("可锁定内存：不限", "locked memory: no limit")),
        Some(bytes) => {
            let text = Text::new(
                format!("可锁定内存只有 {} KB，InfiniBand 无法注册缓冲区", bytes >> 10),
                format!("only {} KB of memory may be locked: InfiniBand cannot register its buffers", bytes >> 10),
            );
            let fix = Text::new(
                "改为不限；容器用 --ulimit memlock=-1",
                "lift the limit; for a container with --ulimit memlock=-1",
            );
            Finding::error("limits.locked", Topic::Limits, text).fix(fix, "ulimit -l unlimited")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::states;
    use super::*;
    use crate::State::{Error, Ok, Warning};

    #[test]
    fn limits_are_judged_by_what_a_training_needs() {
        let limits = |files, processes, locked| LimitFacts {
            open_files: files,
            processes,
            locked_memory: locked,
            ..LimitFacts::default()
        };
        let found = |limits: &LimitFacts, infiniband| {
            states(&check(limits, infiniband)).into_iter().map(|(_, state)| state).collect::<Vec<_>>()
        };
        assert_eq!(found(&limits(None, None, Some(64 << 10)), false), [Ok, Ok]);
        assert_eq!(found(&limits(Some(1_024), Some(100), Some(64 << 10)), true), [Warning, Warning, Error]);
        assert_eq!(found(&limits(Some(64), None, None), true), [Error, Ok, Ok]);
        let in_container = LimitFacts { cgroup_processes: Some(512), ..LimitFacts::default() };
        assert_eq!(found(&in_container, false), [Ok, Warning]);
    }
}
