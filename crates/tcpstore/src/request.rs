//! What a client says: one byte that names the command, then its arguments.

/// The first five bytes of every client: the command `VALIDATE` and torch's number.
pub const GREETING: usize = 5;
pub const MAGIC: u32 = 0x3C85_F7CE;

const LONGEST_KEY: u64 = 8 * 1024;
const LARGEST_VALUE: u64 = 8 * 1024 * 1024;
const MOST_KEYS: u64 = 128 * 1024;
/// Of one command with several values.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// One command. Keys and values are the client's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    Validate { magic: u32 },
    Set { key: &'a [u8], value: &'a [u8] },
    CompareSet { key: &'a [u8], expected: &'a [u8], desired: &'a [u8] },
    Get { key: &'a [u8] },
    Add { key: &'a [u8], amount: i64 },
    Check { keys: Vec<&'a [u8]> },
    Wait { keys: Vec<&'a [u8]> },
    CountKeys,
    Delete { key: &'a [u8] },
    Append { key: &'a [u8], value: &'a [u8] },
    MultiGet { keys: Vec<&'a [u8]> },
    MultiSet { pairs: Vec<(&'a [u8], &'a [u8])> },
    CancelWait,
    Ping { nonce: u32 },
    QueuePush { key: &'a [u8], value: &'a [u8] },
    QueuePop { key: &'a [u8] },
    QueueLength { key: &'a [u8] },
    ListKeys,
    Barrier { key: &'a [u8], world_size: i64 },
}

/// Bytes that no client of a store says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("there is no command {0}")]
    Unknown(u8),
    #[error("a key, a value or a list is longer than the protocol allows")]
    TooLong,
}

/// Why there is no request yet.
enum Stop {
    /// More bytes must come.
    Short,
    Malformed(Malformed),
}

impl<'a> Request<'a> {
    /// The first request in the bytes and how many of them it is; none where it is not whole yet.
    pub fn read(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut rest = Rest(bytes);
        match Self::parse(&mut rest) {
            Ok(request) => Ok(Some((request, bytes.len() - rest.0.len()))),
            Err(Stop::Short) if bytes.len() > LARGEST_REQUEST => Err(Malformed::TooLong),
            Err(Stop::Short) => Ok(None),
            Err(Stop::Malformed(malformed)) => Err(malformed),
        }
    }

    fn parse(rest: &mut Rest<'a>) -> Result<Self, Stop> {
        let [command] = rest.array()?;
        Ok(match command {
            0 => Self::Validate { magic: u32::from_le_bytes(rest.array()?) },
            1 => Self::Set { key: rest.key()?, value: rest.value()? },
            2 => Self::CompareSet { key: rest.key()?, expected: rest.value()?, desired: rest.value()? },
            3 => Self::Get { key: rest.key()? },
            4 => Self::Add { key: rest.key()?, amount: i64::from_le_bytes(rest.array()?) },
            5 => Self::Check { keys: rest.keys()? },
            6 => Self::Wait { keys: rest.keys()? },
            7 => Self::CountKeys,
            8 => Self::Delete { key: rest.key()? },
            9 => Self::Append { key: rest.key()?, value: rest.value()? },
            10 => Self::MultiGet { keys: rest.keys()? },
            11 => {
                let count = rest.count()?;
                let pairs: Result<_, Stop> = (0..count).map(|_| Ok((rest.key()?, rest.value()?))).collect();
                Self::MultiSet { pairs: pairs? }
            }
            12 => Self::CancelWait,
            13 => Self::Ping { nonce: u32::from_le_bytes(rest.array()?) },
            14 => Self::QueuePush { key: rest.key()?, value: rest.value()? },
            15 => Self::QueuePop { key: rest.key()? },
            16 => Self::QueueLength { key: rest.key()? },
            17 => Self::ListKeys,
            18 => Self::Barrier { key: rest.key()?, world_size: i64::from_le_bytes(rest.array()?) },
            unknown => return Err(Stop::Malformed(Malformed::Unknown(unknown))),
        })
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Stop::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self, most: u64) -> Result<usize, Stop> {
        let length = u64::from_le_bytes(self.array()?);
        let bounded = (length <= most).then(|| usize::try_from(length).ok()).flatten();
        bounded.ok_or(Stop::Malformed(Malformed::TooLong))
    }

    fn bytes(&mut self, most: u64) -> Result<&'a [u8], Stop> {
        let length = self.length(most)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Stop::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn key(&mut self) -> Result<&'a [u8], Stop> {
        self.bytes(LONGEST_KEY)
    }

    fn value(&mut self) -> Result<&'a [u8], Stop> {
        self.bytes(LARGEST_VALUE)
    }

    fn count(&mut self) -> Result<usize, Stop> {
        self.length(MOST_KEYS)
    }

    fn keys(&mut self) -> Result<Vec<&'a [u8]>, Stop> {
        let count = self.count()?;
        // The count is a claim; room is made for what is there.
        (0..count).map(|_| self.key()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
    }

    #[test]
    fn what_torch_sends_is_read() {
        let key = text(b"/k");
        let two = 2u64.to_le_bytes();
        let table: [(Vec<u8>, Request<'_>); 10] = [
            (b"\x00\xce\xf7\x85\x3c".to_vec(), Request::Validate { magic: MAGIC }),
            (b"\x0d\x95\x51\x00\x00".to_vec(), Request::Ping { nonce: 0x5195 }),
            ([&[1][..], &key, &text(b"v")].concat(), Request::Set { key: b"/k", value: b"v" }),
            (
                [&[2][..], &key, &text(b""), &text(b"v")].concat(),
                Request::CompareSet { key: b"/k", expected: b"", desired: b"v" },
            ),
            ([&[4][..], &key, &(-5i64).to_le_bytes()].concat(), Request::Add { key: b"/k", amount: -5 }),
            ([&[6][..], &two, &key, &text(b"/l")].concat(), Request::Wait { keys: vec![b"/k", b"/l"] }),
            (
                [&[11][..], &two, &key, &text(b"1"), &text(b"/l"), &text(b"22")].concat(),
                Request::MultiSet { pairs: vec![(b"/k", b"1"), (b"/l", b"22")] },
            ),
            (vec![12], Request::CancelWait),
            ([&[15][..], &key].concat(), Request::QueuePop { key: b"/k" }),
            ([&[18][..], &key, &two].concat(), Request::Barrier { key: b"/k", world_size: 2 }),
        ];
        for (bytes, expected) in table {
            assert_eq!(Request::read(&bytes), Ok(Some((expected, bytes.len()))));
            for cut in 0..bytes.len() {
                assert_eq!(Request::read(&bytes[..cut]), Ok(None), "the first {cut} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn lengths_that_no_client_means_are_refused_before_anything_is_kept() {
        let huge = [&[1][..], &text(b"/k"), &(LARGEST_VALUE + 1).to_le_bytes()].concat();
        assert_eq!(Request::read(&huge), Err(Malformed::TooLong));
        assert_eq!(Request::read(&[&[3][..], &u64::MAX.to_le_bytes()].concat()), Err(Malformed::TooLong));
        assert_eq!(Request::read(&[&[6][..], &(MOST_KEYS + 1).to_le_bytes()].concat()), Err(Malformed::TooLong));
        assert_eq!(Request::read(&[99]), Err(Malformed::Unknown(99)));
        let many = [&[6][..], &MOST_KEYS.to_le_bytes()].concat();
        assert_eq!(Request::read(&many), Ok(None));
    }

    #[test]
    fn strangers_requests_are_read_or_refused() {
        let set = [&[1][..], &3_u64.to_le_bytes(), b"key", &2_u64.to_le_bytes(), b"42"].concat();
        let wait = [&[6][..], &2_u64.to_le_bytes(), &1_u64.to_le_bytes(), b"a", &1_u64.to_le_bytes(), b"b"].concat();
        let many = [&[11][..], &1_u64.to_le_bytes(), &set[1..]].concat();
        fermi_mutator::try_all(&[&set, &wait, &many, &[0, 0xCE, 0xF7, 0x85, 0x3C]], 5_000, |mut case| {
            while let Ok(Some((_, taken))) = Request::read(case) {
                assert!(taken > 0 && taken <= case.len());
                case = &case[taken..];
            }
        });
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_take_more_than_there_is(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, taken))) = Request::read(&bytes) {
                prop_assert!(taken > 0 && taken <= bytes.len());
            }
        }
    }
}
