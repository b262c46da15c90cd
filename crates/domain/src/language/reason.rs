//! Why the system or a file did not do as it was asked, in words that people know.

use std::io;

use serde_json::error::Category;
use thiserror::Error;

use super::Text;

/// A file that is not read to its end, because no file of its kind is so large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it has more than {} MiB", self.most_bytes >> 20)]
pub struct TooLarge {
    pub most_bytes: u64,
}

impl TooLarge {
    fn text(self) -> Text {
        let most = self.most_bytes >> 20;
        Text::new(
            format!("超过 {most} MiB，这样的文件不会这么大"),
            format!("it has more than {most} MiB, as no such file has"),
        )
    }
}

/// A device, a pipe or a socket where data is expected: it has no size, and may never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it is neither a file nor a folder")]
pub struct NeitherFileNorFolder;

impl NeitherFileNorFolder {
    pub fn is_why(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl From<NeitherFileNorFolder> for io::Error {
    fn from(special: NeitherFileNorFolder) -> Self {
        Self::new(io::ErrorKind::InvalidInput, special)
    }
}

/// What an error of the system means. One that has no words here is named by its number.
pub fn of_io(error: &io::Error) -> Text {
    use io::ErrorKind as Kind;
    if let Some(large) = error.get_ref().and_then(|inner| inner.downcast_ref::<TooLarge>()) {
        return large.text();
    }
    if NeitherFileNorFolder::is_why(error) {
        return Text::new(
            "它是设备、管道或套接字，不是文件或目录",
            "it is a device, a pipe or a socket, neither a file nor a folder",
        );
    }
    let (zh, en) = match error.kind() {
        Kind::NotFound => ("不存在", "it does not exist"),
        Kind::PermissionDenied => ("没有权限", "permission is denied"),
        Kind::AlreadyExists => ("已存在", "it exists already"),
        Kind::IsADirectory => ("它是目录", "it is a folder"),
        Kind::NotADirectory => ("路径中有一段不是目录", "a part of the path is no folder"),
        Kind::DirectoryNotEmpty => ("目录不为空", "the folder is not empty"),
        Kind::ReadOnlyFilesystem => ("文件系统只读", "the file system is read-only"),
        Kind::StorageFull | Kind::QuotaExceeded => ("磁盘空间不足", "no space is left on the disk"),
        Kind::FileTooLarge => ("文件过大", "the file is too large"),
        Kind::InvalidData => ("内容不是有效的 UTF-8", "its content is not valid UTF-8"),
        Kind::InvalidFilename => ("文件名无效", "the file name is not valid"),
        Kind::ArgumentListTooLong => ("命令行过长", "the command line is too long"),
        Kind::ExecutableFileBusy => ("程序文件正在被写入", "the program is being written"),
        Kind::OutOfMemory => ("内存不足", "there is not enough memory"),
        Kind::ConnectionRefused => ("连接被拒绝", "the connection is refused"),
        Kind::ConnectionReset | Kind::ConnectionAborted => ("连接被中断", "the connection was cut"),
        Kind::HostUnreachable => ("主机不可达", "the host cannot be reached"),
        Kind::NetworkUnreachable | Kind::NetworkDown => ("网络不可达", "the network cannot be reached"),
        Kind::TimedOut => ("没有及时回答", "no answer came in time"),
        Kind::AddrInUse => ("地址已被占用", "the address is in use"),
        Kind::AddrNotAvailable => ("本机没有这个地址", "this machine does not have the address"),
        Kind::BrokenPipe => ("对方已关闭", "the other side has closed"),
        Kind::WouldBlock => ("资源暂时不可用", "a resource is not available for now"),
        _ => return by_number(error),
    };
    Text::new(zh, en)
}

/// A sentence that has the words of a system's error in it, or ends in those of the reader of JSON, such as one that came over
/// the network, with ours in their place.
pub fn of_said(said: &str) -> Text {
    if let Some(told) = of_said_json(said) {
        return told;
    }
    const NUMBER: &str = " (os error ";
    let number =
        said.split(NUMBER).nth(1).and_then(|rest| rest.split(')').next()).and_then(|number| number.parse().ok());
    let error = number.map(io::Error::from_raw_os_error);
    let found = error.map(|error| (error.to_string(), of_io(&error))).or_else(|| {
        let start = said.find(UNRESOLVED)?;
        Some((said[start..].to_owned(), unresolved()))
    });
    match found {
        Some((words, ours)) => Text::new(said.replace(&words, &ours.zh), said.replace(&words, &ours.en)),
        None => of_words(said).unwrap_or_else(|| Text::new(said.to_owned(), said.to_owned())),
    }
}

/// The same where the words of the system stand alone, without their number.
fn of_words(said: &str) -> Option<Text> {
    const HIGHEST_NUMBER: i32 = 133;
    let is_said = |error: &io::Error| error.to_string().split(" (os error").next() == Some(said);
    (1..=HIGHEST_NUMBER).map(io::Error::from_raw_os_error).find(is_said).map(|error| of_io(&error))
}

/// How the words of the system begin where a host name is not known.
const UNRESOLVED: &str = "failed to lookup address";

fn unresolved() -> Text {
    Text::new("查不到该主机名", "no such name is known")
}

/// What has a number and no kind, or one that says less than its number.
fn by_number(error: &io::Error) -> Text {
    const PROCESS_FILES: i32 = 24;
    const SYSTEM_FILES: i32 = 23;
    match error.raw_os_error() {
        Some(PROCESS_FILES) => Text::new("打开的文件过多", "too many files are open"),
        Some(SYSTEM_FILES) => Text::new("整台机器打开的文件过多", "too many files are open on this machine"),
        _ => other(error),
    }
}

/// The system's own words, without the marks of the language that Fermi is written in.
fn other(error: &io::Error) -> Text {
    let said = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let plain = said.split(" (os error").next().unwrap_or_default().to_lowercase();
            Text::new(format!("系统错误 {number}（{plain}）"), format!("{plain} (error {number} of the system)"))
        }
        None if said.starts_with(UNRESOLVED) => unresolved(),
        None => Text::new(said.clone(), said),
    }
}

/// Where a JSON text is not one, and in which way.
pub fn of_json(error: &serde_json::Error) -> Text {
    let found = match error.classify() {
        Category::Eof => text(TOO_SHORT),
        Category::Data => of_another_kind(&error.to_string()),
        Category::Syntax | Category::Io => {
            let said = error.to_string();
            let known = MISTAKES.iter().find(|(words, _)| said.contains(words));
            text(known.map_or(("有语法错误", "a mistake"), |(_, found)| *found))
        }
    };
    at(error.line(), error.column(), &found)
}

const TOO_SHORT: (&str, &str) = ("内容不完整", "it ends too early");

fn text((zh, en): (&str, &str)) -> Text {
    Text::new(zh.to_owned(), en.to_owned())
}

/// How the reader of JSON begins where a text is JSON and not what was expected.
const OTHER_KINDS: [&str; 7] = [
    "unknown variant",
    "unknown field",
    "missing field",
    "duplicate field",
    "invalid type",
    "invalid value",
    "invalid length",
];

/// What is not as expected, by its name where the reader of JSON tells one.
fn of_another_kind(said: &str) -> Text {
    const LONGEST: usize = 64;
    let named = |phrase: &str| {
        let name: String = said.strip_prefix(phrase)?.split('`').nth(1)?.chars().take(LONGEST).collect();
        Some(name)
    };
    for (phrase, zh, en) in [
        ("unknown variant", ("不认识的值“", "”"), ("\"", "\" is not known")),
        ("unknown field", ("不认识的字段“", "”"), ("\"", "\" is no field of it")),
        ("missing field", ("缺少字段“", "”"), ("the field \"", "\" is missing")),
        ("duplicate field", ("字段“", "”出现了两次"), ("the field \"", "\" is there twice")),
    ] {
        if let Some(name) = named(phrase) {
            return Text::new(format!("{}{name}{}", zh.0, zh.1), format!("{}{name}{}", en.0, en.1));
        }
    }
    text(("类型不对", "something of another kind was expected"))
}

/// The same where nothing but the words of JSON's reader is left, at the end of a sentence or alone.
fn of_said_json(said: &str) -> Option<Text> {
    let (words, place) = said.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let begins = |phrase: &str| {
        let mut found = words.match_indices(phrase).map(|(start, _)| start);
        found.find(|start| *start == 0 || words[..*start].ends_with(": "))
    };
    let mistakes = MISTAKES.iter().copied().chain([("EOF while parsing", TOO_SHORT)]);
    let mistakes = mistakes.filter_map(|(phrase, found)| Some((begins(phrase)?, text(found))));
    let kinds =
        OTHER_KINDS.iter().filter_map(|phrase| begins(phrase).map(|start| (start, of_another_kind(&words[start..]))));
    let (start, found) = mistakes.chain(kinds).min_by_key(|(start, _)| *start)?;
    let (before, told) = (&words[..start], at(line, column, &found));
    Some(Text::new(format!("{before}{}", told.zh), format!("{before}{}", told.en)))
}

fn at(line: usize, column: usize, found: &Text) -> Text {
    let Text { zh, en } = found;
    if line == 0 {
        return found.clone();
    }
    Text::new(format!("第 {line} 行第 {column} 列{zh}"), format!("line {line}, column {column}: {en}"))
}

/// The mistakes that people make in JSON, by the words of its reader.
const MISTAKES: [(&str, (&str, &str)); 14] = [
    (
        "key must be a string",
        ("的键没有双引号（JSON 没有注释）", "a key is not in double quotes (JSON has no comments)"),
    ),
    ("trailing comma", ("多了一个逗号", "a comma too many")),
    ("trailing characters", ("之后还有多余的内容", "something follows the end")),
    ("expected `,`", ("缺少逗号", "a comma is missing")),
    ("expected `:`", ("缺少冒号", "a colon is missing")),
    ("expected value", ("缺少值", "a value is missing")),
    ("expected ident", ("的词无法识别，应为 true、false 或 null", "a word that is not true, false or null")),
    ("invalid escape", ("有无效的转义", "an escape that is not valid")),
    ("control character", ("的字符串中有控制字符", "a control character in a string")),
    ("invalid number", ("不是有效的数字", "a number that is not valid")),
    ("number out of range", ("的数字超出范围", "a number that is out of range")),
    ("recursion limit", ("嵌套过深", "it is nested too deeply")),
    ("lone leading surrogate", ("有不完整的转义字符", "half of an escaped letter")),
    ("unexpected end of hex", ("有不完整的转义字符", "half of an escaped letter")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_errors_have_no_numbers_of_a_programmer() {
        let missing = of_io(&io::Error::from_raw_os_error(2));
        assert_eq!((&*missing.zh, &*missing.en), ("不存在", "it does not exist"));
        let odd = of_io(&io::Error::from_raw_os_error(71));
        assert_eq!(odd.en, "protocol error (error 71 of the system)");
        assert!(!odd.zh.contains("os error"));
        assert_eq!(of_io(&io::Error::other("no token")).en, "no token");
    }

    #[test]
    fn the_systems_words_without_their_number_are_known_too() {
        let told = of_said("No space left on device");
        assert_eq!((&*told.zh, &*told.en), ("磁盘空间不足", "no space is left on the disk"));
        assert_eq!(of_said("No space").en, "No space");
    }

    #[test]
    fn the_usual_errors_have_words_wherever_they_stand_in_a_sentence() {
        for (number, zh, en) in [
            (2, "不存在", "it does not exist"),
            (11, "资源暂时不可用", "a resource is not available for now"),
            (13, "没有权限", "permission is denied"),
            (24, "打开的文件过多", "too many files are open"),
            (28, "磁盘空间不足", "no space is left on the disk"),
            (98, "地址已被占用", "the address is in use"),
            (111, "连接被拒绝", "the connection is refused"),
        ] {
            let told = of_said(&format!("/usr/bin/python3: {}", io::Error::from_raw_os_error(number)));
            assert_eq!(
                (&*told.zh, &*told.en),
                (&*format!("/usr/bin/python3: {zh}"), &*format!("/usr/bin/python3: {en}"))
            );
        }
        let name = of_said("failed to lookup address information: Name or service not known");
        assert_eq!((&*name.zh, &*name.en), ("查不到该主机名", "no such name is known"));
        for said in ["", "no token", "x (os error y)", "x (os error "] {
            assert_eq!(of_said(said).zh, said);
        }
    }

    #[test]
    fn mistakes_in_json_are_told_by_place_and_kind() {
        let told =
            |text: &str| of_json(&serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(text).unwrap_err());
        for (text, en) in [
            ("{\n  // note\n}", "line 2, column 3: a key is not in double quotes (JSON has no comments)"),
            ("{\"a\": 1,}", "line 1, column 9: a comma too many"),
            ("{\"a\": }", "line 1, column 7: a value is missing"),
            ("{\"a\" 1}", "line 1, column 6: a colon is missing"),
            ("{\"a\": 1", "line 1, column 7: it ends too early"),
            ("[1]", "line 1, column 0: something of another kind was expected"),
        ] {
            assert_eq!(told(text).en, en, "{text}");
            assert!(told(text).zh.starts_with("第 "), "{text}");
            // Also where only the reader's words have come.
            let error = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(text).unwrap_err();
            assert_eq!(of_said(&error.to_string()), told(text), "{text}");
        }
        for (said, zh, en) in [
            ("missing field `name`", "缺少字段“name”", "the field \"name\" is missing"),
            ("unknown field `nam`, expected `name`", "不认识的字段“nam”", "\"nam\" is no field of it"),
            (
                "unknown variant `dreaming`, expected one of `a`, `b`",
                "不认识的值“dreaming”",
                "\"dreaming\" is not known",
            ),
            ("duplicate field `name`", "字段“name”出现了两次", "the field \"name\" is there twice"),
            ("invalid type: string \"a\", expected u32", "类型不对", "something of another kind was expected"),
        ] {
            let told = of_said(&format!("task-3: {said} at line 1 column 5"));
            assert_eq!(told.zh, format!("task-3: 第 1 行第 5 列{zh}"));
            assert_eq!(told.en, format!("task-3: line 1, column 5: {en}"));
        }
        for said in ["he stood at line 3 column 4", "at line 3 column x", "invalid type at line 3"] {
            assert_eq!(of_said(said).zh, said);
        }
    }
}
