//! A port that the training wanted to open was taken.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "address_in_use",
    class: FailureClass::Platform,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 4] = ["EADDRINUSE", "Address already in use", "address already in use", "errno: 98"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let port =
        scene.line_where(|line| MARKS.iter().any(|mark| line.contains(mark)) && port(line).is_some()).and_then(port);
    let cause = match port {
        Some(port) => Text::new(format!("端口 {port} 已被占用"), format!("Port {port} is already in use")),
        None => Text::new("端口已被占用", "A port is already in use"),
    };
    let shown = port.map_or_else(|| "29500".to_owned(), |port| port.to_string());
    let advice = Text::new(
        format!(
            "ss -ltnp 'sport = :{shown}' 可看到占用者（常为上次训练的残留进程）。不指定端口，\
             由 Fermi 选择并保留空闲端口；或换一个端口，并在所有节点上一致。若脚本自己监听 MASTER_PORT，请把 store 交给 rank 0（fermi run 的参数 store=rank0）"
        ),
        format!(
            "`ss -ltnp 'sport = :{shown}'` shows the holder, often a process left from an earlier run. Name no port, \
             and Fermi chooses a free one and holds it; or name another one, the same on every node. A script that opens \
             MASTER_PORT itself needs the store to be rank 0's (option store=rank0 of fermi run)"
        ),
    );
    Some(Finding::new(Some(line), cause, advice))
}

/// The port in `[::]:29500 (errno: 98`, `port: 29500,` or `('0.0.0.0', 29500)`.
fn port(line: &str) -> Option<u16> {
    if let Some(port) = after(line, "port: ", &[',', ' ', ')']) {
        return port.parse().ok();
    }
    // Shorter numbers are lines of source and error codes; no training uses a port below 1024.
    let digits_after = |rest: &str| -> Option<u16> {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (digits.len() >= 4).then(|| digits.parse().ok()).flatten()
    };
    let mut rest = line;
    while let Some(at) = rest
        .find("]:")
        .map(|at| at + 2)
        .or_else(|| rest.find("', ").map(|at| at + 3))
        .or_else(|| rest.find(':').map(|at| at + 1))
    {
        rest = &rest[at..];
        if let Some(port) = digits_after(rest) {
            return Some(port);
        }
    }
    None
}
