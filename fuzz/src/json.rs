//! The bodies of requests, as JSON. The input is one body.

use std::fmt;

use sandbox_snapshotter::model::json;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// See the module.
pub fn read(data: &[u8]) {
    let received = json::parse_untrusted(data);
    // A second parser, which keeps every member, must agree.
    match serde_json::from_slice::<Whole>(data) {
        Ok(whole) if whole.is_ambiguous() => assert!(received.is_err(), "a duplicate key was accepted"),
        Ok(_) => {
            let value = received.as_ref().expect("valid JSON");
            let own = value.to_string();
            assert_eq!(json::to_string(value).as_ref(), Ok(&own));
            assert_eq!(json::parse_untrusted(own.as_bytes()).as_ref(), Ok(value));
            assert_eq!(json::from_str::<Value>(&own).as_ref(), Ok(value));
        }
        Err(_) => assert!(received.is_err()),
    }
    if let Err(message) = received {
        assert!(message.len() <= 2048, "the message has {} bytes", message.len());
    }
}

/// JSON with all members of its objects, also those with the same key.
enum Whole {
    Leaf,
    List(Vec<Whole>),
    Object(Vec<(String, Whole)>),
}

impl Whole {
    /// Whether any object has a key twice.
    fn is_ambiguous(&self) -> bool {
        match self {
            Self::Leaf => false,
            Self::List(items) => items.iter().any(Self::is_ambiguous),
            Self::Object(members) => {
                let mut names: Vec<&String> = members.iter().map(|(name, _)| name).collect();
                names.sort();
                names.windows(2).any(|pair| pair[0] == pair[1]) || members.iter().any(|(_, value)| value.is_ambiguous())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Whole;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Whole, E> {
        Ok(Whole::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Whole, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Whole::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Whole, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Whole::Object(object))
    }
}
