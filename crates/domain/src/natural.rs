//! The order of names that people expect: node7 before node66.

use std::cmp::Ordering;

/// Compares names so that numbers inside them count as numbers. A total order: only equal names are equal.
pub fn compare(left: &str, right: &str) -> Ordering {
    let (mut a, mut b) = (left, right);
    while !a.is_empty() && !b.is_empty() {
        let (a_run, a_rest) = run(a);
        let (b_run, b_rest) = run(b);
        let order = match (is_number(a_run), is_number(b_run)) {
            (true, true) => compare_numbers(a_run, b_run),
            _ => a_run.cmp(b_run),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (a_rest, b_rest);
    }
    a.len().cmp(&b.len()).then_with(|| left.cmp(right))
}

/// Splits off the longest beginning that is all digits or all something else.
fn run(text: &str) -> (&str, &str) {
    let digit = is_number(text);
    let end = text.bytes().position(|byte| byte.is_ascii_digit() != digit).unwrap_or(text.len());
    // Digits are single bytes, so a run never ends inside a letter.
    text.split_at(end)
}

fn is_number(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// Compares digits of any length; no number is too large.
fn compare_numbers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = [
            "node66",
            "gn10-2",
            "node7",
            "gn9-10",
            "gn9-2",
            "node07",
            "节点2",
            "节点10",
            "node",
            "99999999999999999999999",
        ];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(
            names,
            [
                "99999999999999999999999",
                "gn9-2",
                "gn9-10",
                "gn10-2",
                "node",
                "node07",
                "node7",
                "node66",
                "节点2",
                "节点10"
            ]
        );
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in "[a0-2é-]{0,6}", b in "[a0-2é-]{0,6}", c in "[a0-2é-]{0,6}") {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert_eq!(compare(&a, &b) == Ordering::Equal, a == b);
            if compare(&a, &b).is_lt() && compare(&b, &c).is_lt() {
                prop_assert!(compare(&a, &c).is_lt());
            }
        }
    }
}
