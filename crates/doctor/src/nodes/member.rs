//! Every node but the first: comes, obeys, and hears how it ended.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fermi_domain::language::{Explained, Hint, Text, reason};

use super::candidates::candidates;
use super::message::{Greeting, NodeAnswer, NodeOrder};
use super::obey::Obedient;
use super::{NodesOptions, frame, proof, responder};
use crate::facts::MachineFacts;
use crate::look::{self, Step};

const ONE_TRY: Duration = Duration::from_millis(1_500);
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// No step of the first node takes longer than all of them together.
const ORDER: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(5);
/// Nothing listens there on any sane machine: a refusal shows that the machine is up.
const NO_SERVICE: u16 = 1;

/// How it ended, as the first node says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub errors: usize,
    pub said: Vec<Text>,
}

/// Why this node could not take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinProblem {
    Unresolved {
        master: String,
    },
    /// The machine is there, and nothing listens at the port.
    NotStarted {
        master: String,
        port: u16,
        seconds: u64,
    },
    /// The machine is there, and what is sent to the port disappears.
    PortDropped {
        master: String,
        port: u16,
    },
    Silent {
        master: String,
        port: u16,
        seconds: u64,
    },
    /// Something else has the port.
    Stranger {
        master: String,
        port: u16,
    },
    Refused {
        reason: Text,
    },
    /// The first node was lost.
    Lost,
    /// This node cannot even listen.
    Socket {
        reason: Text,
    },
}

impl JoinProblem {
    fn told(&self) -> (Text, Hint) {
        match self {
            Self::Unresolved { master } => (
                Text::new(
                    format!("主节点的名称 {master} 在本机无法解析"),
                    format!("the master's name {master} does not resolve here"),
                ),
                Hint::new("使用 IP 地址，或写进 /etc/hosts", "use its IP address, or put the name into /etc/hosts"),
            ),
            Self::NotStarted { master, port, seconds } => (
                Text::new(
                    format!("{seconds} 秒内 {master}:{port} 没有程序监听；机器可达"),
                    format!("nothing listened at {master}:{port} for {seconds} s; the machine answers"),
                ),
                Hint::new(
                    "先在主节点上启动 fermi doctor --node-rank 0",
                    "start fermi doctor --node-rank 0 on the master",
                ),
            ),
            Self::PortDropped { master, port } => (
                Text::new(
                    format!("{master} 可达，但发往端口 {port} 的包被丢弃：防火墙"),
                    format!("{master} answers, but what is sent to port {port} disappears: a firewall"),
                ),
                Hint::new(
                    format!("在主节点上放行：sudo firewall-cmd --add-port={port}/tcp 或 sudo ufw allow {port}/tcp"),
                    format!(
                        "let it in on the master: sudo firewall-cmd --add-port={port}/tcp, or sudo ufw allow {port}/tcp"
                    ),
                ),
            ),
            Self::Silent { master, port, seconds } => (
                Text::new(
                    format!("{seconds} 秒内连接不到 {master}:{port}，机器没有任何应答"),
                    format!("{master}:{port} could not be reached for {seconds} s; the machine does not answer at all"),
                ),
                Hint::new(
                    format!("检查地址与路由：ip route get {master}；确认主节点已开机"),
                    format!("check address and route (ip route get {master}), and that the machine is up"),
                ),
            ),
            Self::Stranger { master, port } => (
                Text::new(
                    format!("{master}:{port} 上的不是 fermi doctor"),
                    format!("what answers at {master}:{port} is no fermi doctor"),
                ),
                Hint::new(
                    "换一个 --master-port，所有节点相同；各节点的 fermi 版本要一致",
                    "choose another --master-port, the same on all nodes; have the same fermi on all",
                ),
            ),
            Self::Refused { reason } => (
                Text::new(
                    format!("节点 0 拒绝了本节点：{}", reason.zh),
                    format!("node 0 turned this node away: {}", reason.en),
                ),
                Hint::new(
                    "让各节点的 --nnodes 相同、--node-rank 各不相同",
                    "give all nodes the same --nnodes and each its own --node-rank",
                ),
            ),
            Self::Lost => (
                Text::new("与节点 0 的连接断了", "the connection to node 0 was lost"),
                Hint::new("查看节点 0 上的输出", "see what node 0 says"),
            ),
            Self::Socket { reason } => (
                Text::new(format!("本机无法监听：{}", reason.zh), format!("this machine cannot listen: {}", reason.en)),
                Hint::new("检查系统限制：ulimit -n", "check the limits: ulimit -n"),
            ),
        }
    }
}

impl Explained for JoinProblem {
    fn id(&self) -> &'static str {
        "doctor_not_joined"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

/// Takes part until the first node says that it is over.
pub fn run(options: &NodesOptions, look: Step<MachineFacts>) -> Result<Told, JoinProblem> {
    let socket = |error: io::Error| JoinProblem::Socket { reason: reason::of_io(&error) };
    let port = responder::start().map_err(socket)?;
    // Whoever has the port already, a firewall cannot be told apart from it, so it is not tried then; nor where the first node
    // is on this machine, which may come later and needs the port itself.
    let door = (!is_here(&options.master_addr)).then(|| responder::listen(options.master_port).ok()).flatten();
    let fresh = proof::fresh();
    let greeting = Greeting {
        proof: options.word.as_ref().map(|word| proof::of_member(word, options.node_rank, &fresh)).unwrap_or_default(),
        fresh: fresh.clone(),
        node_rank: options.node_rank,
        nnodes: options.nnodes,
        name: options.name.clone(),
        port,
        has_master_port: door.is_some(),
        addresses: candidates(),
        knows_engines: true,
        knows_pairs: true,
    };
    if let Some(door) = door {
        responder::hang_up_on(door);
    }
    let stream = dial(options)?;
    frame::send(&stream, &greeting, Instant::now() + ANSWER).map_err(|_| JoinProblem::Lost)?;
    if let Some(word) = &options.word {
        recognise(&stream, &proof::of_first(word, &fresh), options)?;
    }
    let look = Mutex::new(Some(look));
    let me = Obedient { node: options.node_rank, look, python: options.python.clone() };
    obey(&stream, &me, options)
}

/// Whether a name leads to this machine.
fn is_here(master: &str) -> bool {
    let own: Vec<IpAddr> = look::own_addresses().into_iter().map(|(_, ip)| ip).collect();
    let mut found = (master, NO_SERVICE).to_socket_addrs().into_iter().flatten().map(|address| address.ip());
    found.any(|ip| ip.is_loopback() || own.contains(&ip))
}

/// Nothing is done for one who is not the first of this preflight.
fn recognise(stream: &TcpStream, expected: &str, options: &NodesOptions) -> Result<(), JoinProblem> {
    match hear(stream, options.join + ORDER, options)? {
        NodeOrder::Known { proof: shown } if proof::is(expected, &shown) => Ok(()),
        NodeOrder::Refused { reason } => Err(JoinProblem::Refused { reason }),
        _ => Err(stranger(options)),
    }
}

fn stranger(options: &NodesOptions) -> JoinProblem {
    JoinProblem::Stranger { master: options.master_addr.clone(), port: options.master_port }
}

fn hear(stream: &TcpStream, patience: Duration, options: &NodesOptions) -> Result<NodeOrder, JoinProblem> {
    frame::receive::<NodeOrder>(stream, Instant::now() + patience).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => stranger(options),
        _ => JoinProblem::Lost,
    })
}

fn obey(stream: &TcpStream, me: &Obedient, options: &NodesOptions) -> Result<Told, JoinProblem> {
    let mut patience = options.join + ORDER;
    loop {
        let order = hear(stream, patience, options)?;
        patience = ORDER;
        let answer: NodeAnswer = match order {
            NodeOrder::Done { errors, said } => return Ok(Told { errors, said }),
            NodeOrder::Refused { reason } => return Err(JoinProblem::Refused { reason }),
            order => match me.obey(&order) {
                Some(answer) => answer,
                None => continue,
            },
        };
        frame::send(stream, &answer, Instant::now() + ANSWER).map_err(|_| JoinProblem::Lost)?;
    }
}

/// The master may start later than this node: its port is tried until the time is up.
fn dial(options: &NodesOptions) -> Result<TcpStream, JoinProblem> {
    let NodesOptions { master_addr, master_port: port, join, .. } = options;
    let (master, port, seconds) = (master_addr.clone(), *port, join.as_secs());
    let deadline = Instant::now() + *join;
    let mut last = None;
    loop {
        let addresses: Vec<SocketAddr> =
            (master.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        for address in &addresses {
            match TcpStream::connect_timeout(address, ONE_TRY.min(frame::left(deadline))) {
                // With nobody listening yet, TCP may connect a socket to itself.
                Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {}
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => last = Some((*address, error.kind())),
            }
        }
        if Instant::now() + BETWEEN_TRIES >= deadline {
            return Err(match last {
                None => JoinProblem::Unresolved { master },
                Some((_, io::ErrorKind::ConnectionRefused)) => JoinProblem::NotStarted { master, port, seconds },
                Some((address, _)) if is_up(address) => JoinProblem::PortDropped { master, port },
                Some(_) => JoinProblem::Silent { master, port, seconds },
            });
        }
        thread::sleep(BETWEEN_TRIES);
    }
}

fn is_up(mut address: SocketAddr) -> bool {
    address.set_port(NO_SERVICE);
    match TcpStream::connect_timeout(&address, ONE_TRY) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
    }
}
