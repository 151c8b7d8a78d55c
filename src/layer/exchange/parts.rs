//! What every layer looks like from outside, written once.

/// The methods of a builder by which a layer is told how to read and to answer, and what makes it a layer that can be
/// joined. `$field` holds the guard, which has a `front`.
macro_rules! layer_of {
    ($layer:ident { $field:ident: $guard:ident } -> $service:ident) => {
        impl $layer {
            /// Names the server behind the layer: the owner of what is called. Without, it is the
            /// [`Server`](crate::Server) in the request's extensions, if any.
            pub fn with_server(self, server: $crate::identity::Server) -> Self {
                self.set(|guard| guard.front.server = Some(server))
            }

            /// Sets what a body may have in bytes. The default is 4 MiB; more than
            /// [`MAX_LENGTH`](crate::json::MAX_LENGTH) is that.
            pub fn with_max_body_bytes(self, bytes: usize) -> Self {
                self.set(|guard| guard.front.limits.bytes = bytes.min($crate::json::MAX_LENGTH))
            }

            /// Sets what a response that is read as a whole (lists are), or one event of a stream that is read, may have
            /// in bytes. The default is 16 MiB.
            pub fn with_max_list_bytes(self, bytes: usize) -> Self {
                self.set(|guard| guard.front.max_list_bytes = bytes.min($crate::json::MAX_LENGTH))
            }

            /// Sets a bound on all bytes that are being buffered, shared with whoever has a clone of it.
            pub fn with_budget(self, budget: $crate::http::BufferBudget) -> Self {
                self.set(|guard| guard.front.limits.budget = Some(budget))
            }

            /// Sets which errors of a body, or of what they come from, mean that the host's time for it has passed:
            /// they are answered with 408. The default knows [`std::io::ErrorKind::TimedOut`].
            pub fn with_timeout_errors(self, timed_out: fn(&(dyn std::error::Error + 'static)) -> bool) -> Self {
                self.set(|guard| guard.front.limits.timed_out = timed_out)
            }

            /// Sets the shape of answers.
            pub fn with_response(self, respond: impl $crate::answer::RespondToDenial) -> Self {
                self.set(|guard| guard.front.respond = std::sync::Arc::new(respond))
            }

            /// Sets who sees every decision.
            pub fn on_decision(self, observer: impl $crate::observe::OnDecision) -> Self {
                self.set(|guard| guard.front.observer = Some(std::sync::Arc::new(observer)))
            }

            /// Lets an upgrade to a protocol pass, and the switch to it. What is said in that protocol is not read.
            pub fn with_insecure_upgrade(self, protocol: impl Into<Box<str>>) -> Self {
                self.set(|guard| guard.front.upgrades.push(protocol.into()))
            }

            /// Puts a layer right inside of this one, with nothing between them: both read a response once.
            pub fn join<I: $crate::layer::join::Join>(self, inner: I) -> $crate::layer::join::Joined<Self, I> {
                $crate::layer::join::Joined::new(self.set(|guard| guard.front.place.before = true), inner)
            }

            fn set(mut self, change: impl FnOnce(&mut $guard)) -> Self {
                change(std::sync::Arc::make_mut(&mut self.$field));
                self
            }
        }

        impl $crate::layer::join::Join for $layer {}

        impl $crate::layer::join::Sealed for $layer {
            fn joined(self) -> Self {
                self.set(|guard| guard.front.place.after = true)
            }
        }

        impl<S> tower_layer::Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> Self::Service {
                $service::new(inner, std::sync::Arc::clone(&self.$field))
            }
        }

        impl std::fmt::Debug for $layer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($layer)).field(stringify!($field), &self.$field).finish()
            }
        }
    };
}

/// The service that a layer makes of another one.
macro_rules! service_of {
    ($(#[$doc:meta])+ $service:ident { $field:ident: $guard:ident } -> $future:ident) => {
        $(#[$doc])+
        #[derive(Clone, Debug)]
        pub struct $service<S> {
            inner: S,
            $field: std::sync::Arc<$guard>,
        }

        impl<S> $service<S> {
            pub(super) fn new(inner: S, $field: std::sync::Arc<$guard>) -> Self {
                Self { inner, $field }
            }

            /// The inner service.
            pub fn get_ref(&self) -> &S {
                &self.inner
            }

            /// The inner service.
            pub fn get_mut(&mut self) -> &mut S {
                &mut self.inner
            }

            /// The inner service.
            pub fn into_inner(self) -> S {
                self.inner
            }
        }

        impl<S, B, R> tower_service::Service<http::Request<B>> for $service<S>
        where
            S: tower_service::Service<http::Request<$crate::http::RequestBody<B>>, Response = http::Response<R>> + Clone,
            B: http_body::Body<Data = bytes::Bytes>,
            B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
            R: http_body::Body<Data = bytes::Bytes>,
        {
            type Response = http::Response<$crate::http::ResponseBody<R>>;
            type Error = S::Error;
            type Future = $future<S, B, R>;

            fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
                self.inner.poll_ready(cx)
            }

            fn call(&mut self, request: http::Request<B>) -> Self::Future {
                // The future calls the service that was polled ready; what stays behind has to be polled anew.
                let next = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, next);
                let guard = std::sync::Arc::clone(&self.$field);
                $future::new($crate::layer::exchange::Exchange::new(guard, ready, request))
            }
        }
    };
}

/// The future of such a service.
macro_rules! future_of {
    ($(#[$doc:meta])+ $future:ident { $guard:ident }) => {
        pin_project_lite::pin_project! {
            $(#[$doc])+
            #[must_use = "futures do nothing unless polled"]
            pub struct $future<S, B, R>
            where
                S: tower_service::Service<http::Request<$crate::http::RequestBody<B>>>,
            {
                #[pin]
                exchange: $crate::layer::exchange::Exchange<$guard, S, B, R>,
            }
        }

        impl<S, B, R> $future<S, B, R>
        where
            S: tower_service::Service<http::Request<$crate::http::RequestBody<B>>>,
        {
            pub(super) fn new(exchange: $crate::layer::exchange::Exchange<$guard, S, B, R>) -> Self {
                Self { exchange }
            }
        }

        impl<S, B, R> std::future::Future for $future<S, B, R>
        where
            S: tower_service::Service<http::Request<$crate::http::RequestBody<B>>, Response = http::Response<R>>,
            B: http_body::Body<Data = bytes::Bytes>,
            B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
            R: http_body::Body<Data = bytes::Bytes>,
        {
            type Output = Result<http::Response<$crate::http::ResponseBody<R>>, S::Error>;

            fn poll(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Self::Output> {
                self.project().exchange.poll(cx)
            }
        }
    };
}

pub(crate) use {future_of, layer_of, service_of};
