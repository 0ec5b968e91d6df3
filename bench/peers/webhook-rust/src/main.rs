//! The Rust peer of the webhook benchmark: axum, rustls and kube-rs admission types on one thread, doing for a SubnetPool
//! what Berth does at admission. The rules are those of ../webhook/main.go.
//!
//!     webhook-rust --cert-dir DIR --port N     DIR has tls.crt and tls.key; serves until SIGTERM

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use axum::Json;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use kube::CustomResource;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PATH: &str = "/validate/plexaubnet.io/subnetpools";
const BODY_LIMIT: usize = 8 << 20;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "plexaubnet.io", version = "v1alpha1", kind = "SubnetPool", namespaced, schema = "disabled")]
#[serde(rename_all = "camelCase")]
struct SubnetPoolSpec {
    cidr: String,
    default_block_size: Option<u8>,
    min_block_size: Option<u8>,
    max_block_size: Option<u8>,
    strategy: Option<String>,
}

impl SubnetPoolSpec {
    fn validate(&self) -> Result<(), String> {
        let (network, bits) = parse_cidr(&self.cidr)?;
        let canonical = format!("{}/{bits}", masked(network, bits));
        if canonical != self.cidr {
            return Err(format!("spec.cidr: {:?} is not canonical, use {canonical:?}", self.cidr));
        }
        match self.strategy.as_deref() {
            None | Some("" | "Linear" | "Buddy") => {}
            Some(other) => return Err(format!("spec.strategy: {other:?} is neither Linear nor Buddy")),
        }
        self.validate_sizes(bits, width(network))
    }

    // The sizes that are set, from the pool's own to the longest, must not decrease.
    fn validate_sizes(&self, pool: u8, width: u8) -> Result<(), String> {
        let mut last = pool;
        for size in [self.min_block_size, self.default_block_size, self.max_block_size, Some(width)].into_iter().flatten() {
            if size < last {
                return Err(format!("spec: block size {size} is out of order"));
            }
            last = size;
        }
        Ok(())
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let invalid = || format!("spec.cidr: {text:?} is not a CIDR");
    let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
    let address: IpAddr = address.parse().map_err(|_| invalid())?;
    let bits: u8 = bits.parse().map_err(|_| invalid())?;
    if bits > width(address) { Err(invalid()) } else { Ok((address, bits)) }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)).into()),
    }
}

async fn review(Json(review): Json<AdmissionReview<SubnetPool>>) -> Json<AdmissionReview<DynamicObject>> {
    let request: AdmissionRequest<SubnetPool> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return Json(AdmissionResponse::invalid(error).into_review()),
    };
    let response = AdmissionResponse::from(&request);
    let judged = match (&request.operation, &request.object) {
        (Operation::Create | Operation::Update, Some(pool)) => pool.spec.validate(),
        _ => Ok(()),
    };
    let response = match judged {
        Ok(()) => response,
        Err(why) => response.deny(why),
    };
    Json(response.into_review())
}

fn arguments() -> Option<(PathBuf, u16)> {
    let (mut cert_dir, mut port) = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--cert-dir" => cert_dir = words.next().map(PathBuf::from),
            "--port" => port = words.next().and_then(|text| text.parse().ok()),
            _ => return None,
        }
    }
    Some((cert_dir?, port?))
}

async fn serve(cert_dir: &Path, port: u16) -> std::io::Result<()> {
    let tls = RustlsConfig::from_pem_file(cert_dir.join("tls.crt"), cert_dir.join("tls.key")).await?;
    let app = axum::Router::new().route(PATH, post(review)).layer(DefaultBodyLimit::max(BODY_LIMIT));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let acceptor = RustlsAcceptor::new(tls).acceptor(NoDelayAcceptor::new());
    axum_server::bind(address).acceptor(acceptor).serve(app.into_make_service()).await
}

fn main() -> std::io::Result<()> {
    let (cert_dir, port) =
        arguments().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "usage: webhook-rust --cert-dir DIR --port N"))?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(&cert_dir, port))
}
