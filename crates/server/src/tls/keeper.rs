//! Sees to it that the certificate never ends: its own it renews, an operator's it reads again when the files change.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fermi_domain::access::Fingerprint;
use fermi_domain::language::{Explained, Hint, Text, reason};
use fermi_store::StoreError;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::authority::{Authority, Issue};
use super::certificate::{self, CurrentCertificate, NoCertificate};
use super::{Encryption, names};
use crate::background::BackgroundLoop;
use crate::key_file::write_private;

/// Key and certificate of a server that has its own authority; made anew when it is missing.
const SERVED: &str = "server.pem";

/// Why the server has nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum CertificateProblem {
    #[error("{path} cannot be read: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} cannot be used: {reason}")]
    Unfit { path: PathBuf, reason: NoCertificate },
    #[error("the server's own authority in {folder} cannot be used: {source}")]
    Authority { folder: PathBuf, source: io::Error },
    #[error("no certificate can be issued: {0}")]
    NotIssued(String),
}

impl Explained for CertificateProblem {
    fn id(&self) -> &'static str {
        "certificate_unusable"
    }

    fn text(&self) -> Text {
        let zh = match self {
            Self::File { path, source } => format!("无法读取 {}：{source}", path.display()),
            Self::Unfit { path, reason } => match reason {
                NoCertificate::Empty => format!("{} 中没有证书", path.display()),
                NoCertificate::NoKey => format!("{} 中没有私钥", path.display()),
                NoCertificate::Unfit(reason) => format!("{} 无法使用：{reason}", path.display()),
            },
            Self::Authority { folder, source } => format!("{} 中服务自己的机构无法使用：{source}", folder.display()),
            Self::NotIssued(reason) => format!("无法签发证书：{reason}"),
        };
        Text::new(reason::of_said(&zh).zh, reason::of_said(&self.to_string()).en)
    }

    fn hint(&self) -> Option<Hint> {
        if matches!(self, Self::Authority { .. }) {
            return Some(Hint::new(
                "从备份放回 authority.pem 与 authority.key；或把两者移走再启动，此后所有代理和命令都要用新指纹",
                "put authority.pem and authority.key of a backup back, or move both away and start again: agents and \
                 commands need the new fingerprint then",
            ));
        }
        Some(Hint::new(
            "--tls-cert 是 PEM 格式的证书链（服务器证书在前），--tls-key 是与之对应的 PEM 私钥",
            "--tls-cert is a chain of certificates in PEM, the server's own first; --tls-key is its private key in PEM",
        ))
    }
}

/// Where the certificate comes from.
#[derive(Debug)]
enum Source {
    Own { authority: Box<Authority>, folder: PathBuf, listen: SocketAddr, allowed_hosts: Vec<String>, issue: Issue },
    Files { certificate: PathBuf, key: PathBuf },
}

/// What tells a file from another one that has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// Keeps the certificate fresh.
#[derive(Debug)]
pub struct CertificateKeeper {
    source: Source,
    current: Arc<CurrentCertificate>,
    provider: Arc<CryptoProvider>,
    /// As the files were when they were last read.
    seen: Vec<Option<FileState>>,
}

impl CertificateKeeper {
    /// Reads or makes the first certificate; none where nothing is encrypted.
    pub fn open(
        encryption: &Encryption,
        folder: &Path,
        listen: SocketAddr,
        allowed_hosts: &[String],
    ) -> Result<Option<Self>, CertificateProblem> {
        let provider = Arc::new(ring::default_provider());
        let mut source = match encryption {
            Encryption::None => return Ok(None),
            Encryption::Files { certificate, key } => {
                Source::Files { certificate: certificate.clone(), key: key.clone() }
            }
            Encryption::OwnAuthority => {
                let unusable = |source: io::Error| CertificateProblem::Authority { folder: folder.to_owned(), source };
                let authority = Box::new(Authority::open(folder, now_s()).map_err(unusable)?);
                let issue = Issue { made_s: 0, until_s: 0, names: BTreeSet::new() };
                let allowed_hosts = allowed_hosts.to_vec();
                Source::Own { authority, folder: folder.to_owned(), listen, allowed_hosts, issue }
            }
        };
        let before = source.state();
        let first = source.read_or_issue(&provider)?;
        let seen = source.state_after(before);
        Ok(Some(Self { source, current: Arc::new(CurrentCertificate::new(first)), provider, seen }))
    }

    /// By what the server is known; none where an operator's certificate is shown, for which others vouch.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match &self.source {
            Source::Own { authority, .. } => Some(authority.fingerprint()),
            Source::Files { .. } => None,
        }
    }

    /// What connections are taken with.
    pub fn config(&self) -> Result<Arc<ServerConfig>, CertificateProblem> {
        let builder = ServerConfig::builder_with_provider(self.provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| CertificateProblem::NotIssued(error.to_string()))?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Shows another certificate, if there is one to show. What cannot be read is no reason to stop showing the last one.
    fn refresh(&mut self) -> Result<(), CertificateProblem> {
        let state = self.source.state();
        if state == self.seen && !self.source.is_over() {
            return Ok(());
        }
        self.seen = state;
        let next = self.source.read_or_issue(&self.provider)?;
        self.seen = self.source.state_after(std::mem::take(&mut self.seen));
        self.current.replace(next);
        tracing::info!("another certificate is shown from now on");
        Ok(())
    }
}

impl Source {
    /// What is known of the files once they were read: an operator's may have changed while they were, which is found by the
    /// next look; one's own was written by the reading.
    fn state_after(&self, before: Vec<Option<FileState>>) -> Vec<Option<FileState>> {
        match self {
            Self::Own { .. } => self.state(),
            Self::Files { .. } => before,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Own { folder, .. } => vec![folder.join(SERVED)],
            Self::Files { certificate, key } => vec![certificate.clone(), key.clone()],
        }
    }

    fn state(&self) -> Vec<Option<FileState>> {
        let of = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok()?;
            Some(FileState { inode: found.ino(), size: found.size(), changed: (found.mtime(), found.mtime_nsec()) })
        };
        self.files().iter().map(of).collect()
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Own { listen, allowed_hosts, issue, .. } => {
                issue.is_over(&names::of_server(*listen, allowed_hosts), now_s())
            }
            Self::Files { .. } => false,
        }
    }

    fn read_or_issue(&mut self, provider: &CryptoProvider) -> Result<rustls::sign::CertifiedKey, CertificateProblem> {
        let unreadable = |path: &Path, source| CertificateProblem::File { path: path.to_owned(), source };
        let unfit = |path: &Path, reason| CertificateProblem::Unfit { path: path.to_owned(), reason };
        match self {
            Self::Files { certificate, key } => {
                let chain =
                    fermi_named_file::read_plain(certificate).map_err(|source| unreadable(certificate, source))?;
                let secret = fermi_named_file::read_plain(key).map_err(|source| unreadable(key, source))?;
                certificate::read(&chain, &secret, provider).map_err(|reason| {
                    let path = if reason == NoCertificate::NoKey { &*key } else { &*certificate };
                    unfit(path, reason)
                })
            }
            Self::Own { authority, folder, listen, allowed_hosts, issue } => {
                let (path, now_s) = (folder.join(SERVED), now_s());
                let names = names::of_server(*listen, allowed_hosts);
                let kept = fermi_named_file::read_plain_text(&path).ok();
                let kept = kept.and_then(|text| Some((Issue::read(&text)?, text)));
                // One of an authority of before, as after a restore, vouches for nothing.
                let kept = kept.filter(|(issue, text)| !issue.is_over(&names, now_s) && authority.has_issued(text));
                let (known, text) = match kept {
                    Some(kept) => kept,
                    None => {
                        let text = authority.issue(&names, now_s);
                        let text = text.map_err(|error| CertificateProblem::NotIssued(error.to_string()))?;
                        write_private(&path, &text).map_err(|source| unreadable(&path, source))?;
                        let issue = Issue::read(&text);
                        (issue.ok_or_else(|| CertificateProblem::NotIssued(String::new()))?, text)
                    }
                };
                *issue = known;
                certificate::read(text.as_bytes(), text.as_bytes(), provider).map_err(|reason| unfit(&path, reason))
            }
        }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Small files of a local disk are read where they are asked for; a certificate on one that hangs holds up no request, except
/// in a test that has one thread for all.
fn beside_requests<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

impl BackgroundLoop for CertificateKeeper {
    const NAME: &'static str = "certificate";
    const PERIOD: Duration = Duration::from_secs(2);

    async fn run(&mut self) -> Result<(), StoreError> {
        if let Err(problem) = beside_requests(|| self.refresh()) {
            tracing::error!(%problem, "the certificate cannot be renewed; the last one is shown on");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(keeper: &CertificateKeeper) -> Vec<u8> {
        keeper.current.shown().cert[0].to_vec()
    }

    #[test]
    fn a_certificate_of_its_own_is_kept_and_made_anew_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let listen = "127.0.0.1:7070".parse().unwrap();
        let open = || CertificateKeeper::open(&Encryption::OwnAuthority, folder.path(), listen, &[]).unwrap().unwrap();
        let mut keeper = open();
        let first = shown(&keeper);
        keeper.refresh().unwrap();
        assert_eq!(shown(&keeper), first);
        assert_eq!((shown(&open()), open().fingerprint()), (first.clone(), keeper.fingerprint()));
        std::fs::remove_file(folder.path().join(SERVED)).unwrap();
        keeper.refresh().unwrap();
        assert_ne!(shown(&keeper), first);
    }

    #[test]
    fn files_are_read_again_when_they_change_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), now_s()).unwrap();
        let names = names::of_server("127.0.0.1:1".parse().unwrap(), &[]);
        let path = folder.path().join("own.pem");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write(&authority.issue(&names, now_s()).unwrap());
        let files = Encryption::Files { certificate: path.clone(), key: path.clone() };
        let listen = "127.0.0.1:7070".parse().unwrap();
        let mut keeper = CertificateKeeper::open(&files, folder.path(), listen, &[]).unwrap().unwrap();
        let first = shown(&keeper);
        write("nothing");
        let problem = keeper.refresh().unwrap_err();
        assert!(problem.to_string().ends_with("there is no certificate in it"), "{problem}");
        assert_eq!(shown(&keeper), first);
        write(&authority.issue(&names, now_s()).unwrap());
        keeper.refresh().unwrap();
        assert_ne!(shown(&keeper), first);
        assert_eq!(keeper.fingerprint(), None);
    }
}
