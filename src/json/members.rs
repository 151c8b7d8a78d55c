//! The members of one object that somebody asked about.

use std::borrow::Cow;
use std::fmt;

use super::error::{Error, Fault};
use super::reader::Reader;
use super::text::{Kind, LoneSurrogate, Text, Value};

/// Whose member a [`Member`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of `params.arguments`, or of an object on its own.
    Arguments,
    /// Of `params._meta`.
    Meta,
    /// Of `params`.
    Params,
}

/// A member, tied to the text that it was read from by whoever holds both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) scope: Scope,
    pub(crate) name: Text,
    pub(crate) value: Value,
}

/// The arguments of a call.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    form: Form<'a>,
}

#[derive(Clone, Copy)]
enum Form<'a> {
    Absent,
    Named { bytes: &'a [u8], members: &'a [Member], scope: Scope },
    Positional,
}

impl<'a> Arguments<'a> {
    /// No arguments: none were given, or `null`.
    pub const ABSENT: Arguments<'static> = Arguments { form: Form::Absent };
    /// Arguments by position, as plain JSON-RPC has them: they have no names, and satisfy no rule.
    pub const POSITIONAL: Arguments<'static> = Arguments { form: Form::Positional };

    pub(crate) fn named(bytes: &'a [u8], members: &'a [Member], scope: Scope) -> Self {
        Self { form: Form::Named { bytes, members, scope } }
    }

    /// Whether they are given by position.
    #[must_use]
    pub fn is_positional(&self) -> bool {
        matches!(self.form, Form::Positional)
    }

    /// The named arguments, in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = Argument<'a>> + use<'a> {
        let (bytes, members, scope): (&[u8], &[Member], _) = match self.form {
            Form::Absent | Form::Positional => (&[], &[], Scope::Arguments),
            Form::Named { bytes, members, scope } => (bytes, members, scope),
        };
        let members = members.iter().filter(move |member| member.scope == scope);
        members.map(move |member| Argument { bytes, member: *member })
    }

    /// The argument of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Argument<'a>> {
        self.iter().find(|argument| argument.member.name.is(argument.bytes, name))
    }
}

impl fmt::Debug for Arguments<'_> {
    /// Names and kinds, never the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Absent => f.write_str("Absent"),
            Form::Named { .. } => f.debug_list().entries(self.iter()).finish(),
            Form::Positional => f.write_str("Positional"),
        }
    }
}

/// One named argument.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    bytes: &'a [u8],
    member: Member,
}

impl<'a> Argument<'a> {
    /// The name, unescaped.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        // The reader refuses names with lone surrogates.
        self.member.name.decode(self.bytes).unwrap_or_default()
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.member.value.kind
    }

    /// The value, if it is a string, unescaped.
    ///
    /// # Errors
    ///
    /// The string holds half a surrogate pair.
    #[must_use]
    pub fn as_str(&self) -> Option<Result<Cow<'a, str>, LoneSurrogate>> {
        self.member.value.as_text().map(|text| text.decode(self.bytes))
    }

    /// The members of the value, if it is an object.
    ///
    /// # Errors
    ///
    /// None on a value that came from an accepted text: it is read a second time, and so is meant for small values.
    #[must_use]
    pub fn members(&self) -> Option<Result<Vec<Argument<'a>>, Error>> {
        (self.kind() == Kind::Object).then(|| {
            let mut members = Vec::new();
            let raw = self.raw();
            let mut reader = Reader::new(raw)?;
            reader.open_object()?;
            while let Some(name) = reader.key()? {
                let member = Member { scope: Scope::Arguments, name, value: reader.value()? };
                members.push(Argument { bytes: raw, member });
            }
            Ok(members)
        })
    }

    /// The elements of the value, if it is an array; their names are empty.
    ///
    /// # Errors
    ///
    /// As for [`members`](Self::members).
    #[must_use]
    pub fn elements(&self) -> Option<Result<Vec<Argument<'a>>, Error>> {
        (self.kind() == Kind::Array).then(|| {
            let mut elements = Vec::new();
            let raw = self.raw();
            let mut reader = Reader::new(raw)?;
            reader.open_array()?;
            while reader.element()? {
                let member = Member { scope: Scope::Arguments, name: Text::default(), value: reader.value()? };
                elements.push(Argument { bytes: raw, member });
            }
            Ok(elements)
        })
    }

    /// Where the value stands in the text, quotes included.
    #[cfg(feature = "upstream")]
    pub(crate) fn place(&self) -> std::ops::Range<usize> {
        let span = self.member.value.raw_span();
        span.start()..span.end()
    }

    /// The value as it was written.
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        self.member.value.raw(self.bytes)
    }
}

impl fmt::Debug for Argument<'_> {
    /// Name and kind, never the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Argument").field("name", &self.name()).field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// Arguments read from a text of their own, as tests and `--explain` have them.
///
/// # Example
///
/// ```
/// use tower_toolgate::json::OwnedArguments;
///
/// let owned = OwnedArguments::read(r#"{"cmd":"ls -la"}"#)?;
/// assert_eq!(owned.arguments().get("cmd").unwrap().as_str(), Some(Ok("ls -la".into())));
/// assert!(OwnedArguments::read(r#"{"cmd":"ls","cmd":"rm"}"#).is_err());
/// # Ok::<(), tower_toolgate::json::Error>(())
/// ```
#[derive(Clone)]
pub struct OwnedArguments {
    text: Box<str>,
    members: Vec<Member>,
    absent: bool,
}

impl OwnedArguments {
    /// Reads an object, strictly, or `null`.
    ///
    /// # Errors
    ///
    /// The text is not exactly one object, or is refused for one of the reasons in [`Fault`].
    pub fn read(text: &str) -> Result<Self, Error> {
        let mut reader = Reader::new(text.as_bytes())?;
        let mut members = Vec::new();
        let absent = reader.kind()? == Kind::Null;
        if absent {
            reader.value()?;
        } else {
            reader.open_object().map_err(|error| Error::new(Fault::Syntax, error.offset()))?;
            while let Some(name) = reader.key()? {
                members.push(Member { scope: Scope::Arguments, name, value: reader.value()? });
            }
        }
        reader.end()?;
        Ok(Self { text: text.into(), members, absent })
    }

    /// The arguments.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'_> {
        if self.absent {
            return Arguments::ABSENT;
        }
        Arguments::named(self.text.as_bytes(), &self.members, Scope::Arguments)
    }
}

impl fmt::Debug for OwnedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.arguments(), f)
    }
}
