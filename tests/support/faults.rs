//! Faults at system calls: a library that is loaded into everything a test starts (`tests/syscalls/faults.c`), and the plan
//! that it obeys, which the test changes while its processes run.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use super::Place;

/// The same in faults.c.
const RULES: usize = 8;
const RULE: usize = 256;
const SEEN_AT: u64 = 20;

/// What fails or waits: `<process> <call> <part of the path> <n-th> <error or milliseconds> [<times>]`, such as
/// `agent open /pass.json$ 1 EIO`. A path that ends in `$` is the end of one; 0 times is from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    text: String,
    process: String,
    call: String,
    path: String,
    nth: u32,
    times: u32,
    error: i32,
    delay_ms: u32,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [process, call, path, nth, what, rest @ ..] = words.as_slice() else { return Err(text.to_owned()) };
        let number = |word: &str| word.parse::<u32>().map_err(|_| text.to_owned());
        let (error, delay_ms) = match *what {
            "EIO" => (libc::EIO, 0),
            "ENOSPC" => (libc::ENOSPC, 0),
            "EMFILE" => (libc::EMFILE, 0),
            "ENOLCK" => (libc::ENOLCK, 0),
            delay => (0, number(delay.strip_suffix("ms").ok_or_else(|| text.to_owned())?)?),
        };
        Ok(Self {
            text: text.to_owned(),
            process: (*process).to_owned(),
            call: (*call).to_owned(),
            path: (*path).to_owned(),
            nth: number(nth)?,
            times: rest.first().map_or(Ok(1), |times| number(times))?,
            error,
            delay_ms,
        })
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Fault {
    /// Whether it holds until it is taken back.
    pub fn stays(&self) -> bool {
        self.times == 0
    }

    fn rule(&self) -> [u8; RULE] {
        let mut rule = [0; RULE];
        let numbers = [1, self.nth, self.times, self.error.cast_unsigned(), self.delay_ms];
        for (at, number) in numbers.iter().enumerate() {
            rule[at * 4..][..4].copy_from_slice(&number.to_le_bytes());
        }
        for (at, text) in [(32, &self.process), (48, &self.call), (64, &self.path)] {
            rule[at..][..text.len()].copy_from_slice(text.as_bytes());
        }
        rule
    }
}

/// The plan of one test.
pub struct Faults {
    file: File,
}

impl Faults {
    /// Everything that is started in this place from now on obeys the plan.
    pub fn of(place: &mut Place) -> Self {
        let path = place.path().join("faults");
        fs::write(&path, [0; RULES * RULE]).unwrap();
        place.set("LD_PRELOAD", library());
        let file = File::options().read(true).write(true).open(&path).unwrap();
        place.set("FERMI_TEST_FAULTS", path);
        Self { file }
    }

    /// This one holds from now on, and no other.
    pub fn arm(&self, fault: &Fault) {
        self.rest();
        self.file.write_all_at(&fault.rule(), 0).unwrap();
    }

    /// Nothing fails any more.
    pub fn rest(&self) {
        for rule in 0..RULES {
            self.file.write_all_at(&[0; 4], (rule * RULE) as u64).unwrap();
        }
    }

    /// How often the armed one has struck.
    pub fn struck(&self) -> u32 {
        let mut numbers = [0; 8];
        self.file.read_exact_at(&mut numbers, SEEN_AT).unwrap();
        u32::from_le_bytes(numbers[4..].try_into().unwrap())
    }
}

/// The library, compiled once for its text.
pub fn library() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/syscalls/faults.c").canonicalize().unwrap();
    let text = fs::read(&source).unwrap();
    let sum = text.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{sum:x}.so"));
    if !library.exists() {
        let draft = library.with_extension(format!("{}.new", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&draft).arg(&source);
        assert!(compiler.status().expect("cc is needed: apt-get install gcc").success());
        fs::rename(draft, &library).unwrap();
    }
    library
}
