//! Why no plan can be made: a sentence that names the field, and what to do.

use fermi_domain::language::Text;

/// Input that describes no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field}: {}", .message.en)]
pub struct PlanError {
    pub field: &'static str,
    pub message: Text,
    pub hint: Text,
}

impl PlanError {
    pub fn new(field: &'static str, message: Text, hint: Text) -> Self {
        Self { field, message, hint }
    }

    pub fn missing(field: &'static str) -> Self {
        Self::new(
            field,
            Text::new(
                format!("缺少 {field}，也无法从其他字段推出"),
                format!("{field} is missing and cannot be derived"),
            ),
            Text::new(format!("请给出 {field}"), format!("give {field}")),
        )
    }

    pub fn zero(field: &'static str) -> Self {
        Self::new(
            field,
            Text::new(format!("{field} 必须大于 0"), format!("{field} must be above 0")),
            Text::new(format!("请给出正的 {field}"), format!("give a positive {field}")),
        )
    }

    pub fn too_large(field: &'static str) -> Self {
        Self::new(
            field,
            Text::new(format!("{field} 大得不合常理"), format!("{field} is larger than any machine can hold")),
            Text::new("请检查这个数字的单位", "check the unit of this number"),
        )
    }

    pub fn unknown(field: &'static str, value: &str, near: &[String]) -> Self {
        let list = near.join(", ");
        Self::new(
            field,
            Text::new(format!("不认识的 {field}：{value}"), format!("unknown {field}: {value}")),
            if near.is_empty() {
                Text::new("请查看目录，或给出它的参数", "see the catalogue, or give its numbers")
            } else {
                Text::new(format!("是否想写：{list}？"), format!("did you mean {list}?"))
            },
        )
    }

    pub fn indivisible(field: &'static str, what: String, by: &'static str) -> Self {
        Self::new(
            field,
            Text::new(format!("{field} 不能整除：{what}"), format!("{field} does not divide: {what}")),
            Text::new(format!("请选择能被 {by} 整除的值"), format!("choose values that {by} divides")),
        )
    }
}
