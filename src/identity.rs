//! Who calls, and whose tools are called: what the user's authentication and routing put on a request.

use std::fmt;
use std::sync::Arc;

/// The name of a role, as authentication puts it into a request's extensions.
///
/// # Example
///
/// ```
/// use http::Request;
/// use tower_toolgate::{Role, Roles};
///
/// let mut request = Request::new(());
/// request.extensions_mut().insert(Role::new("analyst"));
/// // A caller with several:
/// request.extensions_mut().insert(Roles::from_iter(["analyst", "operator"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Role(Arc<str>);

impl Role {
    /// A role of this name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The roles of one caller. A call passes when one of them permits it whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(Inner);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Inner {
    #[default]
    None,
    One(Role),
    Several(Arc<[Role]>),
}

impl Roles {
    /// No role at all: everything is denied.
    pub const NONE: Self = Self(Inner::None);

    /// The names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        let roles = match &self.0 {
            Inner::None => &[],
            Inner::One(role) => std::slice::from_ref(role),
            Inner::Several(roles) => roles,
        };
        roles.iter().map(Role::as_str)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names().len() == 0
    }
}

impl From<Role> for Roles {
    fn from(role: Role) -> Self {
        Self(Inner::One(role))
    }
}

impl<T: Into<Arc<str>>> FromIterator<T> for Roles {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        Self(Inner::Several(names.into_iter().map(Role::new).collect()))
    }
}

/// Where the roles of a request come from: its head, never its body.
///
/// Closures over [`http::request::Parts`] implement it.
pub trait ExtractRoles: Send + Sync + 'static {
    /// The roles of the caller; [`Roles::NONE`] denies everything.
    fn roles(&self, head: &http::request::Parts) -> Roles;
}

impl<F> ExtractRoles for F
where
    F: Fn(&http::request::Parts) -> Roles + Send + Sync + 'static,
{
    fn roles(&self, head: &http::request::Parts) -> Roles {
        self(head)
    }
}

/// The roles in the request's extensions: [`Roles`] if there, else [`Role`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RolesFromExtensions;

impl ExtractRoles for RolesFromExtensions {
    fn roles(&self, head: &http::request::Parts) -> Roles {
        let several = head.extensions.get::<Roles>();
        let role = || head.extensions.get::<Role>().cloned().map(Roles::from);
        several.cloned().or_else(role).unwrap_or_default()
    }
}

/// The server that owns what is called, as the route puts it into a request's extensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server(Arc<str>);

impl Server {
    /// A server of this id.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who is behind a request, as authentication puts it into its extensions.
///
/// Two principals are one only if all of tenant, method, issuer and subject are equal: the API key `x` is not
/// the certificate `x`. The epoch is the login or token that the request came with.
///
/// # Example
///
/// ```
/// use tower_toolgate::Principal;
///
/// let ana = Principal::new("oauth", "ana")?.with_issuer("https://login.example").with_epoch("session-17");
/// assert_eq!(ana.subject(), "ana");
/// assert!(Principal::new("oauth", " ").is_err());
/// # Ok::<(), tower_toolgate::BlankPrincipal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    names: Names,
    #[cfg(feature = "content-trust")]
    digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Names {
    tenant: Option<Arc<str>>,
    method: Arc<str>,
    issuer: Option<Arc<str>>,
    subject: Arc<str>,
    epoch: Option<Arc<str>>,
}

/// What the names amount to, once somebody has worked it out: clones share it. It says nothing that they do not.
#[cfg(feature = "content-trust")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Arc<std::sync::OnceLock<[u8; 16]>>);

#[cfg(feature = "content-trust")]
impl Digest {
    pub(crate) fn get_or_init(&self, init: impl FnOnce() -> [u8; 16]) -> [u8; 16] {
        *self.0.get_or_init(init)
    }
}

#[cfg(feature = "content-trust")]
impl PartialEq for Digest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(feature = "content-trust")]
impl Eq for Digest {}

#[cfg(feature = "content-trust")]
impl std::hash::Hash for Digest {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Principal {
    /// A subject, as a method of authentication names it.
    ///
    /// # Errors
    ///
    /// Method or subject is blank: nobody is merged with everybody else who has no name.
    pub fn new(method: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Result<Self, BlankPrincipal> {
        let (method, subject) = (method.into(), subject.into());
        if method.trim().is_empty() || subject.trim().is_empty() {
            return Err(BlankPrincipal);
        }
        Ok(Self::of(Names { tenant: None, method, issuer: None, subject, epoch: None }))
    }

    fn of(names: Names) -> Self {
        Self {
            names,
            #[cfg(feature = "content-trust")]
            digest: Digest::default(),
        }
    }

    #[cfg(feature = "content-trust")]
    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Sets the tenant.
    #[must_use]
    pub fn with_tenant(self, tenant: impl Into<Arc<str>>) -> Self {
        Self::of(Names { tenant: Some(tenant.into()), ..self.names })
    }

    /// Sets who issued the identity.
    #[must_use]
    pub fn with_issuer(self, issuer: impl Into<Arc<str>>) -> Self {
        Self::of(Names { issuer: Some(issuer.into()), ..self.names })
    }

    /// Sets the login or token.
    #[must_use]
    pub fn with_epoch(self, epoch: impl Into<Arc<str>>) -> Self {
        Self::of(Names { epoch: Some(epoch.into()), ..self.names })
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        self.names.tenant.as_deref()
    }

    /// The method of authentication.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.names.method
    }

    /// Who issued the identity.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.names.issuer.as_deref()
    }

    /// The subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.names.subject
    }

    /// The login or token.
    #[must_use]
    pub fn epoch(&self) -> Option<&str> {
        self.names.epoch.as_deref()
    }
}

/// Says, in a request's extensions, that the host behind it is believed when it names conversations: it gives each its
/// own name, and never a new one to what goes on.
///
/// A host that can be made to begin anew in the middle of a conversation washes it clean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HonestHost;

impl HonestHost {
    /// The marker.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// A principal without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlankPrincipal;

impl fmt::Display for BlankPrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("method and subject of a principal must not be blank")
    }
}

impl std::error::Error for BlankPrincipal {}
