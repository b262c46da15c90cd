//! What holds of streams in a folder, and of the searches that every store of streams has.

use std::{fs, sync::Arc, thread};

use tempfile::{TempDir, tempdir};

use super::{
    super::{
        Case, Match, SearchQuery,
        search::{BLOCK, LINE},
        tail::MOST,
    },
    *,
};

/// Small segments, so that everything happens at their borders.
fn open() -> (TempDir, LocalChunks) {
    let folder = tempdir().unwrap();
    let chunks = LocalChunks::open_with(folder.path(), 10, 4).unwrap();
    (folder, chunks)
}

fn stream(rank: u32) -> StreamName {
    StreamName { task: TaskId::from("task-1"), attempt: 1, rank, kind: StreamKind::Stdout }
}

fn all(chunks: &LocalChunks, name: &StreamName) -> Vec<u8> {
    chunks.read(name, 0, usize::MAX >> 1).unwrap()
}

#[test]
fn bytes_go_to_the_end_once_and_a_hole_is_refused() {
    let (folder, chunks) = open();
    let name = stream(0);
    assert_eq!(chunks.length(&name).unwrap(), 0);
    assert!(all(&chunks, &name).is_empty());
    assert_eq!(chunks.append(&name, 0, b"0123456").unwrap(), 7);
    assert_eq!(chunks.append(&name, 0, b"0123456").unwrap(), 7, "the same again");
    assert_eq!(chunks.append(&name, 3, b"345").unwrap(), 7, "a part again");
    assert_eq!(chunks.append(&name, 7, b"").unwrap(), 7);
    assert_eq!(chunks.append(&name, 4, b"456789abcdefghijklmnopqrstuvwxyz").unwrap(), 36, "over three borders");
    assert!(matches!(chunks.append(&name, 37, b"x"), Err(AppendError::Offset { have: 36 })));
    assert!(matches!(chunks.append(&name, u64::MAX, b"x"), Err(AppendError::Offset { have: 36 })));
    let text = b"0123456789abcdefghijklmnopqrstuvwxyz";
    assert_eq!(all(&chunks, &name), text);
    for offset in 0..40 {
        for max in [0, 1, 9, 10, 11, 25] {
            let expected = text.get(offset..).unwrap_or_default();
            assert_eq!(chunks.read(&name, offset as u64, max).unwrap(), &expected[..expected.len().min(max)]);
        }
    }
    let files: Vec<u64> =
        (0..4).map(|segment| fs::metadata(name.segment(folder.path(), segment).unwrap()).unwrap().len()).collect();
    assert_eq!(files, [10, 10, 10, 6]);
}

#[test]
fn a_reopened_folder_has_what_the_disk_has() {
    let (folder, chunks) = open();
    let name = stream(0);
    chunks.append(&name, 0, &[7; 20]).unwrap();
    drop(chunks);
    let chunks = LocalChunks::open_with(folder.path(), 10, 4).unwrap();
    assert_eq!(chunks.length(&name).unwrap(), 20, "the last segment is full and the next not begun");
    // Bytes that were written and never acknowledged: they are the same that the sender sends again.
    fs::write(name.segment(folder.path(), 2).unwrap(), b"abc").unwrap();
    let chunks = LocalChunks::open_with(folder.path(), 10, 4).unwrap();
    assert_eq!(chunks.length(&name).unwrap(), 23);
    assert_eq!(chunks.append(&name, 20, b"abcdef").unwrap(), 26);
    assert_eq!(chunks.read(&name, 18, 100).unwrap(), b"\x07\x07abcdef");
}

#[test]
fn many_writers_of_many_streams_lose_nothing() {
    let (_folder, chunks) = open();
    let chunks = Arc::new(chunks);
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let chunks = chunks.clone();
            thread::spawn(move || {
                // Two writers per stream send the same bytes, each from where the other has come to.
                let name = stream(writer % 8);
                let bytes: Vec<u8> = (0..150).map(|byte| byte as u8).collect();
                let mut at = 0;
                while at < bytes.len() {
                    let end = bytes.len().min(at + 7);
                    at = chunks.append(&name, at as u64, &bytes[at..end]).unwrap() as usize;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let expected: Vec<u8> = (0..150).map(|byte| byte as u8).collect();
    for rank in 0..8 {
        assert_eq!(all(&chunks, &stream(rank)), expected);
    }
    chunks.append(&stream(99), 0, b"x").unwrap();
    assert!(chunks.handles.count() <= 16, "{}", chunks.handles.count());
}

#[test]
fn files_that_nobody_writes_are_closed() {
    let (_folder, chunks) = open();
    for round in 0..3_u64 {
        for rank in 0..20 {
            chunks.append(&stream(rank), round, b"x").unwrap();
            assert!(chunks.handles.count() <= 4);
        }
    }
    assert_eq!(chunks.usage(&TaskId::from("task-1")).unwrap(), 60);
}

#[test]
fn streams_are_listed_and_deleted_by_task() {
    let (folder, chunks) = open();
    let other = StreamName { task: TaskId::from("task-2"), attempt: 12, rank: 3, kind: StreamKind::Progress };
    let names = [
        stream(2),
        stream(10),
        StreamName { kind: StreamKind::Stderr, ..stream(10) },
        StreamName { attempt: 2, ..stream(0) },
    ];
    for name in names.iter().chain([&other]) {
        chunks.append(name, 0, b"0123456789ab").unwrap();
    }
    let task = TaskId::from("task-1");
    assert_eq!(chunks.streams(&task).unwrap(), names.clone().map(|name| (name, 12)));
    assert_eq!(chunks.usage(&task).unwrap(), 48);
    assert_eq!(chunks.tasks().unwrap(), [task.clone(), other.task.clone()]);
    chunks.delete(&task).unwrap();
    chunks.delete(&task).unwrap();
    assert_eq!(chunks.tasks().unwrap(), std::slice::from_ref(&other.task));
    assert_eq!((chunks.length(&names[0]).unwrap(), chunks.length(&other).unwrap()), (0, 12));
    assert!(matches!(chunks.append(&names[0], 12, b"x"), Err(AppendError::Offset { have: 0 })));
    assert_eq!(chunks.append(&names[0], 0, b"new").unwrap(), 3);
    assert_eq!(all(&chunks, &names[0]), b"new");

    // A server that died in the middle of a deletion.
    fs::rename(folder.path().join("task-2"), folder.path().join(".deleted-0-task-2")).unwrap();
    let chunks = LocalChunks::open(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(chunks.tasks().unwrap(), [task]);
}

#[test]
fn a_task_cannot_lead_out_of_the_folder() {
    let (_folder, chunks) = open();
    for task in ["", "..", "a/b", ".deleted-0-x", "a\0", "任务"] {
        let name = StreamName { task: TaskId::from(task), ..stream(0) };
        assert!(matches!(chunks.append(&name, 0, b"x"), Err(AppendError::Io(_))), "{task}");
        assert!(chunks.delete(&name.task).is_err(), "{task}");
        assert!(chunks.streams(&name.task).is_err(), "{task}");
    }
}

#[test]
fn an_append_that_fails_leaves_the_stream_as_it_was() {
    let (folder, chunks) = open();
    let name = stream(0);
    chunks.append(&name, 0, b"01234567").unwrap();
    // The second segment cannot be made, so that the append fails half way.
    let blocker = name.segment(folder.path(), 1).unwrap();
    std::os::unix::fs::symlink(folder.path().join("nowhere/at/all"), &blocker).unwrap();
    assert!(matches!(chunks.append(&name, 8, b"89ab"), Err(AppendError::Io(_))));
    assert_eq!(chunks.length(&name).unwrap(), 8);
    assert_eq!(all(&chunks, &name), b"01234567");
    assert_eq!(chunks.append(&name, 8, b"89ab").unwrap(), 12);
    assert_eq!(all(&chunks, &name), b"0123456789ab");
}

#[test]
fn the_tail_begins_at_a_line() {
    let (_folder, chunks) = open();
    let name = stream(0);
    assert_eq!(chunks.tail(&name, 5).unwrap(), (0, Vec::new()));
    chunks.append(&name, 0, b"one\ntwo\n\nfour\n").unwrap();
    for (lines, at, text) in
        [(0, 14, ""), (1, 9, "four\n"), (2, 8, "\nfour\n"), (3, 4, "two\n\nfour\n"), (4, 0, "one\ntwo\n\nfour\n")]
    {
        assert_eq!(chunks.tail(&name, lines).unwrap(), (at, text.as_bytes().to_vec()), "{lines}");
    }
    assert_eq!(chunks.tail(&name, 99).unwrap().0, 0);
    chunks.append(&name, 14, b"open").unwrap();
    assert_eq!(chunks.tail(&name, 2).unwrap(), (9, b"four\nopen".to_vec()));

    let folder = tempdir().unwrap();
    let chunks = LocalChunks::open(folder.path()).unwrap();
    let mut long = vec![b'x'; 1_000_000];
    long.extend(b"\nlast \xff\xfe\n");
    chunks.append(&name, 0, &long).unwrap();
    assert_eq!(chunks.tail(&name, 1).unwrap(), (1_000_001, b"last \xff\xfe\n".to_vec()));
    assert_eq!(chunks.tail(&name, 2).unwrap(), (0, long.clone()));
    let huge = vec![b'y'; MOST as usize];
    chunks.append(&name, long.len() as u64, &huge).unwrap();
    assert_eq!(chunks.tail(&name, 1).unwrap().1.len() as u64, MOST);
}

/// All matches, page by page.
fn found(chunks: &LocalChunks, query: &SearchQuery) -> Vec<Match> {
    let (mut query, mut matches) = (query.clone(), Vec::new());
    loop {
        let page = chunks.search(&TaskId::from("task-1"), &query).unwrap();
        assert!(page.matches.len() <= query.limit);
        matches.extend(page.matches);
        let Some(next) = page.next else { return matches };
        assert_ne!(query.from.as_ref(), Some(&next), "it must go on");
        query.from = Some(next);
    }
}

#[test]
fn a_search_finds_each_line_once_over_borders_and_pages() {
    let (_folder, chunks) = open();
    let text = "first needle, needle\nnothing\nNeedle \u{7f16}\u{7801}\nneedl\ne\nlast needle";
    for rank in [0, 3] {
        chunks.append(&stream(rank), 0, text.as_bytes()).unwrap();
    }
    for kind in [StreamKind::Progress, StreamKind::Start, StreamKind::Hang] {
        chunks.append(&StreamName { kind, ..stream(3) }, 0, b"a needle of no output\n").unwrap();
    }
    for limit in [1, 2, 3, 100] {
        let lines = |query: &SearchQuery| -> Vec<(u32, u64, String)> {
            let show = |one: Match| (one.stream.rank, one.line_offset, String::from_utf8(one.shown).unwrap());
            found(&chunks, query).into_iter().map(show).collect()
        };
        let query = SearchQuery::new("needle", limit);
        let first = (0, 0, "first needle, needle".to_owned());
        let last = (0, text.find("last").unwrap() as u64, "last needle".to_owned());
        let twice = |matches: &[(u32, u64, String)]| -> Vec<(u32, u64, String)> {
            [0, 3].iter().flat_map(|rank| matches.iter().map(|one| (*rank, one.1, one.2.clone()))).collect()
        };
        assert_eq!(lines(&query), twice(&[first.clone(), last.clone()]));
        let any = SearchQuery { case: Case::Ignored, ..query.clone() };
        let middle = (0, 29, "Needle \u{7f16}\u{7801}".to_owned());
        assert_eq!(lines(&any), twice(&[first.clone(), middle, last.clone()]));
        assert_eq!(lines(&SearchQuery { rank: Some(3), ..query.clone() }).len(), 2);
        assert!(lines(&SearchQuery { attempt: Some(2), ..query.clone() }).is_empty());
        assert!(lines(&SearchQuery { kind: Some(StreamKind::Stderr), ..query.clone() }).is_empty());
        assert_eq!(lines(&SearchQuery { text: "编码".into(), ..query.clone() }).len(), 2);
        assert!(lines(&SearchQuery { text: "needl\ne".into(), ..query.clone() }).is_empty());
        assert!(lines(&SearchQuery { text: Vec::new(), ..query }).is_empty());
    }
}

#[test]
fn very_long_lines_and_bytes_that_are_no_text_are_searched_in_little_memory() {
    let folder = tempdir().unwrap();
    let chunks = LocalChunks::open_with(folder.path(), 700_000, 4).unwrap();
    let name = stream(0);
    let mut bytes = vec![b'x'; 3_500_000];
    // Over a border of segments, over one of blocks, and two in one line.
    let places = [700_000 - 3, (1 << 20) - 2, 3_000_000];
    for place in places {
        bytes[place..place + 6].copy_from_slice(b"n\xffedle");
    }
    bytes[1_000_000] = b'\n';
    bytes.extend(b"\nshort n\xffedle \xfe");
    chunks.append(&name, 0, &bytes).unwrap();
    for budget in [0, 1 << 20, u64::MAX] {
        let query = SearchQuery { budget, ..SearchQuery::new(*b"n\xffedle", 2) };
        let matches = found(&chunks, &query);
        let at: Vec<(u64, u64)> = matches.iter().map(|one| (one.line_offset, one.match_offset)).collect();
        assert_eq!(at, [(0, 699_997), (1_000_001, (1 << 20) - 2), (3_500_001, 3_500_007)]);
        for one in &matches {
            assert!(one.shown.len() <= LINE);
            let begin = (one.match_offset - one.shown_offset) as usize;
            assert_eq!(&one.shown[begin..begin + 6], b"n\xffedle");
        }
        assert_eq!(matches[2].shown, b"short n\xffedle \xfe");
    }
}

/// What a search must find, by looking at every line of what is between gaps: (rank, where the line begins, where the text is).
fn plainly_found(pieces: &[(u32, u64, Vec<u8>)], text: &[u8], case: Case) -> Vec<(u32, u64, u64)> {
    let is_same = |part: &[u8]| match case {
        Case::Sensitive => part == text,
        Case::Ignored => part.eq_ignore_ascii_case(text),
    };
    let mut found = Vec::new();
    for (rank, offset, bytes) in pieces {
        let mut at = *offset;
        for line in bytes.split(|byte| *byte == b'\n') {
            let place = line.windows(text.len()).position(is_same);
            found.extend(place.map(|place| (*rank, at, at + place as u64)));
            at += line.len() as u64 + 1;
        }
    }
    found
}

#[test]
fn a_search_over_many_blocks_and_gaps_finds_what_a_plain_one_finds() {
    let mut state = 11_u64;
    let mut draw = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let folder = tempdir().unwrap();
    let chunks = LocalChunks::open_with(folder.path(), 1_000_003, 4).unwrap();
    let mut pieces = Vec::new();
    for rank in 0..3 {
        let name = stream(rank);
        let mut offset = 0;
        for _ in 0..3 {
            let mut bytes = Vec::new();
            while bytes.len() < BLOCK * 4 {
                let word = ["step 12 loss", "rank of nodes", "NEEDL", "\u{7f16}\u{7801}", "eedle dle"][draw(5)];
                bytes.extend(word.as_bytes());
                bytes.extend(if draw(40) == 0 { &b"\n"[..] } else { b" " });
                match draw(20_000) {
                    0 => bytes.extend(b"needle-here"),
                    1 => bytes.extend(b"NeeDLE-Here"),
                    // A line that is longer than a block.
                    2 => bytes.resize(bytes.len() + BLOCK + BLOCK / 3, b'x'),
                    _ => {}
                }
            }
            // One over the border of two blocks.
            bytes[BLOCK * 2 - 3..BLOCK * 2 + 8].copy_from_slice(b"needle-HERE");
            chunks.append(&name, offset, &bytes).unwrap();
            let end = offset + bytes.len() as u64;
            pieces.push((rank, offset, bytes));
            offset = end + 5_000;
            chunks.skip(&name, end, 5_000, GapReason::Budget).unwrap();
        }
    }
    for (text, case) in [
        ("needle-here", Case::Sensitive),
        ("needle-HERE", Case::Ignored),
        ("-h", Case::Ignored),
        ("nowhere", Case::Ignored),
    ] {
        let plain = plainly_found(&pieces, text.as_bytes(), case);
        assert_eq!(plain.is_empty(), text == "nowhere");
        for (limit, budget) in [(1, u64::MAX), (7, 3 * BLOCK as u64), (1_000, 700_000), (1_000, u64::MAX)] {
            let query = SearchQuery { case, budget, ..SearchQuery::new(text, limit) };
            let place = |one: Match| (one.stream.rank, one.line_offset, one.match_offset);
            let found: Vec<_> = found(&chunks, &query).into_iter().map(place).collect();
            assert_eq!(found, plain, "{text} {limit} {budget}");
        }
    }
}

#[test]
fn bytes_that_are_not_kept_leave_a_gap_that_costs_nothing() {
    let (folder, chunks) = open();
    let name = stream(0);
    assert_eq!(chunks.usage(&name.task).unwrap(), 0);
    chunks.append(&name, 0, b"one\ntwo\n").unwrap();
    assert_eq!(chunks.skip(&name, 4, 30, GapReason::TaskBudget).unwrap(), 34, "what is there stays");
    assert_eq!(chunks.skip(&name, 34, 6, GapReason::TaskBudget).unwrap(), 40, "the gap goes on");
    assert_eq!(chunks.skip(&name, 0, 40, GapReason::DiskFull).unwrap(), 40, "all of it is there");
    assert!(matches!(chunks.skip(&name, 41, 1, GapReason::DiskFull), Err(AppendError::Offset { have: 40 })));
    let gap = Gap { offset: 8, length: 32, reason: GapReason::TaskBudget };
    assert_eq!(chunks.gaps(&name).unwrap(), [gap]);
    assert_eq!(chunks.tail(&name, 1).unwrap(), (4, b"two\n".to_vec()), "the gap at the end is no line");
    assert_eq!(chunks.append(&name, 40, b"three\nfour\n").unwrap(), 51);
    assert_eq!(chunks.tail(&name, 9).unwrap(), (40, b"three\nfour\n".to_vec()), "lines end at a gap");
    assert_eq!(chunks.skip(&name, 51, 1, GapReason::DiskFull).unwrap(), 52);
    let last = Gap { offset: 51, length: 1, reason: GapReason::DiskFull };
    let found = chunks.search(&name.task, &SearchQuery::new("three", 9)).unwrap();
    assert_eq!(found.matches.iter().map(|found| found.line_offset).collect::<Vec<_>>(), [40]);
    assert_eq!(chunks.usage(&name.task).unwrap(), 19);
    drop(chunks);
    let chunks = LocalChunks::open_with(folder.path(), 10, 4).unwrap();
    assert_eq!(chunks.length(&name).unwrap(), 52);
    assert_eq!(chunks.gaps(&name).unwrap(), [gap, last]);
    assert_eq!((chunks.usage(&name.task).unwrap(), chunks.usage_in_all()), (19, 19));
    chunks.delete(&name.task).unwrap();
    assert_eq!((chunks.usage(&name.task).unwrap(), chunks.usage_in_all()), (0, 0));
}
