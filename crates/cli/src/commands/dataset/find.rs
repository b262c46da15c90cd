//! Datasets and versions by the names that people use, or by id.

use fermi_api::client::{Client, ClientError};
use fermi_api::v1::{Dataset, DatasetVersion};
use fermi_domain::language::Text;

use crate::connection::{self, Problem};
use crate::exit_code;

/// The dataset that is meant; an id wins over a name.
pub fn dataset(client: &Client, text: &str) -> Result<Dataset, Problem> {
    match client.dataset(text) {
        Ok(answer) => return Ok(answer.data),
        Err(ClientError::Refused(refused)) if refused.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let found = connection::find(|query| client.datasets(query), |dataset| dataset.name == text)?;
    found.ok_or_else(|| Problem::Own {
        message: Text::new(format!("没有数据集 “{text}”"), format!("there is no dataset '{text}'")),
        hint: Text::new("fermi dataset list 列出全部数据集", "'fermi dataset list' shows them all"),
        code: exit_code::NOT_FOUND,
    })
}

/// The version that is meant, or the newest where none is.
pub fn version<'a>(dataset: &'a Dataset, text: Option<&str>) -> Result<&'a DatasetVersion, Problem> {
    let found = match text {
        Some(text) => dataset.versions.iter().find(|version| version.id == text || version.version == text),
        None => dataset.versions.last(),
    };
    found.ok_or_else(|| {
        let name = &dataset.name;
        let message = match text {
            Some(text) => Text::new(
                format!("数据集 {name} 没有版本 “{text}”"),
                format!("the dataset {name} has no version '{text}'"),
            ),
            None => Text::new(format!("数据集 {name} 还没有版本"), format!("the dataset {name} has no version yet")),
        };
        let known: Vec<&str> = dataset.versions.iter().map(|version| version.version.as_str()).collect();
        let hint = if known.is_empty() {
            let line = format!("fermi dataset add-version {name} --version v1 --path DIR");
            Text::new(line.clone(), line)
        } else {
            Text::new(format!("可用的版本：{}", known.join("、")), format!("use one of: {}", known.join(", ")))
        };
        Problem::Own { message, hint, code: exit_code::NOT_FOUND }
    })
}
