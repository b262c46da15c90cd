//! The first lines of a request.

/// What is wanted, of what, and how long the body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub method: Method,
    pub scope: String,
    pub key: String,
    pub length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Put,
    Delete,
}

impl Head {
    /// Reads the lines up to the empty one, or says with which status they are refused. Scope and key are taken as they
    /// stand, so that a later request for what was put finds it.
    pub fn read(bytes: &[u8]) -> Result<Self, u16> {
        let text = std::str::from_utf8(bytes).map_err(|_| 400_u16)?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().ok_or(400_u16)?.split(' ');
        let method = match words.next() {
            Some("GET") => Method::Get,
            Some("PUT" | "POST") => Method::Put,
            Some("DELETE") => Method::Delete,
            _ => return Err(405),
        };
        let path = words.next().and_then(|path| path.strip_prefix('/')).ok_or(400_u16)?;
        if !words.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
            return Err(400);
        }
        let (scope, key) =
            path.split_once('/').filter(|(scope, key)| !scope.is_empty() && !key.is_empty()).ok_or(400_u16)?;
        let mut length = 0;
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.trim().eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| 400_u16)?;
            }
            if name.trim().eq_ignore_ascii_case("transfer-encoding") {
                return Err(411);
            }
        }
        Ok(Self { method, scope: scope.to_owned(), key: key.to_owned(), length })
    }
}
