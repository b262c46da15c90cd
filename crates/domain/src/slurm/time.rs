//! Time limits as Slurm writes them.

/// Whether sbatch would take it: minutes, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`, or no limit.
pub fn is_limit(text: &str) -> bool {
    if ["unlimited", "infinite"].contains(&text.to_ascii_lowercase().as_str()) {
        return true;
    }
    let number = |part: &str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let (days, clock) = text.split_once('-').map_or((None, text), |(days, clock)| (Some(days), clock));
    days.is_none_or(number) && clock.split(':').count() <= 3 && clock.split(':').all(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurms_forms_are_known_and_others_are_not() {
        for good in ["90", "30:00", "04:00:00", "2-12", "2-12:30", "1-12:00:00", "UNLIMITED"] {
            assert!(is_limit(good), "{good}");
        }
        for bad in ["", "4h", "1:2:3:4", "-1", "1-", "a:b", "1.5", "2 days"] {
            assert!(!is_limit(bad), "{bad}");
        }
    }
}
