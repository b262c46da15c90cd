//! Compares what a node sees with what is stated.

use super::{
    expectation::DatasetExpectation,
    refusal::{DatasetRefusal, Mismatch},
    sighting::{ChecksumProof, DatasetSighting, Seen},
};

/// What is proven by what was seen, or what is wrong. Size counts all files; a folder that was not counted to its end can
/// only be too large. The format is found where one file has it. A checksum that was not made is said not to be checked.
pub fn prove(expected: &DatasetExpectation, seen: &Seen) -> Result<DatasetSighting, DatasetRefusal> {
    let refused = |mismatch| Err(expected.refused(mismatch));
    if seen.files == 0 || seen.bytes == 0 {
        return refused(Mismatch::Empty);
    }
    if let Some(stated) = expected.size {
        let differs = if seen.is_whole { seen.bytes != stated } else { seen.bytes > stated };
        if differs {
            let Seen { bytes, files, is_whole, .. } = *seen;
            return refused(Mismatch::Size { stated, bytes, files, is_whole });
        }
    }
    if let Some(stated) = expected.format() {
        if let Some(misnamed) = seen.misnamed.clone().filter(|misnamed| misnamed.said == stated) {
            return refused(Mismatch::Misnamed(misnamed));
        }
        // What could not be counted to the end may still have it.
        if !seen.formats.contains(&stated) && seen.is_whole {
            return refused(Mismatch::Format { stated, found: seen.formats.clone() });
        }
    }
    let checksum = match (expected.checksum(), &seen.checksum) {
        (Some(stated), Some(found)) if stated != *found => {
            return refused(Mismatch::Checksum { stated, found: found.clone() });
        }
        (Some(_), Some(_)) => ChecksumProof::Matches,
        (Some(_), None) => ChecksumProof::NotChecked,
        // One of a kind that this release does not know.
        (None, _) if expected.checksum.is_some() => ChecksumProof::NotChecked,
        (None, _) => ChecksumProof::None,
    };
    let format = expected.format().or_else(|| seen.formats.first().copied());
    Ok(DatasetSighting {
        bytes: seen.bytes,
        files: seen.files,
        is_whole: seen.is_whole,
        format: format.map(|format| format.as_str().to_owned()),
        checksum,
    })
}

impl DatasetExpectation {
    pub fn refused(&self, mismatch: Mismatch) -> DatasetRefusal {
        let dataset = format!("{}@{}", self.dataset, self.version);
        DatasetRefusal { dataset, path: self.path.clone(), mismatch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dataset::{Checksum, DataFormat, Misnamed, SeenKind},
        language::Explained,
    };

    fn expected(size: Option<u64>, checksum: Option<&str>, format: Option<&str>) -> DatasetExpectation {
        DatasetExpectation {
            version_id: "version-001".into(),
            dataset: "corpus".into(),
            version: "v2".into(),
            path: "/data/corpus".into(),
            size,
            checksum: checksum.map(str::to_owned),
            format: format.map(str::to_owned),
        }
    }

    fn seen() -> Seen {
        Seen {
            kind: SeenKind::Folder,
            bytes: 1_000,
            files: 3,
            is_whole: true,
            formats: vec![DataFormat::Jsonl, DataFormat::Json],
            misnamed: None,
            checksum: None,
        }
    }

    fn digest(letter: &str) -> String {
        format!("sha256:{}", letter.repeat(64))
    }

    #[test]
    fn what_agrees_is_proven_and_says_what_was_not_checked() {
        let plain = prove(&expected(None, None, None), &seen()).unwrap();
        assert_eq!((plain.checksum, plain.format.as_deref()), (ChecksumProof::None, Some("jsonl")));
        assert_eq!(plain.amount().en, "3 files, 1000 B");
        let stated = expected(Some(1_000), Some(&digest("a")), Some("json"));
        assert_eq!(prove(&stated, &seen()).unwrap().checksum, ChecksumProof::NotChecked);
        let read = Seen { checksum: Checksum::parse(&digest("a")), ..seen() };
        assert_eq!(prove(&stated, &read).unwrap().checksum, ChecksumProof::Matches);
        let newer = expected(None, Some("blake9:1"), Some("hologram"));
        assert_eq!(prove(&newer, &seen()).unwrap().checksum, ChecksumProof::NotChecked);
    }

    #[test]
    fn what_differs_is_refused_with_what_was_expected_and_what_is_there() {
        let misnamed = Misnamed { file: "a.parquet".into(), said: DataFormat::Parquet, found: None };
        let cases = [
            (expected(None, None, None), Seen { files: 0, bytes: 0, ..seen() }, "dataset_empty", "empty"),
            (expected(Some(999), None, None), seen(), "dataset_size", "999 bytes"),
            (expected(Some(999), None, None), Seen { is_whole: false, ..seen() }, "dataset_size", "at least"),
            (expected(None, None, Some("parquet")), seen(), "dataset_format", "jsonl, json"),
            (
                expected(None, None, Some("parquet")),
                Seen { formats: vec![DataFormat::Parquet], misnamed: Some(misnamed), ..seen() },
                "dataset_format",
                "a.parquet",
            ),
            (
                expected(None, Some(&digest("a")), None),
                Seen { checksum: Checksum::parse(&digest("b")), ..seen() },
                "dataset_checksum",
                "bbbb",
            ),
        ];
        for (expected, seen, id, word) in cases {
            let refusal = prove(&expected, &seen).unwrap_err();
            let text = refusal.text();
            assert_eq!(refusal.id(), id);
            assert!(text.en.contains("corpus@v2 (/data/corpus)") && text.en.contains(word), "{}", text.en);
            assert!(text.zh.contains("corpus@v2（/data/corpus）") && refusal.hint().is_some(), "{}", text.zh);
        }
    }

    #[test]
    fn a_folder_that_was_not_counted_to_its_end_can_only_be_too_large() {
        let part = Seen { is_whole: false, ..seen() };
        assert!(prove(&expected(Some(5_000), None, Some("parquet")), &part).is_ok());
        assert!(prove(&expected(Some(500), None, None), &part).is_err());
    }
}
