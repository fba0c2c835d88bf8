//! The macros that make types of the tables in [`super::packets`].

/// Makes enums, which are ordinals of one byte on the wire.
macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident {
        $first:ident = $first_wire:literal $(, $value:ident = $wire:literal)* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            #[repr(u8)]
            pub enum $name {
                #[doc = concat!("`", $first_wire, "`")]
                #[default]
                $first,
                $(#[doc = concat!("`", $wire, "`")] $value,)*
            }

            impl $name {
                /// All values, each at its ordinal.
                pub const ALL: &'static [Self] = &[Self::$first $(, Self::$value)*];

                /// The value at `ordinal`, if there is one.
                pub fn from_ordinal(ordinal: u8) -> Option<Self> {
                    Self::ALL.get(usize::from(ordinal)).copied()
                }

                /// Its place in the order of values, from 0.
                pub const fn ordinal(self) -> u8 {
                    self as u8
                }
            }

            impl<'a> Field<'a> for $name {
                const TYPE: Type = Type::Enum(stringify!($name));
                const LEN_MIN: usize = 1;
                const NAME: &'static str = concat!("an ordinal of ", stringify!($name));

                #[inline]
                fn encode(&self, out: &mut Vec<u8>) {
                    out.push(self.ordinal());
                }

                #[inline]
                fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                    let [ordinal] = reader.array()?;
                    Self::from_ordinal(ordinal)
                        .ok_or(DecodeError::UnknownOrdinal { ordinal, count: Self::ALL.len() })
                }

                fn write_json(&self, out: &mut Vec<u8>) {
                    value::write_integer(i64::from(self.ordinal()), out);
                }

                fn read_integer<E: Error>(value: i128, wanted: &Seed<Self>) -> Result<Self, E> {
                    let ordinal = u8::try_from(value).ok().and_then(Self::from_ordinal);
                    ordinal.ok_or_else(|| E::invalid_value(unexpected(value), wanted))
                }
            }
        )*

        /// The enums, each with the names of its values.
        pub(super) const ENUMS: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$first_wire $(, $wire)*])),*];
    };
}

/// Makes a struct of each packet, and the enum [`super::Packet`] of all of them.
macro_rules! packets {
    ($($(#[$doc:meta])* $id:literal $name:ident $(<$life:lifetime>)? {
        $($field:ident $(as $wire:literal)?: $type:ty),* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct $name $(<$life>)? {
                $(
                    #[doc = concat!("`", wire_name!($field $($wire)?), "` on the wire.")]
                    pub $field: $type,
                )*
            }

            impl<'a> Field<'a> for $name $(<$life>)? {
                const TYPE: Type = Type::Struct(stringify!($name));
                const LEN_MIN: usize = 0 $(+ <$type as Field<'a>>::LEN_MIN)*;

                #[inline]
                fn encode(&self, _out: &mut Vec<u8>) {
                    $(self.$field.encode(_out);)*
                }

                #[inline]
                fn decode(_reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                    Ok(Self { $($field: Field::decode(_reader)?,)* })
                }

                fn write_json(&self, out: &mut Vec<u8>) {
                    #[allow(unused_mut, reason = "some packets are empty")]
                    let mut object = ObjectWriter::new(out);
                    $(
                        self.$field.write_json(object.property(wire_name!($field $($wire)?)));
                        object.next();
                    )*
                    object.end($id);
                }

                /// Takes the fields in any order. Unknown ones are ignored, absent ones are empty or 0.
                fn read_object<A: MapAccess<'a>>(
                    mut properties: A,
                    _: &Seed<Self>,
                ) -> Result<Self, A::Error> {
                    #[allow(unused_mut, reason = "some packets are empty")]
                    let mut object = Self::default();
                    while let Some(name) = properties.next_key_seed(Key)? {
                        match &*name {
                            $(wire_name!($field $($wire)?) => {
                                let seed = Seed::new(wire_name!($field $($wire)?));
                                object.$field = properties.next_value_seed(seed)?;
                            })*
                            _ => drop(properties.next_value::<IgnoredAny>()?),
                        }
                    }
                    Ok(object)
                }
            }

            impl<'a> Struct<'a> for $name $(<$life>)? {
                const FIELDS: &'static [(&'static str, Type)] =
                    &[$((wire_name!($field $($wire)?), <$type as Field<'a>>::TYPE)),*];
            }

            impl<'a> From<$name $(<$life>)?> for Packet<'a> {
                fn from(packet: $name $(<$life>)?) -> Self {
                    Self::$name(packet)
                }
            }
        )*

        /// Any packet.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Packet<'a> {
            $($(#[$doc])* $name($name $(<$life>)?),)*
        }

        impl<'a> Packet<'a> {
            /// Reads the payload of a frame: a class id, and all the fields of its packet. Text and bytes are borrowed
            /// from it; only lists are allocated.
            ///
            /// # Errors
            ///
            /// The first fault; leftover bytes are a fault too.
            #[inline]
            pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
                let (class_id, fields) = payload.split_first().ok_or(DecodeError::NoClassId)?;
                let mut reader = Reader::new(fields);
                let packet = match *class_id {
                    $($id => Self::$name(Field::decode(&mut reader)?),)*
                    class_id => return Err(DecodeError::UnknownClass { class_id }),
                };
                reader.end()?;
                Ok(packet)
            }

            /// Appends the payload of a frame: the class id and the fields. Text is cut off at
            /// [`TEXT_LEN_MAX`](super::TEXT_LEN_MAX) bytes: the format has no length for more.
            #[inline]
            pub fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.class_id());
                match self {
                    $(Self::$name(packet) => packet.encode(out),)*
                }
            }

            /// Reads one JSON object; text without escapes is borrowed from it. A packet that ends in its class id, as
            /// it should, is read once, any other twice. Empty objects in a list take at most 128 times the memory of
            /// the text, so the receiver must limit its length.
            ///
            /// # Errors
            ///
            /// The first fault; for a value of the wrong type, its property and the right type.
            pub fn read_json(text: &'a [u8]) -> Result<Self, JsonError> {
                Ok(match json::class_id(text)? {
                    $($id => Self::$name(json::read(text)?),)*
                    class_id => return Err(JsonError::UnknownClass { class_id }),
                })
            }

            /// Appends the packet as one JSON object: the fields in order, `classId` last.
            pub fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name(packet) => packet.write_json(out),)*
                }
            }

            /// The class id.
            #[inline]
            pub fn class_id(&self) -> u8 {
                match self {
                    $(Self::$name(_) => $id,)*
                }
            }

            /// The name of the packet.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }

            /// The packet with this class id whose fields are all empty or 0, if there is one.
            pub fn empty(class_id: u8) -> Option<Self> {
                Some(match class_id {
                    $($id => Self::$name($name::default()),)*
                    _ => return None,
                })
            }

            /// The structs: name, class id, and fields with their types.
            pub(super) fn structs() -> Vec<StructTable> {
                vec![$((stringify!($name), $id, <$name $(<$life>)? as Struct<'a>>::FIELDS)),*]
            }
        }
    };
}

/// The name of a field in JSON, and in definitions.
macro_rules! wire_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

pub(super) use {enums, packets, wire_name};
