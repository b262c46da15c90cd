//! Which ranks appear on the terminal, and behind what prefix.

use std::collections::BTreeSet;

use fermi_domain::contract::RankPosition;
use fermi_domain::messages::run::RunProblem;
use fermi_process::output::Show;

use super::flags::RunFlags;
use super::streams::StreamChoice;

/// All that decides how a stream is shown.
#[derive(Debug)]
pub struct Visibility {
    redirects: StreamChoice,
    tee: StreamChoice,
    local_ranks: Option<BTreeSet<u32>>,
    ranks: Option<BTreeSet<u32>>,
    template: String,
    /// It is started alone, at a terminal of its own.
    is_only_one: bool,
}

impl Visibility {
    pub fn read(flags: &RunFlags, inherited_template: Option<&str>) -> Result<Self, RunProblem> {
        let given = flags.log_line_prefix_template.as_deref();
        Ok(Self {
            redirects: StreamChoice::read("--redirects", &flags.redirects)?,
            tee: StreamChoice::read("--tee", &flags.tee)?,
            local_ranks: ranks_of("--local-ranks-filter", flags.local_ranks_filter.as_deref())?,
            ranks: ranks_of("--ranks-filter", flags.ranks_filter.as_deref())?,
            template: given.or(inherited_template).unwrap_or("[${hostname}:${rank}] ").to_owned(),
            is_only_one: flags.rank.is_some(),
        })
    }

    /// How stdout and stderr of this rank appear.
    ///
    /// Without any option: rank 0 as it comes, of the others only errors. `--tee` shows lines behind a prefix,
    /// `--redirects` hides, a filter shows the ranks it names (one alone as it comes, several behind prefixes) and no
    /// others.
    pub fn of(&self, place: &RankPosition) -> (Show, Show) {
        let prefix = self.prefix(place);
        let tee = self.tee.of(place.local_rank);
        let redirect = self.redirects.of(place.local_rank);
        let show = |tee: bool, redirect: bool, is_stderr: bool| {
            if self.is_filtered_out(place) {
                return Show::Hidden;
            }
            match (tee, redirect) {
                (true, _) => Show::Prefixed { prefix: prefix.clone() },
                (false, true) => Show::Hidden,
                (false, false) if self.is_alone(place) => Show::Raw,
                (false, false) if self.is_named(place) => Show::Prefixed { prefix: prefix.clone() },
                (false, false) if is_stderr => Show::ErrorsOnly { prefix: prefix.clone() },
                (false, false) => Show::Hidden,
            }
        };
        (show(tee.stdout, redirect.stdout, false), show(tee.stderr, redirect.stderr, true))
    }

    fn is_filtered_out(&self, place: &RankPosition) -> bool {
        let outside = |filter: &Option<BTreeSet<u32>>, rank| filter.as_ref().is_some_and(|set| !set.contains(&rank));
        outside(&self.local_ranks, place.local_rank) || outside(&self.ranks, place.rank)
    }

    fn is_named(&self, place: &RankPosition) -> bool {
        (self.local_ranks.is_some() || self.ranks.is_some()) && !self.is_filtered_out(place)
    }

    /// Whether this rank has the terminal to itself.
    fn is_alone(&self, place: &RankPosition) -> bool {
        match (&self.local_ranks, &self.ranks) {
            (None, None) => self.is_only_one || (place.local_rank == 0 && place.node_rank == 0),
            (Some(one), None) | (None, Some(one)) => one.len() == 1 && self.is_named(place),
            (Some(local), Some(global)) => (local.len() == 1 || global.len() == 1) && self.is_named(place),
        }
    }

    /// All but the rank, which the supervisor fills in.
    fn prefix(&self, place: &RankPosition) -> String {
        [
            ("${hostname}", place.node_name.clone()),
            ("${local_rank}", place.local_rank.to_string()),
            ("${role_name}", place.role.clone()),
        ]
        .iter()
        .fold(self.template.clone(), |text, (macro_name, value)| text.replace(macro_name, value))
    }
}

fn ranks_of(flag: &'static str, list: Option<&str>) -> Result<Option<BTreeSet<u32>>, RunProblem> {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return Ok(None) };
    list.split(',')
        .map(|rank| rank.trim().parse().ok())
        .collect::<Option<_>>()
        .map(Some)
        .ok_or_else(|| RunProblem::BadRankList { flag, value: list.to_owned() })
}

/// torchrun's list of words: commas part them, a doubled comma is one.
pub fn words(list: Option<&str>) -> Vec<String> {
    const KEPT: char = '\u{0}';
    let Some(list) = list else { return Vec::new() };
    list.replace(",,", &KEPT.to_string())
        .split(',')
        .map(|word| word.replace(KEPT, ","))
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::flags::RunFlags;

    fn place(rank: u32) -> RankPosition {
        RankPosition {
            rank,
            local_rank: rank,
            world_size: 4,
            local_world_size: 4,
            node_rank: 0,
            node_count: 1,
            node_name: "gn6".into(),
            role: "default".into(),
            visible_local_rank: rank,
        }
    }

    fn shown(options: &[&str]) -> Vec<String> {
        let flags = RunFlags::parse_for_test(options);
        let visibility = Visibility::read(&flags, None).unwrap();
        (0..4)
            .map(|rank| {
                let (out, err) = visibility.of(&place(rank));
                format!("{} {}", short(&out.for_rank(rank)), short(&err.for_rank(rank)))
            })
            .collect()
    }

    fn short(show: &Show) -> String {
        match show {
            Show::Raw => "raw".into(),
            Show::Prefixed { prefix } => prefix.clone(),
            Show::ErrorsOnly { .. } => "errors".into(),
            Show::Hidden => "-".into(),
        }
    }

    #[test]
    fn by_default_rank_0_is_live_and_the_others_show_errors() {
        assert_eq!(shown(&[]), ["raw raw", "- errors", "- errors", "- errors"]);
    }

    #[test]
    fn tee_shows_all_behind_host_and_rank() {
        assert_eq!(shown(&["--tee", "3"])[2], "[gn6:2]  [gn6:2] ");
        assert_eq!(shown(&["--tee", "1:2"]), ["raw raw", "- [gn6:1] ", "- errors", "- errors"]);
    }

    #[test]
    fn redirects_hide() {
        assert_eq!(shown(&["--redirects", "3"]), ["- -", "- -", "- -", "- -"]);
    }

    #[test]
    fn a_filter_shows_just_the_ranks_it_names() {
        assert_eq!(shown(&["--ranks-filter", "2"]), ["- -", "- -", "raw raw", "- -"]);
        assert_eq!(shown(&["--local-ranks-filter", "1,2"])[1], "[gn6:1]  [gn6:1] ");
        assert_eq!(shown(&["--tee", "3", "--ranks-filter", "1"])[0], "- -");
    }

    #[test]
    fn a_template_of_the_users_is_filled_in() {
        assert_eq!(
            shown(&["--tee", "1", "--log-line-prefix-template", "${role_name}${local_rank}|"])[3],
            "default3| errors"
        );
        assert_eq!(shown(&["--tee", "1", "--log-line-prefix-template", ""])[3], " errors");
    }

    #[test]
    fn words_are_parted_by_single_commas() {
        assert_eq!(words(Some("apple,or,,ange")), ["apple", "or,ange"]);
        assert_eq!(words(None), Vec::<String>::new());
    }
}
