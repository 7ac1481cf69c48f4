/// The values of `%@` and `%K`, consumed in order.
struct PredicateFormatArguments {
  private let arguments: [(any Sendable)?]
  private var usedCount = 0

  init(_ arguments: [(any Sendable)?]) { self.arguments = arguments }

  /// Returns the next argument.
  ///
  /// - Parameter position: The position of the placeholder in the text, for the message.
  private mutating func next(_ position: Int) throws(CoherenceError) -> (any Sendable)? {
    guard usedCount < arguments.count else {
      throw .unreadable(
        at: position, "there is no argument for this placeholder; \(arguments.count) were given")
    }
    defer { usedCount += 1 }
    return arguments[usedCount]
  }

  /// - Throws: ``ErrorCode/invalidPredicate`` for arguments without a placeholder.
  func checkAllUsed() throws(CoherenceError) {
    guard usedCount == arguments.count else {
      throw CoherenceError(
        .invalidPredicate, "The format has placeholders for \(usedCount) arguments; \(arguments.count) were given.")
    }
  }

  /// Returns the next argument as a value.
  mutating func value(at position: Int) throws(CoherenceError) -> AttributeValue {
    guard let argument = try next(position) else { return .null }
    if let value = Self.value(argument) { return value }
    if argument is any Collection {
      throw .unreadable(at: position, "the argument is a list; only IN and BETWEEN take a list")
    }
    throw Self.unsuitable(argument, position)
  }

  /// Returns the next argument as a list of values.
  mutating func list(at position: Int) throws(CoherenceError) -> [AttributeValue] {
    let argument = try next(position)
    guard let argument, Self.value(argument) == nil, let elements = argument as? any Collection else {
      throw .unreadable(at: position, "the argument is not an array or a set; IN and BETWEEN take a list")
    }
    var values: [AttributeValue] = []
    for element in Self.opened(elements) {
      guard let value = Self.value(element) else { throw Self.unsuitable(element, position) }
      values.append(value)
    }
    return values
  }

  /// Returns the next argument as a path.
  mutating func path(at position: Int) throws(CoherenceError) -> PropertyPath {
    switch try next(position) {
    case let name as String: return PropertyPath(name)
    case let path as PropertyPath: return path
    default: throw .unreadable(at: position, "the argument for %K is no text")
    }
  }

  /// The elements of a collection of an unknown type.
  static func opened(_ elements: some Collection) -> [Any] { Array(elements) }

  /// The value of an argument; `nil` for an argument whose type no attribute or reference can have.
  static func value(_ argument: Any) -> AttributeValue? {
    switch argument {
    case let value as any AttributeConvertible: value.attributeValue
    case let id as ManagedObjectID?: id.map(AttributeValue.reference) ?? .null
    case let value as AttributeValue: value
    default: nil
    }
  }

  private static func unsuitable(_ argument: Any, _ position: Int) -> CoherenceError {
    .unreadable(
      at: position, "a '\(type(of: argument))' is no value of an attribute; conform it to 'AttributeConvertible'")
  }
}
