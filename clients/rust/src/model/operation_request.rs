//! The requests of the operations, declared from their table.

use serde_json::Value;

use super::Result;
use super::operation::{Operation, Target, operations, types};
use super::request::{CallToolRequest, GrantRequest, Toolset};

/// Declares [`requests`] and the methods of [`Request`].
macro_rules! declare {
    ($($client:ty {$(
        $(#[doc = $summary:literal])+
        $name:ident = $text:literal, $(fn $method:ident)? ($Request:ident) -> $Answer:ident,
            in $object:ident $(($id:expr))?,
            permission: $permission:ident, needs_bucket: $needs_bucket:literal, repeat: $repeat:ident;
    )+})+) => {
        declare_requests! {
            [Sandbox {}] [Named {}] [Entrypoint {}] [Tools {}] [Deployment {}]
            $($($object { $(#[doc = $summary])+ $name(types::$Request) })+)+
        }

        impl Request {
            /// Decodes the options of an operation.
            ///
            /// # Errors
            /// The errors of the options, which are all validated.
            pub fn decode(operation: Operation, options: &Value) -> Result<Self> {
                match operation {$($(
                    Operation::$name => types::$Request::decode(options)
                        .map(|request| Self::$object(requests::$object::$name(request))),
                )+)+}
            }

            /// Returns the operation.
            pub const fn operation(&self) -> Operation {
                match self { $($(Self::$object(requests::$object::$name(_)) => Operation::$name,)+)+ }
            }

            /// Returns the object that runs the operation.
            #[allow(unused_variables)] // Only an object has an id.
            pub fn target(&self) -> Target {
                match self {$($(
                    Self::$object(requests::$object::$name(request)) => declare_target!($object $(request, $id)?),
                )+)+}
            }
        }
    };
}

/// Returns the target of a request: that of the id in it, or the object itself.
macro_rules! declare_target {
    ($object:ident) => {
        Target::$object
    };
    ($object:ident $request:ident, $id:expr) => {
        target_of($request, $id)
    };
}

/// Declares one enum for each object, so that the `match` of an object is total. Moves the rows one by one to the enum
/// of their object.
macro_rules! declare_requests {
    ([Sandbox {$($row:tt)*}] $named:tt $entrypoint:tt $tools:tt $deployment:tt Sandbox {$($new:tt)*} $($rest:tt)*) => {
        declare_requests! { [Sandbox {$($row)* $($new)*,}] $named $entrypoint $tools $deployment $($rest)* }
    };
    ($sandbox:tt [Named {$($row:tt)*}] $entrypoint:tt $tools:tt $deployment:tt Named {$($new:tt)*} $($rest:tt)*) => {
        declare_requests! { $sandbox [Named {$($row)* $($new)*,}] $entrypoint $tools $deployment $($rest)* }
    };
    ($sandbox:tt $named:tt [Entrypoint {$($row:tt)*}] $tools:tt $deployment:tt Entrypoint {$($new:tt)*} $($rest:tt)*) => {
        declare_requests! { $sandbox $named [Entrypoint {$($row)* $($new)*,}] $tools $deployment $($rest)* }
    };
    ($sandbox:tt $named:tt $entrypoint:tt [Tools {$($row:tt)*}] $deployment:tt Tools {$($new:tt)*} $($rest:tt)*) => {
        declare_requests! { $sandbox $named $entrypoint [Tools {$($row)* $($new)*,}] $deployment $($rest)* }
    };
    ($sandbox:tt $named:tt $entrypoint:tt $tools:tt [Deployment {$($row:tt)*}] Deployment {$($new:tt)*} $($rest:tt)*) => {
        declare_requests! { $sandbox $named $entrypoint $tools [Deployment {$($row)* $($new)*,}] $($rest)* }
    };
    ($([$Object:ident {$($row:tt)*}])+) => {
        /// The requests of each object.
        pub mod requests {
            use super::types;

            $(
                /// The requests of one object.
                #[derive(Clone, Debug, PartialEq, serde::Serialize)]
                #[serde(untagged)]
                pub enum $Object { $($row)* }
            )+
        }
    };
}
operations!(declare);

/// The request of an operation, with valid options.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)] // A call has one request.
pub enum Request {
    /// On one sandbox.
    Sandbox(requests::Sandbox),
    /// On one named workspace.
    Named(requests::Named),
    /// On the bucket, or on a list of workspaces.
    Entrypoint(requests::Entrypoint),
    /// On tools for a language model.
    Tools(requests::Tools),
    /// On the deployment.
    Deployment(requests::Deployment),
}

/// Returns the target of the id in a request.
fn target_of<R, Id>(request: &R, id: impl FnOnce(&R) -> &Id) -> Target
where
    for<'a> Target: From<&'a Id>,
{
    id(request).into()
}

impl Request {
    /// Returns the toolset of the request, if it has one.
    pub const fn toolset(&self) -> Option<&Toolset> {
        use requests::Tools::{CallTool, GrantTools, ListTools};
        let Self::Tools(request) = self else { return None };
        match request {
            ListTools(toolset)
            | CallTool(CallToolRequest { toolset, .. })
            | GrantTools(GrantRequest { toolset, .. }) => Some(toolset),
        }
    }
}
