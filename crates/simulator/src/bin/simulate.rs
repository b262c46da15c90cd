//! Plays seeded histories of a cluster: `simulate COUNT [FIRST]`, or `simulate --seed N` to tell one. `simulate --trace [FILE]`
//! plays recorded arrivals through the queue and through plain first come, first served; `simulate --record SEED` writes a
//! week of them.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use fermi_simulator::arrivals::{Job, KEPT_WEEK, Mix, compare, random_weeks};
use fermi_simulator::{Plan, play, shrink, tell};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is what the program is for")]
fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [flag, seed] = args.as_slice()
        && flag == "--seed"
        && let Ok(seed) = seed.parse()
    {
        let plan = shrink(&Plan::of(seed));
        let (story, violation) = tell(&plan);
        for line in story {
            println!("{line}");
        }
        println!("{violation:?}");
        return ExitCode::from(u8::from(violation.is_some()));
    }
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--trace"] => return trace(KEPT_WEEK),
        ["--trace", path] => match std::fs::read_to_string(path) {
            Ok(text) => return trace(&text),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        },
        ["--record", seed] => {
            let jobs = random_weeks(seed.parse().unwrap_or(1), 1, Mix::usual());
            print!("{}", Job::write_all(&jobs));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let number = |at: usize| args.get(at).and_then(|text| text.parse().ok());
    let (count, first): (u64, u64) = (number(0).unwrap_or(10_000), number(1).unwrap_or(1));
    let began = Instant::now();
    let mut broken = 0;
    for seed in first..first + count {
        if let Some(violation) = play(&Plan::of(seed)) {
            broken += 1;
            println!("seed {seed}: {}: {}", violation.promise, violation.what);
            if broken == 20 {
                break;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{count} histories in {seconds:.1} s, {:.0} per second; {broken} broke a promise", count as f64 / seconds);
    ExitCode::from(u8::from(broken > 0))
}

/// Waiting time and use of both policies beside each other.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is what the program is for")]
fn trace(text: &str) -> ExitCode {
    match Job::read_all(text) {
        Ok(jobs) => {
            let (ours, plain, table) = compare(&jobs);
            print!("{table}");
            for wrong in ours.wrong.iter().chain(&plain.wrong) {
                println!("{wrong}");
            }
            ExitCode::from(u8::from(!ours.wrong.is_empty() || !plain.wrong.is_empty()))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
