//! Why a task does not start on a node: the data there is not what the version says.

use super::{
    checksum::Checksum,
    format::DataFormat,
    sighting::{Misnamed, amount},
};
use crate::{
    language::{Explained, Hint, Text},
    units::Bytes,
};

/// A version, its path, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRefusal {
    /// `corpus@v2`.
    pub dataset: String,
    pub path: String,
    pub mismatch: Mismatch,
}

/// What was expected, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Missing,
    Unreadable {
        why: Text,
    },
    /// A device, a pipe or a socket.
    NeitherFileNorFolder,
    /// The disk has not answered for so long.
    Silent {
        seconds: u64,
    },
    /// Looks that hang on a disk are as many as may be.
    Crowded,
    /// As a mount point is while nothing is mounted there.
    Empty,
    Size {
        stated: u64,
        bytes: u64,
        files: u64,
        is_whole: bool,
    },
    Format {
        stated: DataFormat,
        found: Vec<DataFormat>,
    },
    Misnamed(Misnamed),
    Checksum {
        stated: Checksum,
        found: Checksum,
    },
}

impl Explained for DatasetRefusal {
    fn id(&self) -> &'static str {
        match self.mismatch {
            Mismatch::Missing => "dataset_missing",
            Mismatch::Unreadable { .. } | Mismatch::NeitherFileNorFolder => "dataset_unreadable",
            Mismatch::Silent { .. } | Mismatch::Crowded => "dataset_silent",
            Mismatch::Empty => "dataset_empty",
            Mismatch::Size { .. } => "dataset_size",
            Mismatch::Format { .. } | Mismatch::Misnamed(_) => "dataset_format",
            Mismatch::Checksum { .. } => "dataset_checksum",
        }
    }

    fn text(&self) -> Text {
        let (dataset, path) = (&self.dataset, &self.path);
        let wrong = match &self.mismatch {
            Mismatch::Missing => Text::new("该节点上没有这个路径", "there is no such path on this node"),
            Mismatch::Unreadable { why } => {
                Text::new(format!("该节点读不了：{}", why.zh), format!("this node cannot read it: {}", why.en))
            }
            Mismatch::NeitherFileNorFolder => Text::new(
                "该节点上它是设备、管道或套接字，不是文件或目录",
                "on this node it is a device, a pipe or a socket, neither a file nor a folder",
            ),
            Mismatch::Silent { seconds } => Text::new(
                format!("该节点上的磁盘 {seconds} 秒没有响应"),
                format!("its disk has not answered on this node for {seconds} s"),
            ),
            Mismatch::Crowded => Text::new(
                "该节点上之前的查看仍停在磁盘上，没有再看",
                "it was not looked at, because earlier looks still hang on a disk of this node",
            ),
            Mismatch::Empty => Text::new("该节点上是空的", "it is empty on this node"),
            Mismatch::Size { stated, bytes, files, is_whole } => {
                let (stated_text, seen) = (Bytes(*stated).rounded(), amount(*files, *bytes, *is_whole));
                Text::new(
                    format!("应为 {stated_text}（{stated} 字节），该节点上是 {}（{bytes} 字节）", seen.zh),
                    format!(
                        "{stated_text} ({stated} bytes) are stated, and on this node are {} ({bytes} bytes)",
                        seen.en
                    ),
                )
            }
            Mismatch::Format { stated, found } => {
                let found: Vec<&str> = found.iter().map(|format| format.as_str()).collect();
                if found.is_empty() {
                    Text::new(
                        format!("应为 {stated}，该节点上没有这种格式的文件"),
                        format!("{stated} is stated, and this node has no file of that format there"),
                    )
                } else {
                    Text::new(
                        format!("应为 {stated}，该节点上是 {}", found.join("、")),
                        format!("{stated} is stated, and on this node it is {}", found.join(", ")),
                    )
                }
            }
            Mismatch::Misnamed(Misnamed { file, said, found }) => {
                let found =
                    found.map_or(Text::new("别的内容", "something else"), |it| Text::new(it.as_str(), it.as_str()));
                Text::new(
                    format!("该节点上的 {file} 名为 {said}，内容却是{}", found.zh),
                    format!("on this node {file} is called {said} and holds {}", found.en),
                )
            }
            Mismatch::Checksum { stated, found } => Text::new(
                format!("校验和应为 {}，该节点上是 {}", stated.short(), found.short()),
                format!("the checksum {} is stated, and on this node it is {}", stated.short(), found.short()),
            ),
        };
        Text::new(
            format!("数据集 {dataset}（{path}）：{}", wrong.zh),
            format!("the dataset {dataset} ({path}): {}", wrong.en),
        )
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self.mismatch {
            Mismatch::Missing | Mismatch::Empty => Hint::new(
                "在该节点上挂载或复制数据到这个路径，或选择能看到它的开发环境",
                "mount or copy the data to this path on the node, or choose environments that see it",
            ),
            Mismatch::Unreadable { .. } => {
                Hint::new("让运行 fermi agent 的用户能读这个路径", "let the user that runs fermi agent read this path")
            }
            Mismatch::NeitherFileNorFolder => Hint::new(
                "登记文件或目录的路径：把数据写入文件，再登记为新版本",
                "register the path of a file or a folder: write the data to a file, and register that as a new version",
            ),
            Mismatch::Silent { .. } | Mismatch::Crowded => Hint::new(
                "检查该节点上这个网络磁盘的挂载，再重启任务",
                "look at the mount of this network disk on the node, then restart the task",
            ),
            Mismatch::Size { .. } | Mismatch::Checksum { .. } => Hint::new(
                "重新复制数据到该节点；若内容确已更改，把它登记为新版本",
                "copy the data to the node again; if it was changed on purpose, register it as a new version",
            ),
            Mismatch::Format { .. } | Mismatch::Misnamed(_) => Hint::new(
                "检查路径是否指向所说的数据，或登记格式正确的新版本",
                "look whether the path leads to the data that is meant, or register a new version with the right format",
            ),
        })
    }
}
