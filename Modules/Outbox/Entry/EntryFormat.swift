/// The binary format of the values of entries.
///
/// The format names properties and entities by text and gives each value its own type, so that it does not depend on a
/// model. A number is a variable number of bytes with seven bits each, the lowest first; a signed number is
/// zigzag-coded. A text or data is the number of its bytes, then the bytes.
///
/// ```
/// payload    = version fields members
/// fields     = count (name flags [base value] [new value])*     flags: 1 base, 2 new value
/// members    = count (name flags records records)*              flags: 1 reordered, 2 owner
/// records    = count record*
/// record     = name-index [name] signed-key                     a name follows its first index
/// value      = tag [content]
/// identity   = version fields
/// references = version count (role record)*                     role: 0 base, 1 new
/// log        = version key change*                              key: the 16 bytes of a UUID
/// change     = kind offset entity root signed-key signed-version identity references payload whole
/// entity     = name-index [name]                                a name follows its first index
/// root       = name-index [name]                                in one table of names with the entities
/// confirmed  = version count (kind name record identity former members)*
///                                                               identity and former are fields
/// ```
/// In a log, the offset of a change is its sequence minus the sequence of the first change. Each of the four parts of a
/// change (identity, references, payload, whole) begins with 4 bytes, the lowest first, that count the bytes of the
/// part; zero stands for a missing part. The fields of a confirmation have one value each: the values
/// of the identity are new, and the former values are bases.
///
/// A release that changes the format raises the version and still reads the earlier versions.
enum EntryFormat {
  static let version: UInt8 = 1
  /// The greatest number of bytes of a value in the payload of an entry. Larger values are in an
  /// ``OutboxContentRecord``.
  static let largestInlineValue = 32_768

  /// The tag before a value.
  enum Tag: UInt8 {
    case null = 0, `false`, `true`, int, double, string, data, date, uuid, decimal, record, omitted
  }

  /// The bits that say which values of a property follow.
  enum FieldFlag {
    static let base: UInt8 = 1
    static let value: UInt8 = 2
  }

  /// The bits of a change of members; see ``OutboxMembers``.
  enum MemberFlag {
    static let reordered: UInt8 = 1
    static let owner: UInt8 = 2
  }

  /// The role of a related record.
  enum Role: UInt8, Sendable {
    /// The record was related before the change.
    case base = 0
    /// The record is related after the change.
    case new = 1
  }

  /// A property's values before and after a change, by the recorded name.
  struct Field: Equatable {
    var name: String
    var base: OutboxValue?
    var value: OutboxValue?
  }

  /// The members that a change added and removed, by the recorded name of the relationship.
  struct Members: Equatable {
    var name: String
    var added: [OutboxRecord]
    var removed: [OutboxRecord]
    var isReordered: Bool
    var isOwner: Bool
  }

  /// A related record.
  struct Reference: Hashable, Sendable {
    var role: Role
    var record: OutboxRecord
  }
}
