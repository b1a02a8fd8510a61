//! The SQL storage of a Durable Object, and its alarm. Of each kind of object there are versions, whose tables follow from
//! those of the version before. Tables are made when something is kept in them first: each costs rows, and many an object
//! is only asked.
//!
//! Declared here because `worker` lets through what JavaScript throws while rows are read.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use js_sys::{Array, Promise};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use super::thrown::failure;
use crate::model::{self, Code, Error, Failure, Result, Timestamp};

/// The latest time that the platform takes for an alarm, in milliseconds: the end of 2188. One that was meant to come later
/// finds nothing to do, and is set anew.
const LATEST_ALARM: i64 = 6_911_049_599_999;

#[wasm_bindgen]
extern "C" {
    type State;
    #[wasm_bindgen(method, catch, getter)]
    fn storage(this: &State) -> Result<Storage, JsValue>;

    type Storage;
    #[wasm_bindgen(method, catch, getter)]
    fn sql(this: &Storage) -> Result<Sql, JsValue>;
    #[wasm_bindgen(method, catch, getter)]
    fn kv(this: &Storage) -> Result<Kv, JsValue>;
    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(this: &Storage, work: &mut dyn FnMut() -> Result<(), JsValue>) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    fn set_alarm(this: &Storage, millis: f64) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = deleteAlarm)]
    fn delete_alarm(this: &Storage) -> Result<Promise, JsValue>;

    type Sql;
    #[wasm_bindgen(method, catch, variadic)]
    fn exec(this: &Sql, statement: &str, values: &Array) -> Result<Cursor, JsValue>;

    type Kv;
    #[wasm_bindgen(method, catch)]
    fn get(this: &Kv, key: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn put(this: &Kv, key: &str, value: &JsValue) -> Result<(), JsValue>;

    type Cursor;
    #[wasm_bindgen(method, catch, js_name = toArray)]
    fn to_array(this: &Cursor) -> Result<Array, JsValue>;

    /// A row of any statement: those of its columns that are asked for have one of these names.
    pub(super) type Row;
    #[wasm_bindgen(method, getter)]
    fn key(this: &Row) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn record(this: &Row) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn value(this: &Row) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn detail(this: &Row) -> JsValue;
}

impl Row {
    /// Its column `value`; `None` where that is NULL.
    fn number(&self) -> Option<f64> {
        self.value().as_f64()
    }

    /// Its column `detail`, which a query plan has.
    fn step(&self) -> String {
        self.detail().as_string().unwrap_or_default()
    }
}

/// What brings the tables of each version to the next: the `n`th those of the version `n - 1` to the version `n`. What was
/// released is never changed: a new version appends.
pub(super) type Migrations = &'static [&'static [&'static str]];

/// The storage of a Durable Object.
pub(super) struct Database {
    storage: Storage,
    sql: Sql,
    migrations: Migrations,
    is_made: Cell<bool>,
    alarm: Cell<Alarm>,
}

/// The alarm that is kept, once it was read or set.
#[derive(Clone, Copy)]
enum Alarm {
    NotRead,
    Known(Option<Timestamp>),
}

impl Database {
    /// That of `ctx`. Where there are tables, they are brought to the version that `migrations` lead to. Tables of a later
    /// version are left as they are, and refused with [`Code::LedgerTooNew`].
    pub(super) fn open(ctx: &JsValue, migrations: Migrations) -> Result<Self> {
        let storage = ctx.unchecked_ref::<State>().storage().map_err(failed)?;
        let sql = storage.sql().map_err(failed)?;
        let database = Self { storage, sql, migrations, is_made: Cell::new(false), alarm: Cell::new(Alarm::NotRead) };
        let version = database.version()?;
        if version > 0 {
            database.migrate(version)?;
        }
        Ok(database)
    }

    /// Whether there are tables.
    pub(super) fn is_made(&self) -> bool {
        self.is_made.get()
    }

    /// Runs a statement that keeps something, for which the tables are made.
    pub(super) fn keep(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        if !self.is_made() {
            self.migrate(0)?;
        }
        self.execute(statement, values)
    }

    /// Runs a statement that has nothing to do where there are no tables, and answers its rows.
    pub(super) fn run(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        if self.is_made() { self.execute(statement, values) } else { Ok(Vec::new()) }
    }

    /// A text that was noted beside the tables.
    pub(super) fn noted(&self, key: &str) -> Result<Option<String>> {
        Ok(self.storage.kv().and_then(|kv| kv.get(key)).map_err(failed)?.as_string())
    }

    /// Notes a text, for which no tables are made.
    pub(super) fn note(&self, key: &str, text: &JsValue) -> Result<()> {
        self.storage.kv().and_then(|kv| kv.put(key, text)).map_err(failed)
    }

    fn execute(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        let values: Array = values.iter().collect();
        let rows = self.sql.exec(statement, &values).and_then(|cursor| cursor.to_array()).map_err(failed)?;
        Ok(rows.iter().map(JsCast::unchecked_into).collect())
    }

    /// Runs a statement whose rows have the columns `key` and `record`, and answers the records that are not NULL.
    pub(super) fn records<T: DeserializeOwned>(
        &self,
        table: &str,
        statement: &str,
        values: &[JsValue],
    ) -> Result<Vec<T>> {
        let rows = self.run(statement, values)?;
        let records = rows.iter().filter(|row| !row.record().is_null());
        let text = |value: JsValue| value.as_string().unwrap_or_default();
        records.map(|row| decoded(table, &text(row.key()), &text(row.record()))).collect()
    }

    /// Does `work` as a whole or, when it fails, not at all.
    fn transaction(&self, work: impl Fn() -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        let mut inner = AssertUnwindSafe((work, &mut outcome));
        let committed = self.storage.transaction_sync(&mut move || {
            let whole = &mut inner;
            let (work, outcome) = &mut whole.0;
            **outcome = work();
            outcome.as_ref().map_err(|error| JsValue::from(error.to_string())).copied()
        });
        outcome.and(committed.map_err(failed))
    }

    /// Brings the tables of a version to that of this release.
    fn migrate(&self, version: usize) -> Result<()> {
        let latest = self.migrations.len();
        if version > latest {
            return Err(too_new(version, latest));
        }
        if version < latest {
            self.transaction(|| {
                for statement in self.migrations.iter().skip(version).copied().flatten() {
                    self.execute(statement, &[])?;
                }
                self.execute("UPDATE schema SET version = ?", &[latest.into()]).map(drop)
            })?;
        }
        self.is_made.set(true);
        Ok(())
    }

    /// The version of the tables; 0 where there are none.
    fn version(&self) -> Result<usize> {
        let number = |statement: &str| {
            let rows = self.execute(statement, &[])?;
            Ok(rows.first().and_then(Row::number).unwrap_or_default())
        };
        if number("SELECT 1 AS value FROM sqlite_schema WHERE name = 'schema'")? == 0.0 {
            return Ok(0);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It saturates.
        number("SELECT version AS value FROM schema").map(|version| version as usize)
    }

    /// How a statement is going to be carried out, a step in a line.
    pub(super) fn plan(&self, statement: &str, values: &[JsValue]) -> Result<String> {
        let steps = self.keep(&format!("EXPLAIN QUERY PLAN {statement}"), values)?;
        Ok(steps.iter().map(Row::step).collect::<Vec<_>>().join("\n"))
    }

    /// The alarm, by the only row of a table, which has a column `alarm_at`: the platform's own answer comes later.
    pub(super) fn alarm(&self, table: &str) -> Result<Option<Timestamp>> {
        if let Alarm::Known(known) = self.alarm.get() {
            return Ok(known);
        }
        let rows = self.run(&format!("SELECT alarm_at AS value FROM {table}"), &[])?;
        #[allow(clippy::cast_possible_truncation)] // Whole milliseconds, as they were written.
        let kept = rows.first().and_then(Row::number).map(|millis| Timestamp::from_millis(millis as i64));
        self.alarm.set(Alarm::Known(kept));
        Ok(kept)
    }

    /// Sets the alarm, or takes it away. What is written is kept before anything that was asked for is answered, so
    /// there is nothing to wait for.
    pub(super) fn set_alarm(&self, table: &str, at: Option<Timestamp>) -> Result<()> {
        let set = match at {
            Some(at) => self.storage.set_alarm(number(at.as_millis().clamp(1, LATEST_ALARM))),
            None => self.storage.delete_alarm(),
        };
        set.map(drop).map_err(failed)?;
        self.alarm.set(Alarm::NotRead);
        let statement = format!("UPDATE {table} SET alarm_at = ?");
        match at {
            Some(at) => self.keep(&statement, &[millis(at)])?,
            None => self.run(&statement, &[JsValue::NULL])?,
        };
        self.alarm.set(Alarm::Known(at));
        Ok(())
    }
}

/// A record in the form that it is stored in.
pub(super) fn json(record: &impl Serialize) -> Result<JsValue> {
    let text = model::json::print(record);
    text.map(JsValue::from).map_err(|error| unavailable(Failure::new("SerializationError", &error)))
}

/// A time in the form that it is stored in: its milliseconds.
pub(super) fn millis(time: Timestamp) -> JsValue {
    number(time.as_millis()).into()
}

#[allow(clippy::cast_precision_loss)] // Milliseconds of our age are exact.
fn number(millis: i64) -> f64 {
    millis as f64
}

/// The record of a row. What is in it must not be in the message: it may be secret.
pub(super) fn decoded<T: DeserializeOwned>(table: &str, key: &str, text: &str) -> Result<T> {
    model::json::parse(text).map_err(|_| {
        Error::new(
            Code::LedgerCorrupt,
            format!("The row {key:?} of the table {table} can't be read."),
            "Deploy the release that wrote it, or a later one. If that does not help, mend the row as docs/operations.md says.",
        )
    })
}

fn too_new(version: usize, known: usize) -> Error {
    Error::new(
        Code::LedgerTooNew,
        format!(
            "The storage of the workspace has the version {version}, and this release of the Worker knows it up to \
             {known}. Nothing was touched."
        ),
        "Deploy the release that wrote it, or a later one.",
    )
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn failed(thrown: JsValue) -> Error {
    unavailable(failure(&thrown))
}

fn unavailable(cause: Failure) -> Error {
    let message = format!("The storage of the workspace failed: {}", cause.message);
    Error::new(Code::LedgerUnavailable, message, "Try again.").caused_by(cause)
}
