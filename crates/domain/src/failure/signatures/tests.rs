//! Every log under `samples/` is a test: its first line says how the rank ended and which signature must answer.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::{
    super::{Evidence, diagnose},
    *,
};
use crate::exit::{Exit, parse_signal};

struct Sample {
    name: String,
    exit: Exit,
    oom_killed: bool,
    made_progress: bool,
    expected: String,
    tail: Vec<String>,
}

/// Reads `# exit 1 => missing_module`, `# signal SIGKILL, oom => host_oom_kill`, `# exit 1, progress => none`.
fn sample(name: String, text: &str) -> Sample {
    let (head, body) = text.split_once('\n').unwrap();
    let (how, expected) = head.strip_prefix("# ").unwrap().split_once(" => ").unwrap();
    let mut words = how.split(", ");
    let exit = match words.next().unwrap().split_once(' ').unwrap() {
        ("exit", code) => Exit::Code { code: code.parse().unwrap() },
        ("signal", signal) => Exit::Signal { signal: parse_signal(signal).unwrap(), core_dumped: false },
        ("refused", error) => Exit::NotStarted { error: error.to_owned() },
        other => panic!("{name}: {other:?}"),
    };
    let flags: Vec<&str> = words.collect();
    Sample {
        exit,
        oom_killed: flags.contains(&"oom"),
        made_progress: flags.contains(&"progress"),
        expected: expected.trim().to_owned(),
        tail: body.lines().map(str::to_owned).collect(),
        name,
    }
}

fn samples() -> Vec<Sample> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/failure/samples");
    let mut all: Vec<Sample> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            sample(path.file_stem().unwrap().to_string_lossy().into_owned(), &fs::read_to_string(&path).unwrap())
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn evidence(sample: &Sample) -> Evidence<'_> {
    Evidence {
        exit: &sample.exit,
        tail: &sample.tail,
        error_file: None,
        oom_killed: sample.oom_killed,
        lived_ms: 4_000,
        made_progress: sample.made_progress,
    }
}

#[test]
fn every_sample_is_answered_by_the_signature_that_it_names() {
    let mut wrong = Vec::new();
    for sample in samples() {
        let found = diagnose(&evidence(&sample));
        let id = found.as_ref().map_or("none", |diagnosis| &diagnosis.id);
        if id != sample.expected {
            wrong.push(format!("{}: expected {}, found {id}: {found:?}", sample.name, sample.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_signature_has_a_sample_that_bears_its_name() {
    let samples = samples();
    let ids: BTreeSet<&str> = SIGNATURES.iter().map(|signature| signature.id).collect();
    assert_eq!(ids.len(), SIGNATURES.len(), "ids are unique");
    for id in ids {
        assert!(
            samples.iter().any(|sample| sample.expected == id && sample.name.starts_with(id)),
            "{id} has no sample"
        );
    }
}

#[test]
fn every_negative_sample_is_answered_by_something_else() {
    let negatives: Vec<Sample> = samples().into_iter().filter(|sample| sample.name.starts_with("not_")).collect();
    assert!(negatives.len() >= 8);
    for sample in negatives {
        assert!(!sample.name[4..].starts_with(&sample.expected), "{}", sample.name);
    }
}

#[test]
fn every_diagnosis_speaks_both_languages_and_shows_a_line_of_the_log() {
    for sample in samples() {
        let Some(diagnosis) = diagnose(&evidence(&sample)) else { continue };
        for text in [&diagnosis.cause, &diagnosis.advice] {
            assert!(text.en.is_ascii() || text.en.contains('…'), "{}: {}", sample.name, text.en);
            assert!(text.zh.chars().any(|letter| letter > '\u{2fff}'), "{}: {}", sample.name, text.zh);
            assert!(!text.en.contains("  ") && !text.zh.contains("  "), "{}: doubled space", sample.name);
        }
        if let Some(line) = &diagnosis.line {
            let known = sample.tail.iter().any(|given| given.contains(line.as_str()))
                || matches!(&sample.exit, Exit::NotStarted { error } if error == line);
            assert!(known, "{}: {line}", sample.name);
        }
    }
}

fn answer(exit: Exit, tail: &[&str]) -> Option<super::super::Diagnosis> {
    let tail: Vec<String> = tail.iter().map(|line| (*line).to_owned()).collect();
    let evidence =
        Evidence { exit: &exit, tail: &tail, error_file: None, oom_killed: false, lived_ms: 1, made_progress: false };
    diagnose(&evidence)
}

#[test]
fn the_details_of_a_line_go_into_the_cause() {
    let table = [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity",
            "2.50 GiB",
        ),
        ("RuntimeError: [::]:29511 (errno: 98 - Address already in use).", "29511"),
        ("DistNetworkError: port: 29507, useIpv6: false, code: -98, name: EADDRINUSE", "29507"),
        (
            "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8080): address already in use",
            "8080",
        ),
        (
            "E0302 10:11:12.13 server_chttp2.cc:40] {\"errno\":98,\"os_error\":\"Address already in use\"}",
            "port is already in use",
        ),
        ("ModuleNotFoundError: No module named 'flash_attn.ops'", "flash_attn.ops"),
        ("python: can't open file '/home/a/trian.py': [Errno 2] No such file or directory", "/home/a/trian.py"),
        ("OSError: [Errno 28] No space left on device: '/data/out/step-10'", "/data/out/step-10"),
        ("PermissionError: [Errno 13] Permission denied: '/data/out'", "/data/out"),
        (
            "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.",
            "ALLREDUCE",
        ),
        ("The client socket has timed out after 60000ms while trying to connect to (gn6, 29500).", "gn6:29500"),
    ];
    for (line, detail) in table {
        let found = answer(Exit::Code { code: 1 }, &[line]).unwrap();
        assert!(found.cause.en.contains(detail), "{line}: {}", found.cause.en);
    }
}

#[test]
fn success_has_no_diagnosis_whatever_was_printed() {
    assert_eq!(answer(Exit::SUCCESS, &["RuntimeError: CUDA out of memory."]), None);
}

#[test]
fn an_error_file_is_enough_when_the_output_is_lost() {
    let exit = Exit::Code { code: 1 };
    let evidence = Evidence {
        exit: &exit,
        tail: &[],
        error_file: Some("ZeroDivisionError: division by zero"),
        oom_killed: false,
        lived_ms: 1,
        made_progress: false,
    };
    let found = diagnose(&evidence).unwrap();
    assert_eq!((&*found.id, found.line.as_deref()), ("python_exception", evidence.error_file));
}

#[test]
fn progress_makes_a_second_try_worthwhile() {
    let exit = Exit::Code { code: 1 };
    let tail = vec!["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB.".to_owned()];
    let with = |made_progress| {
        let evidence =
            Evidence { exit: &exit, tail: &tail, error_file: None, oom_killed: false, lived_ms: 1, made_progress };
        diagnose(&evidence).unwrap().recurrence
    };
    assert_eq!((with(false), with(true)), (Recurrence::WouldRepeat, Recurrence::MayPass));
}

#[test]
fn the_advice_is_for_what_was_seen() {
    let batch = "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * \
                 gradient_acc_step * world_size 64 != 4 * 1 * 14";
    // A line, what its advice names, and what it must not name.
    let table = [
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
            "XLA_PYTHON_CLIENT_MEM_FRACTION=0.8",
            "PYTORCH",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB.", "PYTORCH_CUDA_ALLOC_CONF", "XLA"),
        ("RuntimeError: NCCL initialization failed", "NCCL_P2P_DISABLE=1", "ulimit"),
        (batch, "set it to 56", "XLA"),
        ("MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)", "export CUDA_HOME", "ninja"),
        (
            "RuntimeError: Unable to JIT load the cpu_adam op due to ninja not being installed.",
            "pip install ninja",
            "export CUDA_HOME",
        ),
        ("ImportError: DeepSpeed initialization failed", "ds_report", "ninja"),
        ("ImportError: DeepSpeed initialization failed", "pip show deepspeed", "compiler"),
        ("AssertionError: {'id': 0, 'status': 'NOT_AVAILABLE', 'numel': 0}", "GatheredParameters", "save_16bit_model"),
        ("ValueError: Cannot get 16bit model weights because", "save_16bit_model", "GatheredParameters"),
    ];
    for (line, named, unnamed) in table {
        let advice = answer(Exit::Code { code: 1 }, &[line]).unwrap().advice;
        assert!(advice.en.contains(named) && !advice.en.contains(unnamed), "{line}: {}", advice.en);
    }
}

proptest::proptest! {
    #[test]
    fn no_output_makes_a_diagnosis_panic(
        code in 0_i32..256,
        parts in proptest::collection::vec((
            proptest::sample::select(vec!["", "[rank0]: ", "Traceback (most recent call last):", "  File \"a\", line 1, in f", "RuntimeError: "]),
            proptest::sample::select(vec!["", "Tried to allocate ", "CUDA out of memory", "port: ", "errno: 98", "]:", "No module named ", "OpType=", "device: '", "trying to connect to ("]),
            ".{0,6}",
        ), 0..20),
    ) {
        let tail: Vec<String> = parts.into_iter().map(|(head, mark, rest)| format!("{head}{mark}{rest}")).collect();
        let exit = Exit::Code { code };
        let evidence = Evidence { exit: &exit, tail: &tail, error_file: None, oom_killed: false, lived_ms: 0, made_progress: false };
        diagnose(&evidence);
    }
}
