//! HTTP/1.1 byte by byte, for both ends: blocking sockets, no library in between that would mend what is sent.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No test waits longer than this for anything. Nothing takes that long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request to be sent. Its length is announced unless its headers say otherwise.
#[derive(Clone)]
pub(crate) struct Request {
    method: &'static str,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A POST with JSON of the caller `k-user`.
    pub(crate) fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", target).body(body).with("content-type", "application/json")
    }

    /// A request without a body of the caller `k-user`.
    pub(crate) fn new(method: &'static str, target: &str) -> Self {
        let request = Self { method, target: target.to_owned(), headers: Vec::new(), body: Vec::new() };
        request.with("host", "localhost").with("authorization", "Bearer k-user")
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    /// Adds a header, beside others of its name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header in place of those of its name.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Announces the streamable transport, as clients of MCP do.
    pub(crate) fn streamable(self) -> Self {
        self.with("accept", "application/json, text/event-stream")
    }

    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        self.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let framed = |name: &str| name.eq_ignore_ascii_case("content-length") || name == "transfer-encoding";
        if !self.headers.iter().any(|(name, _)| framed(name)) && (self.method == "POST" || !self.body.is_empty()) {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        (head + "\r\n").into_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }
}

/// A request or a response that has arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// The first line.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Message {
    fn parse(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap().to_owned();
        let headers = lines.filter(|line| !line.is_empty()).map(field).collect();
        Self { start, headers, ..Self::default() }
    }

    pub(crate) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{self}"))
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let values = self.all(name);
        assert!(values.len() < 2, "{name} is repeated: {self}");
        values.first().copied()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The JSON-RPC messages in the body, be they events or one by itself.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if !self.header("content-type").is_some_and(|media| media.starts_with("text/event-stream")) {
            return vec![self.json()];
        }
        let text = self.text();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        events.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {self}"))).collect()
    }

    /// The JSON-RPC answer in the body, which is what comes last.
    pub(crate) fn answer(&self) -> Value {
        let last = self.messages().pop().unwrap_or_else(|| panic!("no answer: {self}"));
        assert!(last.get("result").is_some() != last.get("error").is_some(), "{self}");
        last
    }

    /// The id of the JSON-RPC message in the body, as JSON.
    pub(crate) fn id(&self) -> String {
        self.json()["id"].to_string()
    }

    /// The reason in the JSON-RPC error in the body.
    pub(crate) fn reason(&self) -> String {
        self.json()["error"]["data"]["reason"].as_str().unwrap_or_else(|| panic!("{self}")).to_owned()
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text();
        let shown = text.char_indices().nth(400).map_or(&*text, |(at, _)| &text[..at]);
        write!(f, "{} {:?} {shown}", self.start, self.headers)
    }
}

fn field(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line}"));
    (name.to_owned(), value.trim().to_owned())
}

/// One end of a connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).expect("the gateway accepts connections"))
    }

    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("the other end reads");
    }

    /// Sends as much as the other end takes: it may have closed the connection rightly.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Says that nothing more will be sent; what comes can still be read.
    pub(crate) fn finish(&self) {
        // It may be closed by the other end already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The next message, unless the connection ends before it. Interim responses are passed over.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        self.receive_for("POST")
    }

    /// The next message, the answer to a request of some method.
    pub(crate) fn receive_for(&mut self, method: &str) -> Option<Message> {
        let mut message = self.receive_head()?;
        let response = message.start.starts_with("HTTP/");
        let bodiless = response && (method == "HEAD" || message.status() == 204 || message.status() == 304);
        let coding = message.header("transfer-encoding").map(str::to_ascii_lowercase);
        if bodiless {
        } else if coding.as_deref() == Some("chunked") {
            (message.body, message.trailers) = self.chunks();
        } else if let Some(length) = message.header("content-length") {
            message.body = self.take(length.parse().unwrap()).unwrap_or_else(|| panic!("cut short: {message}"));
        } else if response {
            message.body = self.rest();
        }
        Some(message)
    }

    pub(crate) fn receive_head(&mut self) -> Option<Message> {
        loop {
            let head = self.until(b"\r\n\r\n")?;
            let message = Message::parse(std::str::from_utf8(&head).unwrap());
            if !message.start.starts_with("HTTP/1.1 1") {
                return Some(message);
            }
        }
    }

    /// What comes up to and with a mark; `None` if the connection ends before.
    pub(crate) fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                return Some(self.buffer.drain(..at + mark.len()).collect());
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// All that comes until the connection ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.buffer)
    }

    /// Waits for the end of the connection, however it comes, and drops what is sent before.
    pub(crate) fn ended(mut self) {
        self.rest();
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            if !self.fill() {
                return None;
            }
        }
        Some(self.buffer.drain(..length).collect())
    }

    fn chunks(&mut self) -> (Vec<u8>, Vec<(String, String)>) {
        let mut body = Vec::new();
        loop {
            let line = String::from_utf8(self.until(b"\r\n").expect("a chunk")).unwrap();
            let length = usize::from_str_radix(line.trim().split(';').next().unwrap(), 16).unwrap();
            if length == 0 {
                break;
            }
            body.extend(self.take(length).expect("a whole chunk"));
            assert_eq!(self.take(2).as_deref(), Some(&b"\r\n"[..]));
        }
        let mut trailers = Vec::new();
        loop {
            let line = String::from_utf8(self.until(b"\r\n").expect("the end of the trailers")).unwrap();
            match line.trim() {
                "" => return (body, trailers),
                line => trailers.push(field(line)),
            }
        }
    }

    /// Reads once; false at the end. A connection that is reset has ended, too.
    fn fill(&mut self) -> bool {
        let mut piece = vec![0; 64 << 10];
        match self.stream.read(&mut piece) {
            Ok(0) => false,
            Ok(length) => {
                self.buffer.extend(&piece[..length]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("nothing comes; so far: {}", String::from_utf8_lossy(&self.buffer))
            }
            Err(_) => false,
        }
    }
}
