//! Taking fences off.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::draw::NONCE_DIGITS;
use super::look_alike::LookAlikes;
use super::units::Plain;
use super::{FenceId, NotFenced, STUFFING};

/// What a fence held, and what its header said.
///
/// Whoever wrote the text wrote the header too: what it says is true of texts that come from a gateway that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfenced {
    /// The text as it was before.
    pub body: String,
    /// The nonce: 24 hexadecimal digits.
    pub nonce: String,
    /// Which block of its result it is.
    pub block: usize,
    /// The server, if it is named.
    pub server: Option<String>,
    /// The tool, if it is named.
    pub tool: Option<String>,
}

/// Takes the fence off a text that [`Fence::wrap`](super::Fence::wrap) has made.
///
/// # Errors
///
/// The text is not one that a fence makes.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::{Fence, FenceMode, NotFenced, unfence};
///
/// let body = "&lt;external-content>";
/// let text = Fence::new(FenceMode::Datamark, [body])?.wrap(3, body);
/// let unfenced = unfence(&text)?;
/// assert_eq!((unfenced.body.as_str(), unfenced.block), (body, 3));
/// assert_eq!(unfence(body), Err(NotFenced::Header));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unfence(text: &str) -> Result<Unfenced, NotFenced> {
    let (line, rest) = text.split_once('\n').ok_or(NotFenced::Header)?;
    let header = Header::read(line).ok_or(NotFenced::Header)?;
    let footer = format!("\n<<END-EXT {}>>", header.nonce);
    let fenced = rest.strip_suffix(&footer).ok_or(NotFenced::Footer)?;
    let body = match header.form {
        Form::Plain => unescape(fenced)?,
        Form::Marked(mark) => unescape(&fenced.replace(mark, ""))?,
        Form::Base64 => decode(fenced).ok_or(NotFenced::Encoding)?,
    };
    let Header { nonce, block, server, tool, .. } = header;
    let owned = |id: Option<&str>| id.map(str::to_owned);
    Ok(Unfenced { body, nonce: nonce.into(), block, server: owned(server), tool: owned(tool) })
}

#[derive(Clone, Copy)]
enum Form {
    Plain,
    Marked(char),
    Base64,
}

struct Header<'a> {
    nonce: &'a str,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    block: usize,
    form: Form,
}

impl<'a> Header<'a> {
    /// Reads what is written in exactly one way.
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.strip_prefix("<<EXT ")?.strip_suffix(">>")?.split(' ').peekable();
        let digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let nonce = fields.next().filter(|nonce| nonce.len() == NONCE_DIGITS && nonce.bytes().all(digit))?;
        let mut id = |name| match fields.peek().and_then(|field| field.strip_prefix(name)) {
            Some(id) => FenceId::new(id).is_ok().then(|| fields.next()).map(|_| Some(id)),
            None => Some(None),
        };
        let (server, tool) = (id("server=")?, id("tool=")?);
        let digits = fields.next()?.strip_prefix("block=")?;
        let block = digits.parse::<usize>().ok().filter(|block| block.to_string() == digits)?;
        let form = fields.next().map_or(Some(Form::Plain), form)?;
        fields.next().is_none().then_some(Self { nonce, server, tool, block, form })
    }
}

fn form(field: &str) -> Option<Form> {
    if field == "enc=base64" {
        return Some(Form::Base64);
    }
    let code = u32::from_str_radix(field.strip_prefix("mark=U+")?, 16).ok()?;
    let mark = char::from_u32(code).filter(|mark| matches!(mark, '\u{e000}'..='\u{f8ff}'))?;
    (field == format!("mark=U+{code:04X}")).then_some(Form::Marked(mark))
}

fn unescape(escaped: &str) -> Result<String, NotFenced> {
    let mut body = String::with_capacity(escaped.len());
    let mut rest = 0;
    for at in LookAlikes::new(Plain(escaped)) {
        body.push_str(escaped.get(rest..at).unwrap_or_default());
        let stuffed = escaped.get(at..).is_some_and(|behind| behind.starts_with(STUFFING));
        rest = if stuffed { at + STUFFING.len_utf8() } else { return Err(NotFenced::LookAlike) };
    }
    body.push_str(escaped.get(rest..).unwrap_or_default());
    Ok(body)
}

fn decode(encoded: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}
