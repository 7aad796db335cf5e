//! TLS to a server. Each value of `sslmode` has the same meaning as in libpq.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The protection of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// No TLS.
    Disable,
    /// TLS if the server supports it.
    #[default]
    Prefer,
    /// TLS with any server.
    Require,
    /// TLS with a server whose certificate is signed by a trusted authority.
    VerifyCa,
    /// TLS with a server whose certificate names the host and is signed by a trusted authority.
    VerifyFull,
}

/// The options for TLS in a URL.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// The value of `sslmode`.
    pub mode: TlsMode,
    /// The value of `sslrootcert`: a file of trusted authorities. `None` means the trusted authorities of the machine.
    pub roots: Option<PathBuf>,
}

impl FromStr for TlsMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(format!(
                    "sslmode {text:?} does not exist: use disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

impl Tls {
    /// Returns the mode for the client library. The library has only three of the modes of `sslmode`.
    pub const fn library_mode(&self) -> SslMode {
        match self.mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        }
    }

    /// Returns a connector that checks certificates according to the mode.
    ///
    /// # Errors
    /// Returns a sentence if there are no authorities to trust.
    pub fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let (checks_authority, checks_name) = match self.mode {
            TlsMode::Disable | TlsMode::Prefer => (false, false),
            // If the user names a file of authorities, the node must use the file. libpq does the same.
            TlsMode::Require => (self.roots.is_some(), false),
            TlsMode::VerifyCa => (true, false),
            TlsMode::VerifyFull => (true, true),
        };
        let trust = checks_authority
            .then(|| TrustedAuthorities::of(self.roots.as_deref(), checks_name, &provider))
            .transpose()?;
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("cannot set up TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { provider, trust }))
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

/// The authorities that the node trusts.
#[derive(Debug)]
struct TrustedAuthorities {
    chain: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    /// Whether a certificate must name the host.
    checks_name: bool,
}

impl TrustedAuthorities {
    fn of(
        file: Option<&Path>,
        checks_name: bool,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let roots = file.map_or_else(|| Ok(machine_roots()), file_roots)?;
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let chain = WebPkiServerVerifier::builder_with_provider(store.into(), Arc::clone(provider));
        let chain = chain.build().map_err(|_| {
            let of = file.map_or_else(|| "this machine".to_owned(), |it| it.display().to_string());
            format!("{of} has no certificates of authorities: name a file of authorities with sslrootcert=PATH")
        })?;
        Ok(Self {
            chain,
            roots,
            checks_name,
        })
    }
}

fn machine_roots() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

fn file_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.map_err(|error| format!("cannot use sslrootcert {}: {error}", path.display()))
}

/// Checks a server's certificate. `sslmode` determines the checks.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// The trusted authorities. If the authorities are `None`, the node accepts any certificate.
    trust: Option<TrustedAuthorities>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trust) = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        // The webpki library refuses a self-signed certificate, because such a certificate is also its authority.
        if trust.roots.contains(end_entity) {
            if trust.checks_name {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let chain = &trust.chain;
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !trust.checks_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
