//! Reads files that a person names: settings, requests, certificates, tokens. What never ends, such as `/dev/zero`, or is a
//! checkpoint by mistake, is refused before it has filled the memory. What a file means is its reader's business.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use fermi_domain::language::reason::{NeitherFileNorFolder, TooLarge};

/// More than any such file has.
pub const MOST_BYTES: u64 = 64 << 20;

/// All bytes of a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?)
}

/// All bytes of a file that a program goes on with by itself, such as one that it reads at each start: a pipe, in which nobody
/// may ever write, would hold it up for ever.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() && !about.is_dir() {
        return Err(NeitherFileNorFolder.into());
    }
    read(path)
}

/// The same of a file that is text.
pub fn read_plain_text(path: &Path) -> io::Result<String> {
    text(read_plain(path)?)
}

/// The whole of a file that is text.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// The whole of standard input, which is text.
pub fn read_stdin() -> io::Result<String> {
    text(bounded(io::stdin().lock())?)
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, TooLarge { most_bytes: MOST_BYTES }));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::reason;

    use super::*;

    #[test]
    fn what_never_ends_is_refused_with_its_bound() {
        let error = read_text(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(reason::of_io(&error).en, "it has more than 64 MiB, as no such file has");
    }

    #[test]
    fn a_pipe_is_not_waited_for_where_a_plain_file_is_expected() {
        let (reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let error = read_plain(Path::new(&path)).unwrap_err();
        assert_eq!(reason::of_io(&error).en, "it is a device, a pipe or a socket, neither a file nor a folder");
        drop(writer);
        assert_eq!(reason::of_io(&read_plain_text(Path::new("/dev/null")).unwrap_err()), reason::of_io(&error));
        assert_eq!(reason::of_io(&read_plain(Path::new("/")).unwrap_err()).en, "it is a folder");
        assert_eq!(reason::of_io(&read_plain(Path::new("/no/such")).unwrap_err()).en, "it does not exist");
        assert!(!read_plain_text(Path::new("/proc/self/status")).unwrap().is_empty());
    }

    #[test]
    fn other_mistakes_are_as_they_were() {
        assert_eq!(reason::of_io(&read(Path::new("/no/such")).unwrap_err()).en, "it does not exist");
        assert_eq!(reason::of_io(&read(Path::new("/")).unwrap_err()).en, "it is a folder");
        assert_eq!(read_text(Path::new("/dev/null")).unwrap(), "");
        let bad = text(vec![0xff]).unwrap_err();
        assert_eq!(reason::of_io(&bad).en, "its content is not valid UTF-8");
    }
}
