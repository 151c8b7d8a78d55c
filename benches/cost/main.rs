//! What the layers cost, beside a bare service and what people write by hand. See the README.

mod bodies;
mod by_hand;
mod decision;
mod measure;
mod request;
mod service;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    request::table()?;
    decision::table()
}
