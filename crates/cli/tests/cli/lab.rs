//! `gentle lab`: the address it prints, what it serves, a port that is taken, Ctrl-C.

use crate::command::gentle;
use assert_cmd::cargo::cargo_bin;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Whether `lab/build` had made the page when the command was built.
fn is_built() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/dist/index.html").exists()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The answer to a request.
fn ask(address: &str, request: &str) -> String {
    ask_host(address, request, address)
}

/// The answer to a request for this host.
fn ask_host(address: &str, request: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Lab that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_serves_the_page_until_interrupted() {
    if !is_built() {
        let refused = gentle(&["lab", "--no-open"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(complaint(&refused).contains("run make lab"), "{}", complaint(&refused));
        return;
    }
    let mut lab = Served(
        Command::new(cargo_bin("gentle"))
            .args(["lab", "--no-open", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(lab.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{line}");

    let page = ask(&address, "GET /");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.to_lowercase().contains("content-security-policy: default-src 'self'"));
    assert!(page.contains("Why pages hang for a second"));
    for request in ["GET /nothing", "GET /../Cargo.toml", "GET /.gitignore"] {
        let answer = ask(&address, request);
        assert!(answer.starts_with("HTTP/1.1 40"), "{request}: {answer}");
    }
    assert!(ask(&address, "POST /").starts_with("HTTP/1.1 405"));

    let port = address.split(':').nth(1).unwrap();
    for header in ["x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin"] {
        assert!(page.to_lowercase().contains(header), "{header}: {page}");
    }
    assert!(ask_host(&address, "GET /", &format!("localhost:{port}")).starts_with("HTTP/1.1 200"));
    // A page of evil.example whose name leads to this machine now.
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "localhost:1"] {
        let answer = ask_host(&address, "GET /", host);
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
    }
    // More half requests than connections are served at a time: they are ended.
    let halves: Vec<TcpStream> = (0..70)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
            stream
        })
        .collect();
    assert!(ask(&address, "GET /").starts_with("HTTP/1.1 200"));
    drop(halves);

    let taken = gentle(&["lab", "--no-open", "--port", port]).output().unwrap();
    assert_eq!(taken.status.code(), Some(1));
    assert!(complaint(&taken).contains("choose another port"), "{}", complaint(&taken));

    let pid = lab.0.id().to_string();
    let stopped = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(stopped.success());
    assert_eq!(lab.0.wait().unwrap().code(), Some(0));
    TcpListener::bind(&address).expect("the port is free again");
}
