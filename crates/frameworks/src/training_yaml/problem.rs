//! What is wrong with a file.

use std::fmt;

use fermi_domain::language::{Language, Text};
use thiserror::Error;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
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
        hint: Text,
    },
}

impl Problem {
    /// Where it is; empty for the file as a whole.
    pub fn path(&self) -> &str {
        match self {
            Self::Syntax { .. } | Self::NotUtf8 | Self::NotSections | Self::SeveralDocuments | Self::KeyNotText => "",
            Self::Twice { key, .. } => key,
            Self::UnknownKey { path, .. } | Self::WrongValue { path, .. } | Self::Unfit { path, .. } => path,
            Self::Disagree { one, .. } => &one.0,
        }
    }

    pub fn text(&self) -> Text {
        match self {
            Self::Syntax { message } => {
                Text::new(format!("不是有效的 YAML：{message}"), format!("not YAML: {message}"))
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

    pub fn hint(&self) -> Text {
        match self {
            Self::Syntax { .. } => Text::new("检查缩进与引号", "look at indentation and quotes"),
            Self::NotUtf8 => Text::new("另存为 UTF-8", "save it as UTF-8"),
            Self::NotSections => Text::new("例如 training: 及其下的键", "such as training: with keys below it"),
            Self::SeveralDocuments => Text::new("删除 --- 之后的内容", "remove what follows the ---"),
            Self::KeyNotText => Text::new("为它加上引号", "put it in quotes"),
            Self::UnknownKey { suggestion: Some(near), .. } => {
                Text::new(format!("是否指 {near}？"), format!("did you mean {near}?"))
            }
            Self::UnknownKey { .. } => Text::new("请删除该键", "remove it"),
            Self::WrongValue { wanted, .. } => Text::new(format!("应为{}", wanted.zh), format!("give {}", wanted.en)),
            Self::Disagree { .. } | Self::Twice { .. } => Text::new("只保留一处", "keep one of them"),
            Self::Unfit { hint, .. } => hint.clone(),
        }
    }
}

/// All mistakes of a file, so that they can be corrected in one go.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// One line per mistake with its hint.
    pub fn lines(&self, language: Language) -> Vec<String> {
        let line = |problem: &Problem| {
            let (text, hint) = (problem.text(), problem.hint());
            match language {
                Language::ZhCn => format!("{}（{}）", text.zh, hint.zh),
                Language::En => format!("{} ({})", text.en, hint.en),
            }
        };
        self.0.iter().map(line).collect()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(Language::En).join("; "))
    }
}
