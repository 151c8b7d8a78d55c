//! What every layer's builder has.

/// The methods of a layer's builder that set what layers share.
macro_rules! front_methods {
    () => {
        $crate::layer::exchange::front_methods!(unnamed);

        /// Names the server behind the gate: the owner of what is called. Without, it is the [`Server`](crate::Server) in the request's
        /// extensions, if any.
        pub fn with_server(self, server: $crate::identity::Server) -> Self {
            self.set_front(|front| front.server = Some(server))
        }
    };
    // Of a layer that knows its server.
    (unnamed) => {
        /// Sets the dialect of bodies. It is the layer's for good: no header chooses it.
        pub fn with_dialect(self, dialect: impl $crate::message::Dialect) -> Self {
            self.set_front(|front| {
                front.protocol = $crate::layer::exchange::Protocol::JsonRpc($crate::http::Reading {
                    dialect: std::sync::Arc::new(dialect),
                })
            })
        }

        /// Sets where the caller's roles come from.
        pub fn with_roles(self, roles: impl $crate::identity::ExtractRoles) -> Self {
            self.set_front(|front| front.roles = std::sync::Arc::new(roles))
        }

        /// Sets what a body may have in bytes. The default is 4 MiB; more than [`MAX_LENGTH`](crate::json::MAX_LENGTH) is that.
        pub fn with_max_body_bytes(self, bytes: usize) -> Self {
            self.set_front(|front| front.limits.bytes = bytes.min($crate::json::MAX_LENGTH))
        }

        /// Sets what a response that is a list, or one event of a stream that is read for lists, may have in bytes. The
        /// default is 16 MiB.
        pub fn with_max_list_bytes(self, bytes: usize) -> Self {
            self.set_front(|front| front.max_list_bytes = bytes.min($crate::json::MAX_LENGTH))
        }

        /// Sets a bound on all bytes that are being buffered, shared with whoever has a clone of it.
        pub fn with_budget(self, budget: $crate::http::BufferBudget) -> Self {
            self.set_front(|front| front.limits.budget = Some(budget))
        }

        /// Sets which errors of a body, or of what they come from, mean that the host's time for it has passed: they
        /// are answered with 408. The default knows [`std::io::ErrorKind::TimedOut`].
        pub fn with_timeout_errors(self, timed_out: fn(&(dyn std::error::Error + 'static)) -> bool) -> Self {
            self.set_front(|front| front.limits.timed_out = timed_out)
        }

        /// Sets the shape of answers.
        pub fn with_response(self, respond: impl $crate::answer::RespondToDenial) -> Self {
            self.set_front(|front| front.respond = std::sync::Arc::new(respond))
        }

        /// Sets who sees every decision.
        pub fn on_decision(self, observer: impl $crate::observe::OnDecision) -> Self {
            self.set_front(|front| front.observer = Some(std::sync::Arc::new(observer)))
        }

        /// Lets an upgrade to a protocol pass, and the switch to it. What is said in that protocol is not read.
        pub fn with_insecure_upgrade(self, protocol: impl Into<Box<str>>) -> Self {
            self.set_front(|front| front.upgrades.push(protocol.into()))
        }

        /// Puts a layer right inside of this one, with nothing between them: both read a response once.
        pub fn join<I: $crate::layer::Join>(self, inner: I) -> $crate::layer::Joined<Self, I> {
            $crate::layer::Joined::new(self.set_front(|front| front.place.before = true), inner)
        }
    };
}

pub(crate) use front_methods;
