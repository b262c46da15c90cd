//! `--rank R --world-size N`: one rank of a world that others start. Where it stands is said by the variables that people
//! set beside it (LOCAL_RANK, NODE_RANK, MASTER_ADDR, MASTER_PORT), else by the GPUs here.

use fermi_domain::contract;
use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;

/// What the user's environment says of a rank that is started alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankVariables {
    pub local_rank: Option<String>,
    pub node_rank: Option<String>,
    pub local_world_size: Option<String>,
    pub master_addr: Option<String>,
    pub master_port: Option<String>,
}

/// Where a rank that is started alone stands on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinglePosition {
    pub local_rank: u32,
    pub local_world_size: u32,
    pub node_rank: u32,
    pub node_count: u32,
}

impl RankVariables {
    /// What stands in the environment; a variable that is empty says nothing.
    pub fn look() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self {
            local_rank: text(contract::LOCAL_RANK),
            node_rank: text(contract::NODE_RANK),
            local_world_size: text(contract::LOCAL_WORLD_SIZE),
            master_addr: text(contract::MASTER_ADDR),
            master_port: text(contract::MASTER_PORT),
        }
    }

    /// The position of `rank`. Without LOCAL_RANK the ranks of a machine are counted by its GPUs, one each.
    pub fn position(&self, rank: u32, world: u32, gpus: u32) -> Result<SinglePosition, RunProblem> {
        let here = number(contract::LOCAL_WORLD_SIZE, self.local_world_size.as_deref())?.filter(|count| *count > 0);
        let local_rank = number(contract::LOCAL_RANK, self.local_rank.as_deref())?;
        let node_rank = number(contract::NODE_RANK, self.node_rank.as_deref())?;
        let per_node = here.or((gpus > 0).then_some(gpus)).map(|count| count.min(world));
        let local_rank = local_rank.unwrap_or_else(|| per_node.map_or(0, |count| rank % count));
        let local_world_size = per_node.unwrap_or(1).max(local_rank.saturating_add(1)).min(world.max(1));
        let node_rank = node_rank.unwrap_or_else(|| per_node.map_or(0, |count| rank / count));
        let node_count = per_node.map_or(1, |count| world.div_ceil(count)).max(node_rank.saturating_add(1));
        Ok(SinglePosition { local_rank, local_world_size, node_rank, node_count })
    }

    /// What is said where LOCAL_RANK was found by the GPUs.
    pub fn note(&self, position: SinglePosition, rank: u32) -> Option<Text> {
        if self.local_rank.is_some() || position.local_world_size < 2 {
            return None;
        }
        let SinglePosition { local_rank, local_world_size, node_rank, .. } = position;
        Some(Text::new(
            format!(
                "rank {rank}：LOCAL_RANK={local_rank}，NODE_RANK={node_rank}（本机每 {local_world_size} 个 rank 一组；可用这两个变量指定）"
            ),
            format!(
                "rank {rank}: LOCAL_RANK={local_rank}, NODE_RANK={node_rank} (counted by {local_world_size} ranks on a machine; set these variables to say otherwise)"
            ),
        ))
    }
}

fn number(name: &'static str, value: Option<&str>) -> Result<Option<u32>, RunProblem> {
    let read =
        |value: &str| value.trim().parse().map_err(|_| RunProblem::BadVariable { name, value: value.to_owned() });
    value.map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(local_rank: Option<&str>, node_rank: Option<&str>) -> RankVariables {
        let text = |value: Option<&str>| value.map(str::to_owned);
        RankVariables { local_rank: text(local_rank), node_rank: text(node_rank), ..RankVariables::default() }
    }

    #[test]
    fn variables_win_then_the_gpus_then_nothing() {
        for (variables, rank, gpus, expected) in [
            (given(Some("3"), Some("1")), 7, 0, (3, 4, 1, 2)),
            (given(Some("3"), Some("1")), 7, 4, (3, 4, 1, 2)),
            (given(None, None), 7, 4, (3, 4, 1, 2)),
            (given(None, None), 2, 4, (2, 4, 0, 2)),
            (given(None, None), 7, 0, (0, 1, 0, 1)),
            (given(None, Some("1")), 7, 4, (3, 4, 1, 2)),
        ] {
            let found = variables.position(rank, 8, gpus).unwrap();
            let found = (found.local_rank, found.local_world_size, found.node_rank, found.node_count);
            assert_eq!(found, expected, "{variables:?} rank {rank}, {gpus} GPUs");
        }
    }

    #[test]
    fn nonsense_in_a_variable_is_named() {
        let problem = given(Some("first"), None).position(0, 2, 0).unwrap_err();
        assert_eq!(problem, RunProblem::BadVariable { name: "LOCAL_RANK", value: "first".to_owned() });
    }

    #[test]
    fn what_was_counted_is_said_and_what_was_given_is_not() {
        let counted = given(None, None);
        let position = counted.position(7, 8, 4).unwrap();
        assert!(counted.note(position, 7).unwrap().en.starts_with("rank 7: LOCAL_RANK=3, NODE_RANK=1"));
        assert_eq!(given(Some("3"), None).note(position, 7), None);
        assert_eq!(counted.note(counted.position(7, 8, 0).unwrap(), 7), None);
    }
}
