//! Names that people give to datasets, versions, models, groups, tokens and webhooks; the same rules as for tasks.

use fermi_domain::ids::is_id;
use fermi_domain::language::Text;
use fermi_domain::unseen;
use fermi_domain::validation::LONGEST_NAME;

use crate::envelope::{ApiProblem, Noun};

/// The longest path or description.
const LONGEST_TEXT: usize = 4_096;

/// A name without spaces around it.
pub fn name(field: &'static str, text: &str) -> Result<String, ApiProblem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ApiProblem::unprocessable(
            "name_required",
            field,
            Text::new(format!("请填写 {field}"), format!("please give a {field}")),
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(ApiProblem::unprocessable(
            "name_control_characters",
            field,
            Text::new(format!("{field} 含有控制字符"), format!("the {field} holds control characters")),
        ));
    }
    if let Some(letter) = unseen::find(text) {
        return Err(ApiProblem { field: Some(field.to_owned()), ..ApiProblem::refused(&letter) });
    }
    let letters = text.chars().count();
    if letters > LONGEST_NAME {
        return Err(ApiProblem::unprocessable(
            "name_too_long",
            field,
            Text::new(format!("{field} 过长"), format!("the {field} is too long")),
        )
        .hint(Text::new(
            format!("最多 {LONGEST_NAME} 个字符，现有 {letters} 个"),
            format!("at most {LONGEST_NAME} letters, it has {letters}"),
        )));
    }
    Ok(text.to_owned())
}

/// A name of something whose ids begin with `prefix`; another one's id would be taken for that one.
pub fn name_beside_ids(field: &'static str, text: &str, prefix: &str) -> Result<String, ApiProblem> {
    let name = name(field, text)?;
    if is_id(&name, prefix) {
        let problem = ApiProblem::unprocessable(
            "name_reserved",
            field,
            Text::new(format!("不能命名为“{name}”"), format!("it cannot be called '{name}'")),
        );
        return Err(problem.hint(Text::new("它看起来像 ID，请换一个名称", "it looks like an id; choose another name")));
    }
    Ok(name)
}

/// The same of something that has versions: what stands behind an `@` would be taken for one of them.
pub fn name_before_versions(field: &'static str, text: &str, prefix: &str) -> Result<String, ApiProblem> {
    let name = name_beside_ids(field, text, prefix)?;
    if name.contains('@') {
        let problem = ApiProblem::unprocessable(
            "name_invalid",
            field,
            Text::new(format!("名称“{name}”不能含有 @"), format!("the name '{name}' cannot hold an @")),
        );
        return Err(problem.hint(Text::new(
            "@ 之后是版本，例如 corpus@v2；请换一个名称",
            "what stands behind it is a version, as in corpus@v2; choose another name",
        )));
    }
    Ok(name)
}

/// A longer text that may be left out.
pub fn text(field: &'static str, text: Option<String>) -> Result<Option<String>, ApiProblem> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let is_control = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    let is_wrong = |text: &String| text.chars().count() > LONGEST_TEXT || text.contains(is_control);
    if text.as_ref().is_some_and(is_wrong) {
        return Err(ApiProblem::unprocessable(
            "text_invalid",
            field,
            Text::new(format!("{field} 无效"), format!("the {field} is not valid")),
        )
        .hint(Text::new(
            format!("最多 {LONGEST_TEXT} 个字符，不含控制字符"),
            format!("at most {LONGEST_TEXT} letters, and no control characters"),
        )));
    }
    Ok(text)
}

/// A path that every node knows.
pub fn path(field: &'static str, path: Option<String>) -> Result<Option<String>, ApiProblem> {
    let path = text(field, path)?;
    if path.as_ref().is_some_and(|path| path.chars().any(char::is_control)) {
        return Err(ApiProblem::unprocessable(
            "path_invalid",
            field,
            Text::new("路径含有控制字符", "the path holds control characters"),
        ));
    }
    Ok(path)
}

/// The name is another one's.
pub fn taken(noun: &Noun, name: &str) -> ApiProblem {
    let mut problem = ApiProblem::conflict(
        "name_taken",
        Text::new(format!("{}“{name}”已存在", noun.zh), format!("there is a {} '{name}' already", noun.en)),
    );
    problem.field = Some("name".to_owned());
    problem.hint(Text::new("换一个名称", "choose another name"))
}
