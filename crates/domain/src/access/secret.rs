//! What a task may be given without anyone reading it: its name, its bounds, whose it is, and why a task does not get it.

use crate::language::{Explained, Hint, Text};

/// Stands where a value would be.
pub const MASK: &str = "***";

const LONGEST_NAME: usize = 64;
/// The kernel takes variables of up to 128 KiB.
const LONGEST_VALUE: usize = 32 << 10;

/// Whose secret it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretHolder {
    /// Everyone's who may create tasks.
    Shared,
    User(String),
}

impl SecretHolder {
    /// Where the secrets of a task are looked for, in this order: its owner's own come before those of all.
    pub fn for_task(owner: Option<&str>) -> impl Iterator<Item = Self> {
        owner.map(|name| Self::User(name.to_owned())).into_iter().chain([Self::Shared])
    }

    /// The user; none of what is everyone's.
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::Shared => None,
            Self::User(name) => Some(name),
        }
    }
}

/// Why a secret is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretRefusal {
    Name,
    EmptyValue,
    LongValue,
    ValueWithNul,
}

impl Explained for SecretRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::Name => "secret_name_invalid",
            Self::EmptyValue | Self::LongValue | Self::ValueWithNul => "secret_value_invalid",
        }
    }

    fn field(&self) -> Option<String> {
        Some(if *self == Self::Name { "name".to_owned() } else { "value".to_owned() })
    }

    fn text(&self) -> Text {
        match self {
            Self::Name => Text::new("密钥名无效", "this is not a name for a secret"),
            Self::EmptyValue => Text::new("密钥的值为空", "the secret has no value"),
            Self::LongValue => Text::new("密钥的值太长", "the value is too long"),
            Self::ValueWithNul => Text::new("密钥的值含有 NUL 字符", "the value holds a NUL character"),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Name => Hint::new(
                format!("1 到 {LONGEST_NAME} 个字母、数字和 . _ -，以字母开头，例如 HF_TOKEN"),
                format!(
                    "1 to {LONGEST_NAME} letters, digits, '.', '_' and '-', beginning with a letter, such as HF_TOKEN"
                ),
            ),
            Self::EmptyValue => {
                Hint::new("从标准输入或提示中给出值", "give the value on stdin, or when the terminal asks for it")
            }
            Self::LongValue => {
                let most = LONGEST_VALUE >> 10;
                Hint::new(format!("最多 {most} KiB"), format!("at most {most} KiB"))
            }
            Self::ValueWithNul => Hint::new(
                "环境变量不能含 NUL；先编码，例如 base64",
                "no variable can hold one; encode the value first, by base64 for example",
            ),
        })
    }
}

/// Whether a secret can be called so.
pub fn check_secret_name(name: &str) -> Result<(), SecretRefusal> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_plain && begins && name.len() <= LONGEST_NAME { Ok(()) } else { Err(SecretRefusal::Name) }
}

/// Whether a value can be kept, and become a variable.
pub fn check_secret_value(value: &str) -> Result<(), SecretRefusal> {
    match value {
        "" => Err(SecretRefusal::EmptyValue),
        _ if value.len() > LONGEST_VALUE => Err(SecretRefusal::LongValue),
        _ if value.contains('\0') => Err(SecretRefusal::ValueWithNul),
        _ => Ok(()),
    }
}

/// Why a task is not started with a secret that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretProblem {
    /// It was deleted since the task was created, or its owner was removed.
    Gone { name: String, variable: String },
    /// It was sealed with a key that this server does not have.
    Sealed { name: String },
}

impl Explained for SecretProblem {
    fn id(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "secret_gone",
            Self::Sealed { .. } => "secret_sealed",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Gone { name, variable } => Text::new(
                format!("密钥 {name} 已被删除，任务的变量 {variable} 需要它"),
                format!("the secret {name} was deleted, and the task's variable {variable} needs it"),
            ),
            Self::Sealed { name } => Text::new(
                format!("密钥 {name} 无法打开：它是用另一把密钥文件加密的"),
                format!("the secret {name} cannot be opened: it was sealed with another key file"),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Gone { name, .. } => Hint::new(
                format!("用 fermi secret set {name} 再次设置，然后重启任务"),
                format!("set it again with `fermi secret set {name}`, then restart the task"),
            ),
            Self::Sealed { name } => Hint::new(
                format!("把原来数据文件夹的 secrets.key 放回并重启服务，或用 fermi secret set {name} 再次设置"),
                format!(
                    "put secrets.key of the former data folder back and restart the server, or set it again with \
                     `fermi secret set {name}`"
                ),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for name in ["HF_TOKEN", "a", "s3.key-2", &"a".repeat(64)] {
            assert_eq!(check_secret_name(name), Ok(()), "{name}");
        }
        for name in ["", "1a", "_x", "a b", "a/b", "../x", "密钥", "a\0", &"a".repeat(65)] {
            assert_eq!(check_secret_name(name), Err(SecretRefusal::Name), "{name:?}");
        }
    }

    #[test]
    fn a_value_is_what_a_variable_can_hold() {
        assert_eq!(check_secret_value("-----BEGIN-----\n密\n"), Ok(()));
        assert_eq!(check_secret_value(""), Err(SecretRefusal::EmptyValue));
        assert_eq!(check_secret_value("a\0b"), Err(SecretRefusal::ValueWithNul));
        assert_eq!(check_secret_value(&"x".repeat(LONGEST_VALUE)), Ok(()));
        assert_eq!(check_secret_value(&"x".repeat(LONGEST_VALUE + 1)), Err(SecretRefusal::LongValue));
    }

    #[test]
    fn ones_own_comes_before_what_is_everyones() {
        let of = |owner| SecretHolder::for_task(owner).collect::<Vec<_>>();
        assert_eq!(of(Some("ann")), [SecretHolder::User("ann".into()), SecretHolder::Shared]);
        assert_eq!(of(None), [SecretHolder::Shared]);
    }
}
