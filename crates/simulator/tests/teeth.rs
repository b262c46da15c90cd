//! The reverted repairs of `teeth/` still fit the tree: `teeth.sh`, which takes long, would be the last to notice.

use std::fs;
use std::path::Path;

/// What a hunk expects to find: its lines but those that it adds.
fn expected(hunk: &str) -> String {
    let kept = hunk.lines().skip(1).filter(|line| !line.starts_with('+') && !line.starts_with("---"));
    kept.map(|line| line.get(1..).unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn every_reverted_repair_fits_the_code_that_it_reverts() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut patches = 0;
    for entry in fs::read_dir(here.join("teeth")).unwrap() {
        let path = entry.unwrap().path();
        let patch = fs::read_to_string(&path).unwrap();
        patches += 1;
        for file in patch.split("--- a/").skip(1) {
            let (name, hunks) = file.split_once('\n').unwrap();
            let code = fs::read_to_string(here.join("../..").join(name)).unwrap();
            for hunk in hunks.split("\n@@ ").skip(1) {
                let expected = expected(hunk);
                assert!(code.contains(&expected), "{}: {name} has no longer\n{expected}", path.display());
            }
        }
    }
    assert!(patches >= 20, "{patches}");
}
