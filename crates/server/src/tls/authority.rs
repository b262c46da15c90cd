//! The server's own authority: it vouches for this server and for nothing else, and its fingerprint is what people and
//! agents are given.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use fermi_domain::access::Fingerprint;
use fermi_named_file::read_plain_text;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::key_file::write_private;

/// The authority's certificate, which everyone may have.
pub const CERTIFICATE: &str = "authority.pem";
pub const KEY: &str = "authority.key";

const DAY_S: u64 = 86_400;
/// Who holds the fingerprint of an authority is not asked again, so that it outlives the server.
const AUTHORITY_S: u64 = 20 * 365 * DAY_S;
/// Short enough that a key that was lost is worth little.
const SERVER_S: u64 = 90 * DAY_S;
/// Clocks of others may be behind.
const BEFORE_S: u64 = DAY_S;

/// The authority of a data folder.
pub struct Authority {
    key: KeyPair,
    certificate: CertificateDer<'static>,
    pem: String,
}

/// What is known of a certificate that was issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Unix seconds.
    pub made_s: u64,
    pub until_s: u64,
    pub names: BTreeSet<String>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}

impl Authority {
    /// The one of this folder; made where there is none.
    pub fn open(folder: &Path, now_s: u64) -> io::Result<Self> {
        let (certificate_file, key_file) = (folder.join(CERTIFICATE), folder.join(KEY));
        let known = (read_plain_text(&certificate_file), read_plain_text(&key_file));
        for (name, read) in [(CERTIFICATE, &known.0), (KEY, &known.1)] {
            if let Err(error) = read
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(io::Error::new(error.kind(), format!("{name}: {error}")));
            }
        }
        if let (Ok(pem), Ok(key)) = known {
            let key = KeyPair::from_pem(&key).map_err(|error| io::Error::other(format!("{KEY}: {error}")))?;
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes())
                .map_err(|error| io::Error::other(format!("{CERTIFICATE}: {error}")))?;
            return Ok(Self { key, certificate, pem });
        }
        // Half of a pair is somebody's mistake, not a first start.
        for file in [&certificate_file, &key_file] {
            if file.exists() {
                let text = format!("{} has no counterpart beside it", file.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = parameters(&key);
        holds(&mut params, now_s, now_s + AUTHORITY_S);
        let made = params.self_signed(&key).map_err(io::Error::other)?;
        write_private(&key_file, &key.serialize_pem())?;
        write_private(&certificate_file, &made.pem())?;
        Ok(Self { key, certificate: made.der().clone(), pem: made.pem() })
    }

    pub fn fingerprint(&self) -> Fingerprint {
        fermi_api::client::fingerprint(&self.certificate)
    }

    /// Whether a text that was issued is of this authority.
    pub fn has_issued(&self, text: &str) -> bool {
        text.ends_with(&self.pem)
    }

    /// A key with its certificate and this authority's, as one text that describes itself.
    pub fn issue(&self, names: &BTreeSet<String>, now_s: u64) -> Result<String, rcgen::Error> {
        let issue = Issue { made_s: now_s, until_s: now_s + SERVER_S, names: names.clone() };
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Fermi server");
        holds(&mut params, now_s, issue.until_s);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        for name in names {
            params.subject_alt_names.push(match name.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into()?),
            });
        }
        let key = KeyPair::generate()?;
        let issuer = Issuer::new(parameters(&self.key), &self.key);
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(format!("{}{}{}{}", issue.written(), key.serialize_pem(), certificate.pem(), self.pem))
    }
}

/// What makes the authority: the same whenever it is made anew from its key.
fn parameters(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    let id: String = params.key_identifier(key).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name.push(DnType::CommonName, format!("Fermi authority {id}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// Sets from when until when something holds, in Unix seconds.
fn holds(params: &mut CertificateParams, from_s: u64, until_s: u64) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(from_s.saturating_sub(BEFORE_S));
    params.not_after = epoch + Duration::from_secs(until_s);
}

impl Issue {
    /// Lines before a certificate that readers of certificates pass over.
    fn written(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        format!("fermi-made: {}\nfermi-until: {}\nfermi-names: {}\n", self.made_s, self.until_s, names.join(" "))
    }

    /// As [`Self::written`] has it; none where the text says nothing of itself.
    pub fn read(text: &str) -> Option<Self> {
        let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        Some(Self {
            made_s: of("fermi-made:")?.parse().ok()?,
            until_s: of("fermi-until:")?.parse().ok()?,
            names: of("fermi-names:")?.split_whitespace().map(str::to_owned).collect(),
        })
    }

    /// Whether another one is to be issued: a third of its time is left, the clock was set back behind it, or the server is
    /// reached under more names.
    pub fn is_over(&self, names: &BTreeSet<String>, now_s: u64) -> bool {
        let lifetime = self.until_s.saturating_sub(self.made_s);
        now_s + lifetime / 3 >= self.until_s || now_s + BEFORE_S < self.made_s || !names.is_subset(&self.names)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_authority_is_made_once_and_only_its_owner_reads_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let made = Authority::open(folder.path(), 1_800_000_000).unwrap();
        let again = Authority::open(folder.path(), 1_900_000_000).unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        let mode = fs::metadata(folder.path().join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(folder.path().join(KEY), "").unwrap();
        let damaged = Authority::open(folder.path(), 1_800_000_000).unwrap_err();
        assert!(damaged.to_string().starts_with("authority.key: "), "{damaged}");
        fs::remove_file(folder.path().join(KEY)).unwrap();
        let half = Authority::open(folder.path(), 1_800_000_000).unwrap_err();
        assert!(half.to_string().contains("authority.pem has no counterpart"), "{half}");
        // A pipe in which nobody writes.
        nix::unistd::mkfifo(&folder.path().join(KEY), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pipe = Authority::open(folder.path(), 1_800_000_000).unwrap_err();
        assert!(pipe.to_string().starts_with("authority.key: it is neither a file"), "{pipe}");
    }

    #[test]
    fn a_certificate_says_when_another_one_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), 1_800_000_000).unwrap();
        let issued = authority.issue(&names(&["gn6", "127.0.0.1", "::1"]), 1_800_000_000).unwrap();
        let issue = Issue::read(&issued).unwrap();
        assert_eq!(issue.names, names(&["gn6", "127.0.0.1", "::1"]));
        let cases = [
            (&["gn6"][..], 1_800_000_000, false),
            (&["gn6", "new"], 1_800_000_000, true),
            (&["gn6"], 1_800_000_000 + 59 * DAY_S, false),
            (&["gn6"], 1_800_000_000 + 60 * DAY_S, true),
            (&["gn6"], 1_800_000_000 - 2 * DAY_S, true),
        ];
        for (list, now_s, expected) in cases {
            assert_eq!(issue.is_over(&names(list), now_s), expected, "{list:?} {now_s}");
        }
        assert_eq!(Issue::read("-----BEGIN CERTIFICATE-----"), None);
    }
}
