//! What a user may be called, and what a password must be.

use crate::language::{Explained, Hint, Text};
use crate::principal::{LOCAL, TOKEN};

const LONGEST_NAME: usize = 64;
const SHORTEST_PASSWORD: usize = 8;
/// A longer one costs more to read than it protects.
const LONGEST_PASSWORD: usize = 1_024;

/// Why a name or a password is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRefusal {
    Name,
    ReservedName,
    ShortPassword,
    LongPassword,
}

impl Explained for AccountRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::Name => "user_name_invalid",
            Self::ReservedName => "user_name_reserved",
            Self::ShortPassword | Self::LongPassword => "password_invalid",
        }
    }

    fn field(&self) -> Option<String> {
        Some(match self {
            Self::Name | Self::ReservedName => "name".to_owned(),
            Self::ShortPassword | Self::LongPassword => "password".to_owned(),
        })
    }

    fn text(&self) -> Text {
        match self {
            Self::Name => Text::new("用户名无效", "this is not a name for a user"),
            Self::ReservedName => Text::new("这个用户名已被保留", "this name is the server's own"),
            Self::ShortPassword => Text::new("密码太短", "the password is too short"),
            Self::LongPassword => Text::new("密码太长", "the password is too long"),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Name => Hint::new(
                format!("1 到 {LONGEST_NAME} 个小写字母、数字和 . _ -，以字母开头，例如 li.wei"),
                format!("1 to {LONGEST_NAME} of a-z, 0-9, '.', '_' and '-', beginning with a letter, such as ann.lee"),
            ),
            Self::ReservedName => Hint::new("换一个用户名", "choose another name"),
            Self::ShortPassword | Self::LongPassword => Hint::new(
                format!("{SHORTEST_PASSWORD} 到 {LONGEST_PASSWORD} 个字节"),
                format!("{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} bytes"),
            ),
        })
    }
}

/// Whether a user can be called so.
pub fn check_name(name: &str) -> Result<(), AccountRefusal> {
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte));
    if !is_plain || name.len() > LONGEST_NAME || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(AccountRefusal::Name);
    }
    if [LOCAL, TOKEN].contains(&name) { Err(AccountRefusal::ReservedName) } else { Ok(()) }
}

/// Whether a password is neither guessed at once nor absurd.
pub fn check_password(password: &str) -> Result<(), AccountRefusal> {
    match password.len() {
        length if length < SHORTEST_PASSWORD => Err(AccountRefusal::ShortPassword),
        length if length > LONGEST_PASSWORD => Err(AccountRefusal::LongPassword),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words_and_not_the_servers_own() {
        for name in ["a", "ann", "li.wei", "build-bot_2", &"a".repeat(64)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "Ann", "1a", "-a", "a b", "a:b", "李", "a/b", &"a".repeat(65)] {
            assert_eq!(check_name(name), Err(AccountRefusal::Name), "{name}");
        }
        for name in ["local", "token"] {
            assert_eq!(check_name(name), Err(AccountRefusal::ReservedName));
        }
    }

    #[test]
    fn a_password_has_a_length() {
        assert_eq!(check_password("1234567"), Err(AccountRefusal::ShortPassword));
        assert_eq!(check_password("12345678"), Ok(()));
        assert_eq!(check_password(&"x".repeat(1_025)), Err(AccountRefusal::LongPassword));
    }
}
