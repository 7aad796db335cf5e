//! Values of statements and rows, independent of the database.

use super::Fault;

/// A value of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL's NULL.
    Null,
    /// A number.
    Number(i64),
    /// A truth value.
    Truth(bool),
    /// Text.
    Text(&'a str),
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Option<u32>> for Value<'_> {
    fn from(number: Option<u32>) -> Self {
        number.map_or(Self::Null, Self::from)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// Converts a term or a sequence to a value. Fails if the number is too large, because the tables hold signed numbers.
pub(super) fn large_number<'a>(number: u64) -> Result<Value<'a>, Fault> {
    let number = i64::try_from(number);
    let number = number.map_err(|_| {
        let why = "a term or a sequence is too large for the tables: stop all nodes and start one with --drop, or \
                   start with an empty database";
        Fault::Failed(why.to_owned())
    });
    number.map(Value::Number)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    /// A number; a truth value is 1 or 0.
    Number(i64),
    Text(String),
}

/// A row of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(super) Vec<Cell>);

impl Row {
    fn cell(&self, column: usize) -> &Cell {
        self.0.get(column).unwrap_or(&Cell::Null)
    }

    /// Returns a number; NULL becomes `None`.
    ///
    /// # Errors
    /// Returns a fault if the value is not a number.
    pub fn number_if_any(&self, column: usize) -> Result<Option<i64>, Fault> {
        match self.cell(column) {
            Cell::Null => Ok(None),
            Cell::Number(number) => Ok(Some(*number)),
            Cell::Text(text) => Err(unexpected_value(text)),
        }
    }

    /// Returns a number.
    ///
    /// # Errors
    /// Returns a fault if the value is not a number.
    pub fn number(&self, column: usize) -> Result<i64, Fault> {
        self.number_if_any(column)?
            .ok_or_else(|| unexpected_value("no value"))
    }

    /// Returns a number that is not negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, Fault> {
        let number = self.number(column)?;
        u64::try_from(number).map_err(|_| unexpected_value(&number.to_string()))
    }

    /// Returns the id of a node; NULL becomes `None`.
    pub(super) fn id_if_any(&self, column: usize) -> Result<Option<u32>, Fault> {
        let number = self.number_if_any(column)?;
        let id =
            |number: i64| u32::try_from(number).map_err(|_| unexpected_value(&number.to_string()));
        number.map(id).transpose()
    }

    pub(super) fn id(&self, column: usize) -> Result<u32, Fault> {
        self.id_if_any(column)?
            .ok_or_else(|| unexpected_value("no value"))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// Returns a fault if the value is not a text.
    pub fn text(&self, column: usize) -> Result<String, Fault> {
        match self.cell(column) {
            Cell::Text(text) => Ok(text.clone()),
            Cell::Number(number) => Err(unexpected_value(&number.to_string())),
            Cell::Null => Err(unexpected_value("no value")),
        }
    }
}

fn unexpected_value(found: &str) -> Fault {
    Fault::Failed(format!(
        "the tables have the unexpected value {found}, so another program has changed them: restore the tables, or use \
         another database"
    ))
}
