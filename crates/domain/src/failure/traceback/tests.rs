use super::*;

fn found(text: &str) -> Option<Traceback> {
    let lines: Vec<&str> = text.lines().collect();
    last_traceback(&lines)
}

const PLAIN: &str = "\
step 4 loss 2.0
Traceback (most recent call last):
  File \"train.py\", line 3, in <module>
    main()
    ~~~~^^
ValueError: bad shape
expected 3, got 4
";

#[test]
fn a_traceback_ends_with_its_exception_and_the_rest_of_its_message() {
    let traceback = found(PLAIN).unwrap();
    assert_eq!(traceback.exception, "ValueError: bad shape");
    assert_eq!(traceback.lines.first().unwrap(), "Traceback (most recent call last):");
    assert_eq!(traceback.lines.last().unwrap(), "expected 3, got 4");
}

#[test]
fn the_prefixes_of_torch_are_taken_off() {
    let prefixed: String = PLAIN.lines().map(|line| format!("[rank12]: {line}\n")).collect();
    assert_eq!(found(&prefixed), found(PLAIN));
    assert_eq!(without_prefix("[default0]:x"), "x");
    assert_eq!(without_prefix("[gn6:rank3]:   x"), "  x");
    for kept in ["[W socket.cpp:464] x", "[1, 2]: x", "[note]: x", "x [rank0]: y", "["] {
        assert_eq!(without_prefix(kept), kept);
    }
}

#[test]
fn a_chain_is_kept_whole_and_named_by_its_last_exception() {
    for chain in [CHAINS[0], CHAINS[1], "-- Process 1 terminated with the following error:"] {
        let text = format!(
            "{PLAIN}\n{chain}\n\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: gave up\n"
        );
        let traceback = found(&text).unwrap();
        assert_eq!(traceback.exception, "RuntimeError: gave up");
        assert!(traceback.lines.iter().any(|line| line == "ValueError: bad shape"), "{traceback:?}");
        assert!(!traceback.lines.iter().any(|line| line.starts_with("step")));
    }
}

#[test]
fn the_last_of_several_is_taken_without_the_earlier_ones() {
    let text = format!(
        "{PLAIN}\nretrying\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n"
    );
    let traceback = found(&text).unwrap();
    assert_eq!((traceback.exception.as_str(), traceback.lines.len()), ("KeyError: 'x'", 3));
}

#[test]
fn a_syntax_error_has_no_header() {
    let traceback =
        found("  File \"t.py\", line 2\n    def f(\n         ^\nSyntaxError: '(' was never closed\n").unwrap();
    assert_eq!((traceback.exception.as_str(), traceback.lines.len()), ("SyntaxError: '(' was never closed", 4));
}

#[test]
fn what_python_prints_of_destructors_and_threads_comes_second() {
    for aside in ["Exception ignored in: <function A.__del__ at 0x7>", "Exception in thread Thread-3 (pin):"] {
        let text = format!(
            "{PLAIN}{aside}\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nOSError: late\n"
        );
        assert_eq!(found(&text).unwrap().exception, "ValueError: bad shape", "{aside}");
    }
    let alone =
        "Exception in thread T:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nOSError: late\n";
    assert_eq!(found(alone).unwrap().exception, "OSError: late");
}

#[test]
fn a_line_of_another_stream_between_frames_does_not_hide_the_exception() {
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nWARNING: slow disk\n    f()\nOSError: gone\n";
    assert_eq!(found(text).unwrap().exception, "OSError: gone");
}

#[test]
fn a_traceback_without_an_end_is_none() {
    assert_eq!(found("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"), None);
    assert_eq!(found("nothing here\nat all"), None);
    assert_eq!(
        found("Current thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\nExtension modules: numpy"),
        None
    );
}

#[test]
fn a_group_is_named_by_its_first_member() {
    let text = "  + Exception Group Traceback (most recent call last):
  |   File \"a.py\", line 1, in <module>
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: one
    +---------------- 2 ----------------
    | TypeError: two
    +------------------------------------
";
    let traceback = found(text).unwrap();
    assert_eq!((traceback.exception.as_str(), traceback.lines.len()), ("ValueError: one", 8));
}

#[test]
fn exceptions_are_told_from_other_lines() {
    for line in [
        "KeyboardInterrupt",
        "torch.OutOfMemoryError: CUDA",
        "socket.timeout: timed out",
        "queue.Empty",
        "a.b.<locals>.E: x",
    ] {
        assert!(is_exception(line), "{line}");
    }
    for line in ["", "WARNING: x", "step 4: x", "done", "100%|###|: x", "loss: 3"] {
        assert!(!is_exception(line), "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_search_panic(lines in proptest::collection::vec("(\\[rank1\\]: )?( {0,4}(File \"x\", line 1)?|Traceback \\(most recent call last\\):|\\| |\\+ )?.{0,12}", 0..30)) {
        last_traceback(&lines);
    }
}

#[test]
fn what_happened_in_a_data_loader_is_kept_with_what_it_caused() {
    let text = "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\nValueError: Caught ValueError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n  File \"data.py\", line 7, in __getitem__\nValueError: bad sample 5\n";
    let traceback = found(text).unwrap();
    assert_eq!((traceback.exception.as_str(), traceback.lines.len()), ("ValueError: bad sample 5", 6));
}

#[test]
fn a_box_drawn_by_rich_is_read_to_the_exception_below_it() {
    let text = "step 3\n╭───── Traceback (most recent call last) ─────╮\n│ /w/train.py:12 in <module>                  │\n╰─────────────────────────────────────────────╯\nValueError: bad shape\n";
    let traceback = found(text).unwrap();
    assert_eq!((traceback.exception.as_str(), traceback.lines.len()), ("ValueError: bad shape", 4));
}

#[test]
fn what_a_launcher_says_of_the_program_inside_it_comes_second() {
    for wrapper in WRAPPERS {
        let text = format!(
            "{PLAIN}\nTraceback (most recent call last):\n  File \"/bin/accelerate\", line 8, in <module>\n{wrapper}: Command failed\n"
        );
        assert_eq!(found(&text).unwrap().exception, "ValueError: bad shape", "{wrapper}");
    }
}
