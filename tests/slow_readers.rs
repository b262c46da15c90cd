//! Readers that are slow, or read nothing at all: the training goes on, its logs are complete, a stop is obeyed, and what
//! the terminal did not get is counted and said.
//!
//! `make test-long` (FERMI_TEST_LONG=1) lets the readers stall for a minute instead of some seconds.

use std::fs::{self, File};
use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::relay::Relay;
use crate::support::sshd::{self, HOSTS, Sshd};
use crate::support::{Place, eventually, is_long, signal};

/// Writes numbered lines as fast as it can, says in a file that it is done, and stays until FINISH exists or a signal
/// comes. What it writes afterwards is `rank R is back`.
const FLOOD: &str = "\
import os, sys, time
rank, lines = os.environ['RANK'], int(sys.argv[1])
block = ''.join(f'rank {rank} line {n} {\"x\" * 80}\\n' for n in range(lines))
for at in range(0, len(block), 1 << 16): sys.stdout.write(block[at:at + (1 << 16)])
sys.stdout.flush()
open(f'flooded-{rank}', 'w').close()
while not os.path.exists('finish'): time.sleep(0.005)
print(f'rank {rank} is back', flush=True)
";

/// More than all queues on the way hold.
const LINES: usize = 80_000;

/// Never leaves by itself, whatever it is told.
const STUBBORN: &str = "import signal\nfor s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n";

fn flood(place: &Place, options: &[&str], lines: usize) -> Command {
    let mut command = place.run(options);
    command.arg(place.file("flood.py", FLOOD)).arg(lines.to_string()).stdin(Stdio::null());
    command
}

fn stall() -> Duration {
    Duration::from_secs(if is_long() { 60 } else { 3 })
}

/// Both ends of a pipe; nobody reads unless a test does.
fn pipe() -> (PipeReader, Stdio) {
    let (ours, theirs) = std::io::pipe().unwrap();
    (ours, theirs.into())
}

fn has_flooded(place: &Place, ranks: u32) {
    eventually("all ranks have written everything", || {
        (0..ranks).all(|rank| place.work().join(format!("flooded-{rank}")).exists()).then_some(())
    });
}

fn line(rank: u32, number: usize) -> String {
    format!("rank {rank} line {number} {}", "x".repeat(80))
}

/// What a rank has written is on its way through a pipe for a moment: a log is complete a little later.
fn logs_are_complete(place: &Place, ranks: u32, lines: usize) {
    for rank in 0..ranks {
        let wanted: Vec<String> = (0..lines).map(|number| line(rank, number)).collect();
        eventually(&format!("the whole log of rank {rank}"), || {
            let text = place.rank_text(0, rank, "stdout.log");
            text.lines().take(lines).eq(wanted.iter().map(String::as_str)).then_some(())
        });
    }
}

fn ended(child: &mut Child, within: Duration) -> i32 {
    let started = Instant::now();
    let status = eventually("the end of the run", || child.try_wait().unwrap());
    assert!(started.elapsed() < within, "it took {:?}", started.elapsed());
    status.code().expect("the launcher ends by itself")
}

fn text_of(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    // A terminal whose last user is gone answers with an error instead of an end.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

fn journal(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.run_folder().join("journal.ndjson")).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Lines that the journal says were not shown.
fn dropped_lines(place: &Place) -> usize {
    let events = journal(place);
    assert_eq!(events.last().unwrap()["event"], "run.ended", "it is the last event");
    let dropped = events.iter().filter(|event| event["event"] == "terminal.dropped");
    dropped.map(|event| usize::try_from(event["lines"].as_u64().unwrap()).unwrap()).sum()
}

/// Lines were shown whole and in their order, with gaps between.
fn whole_lines(shown: &str, rank: u32) -> usize {
    let mut next = 0;
    for (index, text) in shown.lines().enumerate() {
        let number: usize =
            text.split(' ').nth(3).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{text}"));
        assert!(number >= next, "line {index} is number {number}");
        assert_eq!(text, line(rank, number));
        next = number + 1;
    }
    shown.lines().count()
}

#[test]
fn a_pipe_that_nobody_reads_stops_no_rank_and_a_stop_ends_the_run() {
    let place = Place::new();
    let (unread, stdout) = pipe();
    let mut child = flood(&place, &["-q", "-n", "2"], LINES).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    has_flooded(&place, 2);
    logs_are_complete(&place, 2, LINES);
    std::thread::sleep(stall());
    signal(i32::try_from(child.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut child, Duration::from_secs(5)), 143);
    let said = text_of(child.stderr.take().unwrap());
    let dropped = dropped_lines(&place);
    assert!(said.contains(&format!("fermi: {dropped} lines (")), "{said}");
    assert!(
        said.contains("were not shown because they were not read in time; the training went on, complete logs are in")
    );
    // What is still in the pipe was shown; the last line of it may be there in part, and counts as dropped.
    let shown = text_of(unread);
    let whole = shown.rfind('\n').map_or("", |end| &shown[..=end]);
    assert_eq!(whole_lines(whole, 0) + dropped, LINES);
    place.assert_empty();
}

#[test]
fn with_both_streams_unread_a_second_signal_kills_at_once() {
    let place = Place::new();
    let (_unread, stdout) = pipe();
    let (_unheard, stderr) = pipe();
    let stubborn = place.file("stubborn.py", format!("{STUBBORN}{FLOOD}"));
    let mut command = place.run(["-n", "2", "--tee", "3"]);
    command.arg(stubborn).arg(LINES.to_string()).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let mut child = command.spawn().unwrap();
    has_flooded(&place, 2);
    let launcher = i32::try_from(child.id()).unwrap();
    signal(launcher, libc::SIGINT);
    eventually("the ranks were asked", || {
        journal(&place).iter().any(|event| event["event"] == "attempt.stopping").then_some(())
    });
    signal(launcher, libc::SIGINT);
    assert_eq!(ended(&mut child, Duration::from_secs(8)), 130);
    logs_are_complete(&place, 2, LINES);
    assert!(dropped_lines(&place) > 0);
    place.assert_empty();
}

#[test]
fn events_that_nobody_reads_hold_up_nothing() {
    let place = Place::new();
    let (unread, stdout) = pipe();
    // Filled to the brim before the run begins.
    let mut full = stdout_of(&stdout_pipe(&unread));
    fill(&mut full);
    let mut command = flood(&place, &["--json", "-n", "2", "--tee", "3"], 100);
    let mut child = command.stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    has_flooded(&place, 2);
    place.file("finish", "");
    assert_eq!(ended(&mut child, Duration::from_secs(12)), 0);
    let events = journal(&place);
    assert_eq!(events.last().unwrap()["event"], "run.ended");
    assert!((1..).zip(&events).all(|(seq, event)| event["seq"] == seq));
}

/// The path by which the other end of a pipe is opened once more.
fn stdout_pipe(reader: &PipeReader) -> String {
    format!("/proc/self/fd/{}", reader.as_raw_fd())
}

fn stdout_of(path: &str) -> File {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap()
}

fn fill(pipe: &mut File) {
    while pipe.write(&[b'\n'; 4096]).is_ok() {}
}

#[test]
fn a_reader_that_comes_back_gets_whole_lines_and_hears_what_it_missed() {
    let place = Place::new();
    let (ours, stdout) = pipe();
    let shown = place.path().join("shown");
    // A relay between the run and whoever reads, as ssh is.
    let mut relay =
        place.program("cat").stdin(ours).stdout(File::create(&shown).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let relay_pid = i32::try_from(relay.id()).unwrap();
    signal(relay_pid, libc::SIGSTOP);
    let mut run = flood(&place, &["-q", "-n", "2"], LINES).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    has_flooded(&place, 2);
    std::thread::sleep(stall());
    signal(relay_pid, libc::SIGCONT);
    eventually("the journal tells of it", || {
        journal(&place).iter().any(|event| event["event"] == "terminal.dropped").then_some(())
    });
    place.file("finish", "");
    assert_eq!(ended(&mut run, Duration::from_secs(10)), 0);
    relay.wait().unwrap();
    let said = text_of(run.stderr.take().unwrap());
    let dropped = dropped_lines(&place);
    assert!(said.contains(&format!("fermi: {dropped} lines (")), "{said}");
    let shown = fs::read_to_string(shown).unwrap();
    let flooded = shown.strip_suffix("rank 0 is back\n").expect("what is written after the gap is shown");
    assert_eq!(whole_lines(flooded, 0) + dropped, LINES);
    logs_are_complete(&place, 2, LINES);
}

#[test]
fn a_reader_that_is_slow_but_reads_on_gets_everything_at_the_end() {
    const FEW: usize = 15_000;
    let place = Place::new();
    let (mut ours, stdout) = pipe();
    place.file("finish", "");
    let mut run = flood(&place, &["-q", "-n", "1"], FEW).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    has_flooded(&place, 1);
    let mut shown = Vec::new();
    let mut piece = vec![0; 48 * 1024];
    loop {
        let count = ours.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..count]);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ended(&mut run, Duration::from_secs(10)), 0);
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(whole_lines(shown.strip_suffix("rank 0 is back\n").unwrap(), 0), FEW);
    assert_eq!(text_of(run.stderr.take().unwrap()), "");
    assert_eq!(dropped_lines(&place), 0);
}

#[test]
fn a_reader_that_is_slow_but_reads_on_does_not_hold_up_a_stop() {
    let place = Place::new();
    let (mut ours, stdout) = pipe();
    let mut run = flood(&place, &["-q", "-n", "1"], LINES).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    // Some bytes every 100 ms: it would go on for hours, and is never without movement.
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 8192];
        while ours.read(&mut piece).unwrap() > 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    has_flooded(&place, 1);
    signal(i32::try_from(run.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut run, Duration::from_secs(4)), 143);
    assert!(dropped_lines(&place) > 0);
    logs_are_complete(&place, 1, LINES);
    place.assert_empty();
    reader.join().unwrap();
}

#[test]
fn a_reader_that_keeps_up_loses_nothing_of_eight_ranks() {
    const EACH: usize = 40_000;
    let place = Place::new();
    let shown = place.path().join("shown");
    let (ours, stdout) = pipe();
    let mut relay = place.program("cat").stdin(ours).stdout(File::create(&shown).unwrap()).spawn().unwrap();
    place.file("finish", "");
    let mut run =
        flood(&place, &["-q", "-n", "8", "--tee", "3"], EACH).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(ended(&mut run, Duration::from_secs(60)), 0);
    relay.wait().unwrap();
    let shown = fs::read_to_string(shown).unwrap();
    assert_eq!(shown.lines().count(), 8 * (EACH + 1));
    assert_eq!(dropped_lines(&place), 0);
    logs_are_complete(&place, 8, EACH);
}

/// A terminal at which nobody looks.
struct StoppedTerminal {
    master: File,
    child: Child,
}

impl StoppedTerminal {
    fn start(command: &mut Command) -> Self {
        let (mut master, mut slave) = (0, 0);
        // SAFETY: openpty writes the two descriptors; name, modes and size may be null.
        let done =
            unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), std::ptr::null()) };
        assert_eq!(done, 0, "no pseudo-terminal");
        // SAFETY: both are new and ours; the child must not inherit the master.
        let (master, slave) = unsafe {
            libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
            (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let stream = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        Self { child: command.spawn().unwrap(), master }
    }
}

#[test]
fn at_a_stopped_terminal_ctrl_c_is_heard() {
    let place = Place::new();
    let mut terminal = StoppedTerminal::start(&mut flood(&place, &["-n", "2", "--tee", "3"], LINES));
    has_flooded(&place, 2);
    logs_are_complete(&place, 2, LINES);
    terminal.master.write_all(b"\x03").unwrap();
    assert_eq!(ended(&mut terminal.child, Duration::from_secs(6)), 130);
    assert!(dropped_lines(&place) > LINES);
    place.assert_empty();
}

#[test]
fn a_terminal_that_goes_on_shows_what_is_new_and_says_what_is_missing() {
    let place = Place::new();
    let mut terminal = StoppedTerminal::start(&mut flood(&place, &["-n", "1"], LINES));
    has_flooded(&place, 1);
    std::thread::sleep(stall());
    let reader = terminal.master.try_clone().unwrap();
    let seen = std::thread::spawn(move || text_of(reader));
    eventually("the journal tells of it", || {
        journal(&place).iter().any(|event| event["event"] == "terminal.dropped").then_some(())
    });
    place.file("finish", "");
    assert_eq!(ended(&mut terminal.child, Duration::from_secs(10)), 0);
    let seen = seen.join().unwrap();
    let said = seen.find("were not shown because they were not read in time").expect("it is said");
    assert!(said < seen.find("rank 0 is back").expect("what is new is shown"));
    logs_are_complete(&place, 1, LINES);
}

#[test]
fn two_readers_that_are_stuck_cost_no_more_time_than_one() {
    let place = Place::new();
    let (_unread, stdout) = pipe();
    let (unheard, stderr) = pipe();
    fill(&mut stdout_of(&stdout_pipe(&unheard)));
    place.file("finish", "");
    let mut child = flood(&place, &["-n", "1"], 3_000).stdout(stdout).stderr(stderr).spawn().unwrap();
    has_flooded(&place, 1);
    assert_eq!(ended(&mut child, Duration::from_secs(8)), 0);
    assert!(dropped_lines(&place) > 0);
}

#[test]
fn output_onto_a_full_disk_is_lost_for_that_reason() {
    let place = Place::new();
    place.file("finish", "");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut child = flood(&place, &["-n", "1"], 10).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(ended(&mut child, Duration::from_secs(8)), 0);
    let said = text_of(child.stderr.take().unwrap());
    assert!(said.contains("were not shown because they could not be written (no space is left on the disk)"), "{said}");
    let told = journal(&place).into_iter().find(|event| event["event"] == "terminal.dropped").unwrap();
    assert_eq!(told["error"], "No space left on device");
}

#[test]
fn over_ssh_a_terminal_that_nobody_reads_stops_no_host() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let (_unread, stdout) = pipe();
    let mut command = place.fermi(["launch-multi-node", HOSTS[0], "auto", "auto", "--hosts"]);
    command.arg(format!("{}:1,{}:1", HOSTS[0], HOSTS[1])).args(sshd.options());
    command.args(["--master-port", &sshd::free_port().to_string(), "-x", "FERMI_TEST_MARK", "--tee", "3"]);
    command.arg(place.file("flood.py", FLOOD)).arg((3 * LINES).to_string());
    let mut run = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    has_flooded(&place, 2);
    signal(i32::try_from(run.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut run, Duration::from_secs(12)), 143);
    let said = text_of(run.stderr.take().unwrap());
    assert!(said.contains("were not shown because they were not read in time"), "{said}");
    eventually("nothing is left on any host", || place.alive().is_empty().then_some(()));
}

#[test]
fn a_connection_that_stalls_stops_no_rank_and_what_it_did_not_carry_is_counted() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let relay = Relay::to(sshd.port());
    let waits = "import os, time\nopen('up-' + os.environ['RANK'], 'w').close()\n\
                 while not os.path.exists('go'): time.sleep(0.005)\n";
    let mut command = place.fermi(["launch-multi-node", HOSTS[0], "auto", "auto", "--hosts"]);
    command.arg(format!("{}:1,{}:1", HOSTS[0], HOSTS[1])).args(sshd.options_through(relay.port()));
    command.args(["--master-port", &sshd::free_port().to_string(), "-x", "FERMI_TEST_MARK", "--tee", "3"]);
    command.arg(place.file("flood.py", format!("{waits}{FLOOD}"))).arg((3 * LINES).to_string());
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("both ranks are up", || {
        (0..2).all(|rank| place.work().join(format!("up-{rank}")).exists()).then_some(())
    });
    relay.stall(true);
    let stalled = Instant::now();
    place.file("go", "");
    has_flooded(&place, 2);
    eventually("whole logs while nothing passes", || (complete_logs(&place, 2, 3 * LINES) == 2).then_some(()));
    std::thread::sleep(stall().saturating_sub(stalled.elapsed()));
    relay.stall(false);
    let asked = Instant::now();
    signal(i32::try_from(run.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut run, Duration::from_secs(12)), 143);
    eprintln!("stalled for {:?}, ended {:?} after the stop", asked - stalled, asked.elapsed());
    let said = text_of(run.stderr.take().unwrap());
    assert!(said.contains("were not shown because they were not read in time"), "{said}");
    eventually("nothing is left on any host", || place.alive().is_empty().then_some(()));
}

/// How many logs below this place hold every line of one of these ranks.
fn complete_logs(place: &Place, ranks: u32, lines: usize) -> usize {
    let mut folders = vec![place.path().to_owned()];
    let mut complete = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "stdout.log" {
                let text = fs::read_to_string(entry.path()).unwrap();
                let holds = |rank| text.lines().take(lines).eq((0..lines).map(|number| line(rank, number)));
                complete += usize::from((0..ranks).any(holds));
            }
        }
    }
    complete
}

#[test]
fn the_sentence_is_also_said_in_chinese() {
    let place = Place::new();
    let (_unread, stdout) = pipe();
    let mut command = flood(&place, &["-n", "1"], LINES);
    let mut run = command.env("FERMI_LANG", "zh-CN").stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    has_flooded(&place, 1);
    place.file("finish", "");
    assert_eq!(ended(&mut run, Duration::from_secs(12)), 0);
    let said = text_of(run.stderr.take().unwrap());
    assert!(said.contains("字节）没有显示；训练未受影响，完整日志在 "), "{said}");
}

#[test]
fn a_server_whose_log_nobody_reads_goes_on_answering_and_can_be_stopped() {
    const REQUESTS: usize = 2_000;
    let place = Place::new();
    let (unread, log) = std::io::pipe().unwrap();
    let address = format!("127.0.0.1:{}", sshd::free_port());
    let mut command = place.fermi(["server", "--listen", &address, "--data-dir"]);
    command.arg(place.path().join("server")).env("RUST_LOG", "trace").stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    let mut server = command.spawn().unwrap();
    drop(command);
    let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5))).build();
    let http: ureq::Agent = config.into();
    let is_ready = || http.get(format!("http://{address}/readyz")).call();
    eventually("the server to be ready", || is_ready().ok());
    for _ in 0..REQUESTS {
        is_ready().unwrap();
    }
    assert!(stdout_of(&stdout_pipe(&unread)).write(&[b'\n'; 4096]).is_err(), "more was logged than the pipe holds");
    signal(i32::try_from(server.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut server, Duration::from_secs(8)), 0);
}

#[test]
fn half_a_request_keeps_no_server_from_ending() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", sshd::free_port());
    let mut command = place.fermi(["server", "--listen", &address, "--data-dir"]);
    command.arg(place.path().join("server")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut client = eventually("the server to listen", || std::net::TcpStream::connect(&address).ok());
    client.write_all(b"GET /vers").unwrap();
    eventually("another client to be answered", || ureq::get(format!("http://{address}/readyz")).call().ok());
    signal(i32::try_from(server.id()).unwrap(), libc::SIGTERM);
    assert_eq!(ended(&mut server, Duration::from_secs(15)), 0);
}
