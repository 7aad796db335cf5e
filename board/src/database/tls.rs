//! TLS to a server, by `sslmode` as libpq has it.

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

/// How much a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Not at all.
    Disable,
    /// By TLS if the server speaks it.
    #[default]
    Prefer,
    /// By TLS, whoever the server is.
    Require,
    /// The server's certificate is of a known authority.
    VerifyCa,
    /// It is also that of the host.
    VerifyFull,
}

/// Mode and trust, as a URL has them.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// `sslmode`
    pub mode: Mode,
    /// `sslrootcert`: the authorities that are trusted; `None`: those of the machine.
    pub roots: Option<PathBuf>,
}

impl FromStr for Mode {
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
                    "sslmode {text:?} is none: give disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

impl Tls {
    /// How much of it the client library is to see to.
    pub const fn library_mode(&self) -> SslMode {
        match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        }
    }

    /// What makes TLS of a connection.
    ///
    /// # Errors
    /// There are no authorities to trust: a sentence.
    pub fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let (is_checked, is_named) = match self.mode {
            Mode::Disable | Mode::Prefer => (false, false),
            // As libpq has it: a file of authorities is there to be used.
            Mode::Require => (self.roots.is_some(), false),
            Mode::VerifyCa => (true, false),
            Mode::VerifyFull => (true, true),
        };
        let trust = is_checked
            .then(|| Trust::of(self.roots.as_deref(), is_named, &provider))
            .transpose()?;
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("cannot speak TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { provider, trust }))
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Whose certificates are believed.
#[derive(Debug)]
struct Trust {
    chain: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    /// Whether a certificate has to be the host's.
    is_named: bool,
}

impl Trust {
    fn of(
        file: Option<&Path>,
        is_named: bool,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let roots = file.map_or_else(|| Ok(machine_roots()), file_roots)?;
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let chain = WebPkiServerVerifier::builder_with_provider(store.into(), Arc::clone(provider));
        let chain = chain.build().map_err(|_| {
            let of = file.map_or_else(|| "this machine".to_owned(), |it| it.display().to_string());
            format!("{of} has no certificates of authorities: give their file, sslrootcert=PATH")
        })?;
        Ok(Self {
            chain,
            roots,
            is_named,
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

/// Looks at a server's certificate as far as `sslmode` asks for.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: any is believed.
    trust: Option<Trust>,
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
        // A certificate that has signed itself is its own authority, which web servers may not be.
        if trust.roots.contains(end_entity) {
            if trust.is_named {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let chain = &trust.chain;
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !trust.is_named => Ok(ServerCertVerified::assertion()),
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
