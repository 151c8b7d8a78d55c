//! What every layer looks like from outside, written once.

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

pub(crate) use {future_of, service_of};
