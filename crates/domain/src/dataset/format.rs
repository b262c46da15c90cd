//! Formats of data, by the ends of names and by first bytes.

use std::fmt;

/// A format that is known by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataFormat {
    Jsonl,
    Json,
    Csv,
    Tsv,
    Text,
    Parquet,
    Arrow,
    Tar,
    Zip,
    Tokens,
    Numpy,
    Hdf5,
    Tfrecord,
}

impl DataFormat {
    pub const ALL: [Self; 13] = [
        Self::Jsonl,
        Self::Json,
        Self::Csv,
        Self::Tsv,
        Self::Text,
        Self::Parquet,
        Self::Arrow,
        Self::Tar,
        Self::Zip,
        Self::Tokens,
        Self::Numpy,
        Self::Hdf5,
        Self::Tfrecord,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Text => "text",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Tar => "tar",
            Self::Zip => "zip",
            Self::Tokens => "tokens",
            Self::Numpy => "numpy",
            Self::Hdf5 => "hdf5",
            Self::Tfrecord => "tfrecord",
        }
    }

    /// By its name, or by one that is used for the same.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.or_else(|| Self::of_end(&text)).or(match text.as_str() {
            "webdataset" => Some(Self::Tar),
            "megatron" => Some(Self::Tokens),
            _ => None,
        })
    }

    /// All names, for a hint.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// By the end of a file's name; `a.jsonl.gz` is JSON Lines.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let plain = [".gz", ".zst", ".xz", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        Self::of_end(plain.rsplit_once('.')?.1)
    }

    fn of_end(end: &str) -> Option<Self> {
        Some(match end {
            "jsonl" | "ndjson" => Self::Jsonl,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "txt" => Self::Text,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" => Self::Arrow,
            "tar" => Self::Tar,
            "zip" => Self::Zip,
            "bin" | "idx" => Self::Tokens,
            "npy" | "npz" => Self::Numpy,
            "h5" | "hdf5" => Self::Hdf5,
            "tfrecord" | "tfrecords" => Self::Tfrecord,
            _ => return None,
        })
    }

    /// By the first bytes; none of formats that have no mark of their own.
    pub fn of_bytes(first: &[u8]) -> Option<Self> {
        const USTAR: usize = 257;
        if first.starts_with(b"PAR1") {
            Some(Self::Parquet)
        } else if first.starts_with(b"ARROW1") {
            Some(Self::Arrow)
        } else if first.starts_with(b"\x93NUMPY") {
            Some(Self::Numpy)
        } else if first.starts_with(b"\x89HDF\r\n\x1a\n") {
            Some(Self::Hdf5)
        } else if first.starts_with(b"PK\x03\x04") {
            Some(Self::Zip)
        } else if first.get(USTAR..).is_some_and(|rest| rest.starts_with(b"ustar")) {
            Some(Self::Tar)
        } else {
            None
        }
    }

    /// Whether every file of this format begins with its mark, unless it is compressed.
    fn has_mark(self) -> bool {
        matches!(self, Self::Parquet | Self::Hdf5 | Self::Zip)
    }

    /// Whether a file that is called so can begin with these bytes.
    pub fn agrees_with(self, first: &[u8]) -> bool {
        let is_compressed = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"];
        match Self::of_bytes(first) {
            // An archive of arrays.
            Some(Self::Zip) if self == Self::Numpy => true,
            Some(found) => found == self,
            None => !self.has_mark() || first.is_empty() || is_compressed.iter().any(|mark| first.starts_with(mark)),
        }
    }
}

impl fmt::Display for DataFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_the_end_of_a_name() {
        for (name, expected) in [
            ("a.jsonl", Some(DataFormat::Jsonl)),
            ("A.JSONL.GZ", Some(DataFormat::Jsonl)),
            ("part-0.parquet", Some(DataFormat::Parquet)),
            ("shard.tar", Some(DataFormat::Tar)),
            ("corpus_text.bin", Some(DataFormat::Tokens)),
            ("README", None),
            ("a.md", None),
        ] {
            assert_eq!(DataFormat::of_name(name), expected, "{name}");
        }
        for format in DataFormat::ALL {
            assert_eq!(DataFormat::parse(format.as_str()), Some(format));
        }
        assert_eq!(DataFormat::parse("WebDataset"), Some(DataFormat::Tar));
        assert_eq!(DataFormat::parse("pickle"), None);
    }

    #[test]
    fn first_bytes_contradict_a_name() {
        let mut tar = vec![b'a'; 257];
        tar.extend_from_slice(b"ustar\0");
        for (format, first, expected) in [
            (DataFormat::Parquet, &b"PAR1\x15"[..], true),
            (DataFormat::Parquet, b"{\"text\"", false),
            (DataFormat::Parquet, b"\x1f\x8b\x08", true),
            (DataFormat::Jsonl, b"{\"text\"", true),
            (DataFormat::Jsonl, b"PAR1", false),
            (DataFormat::Tar, &tar, true),
            (DataFormat::Csv, &tar, false),
            (DataFormat::Numpy, b"PK\x03\x04", true),
        ] {
            assert_eq!(format.agrees_with(first), expected, "{format} {first:?}");
        }
    }
}
