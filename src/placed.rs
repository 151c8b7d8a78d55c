//! What is wrong or doubtful in a configuration, with its place.

/// A type that says what, and where.
macro_rules! placed {
    ($(#[$doc:meta])+ $name:ident { $what:ident: $kind:ident } $(#[$what_doc:meta])+ such as $example:literal) => {
        $(#[$doc])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            place: String,
            $what: $kind,
        }

        impl $name {
            pub(super) fn new(place: String, $what: $kind) -> Self {
                Self { place, $what }
            }

            #[doc = concat!("The place in the configuration, such as `", $example, "`.")]
            #[must_use]
            pub fn place(&self) -> &str {
                &self.place
            }

            $(#[$what_doc])+
            #[must_use]
            pub fn $what(&self) -> &$kind {
                &self.$what
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}: {}", self.place, self.$what)
            }
        }
    };
}

pub(crate) use placed;
