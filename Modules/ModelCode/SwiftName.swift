/// Names of model files as names in Swift.
enum SwiftName {
  /// The name as an identifier: keywords get backticks.
  static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// Whether the name consists of letters, digits and underscores, and does not begin with a digit.
  static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, first == "_" || first.properties.isAlphabetic else { return false }
    return name.unicodeScalars.allSatisfy {
      $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType == .decimal
    }
  }

  /// The name with a capital first letter, without characters that an identifier cannot have.
  static func capitalized(_ name: String) -> String {
    let allowed = name.unicodeScalars.filter {
      $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType == .decimal
    }
    let text = String(String.UnicodeScalarView(allowed))
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// A text as a literal. Texts with backslashes or quotation marks become raw literals.
  static func literal(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F && $0 != "\u{2028}" && $0 != "\u{2029}"
    }
    // By bytes and not by characters: a combining mark joins the quotation mark before it to one character.
    let bytes = text.utf8
    // A raw literal cannot begin with a quotation mark: with a second one it would begin a literal of several lines.
    guard isPlain, bytes.first != UInt8(ascii: "\"") else { return escapedLiteral(text) }
    guard bytes.contains(UInt8(ascii: "\\")) || bytes.contains(UInt8(ascii: "\"")) else { return "\"\(text)\"" }
    var marks = "#"
    while bytes.contains("\"\(marks)".utf8) || bytes.contains("\\\(marks)".utf8) { marks += "#" }
    return "\(marks)\"\(text)\"\(marks)"
  }

  private static func escapedLiteral(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\", "\"": "\\\(scalar)"
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F || scalar == "\u{2028}" || scalar == "\u{2029}":
        "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: String(scalar)
      }
    }
    return "\"\(escaped.joined())\""
  }

  /// The words that need backticks as names of properties.
  static let keywords: Set<String> = [
    "Any", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
    "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
    "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat",
    "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
    "typealias", "var", "where", "while",
  ]

  /// The words with a meaning after a dot, which no property can have as its name.
  static let unusable: Set<String> = ["init", "self", "Self", "Type", "Protocol", "_"]

  /// The properties of every managed object, and the members of the macro `@Entity`, which refuses them as names of
  /// properties. A variable may have the name of another method.
  static let members: Set<String> = [
    "description", "entity", "entityDeclaration", "entityName", "hasChanges", "hashValue",
    "hasPersistentChangedValues", "initializeDefaults", "isDeleted", "isFault", "isInserted", "isUnavailable",
    "isUpdated", "managedObjectContext", "objectID", "Properties", "propertyNames", "Snapshot", "snapshot",
    "version",
  ]
  /// The members of the snapshots of entities with a parent.
  static let subentityMembers: Set<String> = ["inherited"]

  /// The types that the macros write within a class or a structure, where they hide a type of that name.
  static let nestedTypes: Set<String> = ["Object", "Parts", "Properties", "Snapshot"]

  /// The types and macros that generated sources name.
  static let types: Set<String> = [
    "Any", "AnyKeyPath", "Attribute", "Bool", "Codable", "Composite", "Data", "Date", "Decimal", "DeclaredEntity",
    "Double", "Entity", "Float", "Hashable", "Index", "Int", "Int16", "Int32", "Int64", "ManagedObject",
    "ManagedObjectModel", "OrderedToMany", "Protocol", "Relationship", "Self", "Sendable", "String",
    "Subentity", "ToMany", "Transient", "Type", "URL", "UUID", "Unique", "WeakReference",
  ]
}
