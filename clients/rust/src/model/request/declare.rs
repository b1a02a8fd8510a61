//! The declaration of a request: its options, the rules of their content, and its JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::SnapshotCursor;
use super::fields::Fields;
use crate::model::background::{CommandId, Signal};
use crate::model::checkpoint::{CheckpointCursor, CheckpointDescription};
use crate::model::diff::DiffCursor;
use crate::model::files::{FileCursor, FilePath};
use crate::model::freeze::Freeze;
use crate::model::named::settings::{DependsOn, Expiry, Hooks};
use crate::model::named::{Autosave, ImageChoice, StoragePolicy, Tenant, WorkspaceName};
use crate::model::{
    BackupHandle, CheckpointName, Compression, Consistency, DeltasOnDelete, Directory, Label, Policy, Result, Runtime,
    SandboxId, SecretsMode, SnapshotId,
};

/// The type of a field of a request: of one option, or of several options that requests share.
///
/// A request is decoded in two steps, so that a wrong type is reported before wrong content.
pub(super) trait Field: Sized {
    /// The options as the caller passed them: their types are verified, their content is not.
    type Raw;

    /// Takes the option `name`, or the options of this type.
    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw>;
}

/// A field whose content has the same rule in all requests.
pub(super) trait Content: Field {
    /// Verifies the content.
    fn check(raw: Self::Raw) -> Result<Self>;
}

/// Declares a request.
///
/// Each field is an option, whose name in JSON is the same in camel case; or it has `serde(flatten)`, and is several
/// options. Decoding takes the options and verifies their types. It then refuses other options, and verifies the
/// content of the fields in their order: with their [`Content`], or with the function after `=`, which may use the
/// fields before. A field after `;` is not an option. `offers` names the option with the name of a workspace, which the Worker
/// replaces by `sandboxId` before. `refuse` refuses an option with an error of its own. `rule` is a rule for several fields.
macro_rules! request {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $Type:ty $(= $check:expr)?,)*
            $(; $(#[$inner_meta:meta])* pub $inner:ident: $Inner:ty,)?
        }
        $(offers $workspace:expr;)?
        $(refuse $refuse:path;)?
        $(rule $rule:path;)?
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
        #[serde(rename_all = "camelCase")]
        pub struct $Name {
            $($(#[$field_meta])* pub $field: $Type,)*
            $($(#[$inner_meta])* pub $inner: $Inner,)?
        }

        impl $Name {
            /// Decodes the options.
            ///
            /// # Errors
            /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for options that are missing, unknown or of
            /// the wrong type, and then the errors of their content.
            pub fn decode(options: &serde_json::Value) -> super::Result<Self> {
                super::declare::decode(options)
            }
        }

        impl super::declare::Field for $Name {
            type Raw = ($(<$Type as super::declare::Field>::Raw,)*);

            #[allow(unused_variables)] // `health` has no options.
            fn take(fields: &mut super::fields::Fields, _: &str) -> super::Result<Self::Raw> {
                let raw = ($(super::declare::take::<$Type>(fields, stringify!($field))?,)*);
                $(fields.offer_workspace($workspace);)?
                $($refuse(fields)?;)?
                Ok(raw)
            }
        }

        impl super::declare::Content for $Name {
            fn check(($($field,)*): Self::Raw) -> super::Result<Self> {
                $(let $field = super::declare::check::<$Type>($field, request!(@check $Type $(, $check)?))?;)*
                let request = Self { $($field,)* $($inner: <$Inner>::default(),)? };
                $($rule(&request)?;)?
                Ok(request)
            }
        }
    };
    (@check $Type:ty) => { <$Type as super::declare::Content>::check };
    (@check $Type:ty, $check:expr) => { $check };
}
pub(super) use request;

/// Decodes a request.
pub(super) fn decode<T: Content>(options: &Value) -> Result<T> {
    let mut fields = Fields::of(options)?;
    let raw = T::take(&mut fields, "")?;
    fields.finish()?;
    T::check(raw)
}

/// Takes a field by its name in Rust.
pub(super) fn take<T: Field>(fields: &mut Fields, field: &str) -> Result<T::Raw> {
    let mut words = field.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    T::take(fields, &name)
}

/// Applies the rule of a field.
pub(super) fn check<T: Field>(raw: T::Raw, rule: impl FnOnce(T::Raw) -> Result<T>) -> Result<T> {
    rule(raw)
}

/// Declares the types of single options: as what type [`Fields`] takes the option, with which method, and the rule of the
/// content, where it is the same in all requests.
macro_rules! options {
    ($($Type:ty as $Raw:ty, $method:ident $(, $check:expr)?;)+) => {$(
        impl Field for $Type {
            type Raw = $Raw;

            fn take(fields: &mut Fields, name: &str) -> Result<$Raw> {
                fields.$method(name)
            }
        }

        $(impl Content for $Type {
            fn check(raw: $Raw) -> Result<Self> {
                check::<Self>(raw, $check)
            }
        })?
    )+};
}

options! {
    bool as Option<bool>, optional_flag, |raw| Ok(raw.unwrap_or(false));
    Option<bool> as Option<bool>, optional_flag, Ok;
    u32 as Option<u64>, number;
    Option<u32> as Option<u64>, number;
    u64 as Option<u64>, number;
    Option<u64> as Option<u64>, number, Ok;
    String as String, required, Ok;
    Option<String> as Option<String>, string, Ok;
    Vec<String> as Vec<String>, strings, Ok;
    Option<BTreeMap<String, String>> as Option<BTreeMap<String, String>>, map, Ok;
    SandboxId as String, required, |raw| Self::parse(&raw);
    Option<SandboxId> as Option<String>, string, |raw| optional(raw.as_deref(), SandboxId::parse);
    Option<Directory> as Option<String>, string, |raw| optional(raw.as_deref(), Directory::parse);
    Label as String, required, |raw| Self::parse(&raw);
    Option<Label> as Option<String>, string, |raw| optional(raw.as_deref(), Label::parse);
    Consistency as Option<String>, string;
    Option<SecretsMode> as Option<String>, string;
    Runtime as String, required, |raw| Self::parse(&raw);
    Option<Runtime> as Option<String>, string, |raw| optional(raw.as_deref(), Runtime::parse);
    Option<SnapshotId> as Option<String>, string, |raw| optional(raw.as_deref(), SnapshotId::parse);
    Option<SnapshotCursor> as Option<String>, string, |raw| optional(raw.as_deref(), SnapshotCursor::parse);
    WorkspaceName as String, required, |raw| Self::parse(&raw);
    Option<WorkspaceName> as Option<String>, string, |raw| optional(raw.as_deref(), WorkspaceName::parse);
    Tenant as Option<String>, string, |raw| Ok(optional(raw.as_deref(), Self::parse)?.unwrap_or_else(Self::default_tenant));
    Option<Tenant> as Option<String>, string, |raw| optional(raw.as_deref(), Tenant::parse);
    CheckpointName as Option<String>, string, |raw| Self::parse(&raw.unwrap_or_default());
    Option<CheckpointDescription> as Option<String>, string,
        |raw| optional(raw.as_deref().filter(|text| !text.is_empty()), CheckpointDescription::parse);
    Option<CheckpointCursor> as Option<String>, string, |raw| optional(raw.as_deref(), CheckpointCursor::parse);
    DeltasOnDelete as Option<String>, string, |raw| Ok(optional(raw.as_deref(), Self::parse)?.unwrap_or_default());
    Option<StoragePolicy> as Option<String>, string, |raw| optional(raw.as_deref(), StoragePolicy::parse);
    Option<ImageChoice> as Option<ImageChoice>, image, Ok;
    FilePath as String, required, |raw| Self::parse(&raw);
    Option<FilePath> as Option<String>, string, |raw| optional(raw.as_deref(), FilePath::parse);
    Option<FileCursor> as Option<String>, string, |raw| optional(raw.as_deref(), FileCursor::parse);
    Option<DiffCursor> as Option<String>, string, |raw| optional(raw.as_deref(), DiffCursor::parse);
    CommandId as String, required, |raw| Self::parse(&raw);
    Signal as Option<String>, string, |raw| Ok(optional(raw.as_deref(), Self::parse)?.unwrap_or_default());
    BackupHandle as Option<BackupHandle>, object;
    Policy as Option<Policy>, object;
    Option<Compression> as Option<Compression>, object, Ok;
    Option<Policy> as Option<Policy>, object, Ok;
    Option<Freeze> as Option<Freeze>, object, |raw| {
        raw.iter().try_for_each(Freeze::check)?;
        Ok(raw)
    };
    Option<Hooks> as Option<Hooks>, object, Ok;
    Option<Expiry> as Option<Expiry>, object, Ok;
    Option<Autosave> as Option<Autosave>, object, Ok;
    Option<DependsOn> as Option<DependsOn>, object, Ok;
}

impl Field for Value {
    type Raw = Option<Self>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        Ok(fields.value(name))
    }
}

fn optional<T>(text: Option<&str>, parse: fn(&str) -> Result<T>) -> Result<Option<T>> {
    text.map(parse).transpose()
}
