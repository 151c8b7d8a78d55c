//! Why a well-formed text was refused as a message.

use std::fmt;

macro_rules! faults {
    ($($(#[$doc:meta])+ $name:ident = $reason:literal, $text:literal;)+) => {
        /// Why a well-formed text was refused as a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$doc])+ $name,)+
        }

        impl Fault {
            /// Every kind, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// A stable name, for logs and for the `reason` of an answer.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("message.", $reason),)+
                }
            }
        }

        impl fmt::Display for Fault {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$name => $text,)+
                })
            }
        }
    };
}

faults! {
    /// `arguments` is neither an object nor null.
    ArgumentsNotObject = "arguments_not_object", "`arguments` must be an object";
    /// A call that asks for no answer, in a batch, where the dialect has no such calls.
    BatchCallWithoutId = "batch_call_without_id", "a call in a batch needs an id";
    /// A batch without messages.
    BatchEmpty = "batch_empty", "empty batch";
    /// `initialize` in a batch.
    BatchInitialize = "batch_initialize", "`initialize` in a batch";
    /// Answers beside requests in one batch.
    BatchMixed = "batch_mixed", "requests and responses in one batch";
    /// A batch where the dialect, or the revision of the protocol, has none.
    BatchNotAllowed = "batch_not_allowed", "batches are not accepted";
    /// More messages than a batch may have.
    BatchTooLong = "batch_too_long", "too many messages in a batch";
    /// A call that asks for no answer, where the dialect has no such calls.
    CallWithoutId = "call_without_id", "a call needs an id";
    /// A name in the envelope or in `params` with a control character.
    ControlInKey = "control_in_key", "control character in a key";
    /// Two messages of a batch have one id.
    DuplicateId = "duplicate_id", "duplicate id in a batch";
    /// A name that some parser takes for one that matters: other case, folding or control characters.
    FoldedKey = "folded_key", "key that differs from a reserved one only by case";
    /// `id` is an array.
    IdArray = "id_array", "`id` must be a string or an integer";
    /// `id` is true or false.
    IdBoolean = "id_boolean", "`id` must be a string or an integer";
    /// `id` is a number with a fraction or an exponent, `1.0` and `1e0` included.
    IdFraction = "id_fraction", "a numeric `id` must be written as an integer";
    /// `id` is a string with half a surrogate pair.
    IdLoneSurrogate = "id_lone_surrogate", "lone surrogate in `id`";
    /// `id` is null.
    IdNull = "id_null", "`id` must not be null";
    /// `id` is an object.
    IdObject = "id_object", "`id` must be a string or an integer";
    /// `id` is an integer that 64 bits do not hold.
    IdOutOfRange = "id_out_of_range", "`id` does not fit 64 bits";
    /// `jsonrpc` is not the string `2.0`.
    JsonrpcVersion = "jsonrpc_version", "`jsonrpc` must be \"2.0\"";
    /// A name, URI or method with half a surrogate pair.
    LoneSurrogate = "lone_surrogate", "lone surrogate in a name";
    /// `_meta` is neither an object nor null.
    MetaNotObject = "meta_not_object", "`_meta` must be an object";
    /// Neither `method` nor `result` nor `error`.
    MethodMissing = "method_missing", "`method` is missing";
    /// `method` is not a string.
    MethodNotString = "method_not_string", "`method` must be a string";
    /// `method` together with `result` or `error`.
    MethodWithResult = "method_with_result", "`method` together with `result` or `error`";
    /// A name or URI that the method needs is empty.
    NameEmpty = "name_empty", "empty name";
    /// A name or URI that the method needs is missing.
    NameMissing = "name_missing", "the name of what is called is missing";
    /// A name or URI that the method needs is not a string.
    NameNotString = "name_not_string", "the name of what is called must be a string";
    /// A message, or an element of a batch, that is not an object.
    NotAnObject = "not_an_object", "a message must be an object";
    /// A notification with an id.
    NotificationWithId = "notification_with_id", "a notification must not have an id";
    /// `params` is neither an object nor an array nor null.
    ParamsNotStructured = "params_not_structured", "`params` must be an object";
    /// `params` is an array, where the dialect has named parameters only.
    PositionalParams = "positional_params", "positional `params` are not accepted";
    /// The `ref` of a completion names neither a prompt nor a resource.
    ReferenceUnknown = "reference_unknown", "`ref` names neither a prompt nor a resource";
    /// A response from a client that speaks a revision without them.
    ReplyInModernEra = "reply_in_modern_era", "clients do not send responses in this revision";
    /// A response with `params`.
    ReplyWithParams = "reply_with_params", "`params` in a response";
    /// A response without an id, which answers nothing.
    ReplyWithoutId = "reply_without_id", "a response needs an id";
    /// `result` and `error` in one response.
    ResultWithError = "result_with_error", "`result` together with `error`";
    /// A subscription's filter that is not what the method has.
    SubscriptionMalformed = "subscription_malformed", "malformed subscription";
    /// The envelope, `params` or `_meta` of MCP has more members than any of its methods.
    TooManyMembers = "too_many_members", "too many members";
    /// One message asks for more things than a batch may have messages.
    TooManyTargets = "too_many_targets", "one message asks for too many things";
    /// The protocol version in `_meta` is not a string.
    VersionNotString = "version_not_string", "the protocol version must be a string";
}

impl std::error::Error for Fault {}
