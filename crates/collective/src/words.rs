//! The sentences of errors in Chinese; those in English are their `Display`.

use crate::error::{ConnectError, Operation, OperationError};
use crate::nccl::NcclProblem;

/// An error that people of both languages are told.
pub trait InChinese: std::error::Error {
    fn zh(&self) -> String;
}

impl InChinese for ConnectError {
    fn zh(&self) -> String {
        match self {
            Self::NoSuchRank { rank, world_size } => format!("共 {world_size} 个 rank，从 0 开始，没有 rank {rank}"),
            Self::Listen { port, .. } => format!("rank 0 无法监听端口 {port}"),
            Self::Unreachable { address, waited_s, .. } => {
                format!("{waited_s:.0} 秒内连接不到 {address} 上的 rank 0")
            }
            Self::NoAnswer { address, waited_s } => {
                format!("{address} 上的 rank 0 在 {waited_s:.0} 秒内没有应答，可能还在等其他 rank")
            }
            Self::Stranger { address, what } => format!("{address} 上的不是本次运行的 rank 0：{}", misspoken(what)),
            Self::Refused { by, reason } => format!("rank {by} 拒绝了本 rank：{reason}"),
            Self::Conflict { reason } => format!("本次运行的各 rank 互相矛盾：{reason}"),
            Self::Missing { ranks, waited_s, refused } => {
                let names = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join("、");
                let missing = format!("rank {names} 在 {waited_s:.0} 秒内没有来");
                match refused.is_empty() {
                    true => missing,
                    false => format!("{missing}；期间拒绝了：{}", refused.join("；")),
                }
            }
            Self::Lost { rank, .. } => format!("会合时与 rank {rank} 的连接断了"),
            Self::NeighbourUnreachable { rank, address, .. } => {
                format!("连接不到 {address} 上的 rank {rank}；每个 rank 都要能连到它右边的 rank")
            }
            Self::NeighbourMissing { rank, waited_s } => {
                format!("rank {rank} 在 {waited_s:.0} 秒内没有连接本 rank，中间可能有防火墙")
            }
            Self::Socket(_) => "套接字无法使用".to_owned(),
        }
    }
}

/// What a stranger does, as [`crate::hello::FrameError`] says it.
fn misspoken(what: &str) -> String {
    match what {
        "spoke no Fermi" => "它不使用 Fermi 的协议".to_owned(),
        "sent a message that cannot be read" => "它发来的消息无法读取".to_owned(),
        "hung up" => "它挂断了".to_owned(),
        "knows a different number of ranks" => "它知道的 rank 数不同".to_owned(),
        other => other.to_owned(),
    }
}

impl InChinese for OperationError {
    fn zh(&self) -> String {
        match self {
            Self::Lost { rank, operation, .. } => format!("{operation} 时与 rank {rank} 的连接断了"),
            Self::Silent { rank, operation, waited_s } => {
                format!("{operation} 时 rank {rank} 有 {waited_s:.0} 秒没有动静")
            }
            Self::OutOfStep { rank, theirs, ours } => {
                format!("rank {rank} 步调不一致：它发来 {theirs}，本 rank 在等 {ours}")
            }
            Self::NoSuchRoot { root, world_size } => {
                format!("共 {world_size} 个 rank，没有可以 {} 的 rank {root}", Operation::Broadcast)
            }
        }
    }
}

impl InChinese for NcclProblem {
    fn zh(&self) -> String {
        match self {
            Self::NoDriver(said) => format!("无法加载 libcuda.so.1：{}", unloaded(said)),
            Self::NoGpu { local_rank, devices } => {
                format!("本机 rank {local_rank} 没有 GPU：驱动显示 {devices} 块")
            }
            Self::NoLibrary(said) => format!("无法加载 libnccl.so.2：{}", unloaded(said)),
            Self::Failed { call, said } => format!("{call}：{said}"),
            Self::Late { call, seconds } => format!("{call} 在 {seconds} 秒内没有完成"),
            Self::Meeting(error) => error.zh(),
        }
    }
}

/// Why the dynamic linker did not load a library.
fn unloaded(said: &str) -> String {
    match said {
        said if said.contains("No such file or directory") => "没有这个文件".to_owned(),
        said if said.contains("invalid ELF header") || said.contains("file too short") => "它不是动态库".to_owned(),
        said if said.contains("wrong ELF class") => "它是另一种处理器的库".to_owned(),
        said if said.contains("Permission denied") => "没有权限".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_same_ranks_in_both_languages() {
        let missing = ConnectError::Missing { ranks: vec![1, 2], waited_s: 4.0, refused: vec![] };
        assert_eq!(missing.zh(), "rank 1、2 在 4 秒内没有来");
        let silent = OperationError::Silent { rank: 3, operation: Operation::AllReduce, waited_s: 4.0 };
        assert_eq!(silent.zh(), "all-reduce 时 rank 3 有 4 秒没有动静");
        assert_eq!(NcclProblem::Meeting(silent).zh(), "all-reduce 时 rank 3 有 4 秒没有动静");
    }

    #[test]
    fn the_linkers_words_have_chinese_ones_where_they_are_usual() {
        let said = "libcuda.so.1: cannot open shared object file: No such file or directory";
        assert_eq!(NcclProblem::NoDriver(said.into()).zh(), "无法加载 libcuda.so.1：没有这个文件");
        assert_eq!(NcclProblem::NoLibrary("/x: odd".into()).zh(), "无法加载 libnccl.so.2：/x: odd");
    }

    #[test]
    fn a_stranger_is_described_in_chinese() {
        use crate::hello::FrameError;
        for error in [FrameError::NotFermi, FrameError::Unreadable] {
            assert!(!misspoken(&error.to_string()).is_ascii(), "{error}");
        }
    }
}
