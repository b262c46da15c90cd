//! Ids that are a word and a number: the number is what is stored, the text is what everybody else sees.

/// How the ids of one noun are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    pub prefix: &'static str,
    /// At least this many digits, filled up with zeros.
    pub digits: usize,
}

pub(crate) const TASK: Numbered = Numbered { prefix: "task-", digits: 1 };
pub(crate) const ENVIRONMENT: Numbered = Numbered { prefix: "env-", digits: 3 };
pub(crate) const DATASET: Numbered = Numbered { prefix: "dataset-", digits: 3 };
pub(crate) const VERSION: Numbered = Numbered { prefix: "version-", digits: 3 };
pub(crate) const GROUP: Numbered = Numbered { prefix: "group-", digits: 3 };
pub(crate) const TOKEN: Numbered = Numbered { prefix: "token-", digits: 1 };
pub(crate) const WEBHOOK: Numbered = Numbered { prefix: "webhook-", digits: 1 };
pub(crate) const MODEL: Numbered = Numbered { prefix: "model-", digits: 3 };

impl Numbered {
    pub fn write(self, seq: i64) -> String {
        format!("{}{seq:0width$}", self.prefix, width = self.digits)
    }

    /// The number behind an id. Only the spelling that [`Self::write`] gives is one, so that nothing has two names.
    pub fn read(self, text: &str) -> Option<i64> {
        let digits = text.strip_prefix(self.prefix)?;
        let seq = digits.parse().ok().filter(|seq| *seq > 0)?;
        (self.write(seq) == text).then_some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_and_read_back() {
        for (seq, task, environment) in
            [(1, "task-1", "env-001"), (999, "task-999", "env-999"), (1000, "task-1000", "env-1000")]
        {
            assert_eq!((TASK.write(seq), ENVIRONMENT.write(seq)), (task.to_owned(), environment.to_owned()));
            assert_eq!((TASK.read(task), ENVIRONMENT.read(environment)), (Some(seq), Some(seq)));
        }
    }

    #[test]
    fn a_second_spelling_is_no_id() {
        for text in
            ["", "task-", "task-0", "task-01", "task-+1", "task--1", "task-1 ", "env-1", "task-99999999999999999999"]
        {
            assert_eq!(TASK.read(text), None, "{text}");
            assert_eq!(ENVIRONMENT.read(text), None, "{text}");
        }
    }
}
