//! What a child says, to whom it is told.

use bytes::Bytes;
use tokio::io::AsyncRead;

use super::hub::event;
use super::keep::Shared;
use super::lines::{Lines, NoLine, on_one_line};
use super::link::Link;
use super::tasks::Concern;
use crate::upstream::envelope::{self, Said, Sort, text_at};
use crate::upstream::replies::{UNKNOWN, listed, reply};

/// Listens until the child's standard output is closed.
pub(super) async fn listen<R: AsyncRead + Unpin>(stdout: R, link: &Link, shared: &Shared) {
    let mut lines = Lines::new(stdout, shared.config.max_message_bytes);
    while let Some(line) = lines.next().await {
        let heard = match line {
            Ok(line) if line.iter().all(u8::is_ascii_whitespace) => Ok(()),
            Ok(line) => hear(&on_one_line(line), link, shared),
            Err(NoLine::NotText) => Err("it is no text"),
            Err(NoLine::TooLong) => Err("it is too long"),
        };
        if let Err(why) = heard {
            // Without the line: there may be anything in it.
            tracing::warn!(server.name = %shared.config.name, why, "what a server said was dropped");
        }
    }
}

fn hear(line: &Bytes, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    let said = envelope::read(line).ok_or("it is no message")?;
    match said.sort() {
        Sort::Answer if link.answer(line, &said) => Ok(()),
        Sort::Answer => Err("it answers nobody"),
        Sort::Request => answer(line, &said, link, shared),
        Sort::Notification => tell(line, &said, link, shared),
        // Whoever waits for it learns that it is none.
        Sort::Malformed if said.method(line).is_empty() && link.answer(line, &said) => Ok(()),
        Sort::Malformed => Err("it is no message"),
    }
}

fn tell(line: &Bytes, said: &Said, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    match &*said.method(line) {
        "notifications/progress" if link.notify(line, said) => Ok(()),
        "notifications/progress" => Err("it concerns no request"),
        // Nothing that it asks takes long enough.
        "notifications/cancelled" => Ok(()),
        _ if said.subscription.is_none() => match link.tasks.concern(line) {
            Concern::Nobody => Err("it concerns no task of anybody's"),
            concern @ (Concern::All | Concern::Of(_)) => {
                shared.hub.tell(&event(line), &concern);
                Ok(())
            }
        },
        _ if link.notify(line, said) => Ok(()),
        _ => Err("it concerns no subscription"),
    }
}

/// Answers what the child asks: clients come and go, and none of them has been chosen to be asked.
fn answer(line: &Bytes, said: &Said, link: &Link, shared: &Shared) -> Result<(), &'static str> {
    let id = said.id.clone().map_or("null", |id| text_at(line, id));
    let roots = &shared.config.roots;
    let outcome = match &*said.method(line) {
        "ping" => r#""result":{}"#,
        "roots/list" if !roots.is_empty() => &listed(roots),
        _ => UNKNOWN,
    };
    link.say(reply(id, outcome)).map_err(|_| "it asks, but does not read")
}
