//! HTTP endpoint that serves metrics to Prometheus and compatible collectors.

use anyhow::Context;
use oxhttp::Server;
use oxhttp::model::header::{ALLOW, CONTENT_TYPE};
use oxhttp::model::{Body, HeaderValue, Method, Request, Response, StatusCode};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Path of the metrics.
const PATH: &str = "/metrics";

/// Content type of OpenMetrics 1.0.
const OPENMETRICS: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Connections served at a time.
const CONNECTIONS: usize = 16;

/// Longest wait for the next request of a connection, or for a reader of the answer. Collectors that keep a connection open
/// usually collect once a minute or more often.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Serves `/metrics` at an address until the process ends. `text` formats the metrics as OpenMetrics text 1.0 for each
/// request, in a thread of the server.
///
/// # Errors
/// If the address is in use, or does not belong to this host.
pub(super) fn serve<F>(address: SocketAddr, text: F) -> anyhow::Result<()>
where
    F: Fn() -> Result<String, fmt::Error> + Send + Sync + 'static,
{
    let server = Server::new(move |request| answer(request, &text))
        .with_max_concurrent_connections(CONNECTIONS)
        .with_global_timeout(TIMEOUT);
    server.bind(address).spawn().with_context(|| format!("--listen {address}: cannot listen there"))?;
    Ok(())
}

fn answer(request: &Request<Body>, text: &dyn Fn() -> Result<String, fmt::Error>) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = message(StatusCode::METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if request.uri().path() != PATH {
        return message(StatusCode::NOT_FOUND, "the metrics are at /metrics\n");
    }
    let body = match text() {
        // An answer to HEAD has no body.
        Ok(_) if *request.method() == Method::HEAD => Body::empty(),
        Ok(text) => Body::from(text),
        Err(_) => return message(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be encoded\n"),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, OPENMETRICS);
    response
}

fn message(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, path: &str) -> Response<Body> {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().expect("a path");
        answer(&request, &|| Ok("# EOF\n".to_owned()))
    }

    #[test]
    fn only_metrics_are_served() {
        let metrics = request(Method::GET, "/metrics");
        assert_eq!((metrics.status(), &metrics.headers()[CONTENT_TYPE]), (StatusCode::OK, &OPENMETRICS));
        assert_eq!(metrics.into_body().to_string().expect("text"), "# EOF\n");
        assert_eq!(request(Method::HEAD, "/metrics").into_body().to_string().expect("text"), "");
        assert_eq!(request(Method::GET, "/").status(), StatusCode::NOT_FOUND);
        assert_eq!(request(Method::POST, "/metrics").status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}
