//! Values of statements and rows, the same in both databases.

use super::Fault;

/// A value that a statement is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// None.
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

/// A term or a sequence, as the tables hold it.
pub(super) fn large<'a>(number: u64) -> Result<Value<'a>, Fault> {
    let number = i64::try_from(number);
    let number = number.map_err(|_| {
        let why = "a term or a sequence is larger than the tables hold: start with --drop when no node runs, or with an empty \
                   database";
        Fault::Failed(why.to_owned())
    });
    number.map(Value::Number)
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// None.
    Null,
    /// A number, or a truth value as 1 or 0.
    Number(i64),
    /// Text.
    Text(String),
}

/// A row that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(super) Vec<Cell>);

impl Row {
    fn cell(&self, column: usize) -> &Cell {
        self.0.get(column).unwrap_or(&Cell::Null)
    }

    /// A number, if there is one.
    ///
    /// # Errors
    /// It is something else.
    pub fn number_if_any(&self, column: usize) -> Result<Option<i64>, Fault> {
        match self.cell(column) {
            Cell::Null => Ok(None),
            Cell::Number(number) => Ok(Some(*number)),
            Cell::Text(text) => Err(odd(text)),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&self, column: usize) -> Result<i64, Fault> {
        self.number_if_any(column)?.ok_or_else(|| odd("no value"))
    }

    /// A number that is not negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, Fault> {
        let number = self.number(column)?;
        u64::try_from(number).map_err(|_| odd(&number.to_string()))
    }

    /// A node's id, if there is one.
    pub(super) fn id_if_any(&self, column: usize) -> Result<Option<u32>, Fault> {
        let number = self.number_if_any(column)?;
        let id = |number: i64| u32::try_from(number).map_err(|_| odd(&number.to_string()));
        number.map(id).transpose()
    }

    /// A node's id.
    pub(super) fn id(&self, column: usize) -> Result<u32, Fault> {
        self.id_if_any(column)?.ok_or_else(|| odd("no value"))
    }

    /// Text.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, column: usize) -> Result<String, Fault> {
        match self.cell(column) {
            Cell::Text(text) => Ok(text.clone()),
            Cell::Number(number) => Err(odd(&number.to_string())),
            Cell::Null => Err(odd("no value")),
        }
    }
}

fn odd(found: &str) -> Fault {
    Fault::Failed(format!(
        "the tables have {found} where no ring-board writes that: another program has changed them"
    ))
}
