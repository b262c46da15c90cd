//! What ranks write: every byte in their files, the right lines on the terminal, and nothing that can stop the training.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{self, Place, Process, Run, Terminal, eventually, host_name, script};

fn writes(place: &Place, options: &[&str], what: &str) -> Command {
    let mut command = place.run(options);
    command.arg(script("writer.py")).arg(place.work()).arg(what);
    command
}

/// Compares without printing megabytes where they differ.
fn assert_same(name: &str, kept: &[u8], written: &[u8]) {
    let differs_at = kept.iter().zip(written).position(|(one, other)| one != other);
    assert!(
        kept == written,
        "{name}: {} bytes kept of {} written, the first difference at {differs_at:?}",
        kept.len(),
        written.len()
    );
}

fn files_hold_what_was_written(place: &Place, ranks: u32) {
    for rank in 0..ranks {
        for stream in ["stdout", "stderr"] {
            let written = fs::read(place.work().join(format!("{rank}.{stream}"))).unwrap();
            let kept = fs::read(place.rank_file(0, rank, &format!("{stream}.log"))).unwrap();
            assert_same(&format!("{stream} of rank {rank}"), &kept, &written);
        }
    }
}

#[test]
fn the_files_hold_exactly_the_bytes_written_however_odd() {
    for what in ["junk", "bars", "megaline"] {
        let place = Place::new();
        let ended = Run::whole(&mut writes(&place, &["-q", "-n", "3"], what)).expect(0);
        files_hold_what_was_written(&place, 3);
        // Rank 0 is shown as it comes, byte by byte.
        let written = fs::read(place.work().join("0.stdout")).unwrap();
        assert_same(&format!("{what} on stdout"), &ended.stdout, &written);
    }
}

#[test]
fn odd_bytes_behind_prefixes_reach_the_files_unharmed_too() {
    for what in ["junk", "bars", "megaline"] {
        let place = Place::new();
        Run::whole(&mut writes(&place, &["-q", "-n", "2", "--tee", "3"], what)).expect(0);
        files_hold_what_was_written(&place, 2);
    }
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1u32, 0u32);
    // 5552 additions are the most that fit before the sums must be reduced.
    for piece in bytes.chunks(5552) {
        for byte in piece {
            low += u32::from(*byte);
            high += low;
        }
        low %= 65_521;
        high %= 65_521;
    }
    high << 16 | low
}

#[test]
fn a_flood_of_four_ranks_loses_no_byte_and_needs_no_memory() {
    const EACH: usize = 12_500_000;
    const MOST: u64 = 24 << 20;
    let place = Place::new();
    let options = ["--json", "-n", "4", "--redirects", "3"];
    let mut run = Run::start(&mut writes(&place, &options, &format!("flood:{EACH}")));
    let started = run.event("run.started");
    let number = |name: &str| i32::try_from(started[name].as_i64().unwrap()).unwrap();
    let keepers = [run.pid(), number("wardenPid"), number("supervisorPid")];
    let keepers: Vec<Process> = keepers.into_iter().filter_map(Process::living).collect();
    assert_eq!(keepers.len(), 3);
    let mut most = [0; 3];
    eventually("the end of the flood", || {
        for (keeper, most) in keepers.iter().zip(&mut most) {
            *most = (*most).max(keeper.own_bytes());
        }
        run.is_over().then_some(())
    });
    run.ended().expect(0);
    for (name, most) in ["launcher", "warden", "supervisor"].into_iter().zip(most) {
        assert!(most > 0 && most < MOST, "the {name} had {most} bytes in memory");
    }
    for rank in 0..4 {
        let kept = fs::read(place.rank_file(0, rank, "stdout.log")).unwrap();
        let written = fs::read_to_string(place.work().join(format!("{rank}.sum"))).unwrap();
        assert_eq!(format!("{} {}", kept.len(), adler32(&kept)), written, "rank {rank}");
    }
}

/// Two lines on each stream, with the rank in them; each is one write, since rank 0's are shown as they come.
const SPEAKS: &str = "\
import os, sys
rank = os.environ['RANK']
for name, stream in [('out', sys.stdout), ('err', sys.stderr)]:
    stream.write(f'{name} {rank} first\\n'); stream.write(f'{name} {rank} last\\n')
";

fn shown(place: &Place, options: &[&str]) -> (Vec<String>, Vec<String>) {
    let speaks = place.file("speaks.py", SPEAKS);
    let ended = Run::whole(place.run(["-q"]).args(options).arg(speaks)).expect(0);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    (sorted(ended.out()), sorted(ended.err()))
}

fn prefixed(stream: &str, ranks: &[u32]) -> Vec<String> {
    let host = host_name();
    ranks.iter().flat_map(|r| ["first", "last"].map(|which| format!("[{host}:{r}] {stream} {r} {which}"))).collect()
}

#[test]
fn tee_puts_host_and_rank_before_every_line() {
    let place = Place::new();
    assert_eq!(shown(&place, &["-n", "3", "--tee", "3"]), (prefixed("out", &[0, 1, 2]), prefixed("err", &[0, 1, 2])));
}

#[test]
fn tee_of_one_stream_of_one_rank_shows_just_that_beside_rank_0() {
    let (out, err) = shown(&Place::new(), &["-n", "3", "--tee", "1:1"]);
    assert_eq!(out, [prefixed("out", &[1]), vec!["out 0 first".into(), "out 0 last".into()]].concat());
    assert_eq!(err, ["err 0 first", "err 0 last"]);
}

#[test]
fn redirects_keep_streams_off_the_terminal_and_in_the_files() {
    let place = Place::new();
    assert_eq!(shown(&place, &["-n", "2", "--redirects", "3"]), (vec![], vec![]));
    assert_eq!(place.rank_text(0, 1, "stdout.log"), "out 1 first\nout 1 last\n");
    assert_eq!(place.rank_text(0, 1, "stderr.log"), "err 1 first\nerr 1 last\n");
    let (out, err) = shown(&Place::new(), &["-n", "1", "-r", "1"]);
    assert_eq!((out, err), (vec![], vec!["err 0 first".to_owned(), "err 0 last".to_owned()]));
}

#[test]
fn filters_show_the_ranks_they_name_and_no_others() {
    let alone = |stream: &str| vec![format!("{stream} 2 first"), format!("{stream} 2 last")];
    assert_eq!(shown(&Place::new(), &["-n", "3", "--ranks-filter", "2"]), (alone("out"), alone("err")));
    let both = (prefixed("out", &[0, 2]), prefixed("err", &[0, 2]));
    assert_eq!(shown(&Place::new(), &["-n", "3", "--local-ranks-filter", "0,2"]), both);
    let teed = shown(&Place::new(), &["-n", "3", "--tee", "3", "--local_ranks_filter", "1"]);
    assert_eq!(teed, (prefixed("out", &[1]), prefixed("err", &[1])));
    // One rank of a larger world is found by its global number.
    let single = ["--mode", "manual", "--rank", "3", "--world-size", "4", "--master-port", "29411"];
    let (out, _) = shown(&Place::new(), &[&single[..], &["--ranks-filter", "3"]].concat());
    assert_eq!(out, ["out 3 first", "out 3 last"]);
}

#[test]
fn errors_of_ranks_that_are_not_shown_are_lifted_out_with_host_and_rank() {
    let place = Place::new();
    let body = "\
import os, sys
if os.environ['RANK'] == '1':
    print('ordinary line'); print('ordinary complaint', file=sys.stderr)
    print('2026-01-01 00:00:00 ERROR the loader is slow', file=sys.stderr)
    try: 1 / 0
    except ZeroDivisionError:
        import traceback; traceback.print_exc()
";
    let ended = Run::whole(place.run(["-q", "-n", "2"]).arg(place.file("a.py", body))).expect(0);
    let host = host_name();
    let expected = format!(
        "[{host}:1] 2026-01-01 00:00:00 ERROR the loader is slow\n[{host}:1] ZeroDivisionError: division by zero\n"
    );
    assert_eq!((ended.out().as_str(), ended.err()), ("", expected));
}

#[test]
fn lines_with_chosen_words_go_to_a_file_of_their_own() {
    let place = Place::new();
    shown(&place, &["-n", "2", "--duplicate-stdout-filters", "first", "--duplicate-stderr-filters", "nothing"]);
    let filtered = fs::read_to_string(place.run_folder().join("attempt_0/filtered_stdout.log")).unwrap();
    let mut lines: Vec<&str> = filtered.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["out 0 first", "out 1 first"]);
}

#[test]
fn with_logs_to_dev_null_nothing_is_kept_and_the_error_file_has_no_name() {
    let place = Place::new();
    let body = "import os; print(repr(os.environ['TORCHELASTIC_ERROR_FILE']), os.environ['RANK'])";
    let command = &mut place.run(["-q", "-n", "2", "--log-dir", "/dev/null"]);
    let ended = Run::whole(command.arg(place.file("a.py", body))).expect(0);
    assert_eq!(ended.out(), "'' 0\n");
    assert!(place.run_folders().is_empty());
    let names: Vec<_> = fs::read_dir(place.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.py"], "nothing is left in the working folder either");
}

#[test]
fn a_reader_that_goes_away_takes_nothing_from_the_training() {
    let place = Place::new();
    let body = "\
import os, sys, time
print('first', flush=True)
while not os.path.exists('closed'): time.sleep(0.002)
for line in range(20000): print(f'line {line}'); print(f'complaint {line}', file=sys.stderr)
open(f'finished-{os.environ[\"RANK\"]}', 'w')
";
    let mut command = place.run(["-n", "2"]);
    command.arg(place.file("a.py", body)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"first\n");
    // As `| head -1` does, and with stderr too.
    drop(stdout);
    drop(child.stderr.take());
    place.file("closed", "");
    let status = eventually("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    for rank in 0..2 {
        assert!(place.work().join(format!("finished-{rank}")).exists());
        assert!(place.rank_text(0, rank, "stdout.log").ends_with("line 19999\n"));
        assert!(place.rank_text(0, rank, "stderr.log").ends_with("complaint 19999\n"));
    }
}

#[test]
fn a_full_disk_drops_and_counts_while_the_training_finishes() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let folder = place.path().join("small");
    fs::create_dir(&folder).unwrap();
    let body = "\
import os, sys
for line in range(50000): print('x' * 99)
open(f'finished-{os.environ[\"RANK\"]}', 'w')
";
    let train = place.file("a.py", body);
    let mut command = place.with_mounts(&format!("mount -t tmpfs -o size=1m,mode=755 none '{}'", folder.display()));
    command
        .args([env!("CARGO_BIN_EXE_fermi"), "run", "-n", "2", "--redirects", "3", "--log-dir"])
        .arg(&folder)
        .arg(train);
    let ended = Run::whole(&mut command).expect(0);
    let text = ended.err();
    let line = text.lines().find(|line| line.contains("bytes of log were lost")).expect("the loss is said");
    assert!(line.ends_with("the training went on"), "{line}");
    let lost: u64 = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    // Two ranks wrote 5 MB each onto a disk of 1 MiB, which takes the journal and the indexes too.
    assert!((8_900_000..10_000_000).contains(&lost), "{lost}");
    assert!(place.work().join("finished-0").exists() && place.work().join("finished-1").exists());
}

/// Says what a program at a terminal can find out about it.
const AT_TERMINAL: &str = "\
import os, sys, time
rank = os.environ['RANK']
tty = [stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)]
open(f'tty-{rank}', 'w').write(repr(tty))
if rank == '0':
    size = os.get_terminal_size(1); print(f'size {size.lines}x{size.columns}')
    sys.stdout.write('a\\nb\\r\\n50%\\r100%\\r\\n'); sys.stdout.flush()
    sys.stderr.write('complaint\\n')
";

#[test]
fn rank_0_sits_at_a_terminal_of_the_users_size_and_the_files_hold_what_it_wrote() {
    let place = Place::new();
    let train = place.file("a.py", AT_TERMINAL);
    let mut terminal = Terminal::start(place.run(["-q", "-n", "2"]).arg(train), 33, 101);
    assert_eq!(terminal.ended().code(), Some(0), "{}", terminal.screen());
    assert_eq!(fs::read_to_string(place.work().join("tty-0")).unwrap(), "[True, True, True]");
    assert_eq!(fs::read_to_string(place.work().join("tty-1")).unwrap(), "[False, False, False]");
    assert_eq!(place.rank_text(0, 0, "stdout.log"), "size 33x101\na\nb\r\n50%\r100%\r\n");
    assert_eq!(place.rank_text(0, 0, "stderr.log"), "complaint\n");
    terminal.shows("complaint");
    assert!(terminal.is_as_a_shell_leaves_it());
}

#[test]
fn what_is_typed_reaches_rank_0_and_ctrl_d_ends_it() {
    let place = Place::new();
    let body = "\
import os, sys
if os.environ['RANK'] == '0':
    print('hello', input('name? '))
    rest = sys.stdin.read(); print('rest', repr(rest))
";
    let mut terminal = Terminal::start(place.run(["-q", "-n", "2"]).arg(place.file("a.py", body)), 24, 80);
    terminal.shows("name? ");
    terminal.types("费米\n");
    terminal.shows("hello 费米");
    terminal.types("more\n\u{4}");
    assert_eq!(terminal.ended().code(), Some(0), "{}", terminal.screen());
    terminal.shows("rest 'more\\n'");
    assert!(terminal.is_as_a_shell_leaves_it());
}

#[test]
fn a_resized_window_is_a_resized_window_for_rank_0() {
    let place = Place::new();
    let body = "\
import os, time
print('ready', flush=True)
while os.get_terminal_size(1).columns != 123: time.sleep(0.002)
print('size', os.get_terminal_size(1).lines, os.get_terminal_size(2).columns)
";
    let mut terminal = Terminal::start(place.run(["-q", "-n", "1"]).arg(place.file("a.py", body)), 24, 80);
    terminal.shows("ready");
    terminal.resize(45, 123);
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.shows("size 45 123");
}

#[test]
fn ctrl_c_at_the_terminal_asks_the_ranks_and_gives_the_terminal_back() {
    let place = Place::new();
    let body = "\
import os, time
try: os.write(1, b'ready\\n'); time.sleep(1000)
except KeyboardInterrupt: print('interrupted', flush=True)
";
    let mut terminal = Terminal::start(place.run(["-n", "2"]).arg(place.file("a.py", body)), 24, 80);
    terminal.shows("ready");
    eventually("rank 1 is ready too", || (place.rank_text(0, 1, "stdout.log") == "ready\n").then_some(()));
    terminal.types("\u{3}");
    assert_eq!(terminal.ended().code(), Some(130));
    terminal.shows("interrupted");
    assert_eq!(place.rank_text(0, 1, "stdout.log"), "ready\ninterrupted\n");
    assert!(terminal.is_as_a_shell_leaves_it());
    place.assert_empty();
}

#[test]
fn what_comes_through_a_pipe_reaches_rank_0_only() {
    let place = Place::new();
    let body = "import os, sys; data = sys.stdin.buffer.read(); open('got-' + os.environ['RANK'], 'wb').write(data)";
    let mut command = place.run(["-q", "-n", "2"]);
    let mut run = Run::start_as_it_is(command.arg(place.file("a.py", body)).stdin(Stdio::piped()));
    let sent: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
    run.stdin().write_all(&sent).unwrap();
    run.ended().expect(0);
    let got = |rank: u32| fs::read(place.work().join(format!("got-{rank}"))).unwrap();
    assert_same("stdin of rank 0", &got(0), &sent);
    assert!(got(1).is_empty());
}

#[test]
fn a_log_folder_of_the_users_gets_torchruns_layout() {
    let place = Place::new();
    let logs = place.path().join("my logs 日志");
    let speaks = place.file("speaks.py", SPEAKS);
    Run::whole(place.run(["-n", "2", "--rdzv-id", "job7", "--log_dir"]).arg(&logs).arg(speaks)).expect(0);
    let run = fs::read_dir(&logs).unwrap().next().unwrap().unwrap().path();
    assert!(run.file_name().unwrap().to_str().unwrap().starts_with("job7_"), "{run:?}");
    let names = |folder: &Path| {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names.retain(|name| !name.starts_with('.'));
        names
    };
    assert_eq!(names(&run), ["attempt_0", "journal.ndjson", "result.json"]);
    assert_eq!(names(&run.join("attempt_0")), ["0", "1"]);
    assert_eq!(names(&run.join("attempt_0/1")), ["exit.json", "stderr.log", "stdout.log"]);
    assert_eq!(names(&run.join("attempt_0/0")), ["exit.json", "start.json", "stderr.log", "stdout.log"]);
}

/// Each rank keeps its variables; when both have, the first attempt fails and the second does not.
const TELLS: &str = "
import os, sys, time
attempt, rank = os.environ['FERMI_ATTEMPT'], os.environ['RANK']
with open('/proc/self/environ', 'rb') as given, open(f'new-{rank}', 'wb') as kept:
    kept.write(given.read())
os.rename(f'new-{rank}', f'env-{attempt}-{rank}')
while not all(os.path.exists(f'env-{attempt}-{one}') for one in range(2)):
    time.sleep(0.01)
sys.exit(int(attempt) < 2)
";

#[test]
fn what_ranks_were_started_with_is_kept_for_each_attempt_and_for_nobody_else() {
    let place = Place::new();
    let script = place.file("tells.py", TELLS);
    let mut command = place.run(["-q", "-n", "2", "--max-restarts", "1"]);
    command.arg(&script).arg("it's").env("FERMI_RDZV_SECRET", "not-in-any-record");
    Run::whole(&mut command).expect(0);
    for attempt in 0..2 {
        let path = place.rank_file(attempt, 0, "start.json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains("not-in-any-record"), "{text}");
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&record["version"], &record["attempt"]), (&json!(1), &json!(attempt + 1)));
        let argv = record["argv"].as_array().unwrap();
        assert_eq!(argv[argv.len() - 2..], [json!(script), json!("it's")]);
        for rank in 0..2 {
            let of_rank = &record["ranks"][rank];
            let exit: Value = serde_json::from_str(&place.rank_text(attempt, rank as u32, "exit.json")).unwrap();
            assert_eq!((&of_rank["rank"], &of_rank["pid"]), (&json!(rank), &exit["pid"]));
            let environ = fs::read_to_string(place.work().join(format!("env-{}-{rank}", attempt + 1))).unwrap();
            let found: HashMap<&str, &str> = environ.split('\0').filter_map(|pair| pair.split_once('=')).collect();
            let both = record["env"].as_object().unwrap().iter().chain(of_rank["env"].as_object().unwrap());
            for (name, value) in both {
                assert_eq!(Some(value.as_str().unwrap()), found.get(name.as_str()).copied(), "{name}");
            }
            for name in ["RANK", "TORCHELASTIC_ERROR_FILE"] {
                assert!(of_rank["env"][name].is_string() && record["env"][name].is_null(), "{name}");
            }
            assert!(record["env"]["FERMI_RUN_MARK"].is_string(), "{text}");
        }
    }
}
