//! `fermi bench collective`: how fast ranks exchange data over TCP, and over NCCL where it is there, by size, in the terms
//! of nccl-tests.
//!
//! With RANK and its kin set it is one of the ranks of a run; without them it becomes `fermi run` with itself as the ranks.

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fermi_collective::bench::{self, Buffers, Measured, Row, TcpBuffers};
use fermi_collective::nccl::{self, NcclDevice, NcclRanks};
use fermi_collective::{Communicator, InChinese, OperationError, Rendezvous};
use fermi_domain::contract::{
    FERMI_TASK_ID, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, RANK, TORCHELASTIC_RUN_ID, VIRTUAL_ENV,
    WORLD_SIZE,
};
use fermi_domain::language::{Language, Notice, Text, reason};
use fermi_domain::units::Bytes;
use serde_json::{Value, json};

use crate::commands::usage::Expected;
use crate::{exit_code, speech};

const GIB: u64 = 1 << 30;
/// A size that would take longer than this by the one before is left out, and all larger ones.
const PATIENCE_S: f64 = 30.0;
/// Operations that a size takes at least: one to check, one to warm up, three to measure.
const OPERATIONS: f64 = 5.0;
const MEETING: Duration = Duration::from_secs(60);

/// Time all-reduce, all-gather, reduce-scatter and broadcast over TCP and NCCL, by size, as nccl-tests does
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi bench collective -n 2   or, on each of several machines: fermi run --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 -n 1 --no-python fermi bench collective"
)]
pub struct CollectiveFlags {
    /// Ranks to start on this machine where RANK is not set
    #[arg(long, short = 'n', value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    nproc_per_node: u32,
    /// Over TCP or NCCL; one that is named has to be there [default: both, NCCL where it is there]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    transport: Vec<Transport>,
    /// libnccl, where it is in no usual place
    #[arg(long, value_name = "PATH")]
    nccl_library: Option<PathBuf>,
    /// Only these operations
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    operation: Vec<OperationAsked>,
    /// The smallest buffer
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = size)]
    min: Bytes,
    /// The largest buffer [default: 1GiB, less where the memory is short]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max: Option<Bytes>,
    /// Each size is so many times the one before
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1024))]
    factor: u32,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    Tcp,
    Nccl,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Nccl => "NCCL",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OperationAsked {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
}

impl OperationAsked {
    fn measured(self) -> Measured {
        match self {
            Self::AllReduce => Measured::AllReduce,
            Self::AllGather => Measured::AllGather,
            Self::ReduceScatter => Measured::ReduceScatter,
            Self::Broadcast => Measured::Broadcast,
        }
    }
}

fn size(text: &str) -> Result<Bytes, Expected> {
    let fitting = Bytes::parse(text).filter(|bytes| (4..=16 * GIB).contains(&bytes.0));
    fitting.ok_or_else(|| {
        Expected(Text::new("需要 4 B 到 16 GiB，例如 1MiB", "a size from 4 B to 16 GiB is needed, such as 1MiB"))
    })
}

pub fn execute(flags: &CollectiveFlags) -> ExitCode {
    if let Some(max) = flags.max.filter(|max| *max < flags.min) {
        let (min, max) = (flags.min.rounded(), max.rounded());
        return fail(
            Text::new(format!("--min {min} 大于 --max {max}"), format!("--min {min} is more than --max {max}")),
            Text::new("把 --max 调大或把 --min 调小", "raise --max or lower --min"),
            exit_code::USAGE,
        );
    }
    match std::env::var_os(RANK) {
        Some(_) => as_rank(flags),
        None => become_run(flags),
    }
}

fn fail(text: Text, hint: Text, code: u8) -> ExitCode {
    speech::complain(&Notice::new("bench_failed", text, hint));
    ExitCode::from(code)
}

/// In both languages, whichever the first rank speaks.
fn told(error: &impl InChinese) -> Text {
    Text::new(error.zh(), error.to_string())
}

fn without_nccl(why: &Text) -> ExitCode {
    fail(
        Text::new(format!("无法测 NCCL：{}", why.zh), format!("NCCL cannot be measured: {}", why.en)),
        Text::new(
            "--transport tcp 只测 TCP；不写 --transport 时，有 NCCL 才测它",
            "--transport tcp measures TCP; without --transport, NCCL is measured where it is there",
        ),
        exit_code::FAILED,
    )
}

/// `fermi run` with this very command line as its ranks, and with all its promises.
fn become_run(flags: &CollectiveFlags) -> ExitCode {
    let cannot = |error: &std::io::Error| {
        let why = reason::of_io(error);
        fail(
            Text::new(format!("无法启动 rank：{}", why.zh), format!("ranks cannot be started: {}", why.en)),
            Text::new("检查 fermi 程序文件及其权限", "look at the program file of fermi and its permissions"),
            exit_code::FAILED,
        )
    };
    // Said once, before any rank is there to say it.
    if flags.transport.contains(&Transport::Nccl)
        && let Err(problem) = NcclDevice::open(flags.nproc_per_node as usize - 1, &libraries(flags))
    {
        return without_nccl(&told(&problem));
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return cannot(&error),
    };
    let mut run = Command::new(&program);
    run.args([
        "run",
        "-q",
        "--output-is-result",
        "--log-dir",
        "/dev/null",
        "--nproc-per-node",
        &flags.nproc_per_node.to_string(),
    ]);
    run.arg("--no-python").arg(&program).args(std::env::args_os().skip(1));
    cannot(&run.exec())
}

fn as_rank(flags: &CollectiveFlags) -> ExitCode {
    let Some(rendezvous) = rendezvous() else {
        return fail(
            Text::new(
                "RANK、WORLD_SIZE、MASTER_ADDR、MASTER_PORT 不完整",
                "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are not complete",
            ),
            Text::new(
                "用 fermi run 启动，或去掉 RANK：unset RANK",
                "start it by fermi run, or leave RANK out: unset RANK",
            ),
            exit_code::USAGE,
        );
    };
    match measured(flags, &rendezvous) {
        Ok(rows) => {
            ExitCode::from(if rows.iter().all(|row| row.wrong == 0) { exit_code::DONE } else { exit_code::FAILED })
        }
        Err(Unmeasured::TooLarge { room }) => {
            let (min, room) = (flags.min.rounded(), room.rounded());
            fail(
                Text::new(
                    format!("最小的缓冲区 {min} 大于空闲内存允许的 {room}"),
                    format!("the smallest buffer, {min}, is more than the {room} that free memory allows"),
                ),
                Text::new("把 --min 调小，或用 --max 指定上限", "lower --min, or say by --max how much it may be"),
                exit_code::USAGE,
            )
        }
        Err(Unmeasured::NoNccl(why)) => without_nccl(&why),
        Err(Unmeasured::BrokenOff(why)) => fail(
            Text::new(format!("测量中断：{}", why.zh), format!("the measurement broke off: {}", why.en)),
            Text::new("用 fermi doctor 检查机器与网络", "fermi doctor checks the machines and the network"),
            exit_code::FAILED,
        ),
    }
}

/// Why there are no rows.
#[derive(Debug)]
enum Unmeasured {
    /// The rank with the least memory has room for less than the smallest size.
    TooLarge {
        room: Bytes,
    },
    /// NCCL is asked for by name, and one of the ranks has none.
    NoNccl(Text),
    BrokenOff(Text),
}

impl<E: InChinese> From<E> for Unmeasured {
    fn from(why: E) -> Self {
        Self::BrokenOff(told(&why))
    }
}

fn rendezvous() -> Option<Rendezvous> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let names = [FERMI_TASK_ID, TORCHELASTIC_RUN_ID];
    Some(Rendezvous {
        rank: number(RANK)?,
        world_size: number(WORLD_SIZE)?,
        master_addr: std::env::var(MASTER_ADDR).ok()?,
        master_port: u16::try_from(number(MASTER_PORT)?).ok()?,
        run_id: names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default(),
        timeout: MEETING,
    })
}

fn measured(flags: &CollectiveFlags, rendezvous: &Rendezvous) -> Result<Vec<Row>, Unmeasured> {
    let mut ranks = Communicator::connect(rendezvous)?;
    let most = flags.max.map_or_else(room, |bytes| bytes.0);
    let most = bench::least(&mut ranks, most)?;
    let limit = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let sizes = bench::sizes(limit(flags.min.0), limit(most), flags.factor as usize);
    if sizes.is_empty() {
        return Err(Unmeasured::TooLarge { room: Bytes(most) });
    }
    let is_first = ranks.rank() == 0;
    let display = Display { is_first, is_json: flags.json, is_live: std::io::stderr().is_terminal() };
    let asked = |transport: Transport| flags.transport.is_empty() || flags.transport.contains(&transport);
    let device = if asked(Transport::Nccl) { Some(open_nccl(flags, &mut ranks)?) } else { None };
    if let Some(Err(missing)) = &device
        && !flags.transport.is_empty()
    {
        return Err(Unmeasured::NoNccl(missing.clone()));
    }
    let mut answer = json!({"v": 1, "ranks": ranks.world_size()});
    let mut rows = Vec::new();
    if asked(Transport::Tcp) {
        let tcp = Series::measure(flags, &mut ranks, &mut TcpBuffers::default(), (Transport::Tcp, &display, &sizes))?;
        answer["transport"] = json!("tcp");
        answer["rows"] = json!(tcp.rows);
        answer["leftOut"] = json!(tcp.left_out);
        rows.extend(tcp.rows);
    }
    match device {
        None => {}
        Some(Err(missing)) => {
            answer["nccl"] = json!({"missing": missing.en});
            display.without_nccl(&missing);
        }
        Some(Ok(device)) => {
            let version = device.version();
            let mut buffers = NcclRanks::connect(&mut ranks, device)?;
            let nccl = Series::measure(flags, &mut ranks, &mut buffers, (Transport::Nccl, &display, &sizes))?;
            answer["nccl"] = json!({"version": version, "rows": nccl.rows, "leftOut": nccl.left_out});
            rows.extend(nccl.rows);
        }
    }
    if is_first && flags.json {
        speech::print_json(&answer);
    }
    Ok(rows)
}

/// This rank's GPU and libnccl, or why one of the ranks has none: all ranks get the same answer.
fn open_nccl(flags: &CollectiveFlags, ranks: &mut Communicator) -> Result<Result<NcclDevice, Text>, OperationError> {
    let local_rank = std::env::var(LOCAL_RANK).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let opened = NcclDevice::open(local_rank, &libraries(flags)).map_err(|problem| told(&problem));
    let own = opened.as_ref().err().and_then(|why| serde_json::to_vec(why).ok()).unwrap_or_default();
    let said = ranks.all_gather(&own)?;
    let missing = said.iter().enumerate().find(|(_, said)| !said.is_empty());
    match (missing, opened) {
        (None, opened) => Ok(opened),
        (Some((rank, said)), _) => Ok(Err(of_rank(rank, said))),
    }
}

/// What a rank has said of itself, which may be of another release.
fn of_rank(rank: usize, said: &[u8]) -> Text {
    let words = || reason::of_said(&String::from_utf8_lossy(said));
    let why = serde_json::from_slice::<Text>(said).unwrap_or_else(|_| words());
    Text::new(format!("rank {rank}：{}", why.zh), format!("rank {rank}: {}", why.en))
}

/// The one that is named; else those that pip has left in the active environment, then the system's.
fn libraries(flags: &CollectiveFlags) -> Vec<PathBuf> {
    if let Some(named) = &flags.nccl_library {
        return vec![named.clone()];
    }
    let environment = std::env::var_os(VIRTUAL_ENV).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let listed = environment.and_then(|folder| std::fs::read_dir(folder.join("lib")).ok()).into_iter().flatten();
    let inside = |folder: PathBuf| folder.join("site-packages/nvidia/nccl/lib").join(nccl::LIBRARY);
    let pips = listed.flatten().map(|entry| inside(entry.path())).filter(|path| path.is_file());
    pips.chain([PathBuf::from(nccl::LIBRARY)]).collect()
}

/// What one transport did.
#[derive(Debug, Default)]
struct Series {
    rows: Vec<Row>,
    left_out: Vec<Value>,
}

impl Series {
    fn measure<B: Buffers<Problem: InChinese>>(
        flags: &CollectiveFlags,
        ranks: &mut Communicator,
        buffers: &mut B,
        (transport, display, sizes): (Transport, &Display, &[usize]),
    ) -> Result<Self, B::Problem> {
        let chosen: Vec<Measured> = flags.operation.iter().map(|operation| operation.measured()).collect();
        let operations = if chosen.is_empty() { Measured::ALL.to_vec() } else { chosen };
        let mut series = Self::default();
        for operation in operations {
            display.head(operation, ranks.world_size(), transport);
            for (at, bytes) in sizes.iter().enumerate() {
                display.begin(operation, *bytes);
                let row = bench::measure(ranks, buffers, operation, *bytes)?;
                display.row(&row);
                series.rows.push(row);
                let next = row.micros / 1e6 * f64::from(flags.factor) * (OPERATIONS + 4.0 * (B::AT_ONCE - 1) as f64);
                if next > PATIENCE_S && at + 1 < sizes.len() {
                    display.left_out(sizes[at + 1]);
                    let larger = sizes[at + 1..].iter();
                    series.left_out.extend(larger.map(|bytes| json!({"operation": operation, "bytes": bytes})));
                    break;
                }
            }
        }
        Ok(series)
    }
}

/// What a buffer may take where nobody says: a quarter of the free memory, shared by the ranks of this machine.
fn room() -> u64 {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let ranks = std::env::var(LOCAL_WORLD_SIZE).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1).max(1);
    free.map_or(GIB, |free| (free / 4 / ranks).clamp(1 << 20, GIB))
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The table as it grows, on the first rank alone; names of columns are nccl-tests'.
struct Display {
    is_first: bool,
    is_json: bool,
    is_live: bool,
}

impl Display {
    fn says(&self) -> bool {
        self.is_first && !self.is_json
    }

    fn without_nccl(&self, missing: &Text) {
        if self.says() {
            speech::say(&match speech::language() {
                Language::ZhCn => format!("  没有测 NCCL：{}\n", missing.zh),
                Language::En => format!("  NCCL is not measured: {}\n", missing.en),
            });
        }
    }

    fn head(&self, operation: Measured, ranks: usize, transport: Transport) {
        if !self.says() {
            return;
        }
        let (name, over) = (operation.name(), transport.name());
        let title = match speech::language() {
            Language::ZhCn => format!("\n{name}，{ranks} 个 rank，{over}\n"),
            Language::En => format!("\n{name}, {ranks} ranks, {over}\n"),
        };
        speech::print(&title);
        speech::print(&format!(
            "{:>12} {:>12} {:>6} {:>12} {:>12} {:>12} {:>12} {:>7}\n",
            "size(B)", "count", "type", "time(us)", "min(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong"
        ));
    }

    /// Where there is no table, somebody at a terminal still sees what goes on.
    fn begin(&self, operation: Measured, bytes: usize) {
        if self.is_first && self.is_json && self.is_live {
            speech::say(&format!("{} {}\n", operation.name(), Bytes(bytes as u64).rounded()));
        }
    }

    fn row(&self, row: &Row) {
        if self.says() {
            speech::print(&format!(
                "{:>12} {:>12} {:>6} {:>12.1} {:>12.1} {:>12.3} {:>12.3} {:>7}\n",
                row.bytes,
                row.bytes / size_of::<f32>(),
                "float",
                row.micros,
                row.least_micros,
                row.algorithm_bandwidth,
                row.bus_bandwidth,
                row.wrong
            ));
        }
    }

    fn left_out(&self, from: usize) {
        if self.says() {
            let from = Bytes(from as u64).rounded();
            speech::say(&match speech::language() {
                Language::ZhCn => format!("  {from} 及更大的不测：每个都要超过 {PATIENCE_S:.0} 秒\n"),
                Language::En => format!("  {from} and more are left out: each would take over {PATIENCE_S:.0} s\n"),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_memory_is_what_the_kernel_says() {
        assert_eq!(available("MemTotal:  100 kB\nMemAvailable:    50 kB\n"), Some(50 << 10));
        assert_eq!(available("MemTotal:  100 kB\n"), None);
    }

    #[test]
    fn what_a_rank_lacks_is_told_in_the_readers_language() {
        let why = Text::new("无法加载 libcuda.so.1：没有这个文件", "libcuda.so.1 cannot be loaded");
        let told = of_rank(3, &serde_json::to_vec(&why).unwrap());
        assert_eq!(
            (&*told.zh, &*told.en),
            ("rank 3：无法加载 libcuda.so.1：没有这个文件", "rank 3: libcuda.so.1 cannot be loaded")
        );
        assert_eq!(of_rank(1, b"no GPU").zh, "rank 1：no GPU");
    }

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(size("1MiB").map(|bytes| bytes.0).ok(), Some(1 << 20));
        assert!(size("1").is_err() && size("1TiB").is_err() && size("much").is_err());
    }
}
