//! Ids in addresses. What cannot be an id names nothing, so that it is simply not found.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use fermi_domain::ids::{EnvironmentId, GroupId, TaskId};

use crate::envelope::{ApiProblem, DATASET, ENVIRONMENT, GROUP, MODEL, Noun, TASK};

/// The longest id that is looked up.
const LONGEST: usize = 80;

/// The task of an address.
#[derive(Debug)]
pub struct TaskPath(pub TaskId);
/// The environment of an address.
#[derive(Debug)]
pub struct EnvironmentPath(pub EnvironmentId);
/// The dataset of an address.
#[derive(Debug)]
pub struct DatasetPath(pub String);
/// The group of an address.
#[derive(Debug)]
pub struct GroupPath(pub GroupId);
/// The model of an address.
#[derive(Debug)]
pub struct ModelPath(pub String);

async fn id<S: Send + Sync>(parts: &mut Parts, state: &S, noun: &Noun) -> Result<String, ApiProblem> {
    // Bytes that are no UTF-8 are no id either.
    let Ok(Path(id)) = Path::<String>::from_request_parts(parts, state).await else {
        return Err(ApiProblem::not_found(noun, "?"));
    };
    checked(id, noun)
}

/// Lets pass what may be an id.
pub fn checked(id: String, noun: &Noun) -> Result<String, ApiProblem> {
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if is_plain && !id.is_empty() && id.len() <= LONGEST { Ok(id) } else { Err(ApiProblem::not_found(noun, &id)) }
}

impl<S: Send + Sync> FromRequestParts<S> for TaskPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        id(parts, state, &TASK).await.map(TaskId).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for EnvironmentPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        id(parts, state, &ENVIRONMENT).await.map(EnvironmentId).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for DatasetPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        id(parts, state, &DATASET).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for GroupPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        id(parts, state, &GROUP).await.map(GroupId).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ModelPath {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        id(parts, state, &MODEL).await.map(Self)
    }
}
