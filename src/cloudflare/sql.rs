//! The SQL storage of a Durable Object, and its alarm.
//!
//! Each class of objects has a versioned schema: migrations derive the tables of a version from those of the version
//! before. The first write creates the tables, because each table costs rows, and many objects are only read.
//!
//! The bindings are declared here because those of `worker` do not catch what JavaScript throws while rows are read.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use js_sys::{Array, Promise};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use super::js_error::to_failure;
use crate::model::{self, Error, Failure, Result, Timestamp};

/// The latest time that the platform accepts for an alarm, in milliseconds: the end of 2188. An alarm that was meant
/// for a later time finds no work when it fires, and is set again.
const MAX_ALARM_MILLIS: i64 = 6_911_049_599_999;

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

    /// A row of any statement. The columns that are read have one of these names.
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
    /// Returns the column `value`; `None` where it is NULL.
    fn number(&self) -> Option<f64> {
        self.value().as_f64()
    }

    /// Returns the column `detail` of a query plan.
    fn plan_step(&self) -> String {
        self.detail().as_string().unwrap_or_default()
    }
}

/// The statements that migrate the tables from one version to the next: the `n`th entry, from version `n - 1` to
/// version `n`. A released entry never changes; a new version appends an entry.
pub(super) type Migrations = &'static [&'static [&'static str]];

/// The storage of a Durable Object.
pub(super) struct Database {
    storage: Storage,
    sql: Sql,
    migrations: Migrations,
    has_tables: Cell<bool>,
    alarm: Cell<Alarm>,
}

/// The cached alarm: known once it was read or set.
#[derive(Clone, Copy)]
enum Alarm {
    Unread,
    Known(Option<Timestamp>),
}

impl Database {
    /// Opens the storage of `ctx`. Migrates existing tables to the latest version in `migrations`.
    ///
    /// # Errors
    /// [`Code::LedgerTooNew`] when the tables have a later version. They are not changed.
    pub(super) fn open(ctx: &JsValue, migrations: Migrations) -> Result<Self> {
        let storage = ctx.unchecked_ref::<State>().storage().map_err(storage_failed)?;
        let sql = storage.sql().map_err(storage_failed)?;
        let database = Self { storage, sql, migrations, has_tables: Cell::new(false), alarm: Cell::new(Alarm::Unread) };
        let version = database.version()?;
        if version > 0 {
            database.migrate(version)?;
        }
        Ok(database)
    }

    /// Returns whether the tables exist.
    pub(super) fn has_tables(&self) -> bool {
        self.has_tables.get()
    }

    /// Runs a statement that writes, and returns its rows. Creates the tables where they do not exist.
    pub(super) fn write(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        if !self.has_tables() {
            self.migrate(0)?;
        }
        self.execute(statement, values)
    }

    /// Runs a statement and returns its rows. Does nothing where the tables do not exist.
    pub(super) fn run_if_created(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        if self.has_tables() { self.execute(statement, values) } else { Ok(Vec::new()) }
    }

    /// Returns a text from the key-value storage.
    pub(super) fn get_kv(&self, key: &str) -> Result<Option<String>> {
        Ok(self.storage.kv().and_then(|kv| kv.get(key)).map_err(storage_failed)?.as_string())
    }

    /// Writes a text to the key-value storage. Creates no tables.
    pub(super) fn put_kv(&self, key: &str, text: &JsValue) -> Result<()> {
        self.storage.kv().and_then(|kv| kv.put(key, text)).map_err(storage_failed)
    }

    fn execute(&self, statement: &str, values: &[JsValue]) -> Result<Vec<Row>> {
        let values: Array = values.iter().collect();
        let rows = self.sql.exec(statement, &values).and_then(|cursor| cursor.to_array()).map_err(storage_failed)?;
        Ok(rows.iter().map(JsCast::unchecked_into).collect())
    }

    /// Runs a statement whose rows have the columns `key` and `record`, and returns the records that are not NULL.
    pub(super) fn records<T: DeserializeOwned>(
        &self,
        table: &str,
        statement: &str,
        values: &[JsValue],
    ) -> Result<Vec<T>> {
        let rows = self.run_if_created(statement, values)?;
        let records = rows.iter().filter(|row| !row.record().is_null());
        let text = |value: JsValue| value.as_string().unwrap_or_default();
        records.map(|row| decode_record(table, &text(row.key()), &text(row.record()))).collect()
    }

    /// Runs `work` in a transaction: commits it, or rolls it back when it fails.
    fn transaction(&self, work: impl Fn() -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        let mut inner = AssertUnwindSafe((work, &mut outcome));
        let committed = self.storage.transaction_sync(&mut move || {
            let parts = &mut inner;
            let (work, outcome) = &mut parts.0;
            **outcome = work();
            outcome.as_ref().map_err(|error| JsValue::from(error.to_string())).copied()
        });
        outcome.and(committed.map_err(storage_failed))
    }

    /// Migrates the tables from `version` to the version of this release.
    fn migrate(&self, version: usize) -> Result<()> {
        let latest = self.migrations.len();
        if version > latest {
            return Err(Error::ledger_too_new(version, latest));
        }
        if version < latest {
            self.transaction(|| {
                for statement in self.migrations.iter().skip(version).copied().flatten() {
                    self.execute(statement, &[])?;
                }
                self.execute("UPDATE schema SET version = ?", &[latest.into()]).map(drop)
            })?;
        }
        self.has_tables.set(true);
        Ok(())
    }

    /// Returns the version of the tables; 0 where there are none.
    fn version(&self) -> Result<usize> {
        let number = |statement: &str| {
            let rows = self.execute(statement, &[])?;
            Ok(rows.first().and_then(Row::number).unwrap_or_default())
        };
        if number("SELECT 1 AS value FROM sqlite_schema WHERE name = 'schema'")? == 0.0 {
            return Ok(0);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The conversion saturates.
        number("SELECT version AS value FROM schema").map(|version| version as usize)
    }

    /// Returns the query plan of a statement, one step a line.
    pub(super) fn query_plan(&self, statement: &str, values: &[JsValue]) -> Result<String> {
        let steps = self.write(&format!("EXPLAIN QUERY PLAN {statement}"), values)?;
        Ok(steps.iter().map(Row::plan_step).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the alarm from the column `alarm_at` of the only row of `table`. The platform's `getAlarm` is
    /// asynchronous.
    pub(super) fn alarm(&self, table: &str) -> Result<Option<Timestamp>> {
        if let Alarm::Known(known) = self.alarm.get() {
            return Ok(known);
        }
        let rows = self.run_if_created(&format!("SELECT alarm_at AS value FROM {table}"), &[])?;
        #[allow(clippy::cast_possible_truncation)] // `set_alarm` writes whole milliseconds.
        let alarm = rows.first().and_then(Row::number).map(|millis| Timestamp::from_millis(millis as i64));
        self.alarm.set(Alarm::Known(alarm));
        Ok(alarm)
    }

    /// Sets or deletes the alarm. Does not wait for the write: the platform sends no answer before its writes are
    /// durable.
    pub(super) fn set_alarm(&self, table: &str, at: Option<Timestamp>) -> Result<()> {
        let set = match at {
            Some(at) => self.storage.set_alarm(number(at.as_millis().clamp(1, MAX_ALARM_MILLIS))),
            None => self.storage.delete_alarm(),
        };
        set.map(drop).map_err(storage_failed)?;
        self.alarm.set(Alarm::Unread);
        let statement = format!("UPDATE {table} SET alarm_at = ?");
        match at {
            Some(at) => self.write(&statement, &[millis(at)])?,
            None => self.run_if_created(&statement, &[JsValue::NULL])?,
        };
        self.alarm.set(Alarm::Known(at));
        Ok(())
    }
}

/// Returns the stored form of a record: JSON text.
pub(super) fn json(record: &impl Serialize) -> Result<JsValue> {
    let text = model::json::to_string(record);
    text.map(JsValue::from).map_err(|error| Error::ledger_unavailable(Failure::new("SerializationError", &error)))
}

/// Returns the stored form of a time: milliseconds.
pub(super) fn millis(time: Timestamp) -> JsValue {
    number(time.as_millis()).into()
}

#[allow(clippy::cast_precision_loss)] // Milliseconds are far below 2^53.
fn number(millis: i64) -> f64 {
    millis as f64
}

/// Decodes the record of a row. The error message leaves the content out, because it may be secret.
pub(super) fn decode_record<T: DeserializeOwned>(table: &str, key: &str, text: &str) -> Result<T> {
    model::json::from_str(text).map_err(|_| Error::row_unreadable(table, key))
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the value.
fn storage_failed(thrown: JsValue) -> Error {
    Error::ledger_unavailable(to_failure(&thrown))
}
