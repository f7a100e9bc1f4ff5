//! The command `gentle lab`: serves the page in `lab/dist` from inside the program, to this machine only.

use crate::args::LabArgs;
use crate::interrupt;
use crate::output::{print, warn};
use anyhow::{Context, bail};
use flate2::read::GzDecoder;
use oxhttp::Server;
use oxhttp::model::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use oxhttp::model::{Body, Method, Request, Response, StatusCode};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Names of the files of the page, built by `lab/build`, and their content, compressed with gzip; none if it was not run
/// before the program was built.
static PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The page loads nothing from elsewhere; WebAssembly counts as script.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Connections served at a time.
const CONNECTIONS: usize = 64;

/// Longest wait for the next bytes of a request, or for a reader of the answer. A connection that it ends gets an
/// error. A browser that opened the connection in advance would take this error for the answer to its next request;
/// Chromium closes such connections after 10 s.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Names of this machine in the header Host. Requests from a page of another origin carry another name.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// Keeps pages of other origins from embedding the files.
const RESOURCE_POLICY: &str = "cross-origin-resource-policy";

/// Interval at which the flag of Ctrl-C is checked.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<ExitCode> {
    if PAGE.is_empty() {
        bail!(
            "this gentle was built without the lab; run make lab in its source, which needs Node.js, and build it again"
        );
    }
    let stop = interrupt::flag()?;
    let port = listen(args.port)?;
    let address = format!("http://127.0.0.1:{port}/");
    print(&format!("The lab is at {address}. Ctrl-C ends it.\n"))?;
    if !args.no_open
        && let Err(error) = webbrowser::open(&address)
    {
        warn(&format!("cannot open a browser ({error}); open {address} yourself"));
    }
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    // Ctrl-C is the normal way to end this command.
    Ok(ExitCode::SUCCESS)
}

/// Serves the page on `port`, or for 0 on any free port; returns the port.
fn listen(port: u16) -> anyhow::Result<u16> {
    // The server does not report which port it got, so a free one is chosen first. If another program binds it in
    // between, the next one is tried.
    let tries = if port == 0 { 8 } else { 1 };
    let mut outcome = try_to_listen(port);
    for _ in 1..tries {
        if outcome.is_ok() {
            break;
        }
        outcome = try_to_listen(port);
    }
    outcome
}

fn try_to_listen(port: u16) -> anyhow::Result<u16> {
    let port = match port {
        0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?.local_addr()?.port(),
        port => port,
    };
    let server = Server::new(move |request| answer(request, port))
        .with_max_concurrent_connections(CONNECTIONS)
        .with_global_timeout(TIMEOUT);
    server.bind((Ipv4Addr::LOCALHOST, port)).spawn().with_context(|| {
        format!("cannot listen on 127.0.0.1:{port}; choose another port, such as --port 0 for any free one")
    })?;
    Ok(port)
}

fn answer(request: &Request<Body>, port: u16) -> Response<Body> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_own(host, port)) {
        return status(StatusCode::MISDIRECTED_REQUEST);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let path = request.uri().path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match PAGE.iter().find(|(name, _)| *name == path) {
        Some((_, compressed)) => serve(path, compressed),
        None => status(StatusCode::NOT_FOUND),
    }
}

/// Whether the header Host names this server.
fn is_own(host: &str, port: u16) -> bool {
    let (name, of_host) = host.split_once(':').unwrap_or((host, "80"));
    NAMES.contains(&name) && of_host.parse() == Ok(port)
}

fn serve(path: &str, compressed: &[u8]) -> Response<Body> {
    let mut content = Vec::new();
    if GzDecoder::new(compressed).read_to_end(&mut content).is_err() {
        return status(StatusCode::INTERNAL_SERVER_ERROR);
    }
    Response::builder()
        .header(CONTENT_TYPE, media_type(path))
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(CACHE_CONTROL, "no-cache")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(RESOURCE_POLICY, "same-origin")
        .body(Body::from(content))
        .unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR))
}

fn status(status: StatusCode) -> Response<Body> {
    let text = format!("{status}\n");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}

/// Media type of a file of the page.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
