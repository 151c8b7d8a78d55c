//! Layers with nothing between them.

use tower_layer::Layer;

/// A layer of this crate, which can be put right inside of another one. Sealed.
pub trait Join: Sealed {}

pub trait Sealed {
    /// The same layer, told that the next one outwards does with responses what it wants done.
    #[must_use]
    fn joined(self) -> Self;
}

/// Two layers with nothing between them, so that the outer one does with a response what both want done, in one reading.
///
/// Layers that are only stacked read a response each: whatever stands between them may change it, keep it or
/// put several together.
///
/// # Example
///
/// ```
/// use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
/// # use tower_toolgate::policy::{Policy, PolicyConfig};
/// # let (of_the_house, of_the_team) = (Policy::new(&PolicyConfig::new())?, Policy::new(&PolicyConfig::new())?);
///
/// let layer = ArgumentAllowlistLayer::new(of_the_house).join(ArgumentAllowlistLayer::new(of_the_team));
/// # let _ = tower::ServiceBuilder::new().layer(layer);
/// # Ok::<(), tower_toolgate::policy::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Joined<O, I> {
    outer: O,
    inner: I,
}

impl<O, I: Join> Joined<O, I> {
    pub(crate) fn new(outer: O, inner: I) -> Self {
        Self { outer, inner: inner.joined() }
    }
}

impl<O: Join, I> Join for Joined<O, I> {}

impl<O: Join, I> Sealed for Joined<O, I> {
    fn joined(self) -> Self {
        Self { outer: self.outer.joined(), ..self }
    }
}

impl<S, O: Layer<I::Service>, I: Layer<S>> Layer<S> for Joined<O, I> {
    type Service = O::Service;

    fn layer(&self, inner: S) -> O::Service {
        self.outer.layer(self.inner.layer(inner))
    }
}
