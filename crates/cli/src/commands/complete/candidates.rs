//! The names and ids that a server knows.

use fermi_api::client::{Client, ClientError, Query};
use fermi_api::v1::MOST_PER_PAGE;

use super::asked::{Candidate, Noun};
use crate::commands::task::SWEEP_LABEL;

/// Of very many tasks the newest are the ones that are typed.
const TASKS: u32 = 200;

pub fn all(client: &Client, noun: Noun) -> Result<Vec<Candidate>, ClientError> {
    let whole = Query::new().with("pageSize", MOST_PER_PAGE);
    let newest = Query::new().with("pageSize", TASKS);
    Ok(match noun {
        Noun::Task => both(client.tasks(&newest)?.data.items, |row| (row.name, row.id)),
        Noun::Environment => both(client.environments(&whole)?.data.items, |found| (found.name, found.id)),
        Noun::Group => both(client.groups(&whole)?.data.items, |group| (group.name, group.id)),
        Noun::Dataset => both(client.datasets(&whole)?.data.items, |dataset| (dataset.name, dataset.id)),
        Noun::Model => both(client.models(&whole)?.data.items, |model| (model.name, model.id)),
        Noun::Sweep => {
            let of_sweeps = newest.with("filter", format!("label.{SWEEP_LABEL}=*"));
            let rows = client.tasks(&of_sweeps)?.data.items;
            named(rows.into_iter().filter_map(|mut row| row.labels.remove(SWEEP_LABEL)))
        }
        Noun::Worker => named(client.workers(&whole)?.data.items.into_iter().map(|worker| worker.id)),
        Noun::User => named(client.users()?.data.items.into_iter().map(|user| user.name)),
        Noun::Token => named(client.tokens()?.data.items.into_iter().map(|token| token.id)),
    })
}

fn both<T>(items: Vec<T>, words: impl Fn(T) -> (String, String)) -> Vec<Candidate> {
    let candidate = |(name, id)| Candidate { name, id: Some(id) };
    items.into_iter().map(words).map(candidate).collect()
}

fn named(names: impl Iterator<Item = String>) -> Vec<Candidate> {
    names.map(|name| Candidate { name, id: None }).collect()
}
