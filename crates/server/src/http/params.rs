//! The parameters behind the question mark: each known, given once, and within its bounds.

use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::http::StatusCode;
use fermi_domain::language::Text;
use percent_encoding::percent_decode_str;

use super::suggestion::closest;
use crate::envelope::ApiProblem;

/// What was asked for, name by name.
#[derive(Debug, Default)]
pub struct Params {
    given: Vec<(String, String)>,
}

impl Params {
    /// Reads a query; a name that is not among the known ones is refused, since it would silently do nothing.
    pub fn read(query: Option<&str>, known: &[&str]) -> Result<Self, ApiProblem> {
        let mut given: Vec<(String, String)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&name.as_str()) {
                return Err(unknown(&name, known));
            }
            if given.iter().any(|(there, _)| *there == name) {
                return Err(ApiProblem::unprocessable(
                    "parameter_twice",
                    name.clone(),
                    Text::new(format!("参数 {name} 重复"), format!("the parameter {name} is given twice")),
                ));
            }
            given.push((name, value));
        }
        Ok(Self { given })
    }

    /// A text; one that is empty counts as not given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given
            .iter()
            .find(|(there, _)| there == name)
            .map(|(_, value)| value.as_str())
            .filter(|text| !text.is_empty())
    }

    /// A whole number within bounds.
    pub fn number<N>(&self, name: &'static str, bounds: RangeInclusive<N>) -> Result<Option<N>, ApiProblem>
    where
        N: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        let Some((_, text)) = self.given.iter().find(|(there, _)| there == name) else { return Ok(None) };
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<N>().ok().filter(|number| is_plain && bounds.contains(number));
        number.map(Some).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            ApiProblem::unprocessable(
                "parameter_invalid",
                name,
                Text::new(format!("参数 {name} 无效"), format!("the parameter {name} is not valid")),
            )
            .hint(Text::new(format!("{least} 到 {most} 的整数"), format!("a whole number from {least} to {most}")))
        })
    }

    /// `true` or `false`; a bare name is `true`.
    pub fn flag(&self, name: &'static str) -> Result<bool, ApiProblem> {
        match self.given.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str()) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(_) => Err(ApiProblem::unprocessable(
                "parameter_invalid",
                name,
                Text::new(format!("参数 {name} 无效"), format!("the parameter {name} is not valid")),
            )
            .hint(Text::new("true 或 false", "true or false"))),
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, name: &'static str, choices: &[(&str, T)]) -> Result<Option<T>, ApiProblem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        found.map(Some).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            ApiProblem::unprocessable(
                "parameter_invalid",
                name,
                Text::new(format!("参数 {name} 无效"), format!("the parameter {name} is not valid")),
            )
            .hint(Text::new(format!("可选：{}", words.join("、")), format!("choose one of {}", words.join(", "))))
        })
    }
}

fn unknown(name: &str, known: &[&str]) -> ApiProblem {
    let shown: String = name.chars().take(60).collect::<String>().escape_debug().to_string();
    let hint = match closest(name, known) {
        Some(close) => Text::new(format!("是否想写 {close}？"), format!("did you mean {close}?")),
        None if known.is_empty() => Text::new("此地址没有参数", "this address takes no parameters"),
        None => Text::new(format!("可用：{}", known.join("、")), format!("there is {}", known.join(", "))),
    };
    ApiProblem::unprocessable(
        "parameter_unknown",
        shown.clone(),
        Text::new(format!("未知参数 {shown}"), format!("the parameter {shown} is not known")),
    )
    .hint(hint)
}

/// Undoes percent signs and plus signs. What is left must be UTF-8 without NUL.
fn decoded(text: &str) -> Result<String, ApiProblem> {
    let bad = || {
        ApiProblem::new(
            StatusCode::BAD_REQUEST,
            "query_invalid",
            Text::new("查询参数的编码无效", "the query is not encoded properly"),
        )
        .hint(Text::new("使用 UTF-8 的百分号编码", "percent-encode it as UTF-8"))
    };
    // A decoder lets a percent sign pass that begins no byte; here it shows that something was not encoded.
    let begins_a_byte = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(begins_a_byte) {
        return Err(bad());
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| bad())?;
    if decoded.contains('\0') { Err(bad()) } else { Ok(decoded.into_owned()) }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::FrontEnd;

    use super::*;

    const KNOWN: [&str; 3] = ["pageSize", "filter", "follow"];

    fn params(query: &str) -> Result<Params, ApiProblem> {
        Params::read(Some(query), &KNOWN)
    }

    #[test]
    fn strangers_queries_are_read_or_refused() {
        let samples: [&[u8]; 3] = [
            b"pageSize=50&filter=name~%22bert%20x%22%20phase=running&follow=true",
            b"filter=label.team=nlp",
            b"pageSize=%35",
        ];
        fermi_mutator::try_all(&samples, 4_000, |case| {
            let query = String::from_utf8_lossy(case);
            let Ok(params) = params(&query) else { return };
            let _ = (params.number("pageSize", 1..=200_u32), super::super::paging::wanted(&params));
            let filter = params.text("filter").unwrap_or_default();
            let _ = (super::super::filter::tasks(filter), super::super::filter::task_order(Some(filter)));
        });
    }

    #[test]
    fn what_is_given_is_decoded() {
        let params = params("filter=name~%E8%AE%AD+x%2B&follow&pageSize=7").unwrap();
        assert_eq!(params.text("filter"), Some("name~训 x+"));
        assert_eq!(params.flag("follow"), Ok(true));
        assert_eq!(params.number("pageSize", 1..=1000_u32), Ok(Some(7)));
    }

    #[test]
    fn numbers_outside_their_bounds_are_refused_with_them() {
        for value in ["0", "-1", "1001", "99999999999999999999", "1e3", "+5", "", "x", "0x10", "1.0", "%31%20"] {
            let refused = params(&format!("pageSize={value}")).unwrap().number("pageSize", 1..=1000_u32).unwrap_err();
            assert_eq!(refused.hint.unwrap().spelled(FrontEnd::Api).en, "a whole number from 1 to 1000", "{value}");
        }
    }

    #[test]
    fn unknown_doubled_and_badly_encoded_ones_are_refused() {
        assert_eq!(params("pagesize=1").unwrap_err().hint.unwrap().spelled(FrontEnd::Api).en, "did you mean pageSize?");
        assert_eq!(params("filter=a&filter=b").unwrap_err().id, "parameter_twice");
        for query in ["filter=%", "filter=%zz", "filter=%ff", "filter=%00", "filter=%c0%af", "%"] {
            assert_eq!(params(query).unwrap_err().id, "query_invalid", "{query}");
        }
    }
}
