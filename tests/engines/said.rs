//! What the ranks of the examples say: a line per checkpoint from rank 0, a last line from every rank.

/// How a training ended.
#[derive(Debug)]
pub struct End {
    pub step: f64,
    /// The sum of all parameters.
    pub sum: f64,
    /// All that each rank wrote in its last attempt; in front of it what rank 0 wrote in those before.
    pub logs: Vec<String>,
}

impl End {
    /// Reads it out of the logs: the same on every rank, and the loss that rank 0 saw fell.
    pub fn of(logs: Vec<String>) -> Self {
        let ends: Vec<(f64, f64)> = logs
            .iter()
            .map(|log| (numbers(last_line(log), "step ")[0], numbers(last_line(log), "parameters ")[0]))
            .collect();
        for end in &ends {
            assert_eq!(end, &ends[0], "the ranks disagree: {ends:?}");
        }
        let losses = numbers(&logs[0], " loss ");
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        assert!(last < 0.8 * first, "the loss did not fall: {losses:?}");
        Self { step: ends[0].0, sum: ends[0].1, logs }
    }

    /// The same steps led to the same parameters.
    pub fn is_as(&self, other: &Self) {
        assert_eq!(self.step, other.step);
        assert!((self.sum - other.sum).abs() < 1e-4, "one ended at {}, the other at {}", self.sum, other.sum);
    }
}

/// Every number behind this word.
pub fn numbers(text: &str, word: &str) -> Vec<f64> {
    let behind = text.split(word).skip(1);
    let digits = |rest: &str| rest.chars().take_while(|c| c.is_ascii_digit() || "-.".contains(*c)).collect::<String>();
    behind.filter_map(|rest| digits(rest).trim_end_matches('.').parse().ok()).collect()
}

/// The steps that rank 0 has told, one line each.
pub fn steps(log: &str) -> Vec<f64> {
    log.lines().filter(|line| line.contains(" loss ")).map(|line| numbers(line, "step ")[0]).collect()
}

/// The line with which a rank of the examples ends, once it is there whole.
pub fn has_ended(log: &str) -> bool {
    log.split("] done: step ").nth(1).is_some_and(|rest| rest.contains('\n'))
}

pub fn last_line(log: &str) -> &str {
    log.lines().find(|line| line.contains("] done: step ")).unwrap_or_else(|| panic!("no last line in\n{log}"))
}

/// The second attempt went on where a checkpoint of the first one stood, and did no step twice.
pub fn assert_resumed(first: &str, second: &str, at: Option<u32>) {
    let reached = steps(first).into_iter().fold(0.0, f64::max);
    let resumed = numbers(second, "resumes at step ")[0];
    match at {
        Some(at) => assert_eq!(resumed, f64::from(at), "{second}"),
        None => assert!(resumed > 0.0 && resumed <= reached, "resumed at {resumed}, had reached {reached}"),
    }
    let next = steps(second)[0];
    assert!(next > resumed, "step {next} was done twice: {second}");
}
