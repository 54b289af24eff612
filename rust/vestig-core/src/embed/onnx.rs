//! The initialisers of an ONNX file: names, shapes and values, borrowed from its bytes.
//!
//! Reads the protocol buffer's wire format and of it only what leads to initialisers. Any bytes
//! give initialisers or an error: every length is checked against what is left, nothing is
//! allocated by a number of the file, and messages are read three deep, not to the depth that the
//! file asks for.

use std::collections::HashMap;

use crate::error::{CoreError, Result};

/// Most initialisers of a file, and most axes of one.
const TENSORS_MAX: usize = 4096;
const AXES_MAX: usize = 8;

/// Numbers of fields: of the model its graph, of the graph its initialisers, of those their parts.
const GRAPH: u32 = 7;
const INITIALISER: u32 = 5;
const DIMENSIONS: u32 = 1;
const TYPE: u32 = 2;
const NAME: u32 = 8;
const RAW: u32 = 9;
const EXTERNAL: u32 = 13;

/// Types of elements by their number in the file.
const FLOAT32: u64 = 1;
const INT8: u64 = 3;

fn invalid(what: impl Into<String>) -> CoreError {
    CoreError::Invalid(format!("the ONNX file is not readable: {}", what.into()))
}

/// One initialiser, its values little-endian as they lie in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tensor<'a> {
    kind: u64,
    shape: Vec<usize>,
    raw: &'a [u8],
}

/// The initialisers of a model by name.
pub struct Initialisers<'a>(HashMap<&'a str, Tensor<'a>>);

impl<'a> Initialisers<'a> {
    /// Of the bytes of a file.
    ///
    /// `Invalid`: not the wire format, no graph or two of them, a name that occurs twice, or more
    /// than 4096 initialisers or eight axes.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut graph = None;
        let mut model = Message(bytes);
        while let Some((number, value)) = model.field()? {
            if number == GRAPH && graph.replace(value.bytes()?).is_some() {
                return Err(invalid("it has two graphs"));
            }
        }
        let mut found = HashMap::new();
        let mut graph = Message(graph.ok_or_else(|| invalid("it has no graph"))?);
        while let Some((number, value)) = graph.field()? {
            if number != INITIALISER {
                continue;
            }
            let (name, tensor) = tensor(value.bytes()?)?;
            if found.len() == TENSORS_MAX {
                return Err(invalid(format!("more than {TENSORS_MAX} initialisers")));
            }
            if found.insert(name, tensor).is_some() {
                return Err(invalid("two initialisers have one name"));
            }
        }
        Ok(Self(found))
    }

    /// The values of an int8 initialiser of exactly this shape, row by row.
    ///
    /// `Invalid`: there is none of that name, type and shape, or its values are not all there.
    pub fn int8(&self, name: &str, shape: &[usize]) -> Result<&'a [u8]> {
        self.values(name, INT8, 1, shape)
    }

    /// The values of a float32 initialiser of exactly this shape; all of them finite.
    ///
    /// `Invalid`: as `int8`, or a value is not finite.
    pub fn float32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let raw = self.values(name, FLOAT32, 4, shape)?;
        let words = raw.as_chunks::<4>().0.iter();
        let values: Vec<f32> = words.map(|word| f32::from_le_bytes(*word)).collect();
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(invalid(format!("{name} holds a value that is not finite")))
        }
    }

    fn values(&self, name: &str, kind: u64, width: usize, shape: &[usize]) -> Result<&'a [u8]> {
        let tensor = self.0.get(name);
        let tensor = tensor.ok_or_else(|| invalid(format!("it has no initialiser {name}")))?;
        if tensor.kind != kind || tensor.shape != shape {
            return Err(invalid(format!(
                "expected {name} of type {kind} and shape {shape:?}, got type {} and shape {:?}",
                tensor.kind, tensor.shape
            )));
        }
        let wanted = shape.iter().try_fold(width, |n, axis| n.checked_mul(*axis));
        if wanted != Some(tensor.raw.len()) {
            let length = tensor.raw.len();
            return Err(invalid(format!(
                "{name} of shape {shape:?} has {length} bytes"
            )));
        }
        Ok(tensor.raw)
    }
}

/// Name and content of one initialiser.
fn tensor(bytes: &[u8]) -> Result<(&str, Tensor<'_>)> {
    let mut name: &[u8] = &[];
    let mut tensor = Tensor {
        kind: 0,
        shape: Vec::new(),
        raw: &[],
    };
    let mut message = Message(bytes);
    while let Some((number, value)) = message.field()? {
        match number {
            DIMENSIONS => dimensions(value, &mut tensor.shape)?,
            TYPE => tensor.kind = value.number()?,
            NAME => name = value.bytes()?,
            RAW => tensor.raw = value.bytes()?,
            EXTERNAL => return Err(invalid("an initialiser lies in another file")),
            _ => {}
        }
    }
    let name = std::str::from_utf8(name).map_err(|_| invalid("a name is not UTF-8"))?;
    Ok((name, tensor))
}

/// One axis, or all of them packed in one field.
fn dimensions(value: Value<'_>, shape: &mut Vec<usize>) -> Result<()> {
    let mut add = |axis: u64| {
        if shape.len() == AXES_MAX {
            return Err(invalid(format!("more than {AXES_MAX} axes")));
        }
        shape.push(usize::try_from(axis).map_err(|_| invalid("an axis is too long"))?);
        Ok(())
    };
    match value {
        Value::Number(axis) => add(axis),
        Value::Bytes(packed) => {
            let mut packed = Message(packed);
            while !packed.0.is_empty() {
                add(packed.varint()?)?;
            }
            Ok(())
        }
    }
}

/// The value of a field. Those of fixed width are of no use here and read as their bytes.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn number(self) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(invalid("expected a number, got bytes")),
        }
    }

    fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(invalid("expected bytes, got a number")),
        }
    }
}

/// The rest of a message.
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    /// The next field with its number; None at the end.
    fn field(&mut self) -> Result<Option<(u32, Value<'a>)>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).unwrap_or(0);
        if number == 0 {
            return Err(invalid("a field has no number"));
        }
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            kind => return Err(invalid(format!("a field of kind {kind}"))),
        };
        Ok(Some((number, value)))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for place in 0..10 {
            let Some((byte, rest)) = self.0.split_first() else {
                return Err(invalid("it is cut in a number"));
            };
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for the highest bit only.
            if place == 9 && bits > 1 {
                break;
            }
            number |= bits << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(invalid("a number is longer than 64 bits"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| self.0.split_at_checked(length));
        let (taken, rest) = split.ok_or_else(|| {
            let left = self.0.len();
            invalid(format!("a field of {length} bytes where {left} are left"))
        })?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    fn bytes_field(number: u64, bytes: &[u8]) -> Vec<u8> {
        [
            &varint(number << 3 | 2)[..],
            &varint(bytes.len() as u64),
            bytes,
        ]
        .concat()
    }

    fn number_field(number: u64, value: u64) -> Vec<u8> {
        [varint(number << 3), varint(value)].concat()
    }

    fn tensor_of(name: &str, kind: u64, shape: &[u64], raw: &[u8]) -> Vec<u8> {
        let mut message: Vec<u8> = Vec::new();
        for axis in shape {
            message.extend(number_field(1, *axis));
        }
        message.extend(number_field(2, kind));
        message.extend(bytes_field(8, name.as_bytes()));
        message.extend(bytes_field(9, raw));
        message
    }

    fn model(tensors: &[Vec<u8>]) -> Vec<u8> {
        let graph: Vec<u8> = tensors.iter().flat_map(|one| bytes_field(5, one)).collect();
        [number_field(1, 10), bytes_field(7, &graph)].concat()
    }

    fn refused(bytes: &[u8]) -> String {
        Initialisers::read(bytes)
            .err()
            .expect("an error")
            .to_string()
    }

    #[test]
    fn values_come_by_name_type_and_shape() {
        let floats: Vec<u8> = [1.5_f32, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let bytes = model(&[
            tensor_of("codes", INT8, &[2, 3], &[1, 2, 3, 255, 5, 6]),
            tensor_of("scale", FLOAT32, &[1, 2], &floats),
        ]);
        let found = Initialisers::read(&bytes).unwrap();
        assert_eq!(found.int8("codes", &[2, 3]).unwrap(), [1, 2, 3, 255, 5, 6]);
        assert_eq!(found.float32("scale", &[1, 2]).unwrap(), [1.5, -2.0]);
        for (name, shape) in [
            ("codes", &[3, 2][..]),
            ("codes", &[6]),
            ("scale", &[1, 2]),
            ("x", &[]),
        ] {
            assert!(found.int8(name, shape).is_err(), "{name} {shape:?}");
        }
        assert!(found.float32("scale", &[2]).is_err());
    }

    #[test]
    fn packed_axes_are_axes() {
        let mut one = bytes_field(1, &[varint(2), varint(300)].concat());
        one.extend(number_field(2, INT8));
        one.extend(bytes_field(8, b"codes"));
        one.extend(bytes_field(9, &[7; 600]));
        let bytes = model(&[one]);
        let found = Initialisers::read(&bytes).unwrap();
        assert_eq!(found.int8("codes", &[2, 300]).unwrap().len(), 600);
    }

    #[test]
    fn what_is_not_a_model_is_refused_with_its_reason() {
        let one = tensor_of("codes", INT8, &[1], &[1]);
        let cases: [(Vec<u8>, &str); 9] = [
            (Vec::new(), "no graph"),
            ([model(&[]), model(&[])].concat(), "two graphs"),
            (model(&[one.clone(), one.clone()]), "one name"),
            (model(&[bytes_field(8, &[0xff])]), "UTF-8"),
            (model(&[bytes_field(13, b"x")]), "another file"),
            (model(&[tensor_of("codes", INT8, &[1; 9], &[1])]), "8 axes"),
            (model(&vec![Vec::new(); 2]), "one name"),
            (vec![0xff; 11], "64 bits"),
            (
                bytes_field(7, &[0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
                "are left",
            ),
        ];
        for (bytes, reason) in cases {
            let text = refused(&bytes);
            assert!(text.contains(reason), "{text} has no {reason}");
        }
    }

    #[test]
    fn shapes_that_overflow_or_values_that_are_missing_are_refused() {
        let bytes = model(&[
            tensor_of("large", INT8, &[u64::MAX, u64::MAX], &[]),
            tensor_of("short", FLOAT32, &[2], &[0; 7]),
            tensor_of("nan", FLOAT32, &[1], &f32::NAN.to_le_bytes()),
        ]);
        let found = Initialisers::read(&bytes).unwrap();
        let large = usize::try_from(u64::MAX).unwrap();
        assert!(found.int8("large", &[large, large]).is_err());
        assert!(found.float32("short", &[2]).is_err());
        assert!(found.float32("nan", &[1]).is_err());
    }

    #[test]
    fn too_many_initialisers_are_refused() {
        let many: Vec<Vec<u8>> = (0..=TENSORS_MAX)
            .map(|n| tensor_of(&n.to_string(), INT8, &[1], &[0]))
            .collect();
        assert!(refused(&model(&many)).contains("4096"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_initialisers_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(found) = Initialisers::read(&bytes) {
                let _ = found.int8("codes", &[2, 3]);
            }
        }

        #[test]
        fn a_changed_model_gives_initialisers_or_an_error(
            at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
        ) {
            let sound = model(&[
                tensor_of("codes", INT8, &[2, 3], &[1, 2, 3, 4, 5, 6]),
                tensor_of("scale", FLOAT32, &[1, 1], &[0, 0, 128, 63]),
            ]);
            let mut changed = sound.clone();
            changed[at.index(sound.len())] = byte;
            for bytes in [&changed[..], &sound[..cut.index(sound.len())]] {
                if let Ok(found) = Initialisers::read(bytes) {
                    if let Ok(codes) = found.int8("codes", &[2, 3]) {
                        prop_assert_eq!(codes.len(), 6);
                    }
                    let _ = found.float32("scale", &[1, 1]);
                }
            }
        }
    }
}
