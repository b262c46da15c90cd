//! Why a server is not spoken to.

use std::{fmt, io};

use fermi_domain::access::Fingerprint;
use fermi_domain::language::{Explained, Hint, Text, reason};
use rustls::{CertificateError, Error, InvalidMessage};

/// What a server has shown that does not prove who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsRefusal {
    /// Not the server whose fingerprint was given.
    OtherServer {
        shown: Fingerprint,
        expected: Fingerprint,
    },
    /// No authority that this machine knows vouches for it.
    UnknownAuthority,
    Expired,
    NotYetValid,
    /// Its certificate is for other names.
    OtherName,
    /// What answers there speaks no TLS.
    Plain,
    /// The server speaks nothing but TLS, and was spoken to without.
    Required,
    Failed {
        reason: String,
    },
}

/// As the verifier tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server shows {shown}, not {expected}")]
pub struct OtherFingerprint {
    pub shown: Fingerprint,
    pub expected: Fingerprint,
}

impl TlsRefusal {
    /// What the handshake has failed for; none where it was the network.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Error>().map(Self::of_tls)
    }

    fn of_tls(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(CertificateError::Other(other)) => {
                match other.0.downcast_ref::<OtherFingerprint>() {
                    Some(OtherFingerprint { shown, expected }) => {
                        Self::OtherServer { shown: *shown, expected: *expected }
                    }
                    // Such as one that vouches for itself.
                    None => Self::UnknownAuthority,
                }
            }
            Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
                Self::Expired
            }
            Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
                Self::NotYetValid
            }
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => Self::OtherName,
            Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
                Self::UnknownAuthority
            }
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::Plain,
            other => Self::Failed { reason: other.to_string() },
        }
    }
}

impl fmt::Display for TlsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text().en)
    }
}

impl std::error::Error for TlsRefusal {}

impl Explained for TlsRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::OtherServer { .. } => "fingerprint_differs",
            Self::UnknownAuthority => "authority_unknown",
            Self::Expired | Self::NotYetValid => "certificate_expired",
            Self::OtherName => "certificate_for_other_name",
            Self::Plain => "tls_not_spoken",
            Self::Required => "tls_required",
            Self::Failed { .. } => "tls_failed",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::OtherServer { shown, expected } => Text::new(
                format!("这不是所指的服务器：它的指纹是 {shown}，应为 {expected}"),
                format!("this is not the server that is meant: its fingerprint is {shown}, not {expected}"),
            ),
            Self::UnknownAuthority => Text::new(
                "服务器的证书由本机不认识的机构签发",
                "no authority that this machine knows vouches for the server's certificate",
            ),
            Self::Expired => Text::new("服务器的证书已过期", "the server's certificate has expired"),
            Self::NotYetValid => Text::new("服务器的证书尚未生效", "the server's certificate is not valid yet"),
            Self::OtherName => {
                Text::new("服务器的证书不是签发给这个地址的", "the server's certificate is not for this address")
            }
            Self::Plain => Text::new("该地址的服务不使用 TLS", "what answers there speaks no TLS"),
            Self::Required => Text::new("该服务器只接受 https", "this server speaks https only"),
            Self::Failed { reason } => {
                let why = reason::of_said(reason);
                Text::new(format!("TLS 握手失败：{}", why.zh), format!("the TLS handshake failed: {}", why.en))
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::OtherServer { .. } => Hint::new(
                "核对服务器启动时显示的指纹；若服务器确已更换证书机构，用 --fingerprint 给出新的指纹",
                "compare it with what the server showed at its start; if it has a new authority, give that fingerprint \
                 with --fingerprint",
            ),
            Self::UnknownAuthority => Hint::new(
                "用 --fingerprint 给出服务器启动时显示的指纹；公司自己的机构可放入系统证书，或用 SSL_CERT_FILE 指定",
                "give the fingerprint that the server showed at its start with --fingerprint; an authority of your \
                 company belongs into the system's certificates, or is named by SSL_CERT_FILE",
            ),
            Self::Expired | Self::NotYetValid => Hint::new(
                "更新服务器的证书文件（无需重启），并核对两台机器的时钟",
                "renew the server's certificate (no restart is needed), and compare the clocks of both machines",
            ),
            Self::OtherName => Hint::new(
                "使用证书中的地址；自建机构的服务器可用 --allowed-host 加上这个名称",
                "use an address that it names; a server with an authority of its own takes more with --allowed-host",
            ),
            Self::Plain => Hint::new(
                "把地址写成 http://，或用 fermi server --tls 启动服务器",
                "write http:// before the address, or start the server with `fermi server --tls`",
            ),
            Self::Required => Hint::new(
                "把地址写成 https://；自建机构的服务器还需要 --fingerprint，服务器启动时会显示它",
                "write https:// before the address; a server with an authority of its own also needs --fingerprint, \
                 which it showed at its start",
            ),
            Self::Failed { .. } => Hint::new(
                "确认该地址是 Fermi 服务器，途中没有改动连接的设备",
                "see that a Fermi server is there, and nothing on the way that changes connections",
            ),
        })
    }
}
