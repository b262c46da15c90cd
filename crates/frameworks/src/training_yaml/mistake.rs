//! What is wrong with a file.

use std::fmt;

use fermi_domain::language::{Explained, FrontEnd, Hint, Language, Text};
use thiserror::Error;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    Syntax {
        message: String,
    },
    NotUtf8,
    /// The file is a list or a word.
    NotSections,
    SeveralDocuments,
    /// A key that is nothing, a list or a section.
    KeyNotText,
    Twice {
        key: String,
        line: u64,
    },
    UnknownKey {
        path: String,
        suggestion: Option<String>,
    },
    WrongValue {
        path: String,
        given: String,
        wanted: Text,
    },
    /// One thing in two spellings, with two values.
    Disagree {
        one: (String, String),
        other: (String, String),
    },
    Unfit {
        path: String,
        text: Text,
        hint: Option<Hint>,
    },
}

impl Mistake {
    /// Where it is; empty for the file as a whole.
    pub fn path(&self) -> &str {
        match self {
            Self::Syntax { .. } | Self::NotUtf8 | Self::NotSections | Self::SeveralDocuments | Self::KeyNotText => "",
            Self::Twice { key, .. } => key,
            Self::UnknownKey { path, .. } | Self::WrongValue { path, .. } | Self::Unfit { path, .. } => path,
            Self::Disagree { one, .. } => &one.0,
        }
    }
}

impl Explained for Mistake {
    fn id(&self) -> &'static str {
        "training_invalid"
    }

    fn field(&self) -> Option<String> {
        Some(self.path().to_owned()).filter(|path| !path.is_empty())
    }

    fn text(&self) -> Text {
        match self {
            Self::Syntax { message } => {
                Text::new(format!("不是有效的 YAML：{}", in_chinese(message)), format!("not YAML: {message}"))
            }
            Self::NotUtf8 => Text::new("文件不是 UTF-8 文本", "the file is no UTF-8 text"),
            Self::NotSections => Text::new("文件应由键和值组成", "the file must hold keys with values"),
            Self::SeveralDocuments => Text::new("文件含有多个 YAML 文档", "the file holds more than one YAML document"),
            Self::KeyNotText => Text::new("有一个键不是文本", "a key is no text"),
            Self::Twice { key, line } => Text::new(
                format!("键 {key} 在第 {line} 行重复"),
                format!("the key {key} stands twice, again in line {line}"),
            ),
            Self::UnknownKey { path, .. } => Text::new(format!("未知的键 {path}"), format!("unknown key {path}")),
            Self::WrongValue { path, given, .. } => {
                Text::new(format!("{path} 的值 {given} 无效"), format!("{given} is no value for {path}"))
            }
            Self::Disagree { one, other } => Text::new(
                format!("{} 为 {}，而 {} 为 {}", one.0, one.1, other.0, other.1),
                format!("{} is {}, but {} is {}", one.0, one.1, other.0, other.1),
            ),
            Self::Unfit { text, .. } => text.clone(),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Syntax { .. } => Hint::new("检查缩进与引号", "look at indentation and quotes"),
            Self::NotUtf8 => Hint::new("另存为 UTF-8", "save it as UTF-8"),
            Self::NotSections => Hint::new("例如 training: 及其下的键", "such as training: with keys below it"),
            Self::SeveralDocuments => Hint::new("删除 --- 之后的内容", "remove what follows the ---"),
            Self::KeyNotText => Hint::new("为它加上引号", "put it in quotes"),
            Self::UnknownKey { suggestion: Some(near), .. } => {
                Hint::new(format!("是否指 {near}？"), format!("did you mean {near}?"))
            }
            Self::UnknownKey { .. } => Hint::new("请删除该键", "remove it"),
            Self::WrongValue { wanted, .. } => Hint::new(format!("应为{}", wanted.zh), format!("give {}", wanted.en)),
            Self::Disagree { .. } | Self::Twice { .. } => Hint::new("只保留一处", "keep one of them"),
            Self::Unfit { hint, .. } => return hint.clone(),
        })
    }
}

/// The place and the kind of what the parser does not understand.
fn in_chinese(message: &str) -> String {
    const KNOWN: &[(&str, &str)] = &[
        ("unclosed bracket", "括号没有闭合"),
        ("quoted scalar", "引号有误"),
        ("found a tab", "不能使用制表符"),
        ("tabs", "不能使用制表符"),
        ("indent", "缩进有误"),
        ("expected ',' or", "缺少逗号或括号"),
        ("expected key", "缩进有误或缺少键"),
        ("mapping value", "缩进有误或缺少引号"),
        ("expected '-'", "缩进有误或缺少 -"),
        ("unknown anchor", "引用了不存在的锚点"),
        ("tag", "含有不支持的标签"),
    ];
    let (what, place) = message.split_once(" at line ").unwrap_or((message, ""));
    let kind = KNOWN.iter().find(|(words, _)| what.contains(words)).map_or("语法错误", |(_, kind)| kind);
    match place.split_once(", column ") {
        Some((line, column)) => format!("第 {line} 行第 {column} 列{kind}"),
        None => kind.to_owned(),
    }
}

/// All mistakes of a file, so that they can be corrected in one go.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// One line per mistake with its hint.
    pub fn lines(&self, language: Language) -> Vec<String> {
        let line = |mistake: &Mistake| {
            let text = mistake.text();
            // The keys of a file have the same names at every front end.
            let hint = mistake.hint().map(|hint| hint.spelled(FrontEnd::Api));
            match (language, hint) {
                (Language::ZhCn, Some(hint)) => format!("{}（{}）", text.zh, hint.zh),
                (Language::En, Some(hint)) => format!("{} ({})", text.en, hint.en),
                (_, None) => text.in_language(language).to_owned(),
            }
        };
        self.0.iter().map(line).collect()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(Language::En).join("; "))
    }
}
