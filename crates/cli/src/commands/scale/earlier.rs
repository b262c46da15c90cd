//! What an earlier measurement has left in the folder is kept under another name: `scaling.json` becomes `scaling-1.json`.

use std::io;
use std::path::Path;

use super::report::{CALIBRATION, PICTURE, RESULT, TEXTS};

/// Moves the files of an earlier measurement aside and says which number they have now; none where there are none. The
/// result itself goes last: whoever is ended half-way finds it there the next time.
pub fn keep(folder: &Path) -> io::Result<Option<u32>> {
    if !folder.join(RESULT).exists() {
        return Ok(None);
    }
    let number = (1..).find(|number| !folder.join(numbered(RESULT, *number)).exists()).unwrap_or(u32::MAX);
    let others = TEXTS.iter().copied().filter(|name| *name != RESULT).chain([PICTURE, CALIBRATION]);
    for name in others.chain([RESULT]) {
        match std::fs::rename(folder.join(name), folder.join(numbered(name, number))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(Some(number))
}

fn numbered(name: &str, number: u32) -> String {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("{stem}-{number}.{ending}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_measurement_keeps_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert_eq!(keep(folder.path()).unwrap(), None);
        for number in 1..=2 {
            fs::write(path("scaling.json"), number.to_string()).unwrap();
            fs::write(path("scaling.csv"), number.to_string()).unwrap();
            assert_eq!(keep(folder.path()).unwrap(), Some(number));
        }
        assert_eq!(fs::read_to_string(path("scaling-1.json")).unwrap(), "1");
        assert_eq!(fs::read_to_string(path("scaling-2.csv")).unwrap(), "2");
        assert!(!path("scaling.json").exists() && !path("scaling-1.svg").exists());
    }
}
