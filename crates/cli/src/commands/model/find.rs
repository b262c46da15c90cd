//! Models by the name that people use, or by id.

use fermi_api::client::{Client, ClientError};
use fermi_api::v1::Model;
use fermi_domain::language::Text;

use crate::connection::{self, Problem};
use crate::exit_code;

/// The model that is meant; an id wins over a name.
pub fn model(client: &Client, text: &str) -> Result<Model, Problem> {
    match client.model(text) {
        Ok(answer) => return Ok(answer.data),
        Err(ClientError::Refused(refused)) if refused.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let found = connection::find(|query| client.models(query), |model| model.name == text)?;
    found.ok_or_else(|| Problem::Own {
        message: Text::new(format!("没有模型 “{text}”"), format!("there is no model '{text}'")),
        hint: Text::new("fermi model list 列出全部模型", "'fermi model list' shows them all"),
        code: exit_code::NOT_FOUND,
    })
}
