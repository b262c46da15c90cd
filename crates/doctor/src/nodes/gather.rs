//! The first node lets the others in.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use fermi_domain::language::Text;

use super::message::{Greeting, NodeOrder};
use super::{NodesOptions, frame, proof};

/// A caller that does not introduce itself in this time is no node.
const INTRODUCTION: Duration = Duration::from_secs(3);
/// Callers that may be on their way to introduce themselves.
const MOST_CALLERS: usize = 256;
/// More than a machine has that others reach.
const MOST_ADDRESSES: usize = 64;

/// A node that has come.
#[derive(Debug)]
pub struct Member {
    pub greeting: Greeting,
    pub stream: TcpStream,
}

/// Waits until all are there or the time is up. The listener goes on to let callers in, and hangs up on them.
pub fn gather(listener: TcpListener, options: &NodesOptions) -> Vec<Member> {
    let deadline = Instant::now() + options.join;
    let (found, callers) = channel();
    let _ = thread::Builder::new().name("door".into()).spawn(move || {
        let callers = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming().flatten() {
            if callers.fetch_add(1, Ordering::Relaxed) >= MOST_CALLERS {
                callers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (found, callers) = (found.clone(), callers.clone());
            // A caller that stays silent does not keep the others waiting.
            let waiting = callers.clone();
            let introduce = move || {
                if let Ok(mut greeting) = frame::receive::<Greeting>(&stream, Instant::now() + INTRODUCTION) {
                    greeting.addresses.truncate(MOST_ADDRESSES);
                    let _ = found.send(Member { greeting, stream });
                }
                callers.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().name("caller".into()).spawn(introduce).is_err() {
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    });
    let mut members: Vec<Member> = Vec::new();
    while members.len() + 1 < options.nnodes {
        match callers.recv_timeout(frame::left(deadline)) {
            Ok(caller) => match refusal(&caller.greeting, &members, options) {
                None => {
                    if let Some(word) = &options.word {
                        let known = NodeOrder::Known { proof: proof::of_first(word, &caller.greeting.fresh) };
                        let _ = frame::send(&caller.stream, &known, Instant::now() + INTRODUCTION);
                    }
                    members.push(caller);
                }
                Some(reason) => {
                    let _ = frame::send(&caller.stream, &NodeOrder::Refused { reason }, Instant::now() + INTRODUCTION);
                }
            },
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    members.sort_by_key(|member| member.greeting.node_rank);
    members
}

fn refusal(greeting: &Greeting, members: &[Member], options: &NodesOptions) -> Option<Text> {
    let (rank, theirs, ours) = (greeting.node_rank, greeting.nnodes, options.nnodes);
    let proves = |word: &String| proof::is(&proof::of_member(word, rank, &greeting.fresh), &greeting.proof);
    if !options.word.as_ref().is_none_or(proves) {
        return Some(Text::new(
            "这个端口上正在进行服务器发起的预检",
            "a preflight that a server has asked for is going on at this port",
        ));
    }
    if theirs != ours {
        return Some(Text::new(
            format!("节点数不同：本节点 --nnodes {theirs}，节点 0 为 {ours}"),
            format!("this node has --nnodes {theirs}, node 0 has {ours}"),
        ));
    }
    if rank == 0 || rank >= ours {
        return Some(Text::new(
            format!("--node-rank {rank} 不可用：其他节点为 1 到 {}", ours - 1),
            format!("--node-rank {rank} is not free: the other nodes are 1 to {}", ours - 1),
        ));
    }
    let holder = members.iter().find(|member| member.greeting.node_rank == rank)?;
    let name = &holder.greeting.name;
    Some(Text::new(
        format!("--node-rank {rank} 已属于 {name}"),
        format!("--node-rank {rank} belongs to {name} already"),
    ))
}
