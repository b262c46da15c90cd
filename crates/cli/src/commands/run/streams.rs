//! `--redirects` and `--tee`: which streams of which local ranks.

use std::collections::BTreeMap;

use fermi_domain::messages::run::RunProblem;

/// Which of the two streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    pub stdout: bool,
    pub stderr: bool,
}

impl Streams {
    fn of(number: &str) -> Option<Self> {
        match number.trim() {
            "0" => Some(Self { stdout: false, stderr: false }),
            "1" => Some(Self { stdout: true, stderr: false }),
            "2" => Some(Self { stdout: false, stderr: true }),
            "3" => Some(Self { stdout: true, stderr: true }),
            _ => None,
        }
    }
}

/// A choice for all ranks or for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamChoice {
    All(Streams),
    Some(BTreeMap<u32, Streams>),
}

impl StreamChoice {
    /// Reads `3` or `0:1,1:2`.
    pub fn read(flag: &'static str, value: &str) -> Result<Self, RunProblem> {
        let problem = || RunProblem::BadStreams { flag, value: value.to_owned() };
        if let Some(streams) = Streams::of(value) {
            return Ok(Self::All(streams));
        }
        value
            .split(',')
            .map(|part| {
                let (rank, number) = part.split_once(':')?;
                Some((rank.trim().parse().ok()?, Streams::of(number)?))
            })
            .collect::<Option<_>>()
            .map(Self::Some)
            .ok_or_else(problem)
    }

    pub fn of(&self, local_rank: u32) -> Streams {
        match self {
            Self::All(streams) => *streams,
            Self::Some(by_rank) => by_rank.get(&local_rank).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torchruns_forms_are_read() {
        assert_eq!(StreamChoice::read("--tee", "3").unwrap().of(7), Streams { stdout: true, stderr: true });
        let some = StreamChoice::read("--tee", "0:1,1:2").unwrap();
        assert_eq!(some.of(0), Streams { stdout: true, stderr: false });
        assert_eq!(some.of(1), Streams { stdout: false, stderr: true });
        assert_eq!(some.of(2), Streams::default());
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in ["4", "x", "0:9", "0;1", "", "0:1,", ":1"] {
            assert!(StreamChoice::read("--tee", bad).is_err(), "{bad}");
        }
    }
}
