//! The rows of the table as JSON: what is sent, and what a batch must be.

use std::fmt;

use chrono::{Datelike, NaiveDateTime, Timelike};
use rust_decimal::Decimal;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};
use tokio_postgres::Row;

#[derive(Serialize)]
pub struct Cliente {
    id: i64,
    ragione_sociale: String,
    citta: String,
    email: Option<String>,
    saldo: Decimal,
    creato: NaiveDateTime,
}

impl TryFrom<&Row> for Cliente {
    type Error = tokio_postgres::Error;

    fn try_from(row: &Row) -> Result<Self, Self::Error> {
        Ok(Self {
            id: row.try_get(0)?,
            ragione_sociale: row.try_get(1)?,
            citta: row.try_get(2)?,
            email: row.try_get(3)?,
            saldo: row.try_get(4)?,
            creato: row.try_get(5)?,
        })
    }
}

#[derive(Deserialize)]
struct NewCliente {
    ragione_sociale: String,
    citta: String,
    // Without a function of its own serde takes a missing Option for None.
    #[serde(deserialize_with = "Option::deserialize")]
    email: Option<String>,
    #[serde(deserialize_with = "number")]
    saldo: Decimal,
    #[serde(deserialize_with = "timestamp")]
    creato: NaiveDateTime,
}

/// A batch as the arrays that one INSERT takes.
#[derive(Default)]
pub struct Columns {
    pub ragione_sociale: Vec<String>,
    pub citta: Vec<String>,
    pub email: Vec<Option<String>>,
    pub saldo: Vec<Decimal>,
    pub creato: Vec<NaiveDateTime>,
}

impl FromIterator<Object> for Columns {
    fn from_iter<I: IntoIterator<Item = Object>>(rows: I) -> Self {
        let mut columns = Self::default();
        for Object(row) in rows {
            columns.ragione_sociale.push(row.ragione_sociale);
            columns.citta.push(row.citta);
            columns.email.push(row.email);
            columns.saldo.push(row.saldo);
            columns.creato.push(row.creato);
        }
        columns
    }
}

/// A row that was a JSON object; what serde derives takes an array too.
pub struct Object(NewCliente);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;

        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object, A::Error> {
                NewCliente::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Decimal's own Deserialize takes strings too.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let number = f64::deserialize(deserializer)?;
    Decimal::try_from(number)
        .map_err(|_| D::Error::invalid_value(Unexpected::Float(number), &"a number of 28 digits"))
}

fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NaiveDateTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_timestamp(&text)
        .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"YYYY-MM-DDTHH:MM:SS"))
}

/// chrono takes single digits, blanks, a year 0 and a 60th second; we do not.
fn parse_timestamp(text: &str) -> Option<NaiveDateTime> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let (head, fraction) = text.as_bytes().split_at_checked(SHAPE.len())?;
    let fits = head.iter().zip(SHAPE).all(|(c, shape)| match shape {
        b'd' => c.is_ascii_digit(),
        _ => c == shape,
    });
    let fraction_fits = match fraction {
        [] => true,
        [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !fits || !fraction_fits {
        return None;
    }
    let parsed = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
    (parsed.year() > 0 && parsed.nanosecond() < 1_000_000_000).then_some(parsed)
}
