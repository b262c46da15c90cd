//! Models by the name that people use, or by id.

use fermi_api::client::{Client, ClientError, Query};
use fermi_api::v1::{MOST_PER_PAGE, Model};
use fermi_domain::language::Text;

use crate::connection::Problem;
use crate::exit_code;

/// The model that is meant; an id wins over a name.
pub fn model(client: &Client, text: &str) -> Result<Model, Problem> {
    match client.model(text) {
        Ok(answer) => return Ok(answer.data),
        Err(ClientError::Refused(refused)) if refused.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let mut token: Option<String> = None;
    loop {
        let query = Query::new().with("pageSize", MOST_PER_PAGE).with_some("pageToken", token.as_deref());
        let page = client.models(&query)?.data;
        if let Some(found) = page.items.into_iter().find(|model| model.name == text) {
            return Ok(found);
        }
        token = page.next_page_token;
        if token.is_none() {
            return Err(Problem::Own {
                message: Text::new(format!("没有模型 “{text}”"), format!("there is no model '{text}'")),
                hint: Text::new("fermi model list 列出全部模型", "'fermi model list' shows them all"),
                code: exit_code::NOT_FOUND,
            });
        }
    }
}
