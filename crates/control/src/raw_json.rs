//! JSON whose form only one system knows. Code that serves all systems passes this JSON on without parsing it.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The unchanged text of a JSON value. Only the code of the system decodes the text into a type.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Encodes a value. All keys of maps in the value must be texts.
    pub fn encode(value: &impl Serialize) -> Self {
        Self(serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Decodes the value as a type.
    ///
    /// # Errors
    /// Fails if the JSON is not a value of the type `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.text())
    }

    /// Returns the JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Returns the fields of an object in their order. Returns `None` if the value is not an object.
    pub fn fields(&self) -> Option<Vec<(String, RawJson)>> {
        let fields: Result<Fields, _> = self.decode();
        Some(fields.ok()?.0)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The fields of an object in their order. The maps of `serde_json` do not keep this order.
struct Fields(Vec<(String, RawJson)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn the_text_and_the_order_of_fields_are_unchanged() {
        let text = r#"{"z":1,"a":{"y":2, "b":[]},"n":null}"#;
        let own: RawJson = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(own.text(), text);
        let fields = own.fields().expect("an object");
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a", "n"]);
        assert_eq!(fields[1].1.text(), r#"{"y":2, "b":[]}"#);
        for other in ["[]", "7", "null"] {
            let own: RawJson = serde_json::from_str(other).expect("it is JSON");
            assert!(own.fields().is_none(), "{other}");
        }
    }
}
