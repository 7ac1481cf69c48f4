/// A digest of an entity's description, equal in every process and on every platform: 128-bit FNV-1a over a canonical
/// text. A store keeps the digests of its entities, and compares them with the model's when it is attached.
public struct VersionHash: Sendable, Hashable, CustomStringConvertible {
  /// The digest as 32 hexadecimal digits; empty for an entity that belongs to no model yet.
  public let rawValue: String
  /// Makes a digest from its text, such as the text in the metadata of a store. The text is not checked.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// The digest as 32 hexadecimal digits; empty for an entity that belongs to no model yet.
  public var description: String { rawValue }

  /// The digest of an entity before ``ModelLinker`` computes its digest.
  static let empty = VersionHash(rawValue: "")

  /// Computes the digest of a canonical text.
  init(of text: String) {
    let prime: UInt128 = (1 << 88) + 0x13B
    var hash: UInt128 = (0x6C62_272E_07BB_0142 << 64) + 0x62B8_2175_6295_C58D
    for byte in text.utf8 {
      hash ^= UInt128(byte)
      hash = hash &* prime
    }
    let digits = String(hash, radix: 16)
    rawValue = String(repeating: "0", count: 32 - digits.count) + digits
  }
}

extension EntityDescription {
  /// The text that ``versionHash`` digests: names, types, optionality, derivations, relationships and constraints,
  /// sorted, so that the order of declaration does not matter. Excludes validation, defaults, indexes and `userInfo`.
  /// Also excludes the constraint of a key that `userInfo` names, because stores were created before such constraints
  /// existed.
  var canonicalText: String {
    var lines = ["entity \(name)", isAbstract ? "abstract" : "concrete", "parent \(superentity?.name ?? "")"]
    lines += attributes.map { "a \($0.name) \($0.type.canonicalName) \($0.isOptional)" }.sorted()
    // A store notices a changed rule by the hash, and computes the values again.
    lines += attributes.compactMap { attribute in
      attribute.derivation.map { "d \(attribute.name) \($0.canonicalText)" }
    }.sorted()
    lines += relationships.map(\.canonicalText).sorted()
    lines += declaredConstraints.map { "u " + $0.map(\.name).joined(separator: ",") }.sorted()
    return lines.joined(separator: "\n")
  }
}

extension RelationshipDescription {
  /// The part of the entity's ``EntityDescription/canonicalText`` that describes the relationship.
  fileprivate var canonicalText: String {
    "r \(name) \(destination.name) \(isToMany) \(isOrdered) \(inverse?.name ?? "") \(isOptional)"
  }
}

extension AttributeType {
  /// A name for the type that does not depend on Swift's own printing.
  public var canonicalName: String {
    switch self {
    case .int16: "int16"
    case .int32: "int32"
    case .int64: "int64"
    case .bool: "bool"
    case .float: "float"
    case .double: "double"
    case .decimal: "decimal"
    case .string: "string"
    case .data: "data"
    case .date: "date"
    case .uuid: "uuid"
    case .url: "url"
    case .enumeration(let raw, _): "enumeration(\(raw.canonicalName))"
    case .codable: "codable"
    case .transformable(let name): "transformable(\(name))"
    // Without the name of the entity, which a hand-written class may leave out: the name changes no stored value.
    case .weakReference: "weakReference"
    }
  }
}
