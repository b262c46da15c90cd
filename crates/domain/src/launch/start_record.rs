//! What the ranks of a node were started with, as it is kept for whoever asks later: without secrets, and in bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::access::secret::MASK;
use crate::contract;

pub const VERSION: u32 = 1;
/// None is written that is longer, and a longer one is not read.
pub const LONGEST: usize = 4 << 20;

/// These are never kept, whoever sets them.
const CREDENTIALS: [&str; 2] = [contract::FERMI_TOKEN, contract::FERMI_RDZV_SECRET];
/// A shorter secret is masked under its own name alone: it stands by chance in ports and ranks, where a mask would tell it.
const SHORTEST_SOUGHT: usize = 8;
/// Where a record is too long, texts are cut to this length first, and to a quarter of it each time until it fits.
const LONGEST_TEXT: usize = 16 << 10;
const SHORTEST_TEXT: usize = 64;

/// The start of one rank: all that it was given. What it inherited beside that stands nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankStart {
    pub rank: u32,
    pub local_rank: u32,
    pub pid: i32,
    pub started_ms: u64,
    pub argv: Vec<String>,
    /// None where it began in the folder of its supervisor.
    pub directory: Option<String>,
    pub env: BTreeMap<String, String>,
    /// On which CPUs it may run; empty where nothing was said.
    pub cpus: Vec<usize>,
    /// Whether a parked interpreter became it.
    pub is_released: bool,
}

/// Which ranks were started, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StartedNode {
    /// The release that started them.
    pub fermi: String,
    pub attempt: u32,
    pub node: String,
    /// The system account that they run as, where it is not the supervisor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// All ranks of one node in one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StartRecord {
    version: u32,
    #[serde(flatten)]
    pub of_node: StartedNode,
    /// Of every rank that names none of its own.
    argv: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    /// Of every rank, beside those of its own.
    env: BTreeMap<String, String>,
    ranks: Vec<RankPart>,
    /// Something was too long and is not here as it was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// What only one rank has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RankPart {
    rank: u32,
    local_rank: u32,
    pid: i32,
    started_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    argv: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cpus: Vec<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_released: bool,
}

/// What must not be kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Withheld<'a> {
    /// Variables whose values are secrets.
    pub variables: &'a [String],
    /// Secrets that no variable is known to have.
    pub words: &'a [&'a str],
}

impl StartRecord {
    /// Says what all have in common once, and nothing that is withheld.
    pub fn new(of_node: StartedNode, mut starts: Vec<RankStart>, withheld: Withheld<'_>) -> Self {
        withheld.mask(&mut starts);
        let empty = Self { version: VERSION, of_node, ..Self::default() };
        let Some(first) = starts.first() else { return empty };
        let argv = if starts.iter().all(|start| start.argv == first.argv) { first.argv.clone() } else { Vec::new() };
        let directory = first.directory.clone().filter(|_| starts.iter().all(|it| it.directory == first.directory));
        let has_all = |name: &String, value: &String| starts.iter().all(|start| start.env.get(name) == Some(value));
        let env: BTreeMap<String, String> = first
            .env
            .iter()
            .filter(|(name, value)| has_all(name, value))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let part = |start: RankStart| RankPart {
            rank: start.rank,
            local_rank: start.local_rank,
            pid: start.pid,
            started_ms: start.started_ms,
            argv: Some(start.argv).filter(|own| *own != argv),
            directory: start.directory.filter(|own| Some(own) != directory.as_ref()),
            env: start.env.into_iter().filter(|(name, _)| !env.contains_key(name)).collect(),
            cpus: start.cpus,
            is_released: start.is_released,
        };
        let ranks = starts.into_iter().map(part).collect();
        Self { argv, directory, env, ranks, ..empty }
    }

    /// What this rank was started with.
    pub fn of_rank(&self, rank: u32) -> Option<RankStart> {
        let part = self.ranks.iter().find(|part| part.rank == rank)?.clone();
        let mut env = self.env.clone();
        env.extend(part.env);
        Some(RankStart {
            rank,
            local_rank: part.local_rank,
            pid: part.pid,
            started_ms: part.started_ms,
            argv: part.argv.unwrap_or_else(|| self.argv.clone()),
            directory: part.directory.or_else(|| self.directory.clone()),
            env,
            cpus: part.cpus,
            is_released: part.is_released,
        })
    }

    /// As it is written.
    pub fn to_json(mut self) -> Vec<u8> {
        let mut longest = LONGEST_TEXT;
        loop {
            // Texts and numbers can always be written.
            let json = serde_json::to_vec(&self).unwrap_or_default();
            if json.len() <= LONGEST {
                return json;
            }
            self.is_cut = true;
            if longest >= SHORTEST_TEXT {
                self.cut_texts(longest);
                longest /= 4;
            } else {
                self.leave_half_out();
            }
        }
    }

    /// Reads what [`StartRecord::to_json`] wrote; none where it is torn, or has another shape.
    pub fn read(json: &[u8]) -> Option<Self> {
        if json.len() > LONGEST {
            return None;
        }
        serde_json::from_slice(json).ok().filter(|record: &Self| record.version == VERSION)
    }

    fn cut_texts(&mut self, longest: usize) {
        let of_ranks = self
            .ranks
            .iter_mut()
            .flat_map(|part| part.argv.iter_mut().flatten().chain(part.env.values_mut()).chain(&mut part.directory));
        let common = self.argv.iter_mut().chain(self.env.values_mut()).chain(&mut self.directory);
        for text in of_ranks.chain(common).filter(|text| text.len() > longest) {
            text.truncate(text.floor_char_boundary(longest));
            text.push('…');
        }
    }

    /// Of ranks first, of a single one then of its words and variables.
    fn leave_half_out(&mut self) {
        if self.ranks.len() > 1 {
            self.ranks.truncate(self.ranks.len() / 2);
            return;
        }
        let of_rank = self.ranks.iter_mut();
        for argv in of_rank.filter_map(|part| part.argv.as_mut()).chain([&mut self.argv]) {
            argv.truncate(argv.len() / 2);
        }
        for env in self.ranks.iter_mut().map(|part| &mut part.env).chain([&mut self.env]) {
            let kept = env.len() / 2;
            *env = std::mem::take(env).into_iter().take(kept).collect();
        }
    }
}

impl Withheld<'_> {
    /// Puts a mask in the place of secrets, and of their values wherever else they stand.
    fn mask(self, starts: &mut [RankStart]) {
        let names = || self.variables.iter().map(String::as_str).chain(CREDENTIALS);
        let mut sought: Vec<String> = self.words.iter().map(|word| (*word).to_owned()).collect();
        for start in &mut *starts {
            for name in names() {
                sought.extend(start.env.get_mut(name).map(|value| std::mem::replace(value, MASK.to_owned())));
            }
        }
        let mut sought: Vec<&str> =
            sought.iter().map(|value| value.trim()).filter(|value| value.len() >= SHORTEST_SOUGHT).collect();
        // One that is part of another must not break it before it is found.
        sought.sort_unstable_by_key(|value| (std::cmp::Reverse(value.len()), *value));
        sought.dedup();
        for start in starts {
            let texts = start.argv.iter_mut().chain(start.env.values_mut()).chain(&mut start.directory);
            for text in texts {
                for value in &sought {
                    if text.contains(value) {
                        *text = text.replace(value, MASK);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(rank: u32, argv: &[&str], env: &[(&str, &str)]) -> RankStart {
        RankStart {
            rank,
            local_rank: rank % 8,
            pid: 40 + i32::try_from(rank).unwrap(),
            started_ms: 5,
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            directory: Some("/work".to_owned()),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..RankStart::default()
        }
    }

    fn made(starts: Vec<RankStart>, withheld: Withheld<'_>) -> StartRecord {
        let of_node =
            StartedNode { fermi: "0.1.0".into(), attempt: 1, node: "gn6".into(), account: Some("ann".into()) };
        StartRecord::new(of_node, starts, withheld)
    }

    fn written(record: StartRecord) -> (String, StartRecord) {
        let json = record.to_json();
        (String::from_utf8(json.clone()).unwrap(), StartRecord::read(&json).unwrap())
    }

    #[test]
    fn what_all_ranks_have_is_said_once_and_each_comes_back_as_it_was() {
        let mut starts = vec![
            start(8, &["python", "t.py"], &[("RANK", "8"), ("WORLD_SIZE", "16"), ("ONLY_HERE", "1")]),
            start(9, &["python", "t.py"], &[("RANK", "9"), ("WORLD_SIZE", "16")]),
        ];
        starts[1].cpus = vec![4, 5];
        starts[1].is_released = true;
        let (json, record) = written(made(starts.clone(), Withheld::default()));
        assert_eq!(json.matches("WORLD_SIZE").count(), 1, "{json}");
        assert_eq!(json.matches("t.py").count(), 1, "{json}");
        assert_eq!([record.of_rank(8), record.of_rank(9)], [Some(starts[0].clone()), Some(starts[1].clone())]);
        assert_eq!((record.of_rank(10), record.of_node.account.as_deref()), (None, Some("ann")));

        starts[1].argv.push("--other".to_owned());
        starts[0].directory = None;
        let (_, record) = written(made(starts.clone(), Withheld::default()));
        assert_eq!([record.of_rank(8), record.of_rank(9)], [Some(starts[0].clone()), Some(starts[1].clone())]);
    }

    #[test]
    fn a_secret_stands_nowhere_in_what_is_kept() {
        let env = [
            ("HF_TOKEN", "hf_hunter2"),
            ("LONGER", "hf_hunter2_and_more"),
            ("URL", "https://u:hf_hunter2@h"),
            ("KEY", "-----BEGIN-----\nabc\n"),
            ("FERMI_TOKEN", "of-the-server"),
            ("EMPTY", ""),
            ("RANK", "3"),
        ];
        let argv =
            ["python", "--a=hf_hunter2", "hf_hunter2_and_more", "-----BEGIN-----\nabc", "of-the-run", "of-the-server"];
        let variables = ["HF_TOKEN", "LONGER", "KEY", "EMPTY", "ABSENT"].map(str::to_owned);
        let withheld = Withheld { variables: &variables, words: &["of-the-run", ""] };
        let (json, record) = written(made(vec![start(3, &argv, &env)], withheld));
        for secret in ["hf_hunter2", "and_more", "BEGIN", "of-the"] {
            assert!(!json.contains(secret), "{secret} in {json}");
        }
        let kept = record.of_rank(3).unwrap();
        assert_eq!(kept.argv, ["python", "--a=***", "***", "***", "***", "***"]);
        assert_eq!((kept.env["URL"].as_str(), kept.env["RANK"].as_str()), ("https://u:***@h", "3"));
        assert_eq!((kept.env["HF_TOKEN"].as_str(), kept.env["EMPTY"].as_str()), (MASK, MASK));
    }

    #[test]
    fn a_short_secret_is_not_told_by_where_else_it_stands() {
        let env = [("PIN", "29500"), ("MASTER_PORT", "29500")];
        let variables = ["PIN".to_owned()];
        let withheld = Withheld { variables: &variables, words: &[] };
        let record = made(vec![start(0, &["x", "29500"], &env)], withheld);
        let kept = record.of_rank(0).unwrap();
        assert_eq!((kept.env["PIN"].as_str(), kept.env["MASTER_PORT"].as_str()), (MASK, "29500"));
        assert_eq!(kept.argv, ["x", "29500"]);
    }

    #[test]
    fn a_record_keeps_its_bounds_whatever_the_launch() {
        let words = |count: usize, length: usize| vec!["长".repeat(length / 3); count];
        let named = |count: usize, value: &str| {
            (0..count).map(|number| (format!("V{number}"), value.to_owned())).collect::<BTreeMap<_, _>>()
        };
        let one =
            |argv: Vec<String>, env: BTreeMap<String, String>| vec![RankStart { argv, env, ..start(0, &[], &[]) }];
        let of_each = |rank: u32| RankStart {
            env: named(40, &format!("{rank}{}", "y".repeat(2_000))),
            ..start(rank, &["x"], &[])
        };
        let launches = [
            ("long words", one(words(40, 200_000), BTreeMap::new())),
            ("many words", one(vec!["x".to_owned(); 2_000_000], BTreeMap::new())),
            ("many variables", one(words(1, 3), named(400_000, "1"))),
            ("a long name", one(words(1, 3), [("N".repeat(5 << 20), "1".to_owned())].into())),
            (
                "many ranks",
                (0..9_000).map(|rank| start(rank, &["x"], &[("RANK", &"r".repeat(600 + rank as usize))])).collect(),
            ),
            ("ranks with much", (0..64).map(of_each).collect()),
        ];
        for (what, starts) in launches {
            let (json, record) = written(made(starts, Withheld::default()));
            assert!(json.len() <= LONGEST && record.is_cut, "{what}: {}", json.len());
            assert!(record.of_rank(0).is_some(), "{what}");
        }
        let (_, record) = written(made(one(words(3, 9_000), named(100, "1")), Withheld::default()));
        assert!(!record.is_cut);
    }

    #[test]
    fn what_is_torn_or_of_another_shape_is_not_read() {
        let (json, record) = written(made(vec![start(0, &["x"], &[])], Withheld::default()));
        for length in 0..json.len() {
            assert_eq!(StartRecord::read(&json.as_bytes()[..length]), None, "{length}");
        }
        assert_eq!(StartRecord::read(json.replace("\"version\":1", "\"version\":2").as_bytes()), None);
        assert_eq!(StartRecord::read(&vec![b' '; LONGEST + 1]), None);
        let more = json.replacen('{', "{\"later\":{\"a\":[1]},", 1);
        assert_eq!(StartRecord::read(more.as_bytes()), Some(record));
    }
}
