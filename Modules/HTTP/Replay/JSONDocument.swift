import Foundation

/// A JSON text whose values can be replaced. The rest of the text keeps its form: the digits of numbers, the order of
/// members. Ranges count the bytes of the text in UTF-8.
struct JSONDocument: Sendable {
  private let bytes: [UInt8]
  let root: JSONNode

  /// Parses JSON text as ``JSONReader`` reads it; `nil` for text in another format.
  ///
  /// - Throws: ``TooDeep``.
  init?(_ text: String) throws(TooDeep) {
    var reader = JSONReader(text)
    guard let root = reader.document() else {
      if reader.isTooDeep { throw TooDeep() }
      return nil
    }
    bytes = reader.bytes
    self.root = root
  }

  /// The text exceeds the maximum depth of nested values.
  struct TooDeep: Error {}

  /// A string or another value without members.
  struct Value {
    /// The range in the text, with quotation marks.
    let range: Range<Int>
    let isText: Bool
    /// The value without quotation marks and escapes.
    let content: String
  }

  /// The replacement of a range in the text.
  struct Edit {
    let range: Range<Int>
    let text: String
  }

  /// The scalars, in order, of the fields with certain names and of all values nested in these fields.
  func values(where isWanted: (_ name: String) -> Bool) -> [Value] {
    var values: [Value] = []
    collect(root, isInside: false, isWanted, into: &values)
    return values
  }

  private func collect(
    _ node: JSONNode, isInside: Bool, _ isWanted: (String) -> Bool, into values: inout [Value]
  ) {
    switch node {
    case .object(let members):
      for member in members {
        collect(member.value, isInside: isInside || isWanted(member.name), isWanted, into: &values)
      }
    case .array(let nodes): for node in nodes { collect(node, isInside: isInside, isWanted, into: &values) }
    case .text(let range, let content):
      if isInside { values.append(Value(range: range, isText: true, content: content)) }
    case .literal(let range, let content):
      if isInside { values.append(Value(range: range, isText: false, content: content)) }
    }
  }

  /// Returns the text with replacements.
  ///
  /// - Parameter edits: The replacements in the order of their ranges.
  func replacing(_ edits: [Edit]) -> String {
    var result: [UInt8] = []
    var end = 0
    for edit in edits {
      result += bytes[end..<edit.range.lowerBound]
      result += edit.text.utf8
      end = edit.range.upperBound
    }
    result += bytes[end...]
    return String(decoding: result, as: UTF8.self)
  }
}

/// A JSON value. Scalars have their range in the text, in bytes of UTF-8.
indirect enum JSONNode: Sendable {
  case object([JSONMember])
  case array([JSONNode])
  /// A string: its range with the quotation marks, and its content without escapes.
  case text(Range<Int>, String)
  /// A number, `true`, `false` or `null`, as written.
  case literal(Range<Int>, String)
}

/// A member of a JSON object.
struct JSONMember: Sendable {
  let name: String
  let value: JSONNode
}

// MARK: - Comparing

extension JSONNode {
  /// Whether two values are equal without regard to the order of members. Numbers are compared by their text: `1` and
  /// `1.0` differ.
  ///
  /// - Parameter placeholdersMatch: Whether a placeholder in this value matches every value.
  func equals(_ other: JSONNode, placeholdersMatch: Bool) -> Bool {
    if placeholdersMatch, case .text(_, let content) = self, HTTPPlaceholders.isPlaceholder(content) { return true }
    switch (self, other) {
    case (.object(let members), .object(let others)):
      guard members.count == others.count else { return false }
      return zip(members.sorted { $0.name < $1.name }, others.sorted { $0.name < $1.name }).allSatisfy {
        $0.name == $1.name && $0.value.equals($1.value, placeholdersMatch: placeholdersMatch)
      }
    case (.array(let nodes), .array(let others)):
      return nodes.count == others.count
        && zip(nodes, others).allSatisfy { $0.equals($1, placeholdersMatch: placeholdersMatch) }
    case (.text(_, let content), .text(_, let other)): return content == other
    case (.literal(_, let content), .literal(_, let other)): return content == other
    default: return false
    }
  }
}
