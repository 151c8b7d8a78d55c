//! What a server lists and does without the gateway, compared with what it does through it under each role.

use std::path::Path;

use serde_json::Value;

use super::clients::{ALL, Client, MODERN, Run, assert_denied};
use super::raw::{Answer, Session};
use super::support::{Server, gateway};

/// A list: its method, the member that holds it, what the policy knows its members by, why they may not be used.
struct List {
    method: &'static str,
    members: &'static str,
    key: &'static str,
    denial: &'static str,
}

const LISTS: [List; 4] = [
    List { method: "tools/list", members: "tools", key: "name", denial: "policy.tool_not_allowed" },
    List { method: "prompts/list", members: "prompts", key: "name", denial: "policy.prompt_not_allowed" },
    List { method: "resources/list", members: "resources", key: "uri", denial: "policy.resource_not_allowed" },
    List {
        method: "resources/templates/list",
        members: "resourceTemplates",
        key: "uriTemplate",
        denial: "policy.resource_not_allowed",
    },
];

impl List {
    fn all(&self, pages: &[Answer]) -> Vec<Value> {
        pages.iter().flat_map(|page| page.result[self.members].as_array().expect("a list").clone()).collect()
    }

    fn name<'a>(&self, member: &'a Value) -> &'a str {
        member[self.key].as_str().expect("a name")
    }

    fn names<'a>(&self, members: &'a [Value]) -> Vec<&'a str> {
        members.iter().map(|member| self.name(member)).collect()
    }

    /// The step of a client that uses what is listed by that name.
    fn step<'a>(&self, name: &'a str) -> &'a str {
        match self.members {
            "tools" => name,
            "prompts" => "prompts/get",
            _ => "resources/read",
        }
    }
}

/// The modes of a server, with the media types that show them.
const MODES: [(&str, &str); 2] = [("json", "application/json"), ("sse", "text/event-stream")];
/// Nobody without the gateway asks for a key. What is seen with this one is the measure of the others.
const BARE: &str = "k-bare";
const KEYS: [&str; 4] = [BARE, "k-admin", "k-reader", "k-nobody"];

/// A server, and what is known of it beforehand.
pub(crate) struct Peer<'a> {
    /// Its name in the configuration.
    pub(crate) id: &'static str,
    pub(crate) clients: &'static [Client],
    /// Starts it in both modes.
    pub(crate) start: &'a (dyn Fn() -> Server + Sync),
    /// How many of each list it has at least, and how many of these the reader sees.
    pub(crate) least: [(usize, usize); 4],
    /// Whether the reader may see a name, of the list with these members.
    pub(crate) reader: fn(&str, &str) -> bool,
    /// With what a name, of the list with these members, is used; `None`: it is only listed.
    pub(crate) usage: fn(&str, &str) -> Option<Value>,
}

/// Compares everything that the servers' clients see and do.
pub(crate) async fn check(folder: &Path, peers: &[Peer<'_>]) {
    let servers = start(peers);
    let mut fronts = Vec::new();
    for (peer, server) in peers.iter().zip(&servers) {
        for (mode, port) in MODES.into_iter().zip(&server.ports) {
            fronts.push(Front::open(peer, mode, *port).await);
        }
    }
    let (some, others) = ALL.split_at(ALL.len() / 2);
    tokio::join!(check_clients(some, folder, &fronts), check_clients(others, folder, &fronts));
}

async fn check_clients(clients: &[Client], folder: &Path, fronts: &[Front<'_>]) {
    for client in clients {
        let fronts: Vec<_> = fronts.iter().filter(|front| front.is_for(*client)).collect();
        if !fronts.is_empty() {
            check_client(*client, folder, &fronts).await;
        }
    }
}

fn start(peers: &[Peer<'_>]) -> Vec<Server> {
    std::thread::scope(|scope| {
        let starting: Vec<_> = peers.iter().map(|peer| scope.spawn(|| (peer.start)())).collect();
        starting.into_iter().map(|server| server.join().expect("the server starts")).collect()
    })
}

/// One process of a client lists and uses everything of all servers, with each key.
async fn check_client(client: Client, folder: &Path, fronts: &[&Front<'_>]) {
    let runs = fronts.iter().flat_map(|front| KEYS.map(|key| front.run(client, key)));
    let told = client.runs(folder, &runs.collect::<Vec<_>>()).await;
    for (front, told) in fronts.iter().zip(told.chunks(KEYS.len())) {
        for (key, steps) in KEYS.iter().zip(told) {
            // Before its steps it connects and lists of its own accord.
            front.check_steps(client, key, &told[0][2..], &steps[2..]);
        }
    }
}

/// A server in one mode, and the gateway before it.
struct Front<'a> {
    peer: &'a Peer<'a>,
    mode: (&'static str, &'static str),
    bare: String,
    gated: String,
    /// What each list has without the gateway.
    lists: Vec<Vec<Value>>,
}

impl<'a> Front<'a> {
    async fn open(peer: &'a Peer<'a>, mode: (&'static str, &'static str), port: u16) -> Self {
        let bare = format!("http://127.0.0.1:{port}/mcp");
        let gated = format!("http://{}/mcp/{}", gateway(port, None).await, peer.id);
        let mut front = Self { peer, mode, bare, gated, lists: Vec::new() };
        front.check_wire().await;
        front
    }

    /// In the modern era the servers answer what is asked here as JSON, whatever their mode.
    fn is_for(&self, client: Client) -> bool {
        self.peer.clients.contains(&client) && (self.mode == MODES[0] || !MODERN.contains(&client))
    }

    fn url(&self, key: &str) -> &str {
        if key == BARE { &self.bare } else { &self.gated }
    }

    fn sees(&self, key: &str, list: &List, name: &str) -> bool {
        match key {
            "k-reader" => (self.peer.reader)(list.members, name),
            "k-nobody" => false,
            _ => true,
        }
    }

    /// What a key sees of all that is in a list.
    fn seen(&self, key: &str, list: &List, all: &[Value]) -> Vec<Value> {
        all.iter().filter(|member| self.sees(key, list, list.name(member))).cloned().collect()
    }

    /// The lists as they come over the wire: the admin's are the server's to the byte.
    async fn check_wire(&mut self) {
        let mut bare = Vec::new();
        for key in KEYS {
            let texts = self.check_lists(key).await;
            match key {
                BARE => bare = texts,
                "k-admin" => assert_eq!(texts, bare, "{} {:?}", self.peer.id, self.mode),
                _ => {}
            }
        }
    }

    /// The messages with the pages of all lists.
    async fn check_lists(&mut self, key: &str) -> Vec<String> {
        let session = Session::open(self.url(key), key).await;
        let mut texts = Vec::new();
        for (nth, list) in LISTS.iter().enumerate() {
            let place = format!("{} {} {key} {}", self.peer.id, self.mode.0, list.method);
            let pages = session.list(list.method).await;
            let all = list.all(&pages);
            println!("{place}: {} on {} pages", all.len(), pages.len());
            assert!(pages.iter().all(|page| page.media == self.mode.1), "{place}: {}", pages[0].media);
            texts.extend(pages.into_iter().map(|page| page.text));
            if key == BARE {
                self.check_least(nth, &all);
                self.lists.push(all);
            } else {
                assert_eq!(all, self.seen(key, list, &self.lists[nth]), "{place}");
            }
        }
        texts
    }

    /// Comparing empty lists would show nothing.
    fn check_least(&self, nth: usize, all: &[Value]) {
        let (least, reader) = self.peer.least[nth];
        let seen = self.seen("k-reader", &LISTS[nth], all).len();
        assert!(all.len() >= least, "{} {}: {all:?}", self.peer.id, LISTS[nth].method);
        assert_eq!(seen, reader, "{} {}: {all:?}", self.peer.id, LISTS[nth].method);
        assert!(seen < all.len() || all.is_empty(), "{} {}: {all:?}", self.peer.id, LISTS[nth].method);
    }

    /// Everything is listed in both modes and used in one: by the SDKs' first versions as events.
    fn is_used_by(&self, client: Client) -> bool {
        let as_events = matches!(client, Client::Python(1, _) | Client::TypeScript(1, _));
        self.mode == MODES[usize::from(as_events)]
    }

    /// All uses of what is listed: the list, the name in it, and the JSON for the step. Nobody tries one of each list.
    fn uses(&self, client: Client, key: &str) -> Vec<(&'static List, &str, String)> {
        if !self.is_used_by(client) {
            return Vec::new();
        }
        let most = if key == "k-nobody" { 1 } else { usize::MAX };
        let mut uses = Vec::new();
        for (list, all) in LISTS.iter().zip(&self.lists) {
            let names = all.iter().map(|member| list.name(member));
            let used = names.filter_map(|name| Some((list, name, (self.peer.usage)(list.members, name)?.to_string())));
            uses.extend(used.take(most));
        }
        uses
    }

    fn run<'b>(&'b self, client: Client, key: &'b str) -> Run<'b> {
        let lists = LISTS.iter().map(|list| (list.method, "{}".to_owned()));
        let uses = self.uses(client, key).into_iter().map(|(list, name, json)| (list.step(name), json));
        Run { url: self.url(key), key, steps: lists.chain(uses).collect() }
    }

    fn check_steps(&self, client: Client, key: &str, bare: &[Value], steps: &[Value]) {
        let place = format!("{client:?} {} {} {key}", self.peer.id, self.mode.0);
        for (nth, list) in LISTS.iter().enumerate() {
            let bare = bare[nth]["result"]["members"].as_array().expect("the server lists");
            assert_eq!(list.names(bare), list.names(&self.lists[nth]), "{place}");
            let seen = self.seen(key, list, bare);
            assert_eq!(steps[nth]["result"]["members"], Value::Array(seen), "{place} {}", steps[nth]);
        }
        let uses = self.uses(client, key);
        // What remains is the closing.
        assert_eq!(steps.len(), LISTS.len() + uses.len() + 1, "{place}");
        for (nth, (list, name, _)) in uses.into_iter().enumerate() {
            let (bare, step) = (&bare[LISTS.len() + nth], &steps[LISTS.len() + nth]);
            if self.sees(key, list, name) {
                assert_eq!(step["ok"], true, "{place} {step}");
                assert_eq!(step, bare, "{place} {name}");
            } else {
                assert_denied(client, step, list.denial);
            }
        }
    }
}
