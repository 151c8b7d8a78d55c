//! A few notes, kept in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::Tools;

#[derive(Debug)]
pub(super) struct Files(Mutex<BTreeMap<String, String>>);

impl Files {
    pub(super) fn new() -> Self {
        let notes = [
            ("notes/monday.txt", "Ask Olga for the figures of October."),
            ("notes/friday.txt", "The figures are in. Margins rose by two points."),
        ];
        Self(Mutex::new(notes.map(|(path, text)| (path.to_owned(), text.to_owned())).into()))
    }

    fn list(&self, prefix: &str) -> String {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.keys().filter(|path| path.starts_with(prefix)).cloned().collect::<Vec<_>>().join("\n")
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(path).cloned().ok_or_else(|| format!("no such file: {path}"))
    }

    fn remember(&self, text: &str) -> String {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A demonstration has no need of more.
        let path = format!("notes/remembered-{}.txt", notes.len() % 100);
        notes.insert(path.clone(), text.chars().take(1000).collect());
        format!("written to {path}")
    }

    fn run(&self, command: &str) -> Result<String, String> {
        match command.split_whitespace().collect::<Vec<_>>()[..] {
            ["ls"] => Ok(self.list("")),
            ["ls", prefix] => Ok(self.list(prefix)),
            ["cat", path] => self.read(path),
            _ => Err(format!("cannot run: {command}")),
        }
    }
}

impl Tools for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn definitions(&self) -> Value {
        let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        json!([
            {"name": "list_files", "description": "Lists all files.", "inputSchema": {"type": "object"}},
            {"name": "read_file", "description": "Reads a file.", "inputSchema": text("path")},
            {"name": "run_query", "description": "Runs `ls` or `cat`.", "inputSchema": text("cmd")},
            {"name": "remember", "description": "Writes a note.", "inputSchema": text("text")},
        ])
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Result<String, String>> {
        let argument = |name: &str| {
            arguments.get(name).and_then(Value::as_str).ok_or_else(|| format!("argument `{name}` must be a string"))
        };
        Some(match tool {
            "list_files" => Ok(self.list("")),
            "read_file" => argument("path").and_then(|path| self.read(path)),
            "run_query" => argument("cmd").and_then(|command| self.run(command)),
            "remember" => argument("text").map(|text| self.remember(text)),
            _ => return None,
        })
    }
}
