//! Values that a flag or the file of `--config` gives: one reader for both. `said` is which of the two, as its reader wrote it.

use std::net::SocketAddr;
use std::time::Duration;

use fermi_domain::access::AddressRange;
use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use super::settings::SettingsRefusal;
use crate::commands::task::parse_time;

pub fn address(said: &str, text: &str) -> Result<SocketAddr, SettingsRefusal> {
    text.parse().map_err(|_| {
        let hint = Text::new(
            "写成 地址:端口，例如 127.0.0.1:7070 或 0.0.0.0:7070",
            "write ADDRESS:PORT, such as 127.0.0.1:7070 or 0.0.0.0:7070",
        );
        cannot_be(said, text, hint)
    })
}

/// Where people find the console, without a slash at its end.
pub fn page(said: &str, text: &str) -> Result<String, SettingsRefusal> {
    let trimmed = text.trim().trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let is_page = host.is_some_and(|host| {
        !host.is_empty() && !host.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    });
    if is_page {
        return Ok(trimmed.to_owned());
    }
    let hint =
        Text::new("写成网页地址，例如 https://fermi.example.com", "write an address such as https://fermi.example.com");
    Err(cannot_be(said, text, hint))
}

pub fn proxy(said: &str, text: &str) -> Result<AddressRange, SettingsRefusal> {
    text.parse().map_err(|_| {
        let hint = Text::new(
            "写成地址或网段，例如 10.0.0.7 或 10.0.0.0/8",
            "write an address or a range, such as 10.0.0.7 or 10.0.0.0/8",
        );
        cannot_be(said, text, hint)
    })
}

pub fn size(said: &str, text: &str) -> Result<u64, SettingsRefusal> {
    let hint = || Text::new("写成 500MB、8GB 或字节数", "write 500MB, 8GB or a number of bytes");
    Bytes::parse(text).map(|bytes| bytes.0).ok_or_else(|| cannot_be(said, text, hint()))
}

/// Longer than anything is kept that is ever let go of.
const LONGEST_SPAN: Duration = Duration::from_secs(1_000 * 365 * 86_400);

/// A span of time, in milliseconds.
pub fn span_ms(said: &str, text: &str) -> Result<u64, SettingsRefusal> {
    let hint = || Text::new("写成 30d、12h 或秒数", "write 30d, 12h or a number of seconds");
    let span = parse_time(text).ok().filter(|span| *span <= LONGEST_SPAN);
    span.and_then(|span| u64::try_from(span.as_millis()).ok()).ok_or_else(|| cannot_be(said, text, hint()))
}

/// How many of something, at least one.
pub fn count(said: &str, text: &str) -> Result<u64, SettingsRefusal> {
    let hint = || Text::new("写成至少为 1 的整数", "write a whole number, at least 1");
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| cannot_be(said, text, hint()))
}

fn cannot_be(said: &str, text: &str, hint: Text) -> SettingsRefusal {
    let text = text.escape_debug();
    SettingsRefusal {
        message: Text::new(format!("{said} 不能是 “{text}”"), format!("{said} cannot be '{text}'")),
        hint,
    }
}
