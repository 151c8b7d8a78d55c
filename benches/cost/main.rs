//! What the layers cost, beside a bare service and what people write by hand. See the README.

mod answers;
mod bodies;
mod by_hand;
mod decision;
mod list_by_hand;
mod measure;
mod memory;
mod provenance;
mod request;
mod response;
mod server;
mod service;
mod trust;

use std::error::Error;

/// Prints the tables whose names are among the arguments; all, if there are none.
fn main() -> Result<(), Box<dyn Error>> {
    type Table = fn() -> Result<(), Box<dyn Error>>;
    let tables: [(&str, Table); 7] = [
        ("request", request::table),
        ("response", response::table),
        ("memory", memory::table),
        ("decision", decision::table),
        ("trust", trust::table),
        ("provenance", provenance::table),
        ("server", server::table),
    ];
    // Cargo adds `--bench`.
    let names: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    tables.into_iter().filter(|(name, _)| asked(name)).try_for_each(|(_, table)| table())
}
