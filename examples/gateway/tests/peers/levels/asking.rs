//! What servers ask of clients that declare that they can be asked for everything, and count what reaches them.

use std::path::Path;

use serde_json::{Value, json};

use super::super::clients::{ALL, Client, LEGACY, MODERN};
use super::super::support::{Server, peers};
use super::{Command, Entry, Steps, gateway_of, over_http, steps, visit};

/// A level, whether the server may ask the user, and whether roots are declared.
type Case = (&'static str, bool, bool);

const CASES: [Case; 6] = [
    ("sandboxed", true, true),
    ("untrusted", false, false),
    ("untrusted", true, false),
    ("untrusted", false, true),
    ("trusted", false, false),
    ("trusted", true, true),
];

/// What a server may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ask {
    Elicitation,
    Roots,
    Sampling,
}

impl Ask {
    fn name(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
            Self::Sampling => "sampling",
        }
    }

    fn is_for(self, (level, elicitation, roots): Case) -> bool {
        match self {
            Self::Elicitation => elicitation && level != "sandboxed",
            Self::Roots => roots && level != "sandboxed",
            Self::Sampling => level == "trusted",
        }
    }
}

/// What tools say once they have been answered, and what of the client's they may not learn.
const ANSWERS: [&str; 7] = [
    "what the model says",
    "what the user says",
    "elicitation accept",
    "Name: ann",
    "Hello, ann",
    "of-the-entry",
    "exposed 2 root(s)",
];
const NEVER: &str = "of-the-client";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    TypeScript,
    Python,
}

impl Kind {
    /// The tools that ask, what for, and what they are told.
    fn asking(self, client: Client) -> Vec<(&'static str, Ask, Value)> {
        match self {
            Self::TypeScript => vec![
                ("trigger-sampling-request", Ask::Sampling, json!({"prompt": "hi"})),
                ("trigger-elicitation-request", Ask::Elicitation, json!({})),
                ("get-roots-list", Ask::Roots, json!({})),
            ],
            Self::Python if MODERN.contains(&client) => vec![
                ("test_input_required_result_sampling", Ask::Sampling, json!({})),
                ("test_input_required_result_elicitation", Ask::Elicitation, json!({})),
                ("test_streaming_elicitation", Ask::Elicitation, json!({})),
                ("test_input_required_result_list_roots", Ask::Roots, json!({})),
            ],
            Self::Python => vec![
                ("test_sampling", Ask::Sampling, json!({"prompt": "hi"})),
                ("test_elicitation", Ask::Elicitation, json!({"message": "hi"})),
                ("test_streaming_elicitation", Ask::Elicitation, json!({})),
            ],
        }
    }

    fn last(self) -> (&'static str, Value) {
        match self {
            Self::TypeScript => ("echo", json!({"message": "hi"})),
            Self::Python => ("test_simple_text", json!({})),
        }
    }

    fn lines(self, (_, elicitation, roots): Case) -> String {
        let asking = LEGACY.iter().chain(&MODERN[..1]).flat_map(|client| self.asking(*client));
        let tools = Vec::from_iter(asking.map(|(tool, ..)| tool).chain([self.last().0]));
        let root = r#"{ uri = "file:///srv", name = "of-the-entry" }"#;
        // Two: the client has one.
        let roots = if roots { [root; 2].join(", ") } else { String::new() };
        format!("tool_allowlist = {tools:?}\nelicitation_enabled = {elicitation}\nroots = [{roots}]")
    }
}

/// A server that is reached in one way, in all cases.
struct Front<'a> {
    kind: Kind,
    is_child: bool,
    clients: &'a [Client],
    transport: String,
}

impl Front<'_> {
    fn id(&self, nth: usize) -> String {
        let kind = if self.kind == Kind::Python { "python" } else { "typescript" };
        format!("{kind}-{}-{nth}", if self.is_child { "child" } else { "http" })
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        let entry =
            |(nth, case): (usize, Case)| Entry::new(self.id(nth), &self.transport, case.0, self.kind.lines(case));
        CASES.into_iter().enumerate().map(entry)
    }

    fn steps(&self, client: Client) -> Steps {
        let asking = self.kind.asking(client).into_iter().map(|(tool, _, told)| (tool.to_owned(), told));
        asking.chain(steps(&[self.kind.last(), ("asked", json!({}))])).collect()
    }

    /// Whether a question gets to the client. That for roots is answered in its place, but in the modern era, where the
    /// client answers with its next request: then its answer is replaced.
    fn reaches(&self, client: Client, case: Case, ask: Ask) -> bool {
        !self.is_child && ask.is_for(case) && (ask != Ask::Roots || MODERN.contains(&client))
    }

    /// Whether a tool gets an answer that it can use. The gateway answers a child that asks for its roots, and nothing
    /// else.
    fn is_told(&self, case: Case, ask: Ask) -> bool {
        ask.is_for(case) && (!self.is_child || ask == Ask::Roots)
    }

    fn check(&self, client: Client, case: Case, told: &[Value]) {
        let [calls @ .., last, asked] = told else { panic!("{told:?}") };
        let place = format!("{client:?} {} {case:?} {asked}", self.id(0));
        assert_eq!(last["ok"], true, "{place} {last}");
        let mut expected = json!({"elicitation": false, "roots": false, "sampling": false});
        for ((tool, ask, _), step) in self.kind.asking(client).iter().zip(calls) {
            if self.reaches(client, case, *ask) {
                expected[ask.name()] = true.into();
            }
            let text = step.to_string();
            assert!(!text.contains(NEVER), "{place} {text}");
            let is_told = ANSWERS.iter().any(|answer| text.contains(answer));
            assert_eq!(is_told, self.is_told(case, *ask), "{place} {text}");
            if !is_told {
                check_refused(&place, tool, *ask, step);
            }
        }
        let counts = asked["result"].as_object().unwrap();
        let is_asked: Value = counts.iter().map(|(name, count)| (name.clone(), json!(*count != 0))).collect();
        assert_eq!(is_asked, expected, "{place}");
    }
}

/// A tool whose question is refused is answered at once, and says so. What it asks by its result is refused by the
/// gateway.
fn check_refused(place: &str, tool: &str, ask: Ask, step: &Value) {
    if tool.starts_with("test_input_required") {
        assert_eq!(step["code"], 502, "{place} {step}");
        assert_eq!(step["data"]["reason"], format!("server.reach_{}", ask.name()), "{place} {step}");
    } else if ["test_sampling", "test_elicitation"].contains(&tool) {
        assert_eq!(step["ok"], true, "{place} {step}");
        let text = step["text"].as_str().unwrap();
        assert!(
            ["not supported or error: ", "action=decline"].iter().any(|word| text.contains(word)),
            "{place} {step}"
        );
    } else if tool == "test_streaming_elicitation" {
        assert_eq!(step["code"], -32021, "{place} {step}");
    } else {
        // The server knows no such tool: it has not been told that it could ask.
        assert!(step.to_string().contains("not found"), "{place} {step}");
    }
}

async fn check(client: Client, peers: &Path, gateway: &str, fronts: &[Front<'_>]) {
    let fronts = Vec::from_iter(fronts.iter().filter(|front| front.clients.contains(&client)));
    let visits = fronts.iter().flat_map(|front| {
        let visit = |nth| (format!("{gateway}{}", front.id(nth)), front.steps(client));
        (0..CASES.len()).map(visit)
    });
    let told = visit(client, peers, &Vec::from_iter(visits)).await;
    for (front, told) in fronts.iter().zip(told.chunks(CASES.len())) {
        for (case, told) in CASES.into_iter().zip(told) {
            front.check(client, case, told);
        }
    }
    println!("{client:?}: {} steps", told.iter().map(Vec::len).sum::<usize>());
}

fn fronts_over_http<'a>(typescript: &Server, python: &Server) -> [Front<'a>; 2] {
    let front = |kind, clients, port| Front { kind, is_child: false, clients, transport: over_http(port) };
    // Only in events can a server ask.
    [front(Kind::TypeScript, &LEGACY[..], typescript.port()), front(Kind::Python, &ALL[..], python.ports[1])]
}

fn children<'a>(peers: &Path) -> [Front<'a>; 2] {
    let front = |kind, child: Command| Front { kind, is_child: true, clients: &LEGACY, transport: child.transport() };
    [front(Kind::TypeScript, Command::typescript(peers)), front(Kind::Python, Command::python(peers))]
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_asked_only_for_what_the_server_may_ask_for() {
    let Some(peers) = peers("clients_are_asked_only_for_what_the_server_may_ask_for") else { return };
    let (typescript, python) = (Server::everything_in_typescript(&peers), Server::python(&peers, "everything", &[]));
    let fronts = Vec::from_iter(fronts_over_http(&typescript, &python).into_iter().chain(children(&peers)));
    let entries = Vec::from_iter(fronts.iter().flat_map(Front::entries));
    let gateway = gateway_of(&entries).await;
    for part in ALL.chunks(3) {
        let [one, two, three] = part else { panic!("there are six") };
        let check = |client: &Client| check(*client, &peers, &gateway, &fronts);
        tokio::join!(check(one), check(two), check(three));
    }
}
