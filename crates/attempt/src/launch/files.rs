//! The files of a launch on disk.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use fermi_domain::language::{Explained, Hint, Text};
use fermi_domain::launch::Template;

use crate::deferred::Deferred;

/// The files of a launch, in its order.
#[derive(Clone, Debug, Default)]
pub struct LaunchFiles {
    files: Vec<(PathBuf, Content)>,
}

#[derive(Clone, Debug)]
enum Content {
    Whole(String),
    /// Rank 0's port is missing, so that the supervisor writes the file.
    WithPort(Template),
}

/// A file of the launch would be written outside of the launch folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the launch file `{path}` is not inside the launch folder")]
pub struct FileOutside {
    pub path: String,
}

impl Explained for FileOutside {
    fn id(&self) -> &'static str {
        "launch_file_outside"
    }

    fn text(&self) -> Text {
        Text::new(
            format!("启动文件“{}”不在启动文件夹内", self.path),
            format!("the launch file `{}` is not inside the launch folder", self.path),
        )
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::new("使用不含 .. 的相对路径", "use a relative path without .."))
    }
}

/// A file or its folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
}

impl LaunchFiles {
    pub(super) fn add(&mut self, path: PathBuf, text: &Template, fill: impl Fn(&Template) -> String) {
        let content = if text.needs_port() { Content::WithPort(text.clone()) } else { Content::Whole(fill(text)) };
        self.files.push((path, content));
    }

    /// Those that the supervisor writes.
    pub(super) fn with_port_missing(&self) -> Vec<(PathBuf, Template)> {
        let missing = self.files.iter().filter_map(|(path, content)| match content {
            Content::WithPort(text) => Some((path.clone(), text.clone())),
            Content::Whole(_) => None,
        });
        missing.collect()
    }

    /// Writes those that are whole, and makes room for the others.
    pub fn write(&self, make_folder: impl Fn(&Path) -> io::Result<()>) -> Result<(), FileError> {
        for (path, content) in &self.files {
            let folder = path.parent().unwrap_or(path);
            make_folder(folder).map_err(|error| FileError { path: folder.to_owned(), error })?;
            if let Content::Whole(text) = content {
                fs::write(path, text).map_err(|error| FileError { path: path.clone(), error })?;
            }
        }
        Ok(())
    }

    /// Every file as it will be with this port.
    pub fn texts<'a>(&'a self, deferred: &'a Deferred, master_port: u16) -> impl Iterator<Item = (&'a Path, String)> {
        self.files.iter().map(move |(path, content)| match content {
            Content::Whole(text) => (path.as_path(), text.clone()),
            Content::WithPort(text) => (path.as_path(), deferred.fill(text, master_port)),
        })
    }
}

/// Where a file of the launch lies. A path that leaves the folder is refused, wherever it comes from.
pub(super) fn inside(folder: &Path, path: &str) -> Result<PathBuf, FileOutside> {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(is_inside) {
        return Err(FileOutside { path: path.to_owned() });
    }
    Ok(folder.join(path))
}
